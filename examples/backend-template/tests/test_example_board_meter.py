"""The meter is tried against EdgeBench's contract; without one, the reason is shown."""

from pathlib import Path

import pytest
from edgebench_example_board.device import meter

from edgebench.testing import ProbeContract


class TestExampleBoardMeter(ProbeContract):
    """Each test of it names what is wrong, and the fix."""

    probe = "example-board-meter"


def write(path: Path, busy: int, idle: int) -> str:
    """A made /proc/stat, in ticks."""
    path.write_text(f"cpu  {busy} 0 0 {idle} 0 0 0 0 0 0\n")
    return str(path)


def test_a_busy_processor_takes_more(tmp_path: Path) -> None:
    """From the ticks of a made /proc/stat: the figures are known beforehand."""
    opened = meter.open_probe(write(tmp_path / "stat", 100, 1000))
    write(tmp_path / "stat", 100, 1100)
    assert opened._sample() == pytest.approx(1.0)
    write(tmp_path / "stat", 150, 1150)
    assert opened._sample() == pytest.approx(2.0)
    write(tmp_path / "stat", 250, 1150)
    assert opened._sample() == pytest.approx(3.0)
    assert opened._sample() == pytest.approx(3.0)  # no tick since
