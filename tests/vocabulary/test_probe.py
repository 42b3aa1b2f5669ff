"""Which of a meter's channels stands for it."""

import pytest

from edgebench.records.session import Channel, headline_channels

CLOCK = Channel("clock", "clock", "MHz", total=True)
CPU, GPU = Channel("cpu", "power", "W"), Channel("gpu", "power", "W")
INPUT = Channel("in", "power", "W", total=True)
COUNTER = Channel("package", "energy", "J")


@pytest.mark.parametrize(
    ("channels", "quantities", "headline"),
    [
        ([CLOCK, CPU, INPUT], ("power", "energy"), [INPUT]),
        ([CLOCK, CPU, GPU], ("power", "energy"), [CPU, GPU]),
        ([COUNTER, CPU], ("power", "energy"), [COUNTER, CPU]),
        ([COUNTER, CPU], ("power",), [CPU]),
        ([CLOCK], ("power", "energy"), []),
    ],
)
def test_the_total_stands_for_a_meter_and_without_one_all_channels(channels, quantities, headline):
    assert headline_channels(channels, quantities) == headline
