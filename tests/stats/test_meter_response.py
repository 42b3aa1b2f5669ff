"""How long load stays in a meter's readings, by bursts of load."""

import numpy as np
import pytest

from edgebench.records.session import load_bursts
from edgebench.stats.burst_lag import burst_response
from tests.stats.test_burst_lag import NOW_NS, Bench


def response(bench: Bench, at_s, watts):
    bursts_ns = [(NOW_NS + round(a * 1e9), NOW_NS + round(b * 1e9)) for a, b in bench.bursts_s]
    stamps_ns = NOW_NS + np.round(np.asarray(at_s) * 1e9).astype(np.int64)
    return burst_response(stamps_ns, watts, bursts_ns, round(bench.plan.pauses_s[0] * 1e9))


def held(bench: Bench, averaging_s, hold_s, rate_hz=50.0, noise_w=0.02):
    """Readings that are means of some time, each held until the next is ready."""
    at_s = np.arange(-3.0, bench.bursts_s[-1][1] + 1, 1 / rate_hz)
    ready_s = np.floor(at_s / hold_s) * hold_s if hold_s else at_s
    ready_s, which = np.unique(ready_s, return_inverse=True)
    over_s = max(averaging_s, 1e-6)
    watts = (bench._joules(ready_s) - bench._joules(ready_s - over_s)) / over_s
    return at_s, (watts + bench.rng.normal(0, noise_w, len(watts)))[which]


@pytest.mark.parametrize(
    ("averaging_s", "hold_s"), [(0.422, 0.422), (0.422, 0.0), (0.1, 0.1), (0.02, 0.0), (0.0, 0.0)]
)
def test_averaging_and_holding_are_told_together(averaging_s, hold_s):
    for seed in range(8):
        bench = Bench(load_bursts(50.0), seed)
        measured = response(bench, *held(bench, averaging_s, hold_s))
        assert measured.reach_s is not None, measured.reason
        true_s = averaging_s + hold_s
        # What is left out of a mean at its far end is little of it.
        assert 0.85 * true_s < measured.reach_s < 1.3 * true_s + 0.03
        assert measured.ahead_s < 0.1


def test_stamps_that_are_early_are_told():
    bench = Bench(load_bursts(100.0))
    at_s, watts = held(bench, 0.01, 0.0, rate_hz=100.0)
    measured = response(bench, at_s - 0.2, watts)
    assert measured.reach_s is not None and measured.ahead_s == pytest.approx(0.2, abs=0.05)


@pytest.mark.attack("a meter's readings do not follow the load: how long it stays in them is not known")
@pytest.mark.parametrize(
    ("readings", "words"),
    [
        (lambda at_s: np.random.default_rng(1).normal(3, 1, len(at_s)), "bursts are not in its readings"),
        (lambda at_s: np.full(len(at_s), 3.0), "bursts are not in its readings"),
        (lambda at_s: np.full(len(at_s), np.nan), "0 readings came during the load bursts"),
    ],
)
def test_readings_without_the_bursts_tell_nothing(readings, words):
    bench = Bench(load_bursts(50.0))
    at_s = np.arange(-3.0, bench.bursts_s[-1][1] + 1, 0.02)
    measured = response(bench, at_s, readings(at_s))
    assert measured.reach_s is None and words in measured.reason


def test_load_that_stays_for_longer_than_is_searched_for_is_a_reason():
    bench = Bench(load_bursts(50.0))
    measured = response(bench, *held(bench, 0.02, 0.0))
    assert measured.reach_s is not None
    at_s, watts = held(bench, 0.02, 0.0)
    late = response(bench, at_s + 2.0, watts)
    assert late.reach_s is None and late.reason
