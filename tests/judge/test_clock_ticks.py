"""Intervals of what was timed by a coarse clock: never narrower than one tick on each side."""

import json
from dataclasses import replace
from typing import Any

import pytest

import edgebench
from edgebench.judge.metrics import METRICS
from edgebench.judge.mission import mission_of
from edgebench.judge.requirements.schedule import Schedule
from edgebench.judge.sessions import over_values
from edgebench.judge.trial import Conditions, EstimateKey, Worker
from edgebench.judge.trials import trials_of
from edgebench.stats.compare import compare
from tests.backends.replaying import replay, scenario
from tests.judge.trials import STEADY, trial, verdict
from tests.synthetic_results import QUARTER, made_experiment, write_record

EQUAL = ((0.3, 0.3), (0.3, 0.3), (0.3, 0.3))
TICKS = {"image_s": 0.01, "infer_s": 0.01, "load_s": 0.01}


def with_tick(results, tick_ns):
    """The result as if its sessions had recorded that tick."""
    for path in results.path.glob("trials/*/sessions/*/session.json"):
        write_record(path, {**json.loads(path.read_text()), "tick_ns": tick_ns})
    return edgebench.load(results.path)


@pytest.mark.parametrize("statistic", ["median", "max"])
def test_equal_sessions_decide_no_limit_within_a_tick(statistic):
    requirement: dict[str, Any] = {"quantity": "image_s", "statistic": statistic}
    sessions = EQUAL if statistic == "median" else ((0.3,) * 40,) * 9
    coarse = trial(sessions, ticks=TICKS)
    for limit, word in ((0.295, "fail"), (0.305, "pass")):
        assert verdict(trial(sessions), limit=limit, **requirement).word == word
        assert verdict(coarse, limit=limit, **requirement).word == "inconclusive"
    assert verdict(coarse, limit=0.28, **requirement).word == "fail"
    judged = verdict(coarse, limit=0.311, **requirement)
    assert judged.word == "pass"
    assert (judged.estimate.low, judged.estimate.high) == pytest.approx((0.29, 0.31))


def test_an_interval_that_is_wider_stays():
    fine, coarse = (
        verdict(trial(STEADY, ticks=ticks), limit=2).estimate for ticks in ({}, {"image_s": 1e-6})
    )
    assert (fine.low, fine.high) == (coarse.low, coarse.high)


def test_start_and_load_and_what_a_schedule_makes_hold_a_tick():
    coarse = trial(EQUAL, values={"load_s": ((0.2,), (0.2,), (0.2,))}, ticks=TICKS)
    assert verdict(coarse, quantity="load_s", limit=0.205).word == "inconclusive"
    schedule = Schedule(cycle_s=10.0, images=10)
    metric = METRICS["load"]
    [load] = metric.estimates(coarse, metric, Conditions("mean", schedule=schedule))
    assert (load.low, load.value, load.high) == pytest.approx((0.29, 0.3, 0.31))
    figures = mission_of(coarse, "", schedule, cycles=3, seed=0).estimates
    for name, ends in (("age_s", (0.29, 0.31)), ("duty_cycle", (0.29, 0.31))):
        assert (figures[name].low, figures[name].high) == pytest.approx(ends)


def test_a_difference_of_a_tick_is_none():
    a, b = (0.30,) * 5, (0.31,) * 5
    assert compare(a, b, lower_is_better=True).word == "worse"
    coarse = compare(a, b, lower_is_better=True, ticks=0.01 / 0.3 + 0.01 / 0.31)
    assert (coarse.word, coarse.p) == ("undecided", 1.0)
    assert coarse.low is not None and coarse.high is not None
    assert coarse.low < 1 < coarse.ratio < coarse.high
    assert compare(a, (0.4,) * 5, lower_is_better=True, ticks=0.06).word == "worse"


def test_passes_have_the_tick_of_their_sessions_clock(tmp_path):
    made = edgebench.load(made_experiment(tmp_path, variants=QUARTER[:1]))
    [fine] = trials_of(made)
    assert fine.ticks == {}
    [coarse] = trials_of(with_tick(made, 40_000_000))
    assert (coarse.ticks["image_s"], coarse.ticks["request_ms"]) == pytest.approx((0.04, 40.0))
    for estimate in map(coarse.estimate, ("image_s", "infer_s")):
        assert estimate.value is not None and estimate.low is not None and estimate.high is not None
        sides = estimate.value - estimate.low, estimate.high - estimate.value
        assert min(sides) == pytest.approx(0.04)


def test_a_windows_tick_is_divided_by_its_inferences_and_multiplied_by_the_patches(session_cache, tmp_path):
    path = scenario(tmp_path, "windows = { inferences = 50 }\n")
    results = replay(session_cache, tmp_path, path, meter=None, sessions=3, passes=3)
    [trial] = trials_of(with_tick(results, 1_000_000))
    assert trial.ticks["infer_s"] == pytest.approx(1e-3 / 50 * 6)


def test_a_verdict_of_several_workers_holds_a_tick():
    workers = tuple(Worker(number, "v", "", ()) for number in range(2))
    keys = [EstimateKey("image_s", "median", number) for number in range(2)]
    shared = trial(
        None,
        workers=workers,
        estimates={key: over_values(EQUAL, "passes", "median") for key in keys},
        ticks=TICKS,
    )
    shared = replace(shared, values=dict.fromkeys(keys, EQUAL))
    assert verdict(shared, quantity="image_s", limit=0.305).word == "inconclusive"
    assert verdict(shared, quantity="image_s", limit=0.311).word == "pass"
