"""Intervals of what was timed by a coarse clock: never narrower than one tick on each side."""

import json
from dataclasses import replace
from typing import Any

import pytest

import edgebench
from edgebench.judge.mission import load_figure, mission_of
from edgebench.judge.schedule import Schedule
from edgebench.judge.summarise import summarise
from edgebench.stats.compare import compare
from tests.backends.replaying import replay, scenario
from tests.fit.summaries import STEADY, summary, verdict
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
    coarse = summary(sessions, ticks=TICKS)
    for limit, word in ((0.295, "fail"), (0.305, "pass")):
        assert verdict(summary(sessions), limit=limit, **requirement).verdict == word
        assert verdict(coarse, limit=limit, **requirement).verdict == "inconclusive"
    assert verdict(coarse, limit=0.28, **requirement).verdict == "fail"
    judged = verdict(coarse, limit=0.311, **requirement)
    assert judged.verdict == "pass"
    assert (judged.low, judged.high) == pytest.approx((0.29, 0.31))


def test_an_interval_that_is_wider_stays():
    fine, coarse = (verdict(summary(STEADY, ticks=ticks), limit=2) for ticks in ({}, {"image_s": 1e-6}))
    assert (fine.low, fine.high) == (coarse.low, coarse.high)


def test_start_and_load_and_what_a_schedule_makes_hold_a_tick():
    trial = summary(EQUAL, load_s_values=(0.2, 0.2, 0.2), ticks=TICKS)
    assert verdict(trial, quantity="load_s", limit=0.205).verdict == "inconclusive"
    schedule = Schedule(cycle_s=10.0, images=10)
    load = load_figure(trial, schedule)
    assert (load.low, load.value, load.high) == pytest.approx((0.29, 0.3, 0.31))
    figures = mission_of(trial, "", schedule, cycles=3, seed=0).figures
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
    [fine] = summarise(made)
    assert fine.ticks == {}
    [coarse] = summarise(with_tick(made, 40_000_000))
    assert (coarse.ticks["image_s"], coarse.ticks["request_ms"]) == pytest.approx((0.04, 40.0))
    for interval in (coarse.image_s, coarse.infer_s):
        assert interval and interval.low is not None and interval.high is not None
        sides = interval.median - interval.low, interval.high - interval.median
        assert min(sides) == pytest.approx(0.04)


def test_a_windows_tick_is_divided_by_its_inferences_and_multiplied_by_the_patches(session_cache, tmp_path):
    path = scenario(tmp_path, "windows = { inferences = 50 }\n")
    results = replay(session_cache, tmp_path, path, meter=None, sessions=3, passes=3)
    [trial] = summarise(with_tick(results, 1_000_000))
    assert trial.ticks["infer_s"] == pytest.approx(1e-3 / 50 * 6)


def test_a_verdict_of_several_workers_holds_a_tick():
    worker = {"image_s": {"median": 0.3}, "medians_s": (0.3, 0.3, 0.3), "variant": "v"}
    workers = tuple({**worker, "worker": number} for number in range(2))
    trial = replace(summary(EQUAL), workers=workers, sharing=object(), ticks=TICKS)
    assert verdict(trial, quantity="image_s", limit=0.305).verdict == "inconclusive"
    assert verdict(trial, quantity="image_s", limit=0.311).verdict == "pass"
