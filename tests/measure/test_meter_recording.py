"""The figures of a recording, from samples that are known."""

import numpy as np
import pytest

from edgebench.measure.meter_recording import MeterState, Recording, newest_power
from edgebench.vocabulary.probe import Channel, ProbeChunk, ProbeInfo

S = 1_000_000_000


def recording(at_s, values, quantity="power", unit="W", rate_hz=10.0):
    """One whose samples come in two chunks."""
    channels = (Channel("in", quantity, unit, total=True), Channel("gpu_clock", "clock", "MHz"))
    info = ProbeInfo("ina", "0", rate_hz, "1 mW", "module", channels)
    stamps, column = (5 * S + np.array(at_s) * S).astype(np.int64), np.array(values, float)
    halves = [slice(0, len(stamps) // 2), slice(len(stamps) // 2, None)]
    chunks = [
        ProbeChunk("ina:0", stamps[part], {"in": column[part], "gpu_clock": column[part]}) for part in halves
    ]
    return Recording(MeterState("ina:0", info), tuple(chunk for chunk in chunks if len(chunk.stamps_ns)))


def test_energy_is_the_trapezoid_between_the_first_sample_and_the_last():
    at_s = np.arange(101) / 10
    recorded = recording(at_s, at_s)  # from 0 to 10 W in 10 s
    [rail] = recorded.rails()
    assert recorded.duration_s == pytest.approx(10.0)
    assert (rail["mean_w"], rail["peak_w"], rail["energy_j"]) == pytest.approx((5.0, 10.0, 50.0))
    assert (rail["samples"], rail["total"], rail["rate_hz"]) == (101, True, 10.0)
    assert (rail["effective_hz"], rail["longest_gap_s"]) == pytest.approx((10.0, 0.1))
    assert rail["reason"] == ""


def test_a_counter_of_energy_gives_power():
    at_s = np.arange(101) / 10
    [rail] = recording(at_s, 2000.0 * at_s, "energy", "mJ").rails()
    assert (rail["mean_w"], rail["peak_w"]) == pytest.approx((2.0, 2.0))
    assert rail["samples"] == 100


@pytest.mark.parametrize(
    ("quantity", "unit", "values"),
    [("power", "mW", [1000.0, 1000.0, 3000.0, 5000.0]), ("energy", "J", [0.0, 1.0, 4.0, 9.0])],
)
def test_the_newest_power_is_that_of_the_fresh_samples(quantity, unit, values):
    """Of a counter the first of their intervals begins with the last sample before them."""
    recorded = recording([0, 1, 2, 3], values, quantity, unit)
    earlier, fresh = recorded.chunks
    info = recorded.state.info
    assert info is not None
    newest = newest_power(info, [earlier], [fresh])
    assert newest is not None
    assert newest == ("in", 4.0)


def test_there_is_no_newest_power_without_a_number():
    recorded = recording([0, 1], [1.0, np.nan])
    assert recorded.state.info is not None
    assert newest_power(recorded.state.info, recorded.chunks[:1], recorded.chunks[1:]) is None


def test_a_hole_leaves_rate_and_gap_and_no_mean():
    at_s = [at for at in np.arange(101) / 10 if not 2.0 < at < 6.0]
    [rail] = recording(at_s, np.ones(len(at_s))).rails()
    assert (rail["mean_w"], rail["energy_j"]) == (None, None)
    assert "hole" in rail["reason"]
    assert rail["longest_gap_s"] == pytest.approx(4.0)
    assert rail["effective_hz"] == pytest.approx((len(at_s) - 1) / 10)


def test_samples_that_are_no_numbers_are_none():
    at_s = np.arange(101) / 10
    [rail] = recording(at_s, np.where(np.arange(101) % 2, np.nan, 3.0)).rails()
    assert (rail["samples"], rail["mean_w"]) == (51, pytest.approx(3.0))


@pytest.mark.parametrize("samples", [0, 1])
def test_without_two_samples_there_are_no_figures(samples):
    recorded = recording(np.arange(samples), np.ones(samples))
    [rail] = recorded.rails()
    assert recorded.duration_s == 0.0
    assert rail["reason"] == f"{samples} samples"
    assert [rail[name] for name in ("mean_w", "peak_w", "energy_j", "effective_hz", "longest_gap_s")] == [
        None
    ] * 5
