import numpy as np
import pandas as pd
import pytest

from edgebench.judge.power.rails import power_of_sessions
from edgebench.judge.steady_time import steady_times
from tests.judge.test_power_rails import S, _probe, _record, _samples
from tests.judge.trials import metered, verdict
from tests.sample_tables import rows_of_frame


def _rows(spans_s, due_s=None, period_s=0.0, session=0, worker=0):
    spans_ns = np.round(np.asarray(spans_s) * 1e9).astype(np.int64)
    rows = pd.DataFrame(
        {
            "session": session,
            "worker": worker,
            "phase": "steady",
            "start_ns": spans_ns[:, 0],
            "end_ns": spans_ns[:, 1],
            "patches": 400,
        }
    )
    if due_s is not None:
        due_ns = np.round(np.asarray(due_s) * 1e9).astype(np.int64)
        rows["due_ns"] = pd.array(due_ns, dtype="Int64")
        rows["lateness_ns"] = pd.array(spans_ns[:, 1] - due_ns - round(period_s * 1e9), dtype="Int64")
    return rows


def _seconds(time):
    return (time.spans_ns / 1e9).tolist()


def test_passes_stand_apart_and_what_overlaps_is_one():
    warm_up = _rows([[0, 1]]).assign(phase="warmup")
    passes = pd.concat([warm_up, _rows([[2, 3], [3.1, 4], [4, 5]]), _rows([[4.5, 6], [7, 8]], worker=1)])
    times = steady_times([_record(0), _record(1)], rows_of_frame(passes), {0: 5.0})
    assert _seconds(times[0]) == [[2, 3], [3.1, 6], [7, 8]]
    assert times[0].images == 5.0
    assert _seconds(times[1]) == [[2, 12]]  # of which only its window is known
    assert steady_times([_record(2, windows_ns={})], rows_of_frame(passes), {}) == {}


def test_a_cycle_has_its_pause_the_last_one_too():
    due = 2.0 + np.arange(10)
    rows = _rows(np.stack((due, due + 0.3), axis=1), due, 1.0)
    time = steady_times([_record(0)], rows_of_frame(rows), {0: 10.0})[0]
    assert _seconds(time) == [[2, 12]]
    assert (time.images, time.seen_until(12 * S)) == (10.0, time)
    shorter = time.seen_until(11 * S + 300_000_000)
    assert (_seconds(shorter), shorter.images) == ([[2, 11]], 9.0)
    late = steady_times([_record(0)], rows_of_frame(_rows([[2, 2.3], [3, 5]], [2, 3], 1.0)), {0: 2.0})[0]
    assert _seconds(late) == [[2, 5]]
    only = steady_times([_record(0)], rows_of_frame(_rows([[2, 2.3]], [2], 1.0)), {0: 1.0})[0]
    assert only.seen_until(2 * S) is only


@pytest.mark.parametrize(
    ("period_s", "until_s", "mean_w", "energy_j"),
    [(None, 13, 5.0, 1.5), (1.0, 13, 0.3 * 5.0 + 0.7 * 0.5, 1.85), (1.0, 11.35, 1.85, 1.85)],
)
def test_energy_is_that_of_the_passes_or_of_the_cycles(period_s, until_s, mean_w, energy_j):
    due = 2.0 + np.arange(10)
    spans = np.stack((due, due + 0.3), axis=1)
    rows = _rows(spans) if period_s is None else _rows(spans, due, period_s)

    def load(at_s):
        within = np.searchsorted(spans.ravel() - 1e-9, at_s, side="right") % 2 == 1
        return np.where(within, 5.0, 0.5)

    record = _record(
        0, [_probe(rate_hz=1.0)], windows_ns={"idle": (0, 2 * S), "steady": (2 * S, 11_300_000_000)}
    )
    samples = _samples(load, rate_hz=1000.0)
    times = steady_times([record], rows_of_frame(rows), {0: 10.0})
    until = rows_of_frame(samples[samples["t_ns"] < until_s * 1e9])
    [power] = power_of_sessions([record], lambda: until, times)
    energy, net = power.estimates["energy_j"], power.estimates["net_energy_j"]
    assert power.estimates["power_mean_w"].value == pytest.approx(mean_w, rel=2e-3)
    assert energy.value == pytest.approx(energy_j, rel=2e-3)
    net_j = energy_j - 0.5 * (0.3 if period_s is None else 1.0)
    assert net.value == pytest.approx(net_j, rel=2e-3)
    assert energy.low < energy_j < energy.high or period_s is None
    assert (power.estimates["power_peak_w"].value, power.rail.uncovered) == (5.0, "")
    whole_periods = "mean and energy are those of whole periods of 1 s, pauses included"
    assert power.rail.reason == ("" if period_s is None else whole_periods)
    assert power.rail.effective_hz == pytest.approx(1000.0, rel=1e-3)  # whatever it states


def test_mean_power_that_holds_pauses_passes_no_limit_that_the_passes_may_miss():
    """4 W in passes of 17 ms, 1 W in pauses of 10 ms, by a meter whose readings are means over 50 ms."""
    starts = 2.0 + 0.027 * np.arange(370)
    spans = np.stack((starts, starts + 0.017), axis=1)
    records, samples, rows = [], [], []
    for n in range(3):
        at_s = np.arange(-1, 13, 0.001)
        watts = np.where(np.searchsorted(spans.ravel(), at_s, side="right") % 2 == 1, 4.0 + 0.01 * n, 1.0)
        means = np.convolve(watts, np.ones(50) / 50)[: len(at_s)]
        samples.append(_samples(lambda times_s, means=means: means[::50], n=n, rate_hz=20.0))
        windows = {"idle": (0, 2 * S), "steady": (2 * S, 12 * S)}
        records.append(_record(n, [{**_probe(rate_hz=20.0), "averaging_ms": 50.0}], windows_ns=windows))
        rows.append(_rows(spans, session=n))
    times = steady_times(records, rows_of_frame(pd.concat(rows)), dict.fromkeys(range(3), 370.0))
    frame = rows_of_frame(pd.concat(samples))
    [power] = power_of_sessions(records, lambda: frame, times)
    mean = power.estimates["power_mean_w"]
    assert mean.value == pytest.approx(2.89, abs=0.02)
    assert power.rail.pauses == pytest.approx(0.37, abs=0.001)
    assert mean.low is not None and mean.low > 2.8
    assert mean.high is not None and mean.high > 2.89 / 0.63  # nothing drawn in the pauses
    measured = metered([power])
    judged = verdict(measured, quantity="power_mean_w", limit=3)
    assert judged.word == "inconclusive"
    assert judged.reason.startswith("the limit is inside the 95 % interval; ")
    assert "up to 37.0% of the time: its upper bound is raised by what they can hide" in judged.reason
    passed = verdict(measured, quantity="power_mean_w", limit=5)
    assert (passed.word, "what they can hide" in passed.reason) == ("pass", True)
    assert verdict(measured, quantity="power_mean_w", limit=2.5).word == "fail"
