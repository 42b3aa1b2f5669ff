"""What a dry run prints."""

import io
import json
from dataclasses import replace

import pytest
from rich.console import Console

from edgebench.cache.objects import Cache
from edgebench.plan.cost import costs_of
from edgebench.plan.estimate import Cost
from edgebench.plan.known_costs import note_cost
from edgebench.plan.spread import Spread, note_spread
from edgebench.report.planned import forecast_notes, planned_json, print_planned
from tests.plan.test_cost import made_plan, note_all


@pytest.fixture
def cache(tmp_path):
    return Cache(tmp_path)


def printed(plan, cache):
    out = io.StringIO()
    print_planned(Console(file=out, width=80), plan, costs_of(plan, cache, 2.0))
    text = out.getvalue()
    assert all(len(line) <= 80 for line in text.splitlines())
    return text


def test_a_plain_plan_says_what_its_sessions_do_not_resolve(cache):
    text = printed(made_plan(), cache)
    assert "sessions" not in text.splitlines()[0]
    assert "2 trials, 5 sessions of 2 passes each" in text
    assert "5 sessions will not resolve 1 % of image_s: about 18 will" in text
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
    assert "5 sessions will resolve 1 % of image_s" in printed(plan, cache)
    assert forecast_notes(plan, costs_of(plan, cache, 0.0)) == []


def test_a_target_has_its_sessions_and_both_times(cache):
    plan = made_plan(sessions=30, target_ci=0.02, max_time_s=5400.0)
    note_all(cache, plan)
    note_spread(cache, plan.trials[0].inputs, Spread(0.01, 20))
    text = printed(plan, cache)
    assert "sessions" in text.splitlines()[0]
    rows = [line.split() for line in text.splitlines() if "mobilenet" in line]
    measured, assumed = (row[3] for row in rows)
    assert not measured.startswith("~") and assumed.startswith("~")
    assert int(measured) < int(assumed[1:]) < 30
    assert "a trial ends at a half-width of 2 % of image_s" in text
    assert "no session starts after 1 h 30 min of measuring" in text
    assert "about 0:" in " ".join(text.split()) and ", at most 1:0" in " ".join(text.split())


def test_what_verdicts_take_nobody_knows(cache):
    plan = made_plan(sessions=30, decide=True)
    text = printed(plan, cache)
    assert "3 to 30" in text
    rule = "a trial ends when every verdict that can be settled is settled, from 3 sessions on"
    assert rule in " ".join(text.split())
    assert "resolve" not in text
    assert "at most 30 sessions" in text


def test_the_document_has_the_same(cache):
    plan = made_plan(sessions=30, target_ci=0.02)
    unknown = json.loads(planned_json(plan, costs_of(plan, cache, 0.0)))
    for entry in (unknown["plan"], *unknown["trials"]):
        assert (entry["estimated_s"], entry["estimated_least_s"]) == (None, 0.0)
    assert unknown["plan"]["at_most_s"] is None
    assert {trial["estimate_basis"] for trial in unknown["trials"]} == {"unknown"}
    note_all(cache, plan)
    document = json.loads(planned_json(plan, costs_of(plan, cache, 0.0)))
    assert document["schema_version"] == 1
    assert (document["plan"]["target_ci"], document["plan"]["forecast_for"]) == (0.02, 0.02)
    assert document["plan"]["estimated_s"] < document["plan"]["at_most_s"]
    for trial in document["trials"]:
        assert 3 <= trial["expected_sessions"] == trial["sessions_needed"] < 30
        assert (trial["spread"], trial["spread_measured"], trial["resolves"]) == (0.02, False, "yes")


def test_a_period_that_a_pass_is_longer_than_is_said(cache):
    plan = made_plan(period_s=0.05, decide=True)
    assert "too short" not in printed(plan, cache)
    note_cost(cache, plan.trials[0].inputs, Cost(0.01, 0.5, warmup_batches=34))
    [note] = forecast_notes(plan, costs_of(plan, cache, 0.0))
    assert note.startswith("a period of 0.05 s is too short: a pass takes about 0.06 to ")
    note_cost(cache, plan.trials[1].inputs, Cost(0.002, 0.5, warmup_batches=34))
    text = " ".join(printed(plan, cache).split())
    assert "a period of 0.05 s is too short for 1 of 2 trials: a pass takes 0.06 s, so that it misses" in text
    document = json.loads(planned_json(plan, costs_of(plan, cache, 0.0)))
    assert [trial["estimated_pass_s"] for trial in document["trials"]] == pytest.approx([0.06, 0.012])
    roomy = replace(plan, period_s=0.06)
    assert forecast_notes(roomy, costs_of(roomy, cache, 0.0)) == []
