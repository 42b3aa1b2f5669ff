"""The figures of a recording, from samples that are known."""

from dataclasses import replace

import numpy as np
import pytest

from edgebench.errors import UnavailableError
from edgebench.records.session import Channel, ProbeChunk, ProbeInfo
from edgebench.run.measuring.meter_recording import RecordedFigures, Recording
from tests.sample_tables import figures_of

S = 1_000_000_000
POWER = Channel("in", "power", "W")


def recording(at_s, values, quantity="power", unit="W", rate_hz=10.0):
    """One whose samples come in two chunks."""
    channels = (Channel("in", quantity, unit, total=True), Channel("gpu_clock", "clock", "MHz"))
    info = ProbeInfo("ina", "0", rate_hz, "1 mW", "module", channels)
    stamps, column = (5 * S + np.array(at_s) * S).astype(np.int64), np.array(values, float)
    halves = [slice(0, len(stamps) // 2), slice(len(stamps) // 2, None)]
    chunks = [
        ProbeChunk("ina:0", stamps[part], {"in": column[part], "gpu_clock": column[part]}) for part in halves
    ]
    return Recording("ina:0", info, figures_of(chunks, info))


def test_energy_is_the_trapezoid_between_the_first_sample_and_the_last():
    at_s = np.arange(101) / 10
    recorded = recording(at_s, at_s)  # from 0 to 10 W in 10 s
    [rail] = recorded.rails()
    assert recorded.figures.duration_s == pytest.approx(10.0)
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
def test_the_newest_power_is_that_of_the_newest_chunk(quantity, unit, values):
    """Of a counter the first of their intervals begins with the last sample before them."""
    figures = RecordedFigures([Channel("in", quantity, unit)])
    stamps, column = S * np.arange(4), np.array(values)
    figures.add(ProbeChunk("ina:0", stamps[:2], {"in": column[:2]}))
    assert figures.add(ProbeChunk("ina:0", stamps[2:], {"in": column[2:]})) == ("in", 4.0)


def test_there_is_no_newest_power_without_a_number():
    figures = RecordedFigures([POWER])
    assert figures.add(ProbeChunk("ina:0", np.array([S]), {"in": np.array([np.nan])})) is None
    assert figures.add(ProbeChunk("ina:0", np.array([], np.int64), {"in": np.array([])})) is None
    assert (figures.readings, figures.duration_s) == (0, 0.0)


@pytest.mark.attack("every reading of a meter is rejected: recording it is an error with the first of them")
def test_a_recording_without_a_reading_is_an_error():
    recorded = recording([0, 1], [np.nan, np.nan])
    assert recorded.info is not None
    info = replace(recorded.info, rejected=2, rejected_first=("in=-1.0",))
    with pytest.raises(UnavailableError) as caught:
        replace(recorded, info=info).require_readings()
    assert "2 readings were rejected, the first was 'in=-1.0'" in caught.value.why
    with pytest.raises(UnavailableError) as caught:
        recording([], []).require_readings()
    assert "no sample came" in caught.value.why
    assert recording([0], [1.0]).require_readings().kind == "ina"


def test_a_hole_leaves_rate_and_gap_and_no_mean():
    at_s = [at for at in np.arange(101) / 10 if not 2.0 < at < 6.0]
    [rail] = recording(at_s, np.ones(len(at_s))).rails()
    assert (rail["mean_w"], rail["energy_j"]) == (None, None)
    assert "hole" in rail["reason"]
    assert rail["longest_gap_s"] == pytest.approx(4.0)
    assert rail["effective_hz"] == pytest.approx((len(at_s) - 1) / 10)


@pytest.mark.attack(
    "a meter is lost during a recording: the time without readings has no energy, and is reported"
)
@pytest.mark.parametrize(
    ("lost_s", "has_energy", "without"), [((2.5, 14.0), True, "11.5 s"), ((2.5, 9.0), False, "6.6 s")]
)
def test_the_time_without_readings_has_no_energy(lost_s, has_energy, without):
    at_s = [at for at in np.arange(141) / 10 if not lost_s[0] < at <= lost_s[1]]
    recorded = replace(recording(at_s, np.full(len(at_s), 2.0)), recorded_s=14.0, outage="ina:0 was lost: x")
    [rail] = recorded.rails()
    assert rail["read_s"] == pytest.approx(14.0 - float(without[:-2]))
    assert rail["energy_j"] == (pytest.approx(2 * 2.5) if has_energy else None)
    assert f"no energy of {without} of the 14 s recorded" in rail["reason"]
    assert "was lost" in rail["reason"]
    [whole] = replace(recording(np.arange(141) / 10, np.ones(141)), recorded_s=14.2).rails()
    assert whole["reason"] == ""


def test_samples_that_are_no_numbers_are_none():
    at_s = np.arange(101) / 10
    [rail] = recording(at_s, np.where(np.arange(101) % 2, np.nan, 3.0)).rails()
    assert (rail["samples"], rail["mean_w"]) == (51, pytest.approx(3.0))


@pytest.mark.parametrize("samples", [0, 1])
def test_without_two_samples_there_are_no_figures(samples):
    recorded = recording(np.arange(samples), np.ones(samples))
    [rail] = recorded.rails()
    assert recorded.figures.duration_s == 0.0
    assert rail["reason"] == f"{samples} samples"
    assert [rail[name] for name in ("mean_w", "peak_w", "energy_j", "effective_hz", "longest_gap_s")] == [
        None
    ] * 5
