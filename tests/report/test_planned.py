"""What a dry run prints."""

import io
import json
from dataclasses import replace

import pytest
from rich.console import Console

from edgebench.prepare.cache import Cache
from edgebench.report.listings.planned import forecast_notes, planned_json, print_planned
from edgebench.run.cost import Spread, costs_of, meter_notes, note_cost, note_spread
from edgebench.run.estimate import Cost
from tests.plan.test_cost import made_plan, note_all


@pytest.fixture
def cache(tmp_path):
    return Cache(tmp_path)


def printed(plan, cache):
    out = io.StringIO()
    print_planned(Console(file=out, width=80), plan, costs_of(plan, cache))
    text = out.getvalue()
    assert all(len(line) <= 80 for line in text.splitlines())
    return text


def test_a_plain_plan_says_what_its_sessions_do_not_resolve(cache):
    text = printed(made_plan(), cache)
    assert "sessions" not in text.splitlines()[0]
    assert "2 trials, 5 sessions of 2 passes each" in text
    assert "5 sessions will not narrow the interval of image_s to ±1 %: about 18 will" in text
    assert "2 % between sessions is assumed" in text
    assert [line.split()[3] for line in text.splitlines() if "mobilenet" in line] == ["unknown"] * 2
    assert "6 patches a pass: time unknown" in text
    assert "unknown: no such trial was measured on t0 yet; a run says" in " ".join(text.split())


def test_times_say_where_they_are_from(cache):
    plan = made_plan()
    note_cost(cache, plan.trials[0].inputs, Cost(0.01, 0.5, warmup_batches=34))
    text = printed(plan, cache)
    measured, scaled = (line.split()[3] for line in text.splitlines() if "mobilenet" in line)
    assert measured == "0:05" and scaled.startswith("~")
    assert "times are what sessions took when they were last measured from here" in text
    assert "~ scaled by multiply-accumulates" in text and "unknown" not in text
    note_all(cache, plan)
    text = printed(plan, cache)
    assert "a pass: about 0:10, preparation not included" in " ".join(text.split())
    assert "~ scaled" not in text and "times are what sessions took" in text


def test_what_pace_alone_takes_is_known_of_any_target(cache):
    plan = made_plan(sustained_s=600.0)
    text = printed(plan, cache)
    assert "at least 50:00" in text  # a trial's five sessions
    assert "10 minutes of passes each, 6 patches a pass: at least 1:40:00" in " ".join(text.split())


def test_a_plain_plan_that_will_do_says_so_only_where_it_is_asked(cache):
    plan = made_plan()
    for trial in plan.trials:
        note_spread(cache, trial.inputs, Spread(0.002, 20))
    assert "5 sessions will narrow the interval of image_s to ±1 %" in printed(plan, cache)
    assert forecast_notes(plan, costs_of(plan, cache)) == []


def test_a_target_has_its_sessions_and_both_times(cache):
    plan = made_plan(sessions=30, target_ci=0.015, max_time_s=5400.0)
    note_all(cache, plan)
    note_spread(cache, plan.trials[0].inputs, Spread(0.01, 20))
    text = printed(plan, cache)
    assert "sessions" in text.splitlines()[0]
    rows = [line.split() for line in text.splitlines() if "mobilenet" in line]
    measured, assumed = (row[3] for row in rows)
    assert not measured.startswith("~") and assumed.startswith("~")
    assert int(measured) < int(assumed[1:]) < 30
    rule = "a trial ends at a half-width of 1.5 % of image_s, from 12 sessions on"
    assert rule in " ".join(text.split())
    assert "no session starts after 1 h 30 min of measuring" in text
    assert "about 0:" in " ".join(text.split()) and ", at most 1:0" in " ".join(text.split())


def test_what_verdicts_take_nobody_knows(cache):
    plan = made_plan(sessions=30, decide=True)
    text = printed(plan, cache)
    assert "3 to 30" in text
    rule = "settled, from 3 sessions on; before 12 only with margins above 10 % of the limits"
    assert rule in " ".join(text.split())
    assert "resolve" not in text
    assert "at most 30 sessions" in text


def test_the_document_has_the_same(cache):
    plan = made_plan(sessions=30, target_ci=0.02)
    unknown = json.loads(planned_json(plan, costs_of(plan, cache)))
    for entry in (unknown["plan"], *unknown["trials"]):
        assert (entry["estimated_s"], entry["estimated_least_s"]) == (None, 0.0)
    assert unknown["plan"]["at_most_s"] is None
    assert {trial["estimate_basis"] for trial in unknown["trials"]} == {"unknown"}
    note_all(cache, plan)
    document = json.loads(planned_json(plan, costs_of(plan, cache)))
    assert document["schema_version"] == 1
    assert (document["plan"]["target_ci"], document["plan"]["forecast_for"]) == (0.02, 0.02)
    assert document["plan"]["estimated_s"] < document["plan"]["at_most_s"]
    for trial in document["trials"]:
        assert (trial["sessions_needed"], trial["expected_sessions"]) == (9, 12)
        assert (trial["spread"], trial["spread_measured"], trial["resolves"]) == (0.02, False, "yes")


def metered(plan, *meters, **more):
    target = replace(plan.trials[0].target, meters=meters, **more)
    return replace(plan, trials=tuple(replace(trial, target=target) for trial in plan.trials))


def test_what_a_slow_meter_adds_is_said(cache):
    plan = metered(made_plan(), "um25c:/dev/ttyUSB0", "fnb58")
    text = " ".join(printed(plan, cache).split())
    lengthened = "the steady part of each session is lengthened to 55 s for um25c at 2 Hz:"
    assert f"{lengthened} at most 9:10 more in all" in text  # ten sessions, nothing known of a pass
    idles = "each session idles for 50 s before its passes and again after them for um25c at 2 Hz:"
    assert f"{idles} 16:40 in all" in text
    note_all(cache, plan)
    without = made_plan()
    note_all(cache, without)
    costs = costs_of(plan, cache)
    assert f"{lengthened} about 9:09 more in all" in " ".join(printed(plan, cache).split())
    extra_s = costs[0].span(1).most_s - costs_of(without, cache)[0].span(1).most_s
    bursts_s = costs[0].shape.bursts_s  # of a meter on this machine
    settling_s = 2 * (1.0 + 1 / 2)  # before each idle window: 1 s and a period of the slowest meter
    assert extra_s == pytest.approx(100.0 + settling_s + bursts_s + 55.0 - 2 * 0.06, abs=0.08)
    [entry, _] = json.loads(planned_json(plan, costs))["trials"]
    assert (entry["idle_window_s"], entry["least_steady_s"]) == (50.0, pytest.approx(55.0))


def test_what_lasts_long_enough_for_its_meter_is_not_lengthened(cache):
    long_enough = metered(made_plan(period_s=30.0), "nvml")
    assert meter_notes(costs_of(long_enough, cache)) == [
        "each session idles for 10 s before its passes and again after them for nvml at 10 Hz: 3:20 in all"
    ]
    preferring = metered(made_plan(), preferred_meters=("tegrastats",))
    [steady, _] = meter_notes(costs_of(preferring, cache))
    assert "to 5.5 s for tegrastats at 20 Hz, where it can be read: at most 0:55 more" in steady
    assert meter_notes(costs_of(metered(made_plan(), "csv:power.csv"), cache)) == []


def test_a_period_that_a_pass_is_longer_than_is_said(cache):
    plan = made_plan(period_s=0.05, decide=True)
    assert "too short" not in printed(plan, cache)
    note_cost(cache, plan.trials[0].inputs, Cost(0.01, 0.5, warmup_batches=34))
    [note] = forecast_notes(plan, costs_of(plan, cache))
    assert note.startswith("a period of 0.05 s is too short: a pass takes about 0.06 to ")
    note_cost(cache, plan.trials[1].inputs, Cost(0.002, 0.5, warmup_batches=34))
    text = " ".join(printed(plan, cache).split())
    assert "a period of 0.05 s is too short for 1 of 2 trials: a pass takes 0.06 s, so that it misses" in text
    document = json.loads(planned_json(plan, costs_of(plan, cache)))
    assert [trial["estimated_pass_s"] for trial in document["trials"]] == pytest.approx([0.06, 0.012])
    roomy = replace(plan, period_s=0.06)
    assert forecast_notes(roomy, costs_of(roomy, cache)) == []
