"""What a dry run prints."""

import io
import json

import pytest
from rich.console import Console

from edgebench.prepare.cache import Cache
from edgebench.report.listings.planned import planned_json, print_planned
from edgebench.run.forecast import SessionTimes, forecasts_of, note_times
from tests.plan.test_forecast import made_plan, note_all


@pytest.fixture
def cache(tmp_path):
    return Cache(tmp_path)


def printed(plan, cache):
    out = io.StringIO()
    print_planned(Console(file=out, width=80), plan, forecasts_of(plan, cache))
    text = out.getvalue()
    assert all(len(line) <= 80 for line in text.splitlines())
    return text


def times_of(text):
    return [line.split()[3] for line in text.splitlines() if "mobilenet" in line]


def test_trials_and_sessions_are_listed_and_no_time_is_made_up(cache):
    text = printed(made_plan(), cache)
    assert "2 trials, 5 sessions of 2 passes each, 6 patches a pass" in text
    assert "10 sessions; the time is known after the first of each variant" in text
    assert times_of(text) == ["unknown"] * 2
    assert "resolve" not in text and "assumed" not in text


def test_times_are_those_of_earlier_sessions(cache):
    plan = made_plan()
    note_times(cache, plan, plan.trials[0], SessionTimes(2.0, 5.0), None)
    text = printed(plan, cache)
    assert times_of(text) == ["0:13", "unknown"]  # nothing is concluded from one model on another
    assert "10 sessions; the time is known" in text
    note_all(cache, plan)
    text = printed(plan, cache)
    assert times_of(text) == ["0:13", "0:13"] and "10 sessions, about 26 seconds" in text


def test_a_sustained_part_is_described(cache):
    text = printed(made_plan(sustained_s=600.0), cache)
    assert "5 sessions of 10 minutes of passes each, 6 patches a pass" in text


def test_a_target_ends_trials_earlier(cache):
    plan = made_plan(sessions=30, target_ci=0.015, max_time_s=5400.0)
    note_all(cache, plan)
    text = " ".join(printed(plan, cache).split())
    assert "2 trials, at most 30 sessions of 2 passes each" in text
    assert "at most 60 sessions, at most 2 minutes" in text
    assert "a trial ends at a half-width of 1.5 % of image_s, from 12 sessions on" in text
    assert "no session starts after 1 h 30 min of measuring" in text


def test_verdicts_end_trials_earlier(cache):
    text = " ".join(printed(made_plan(sessions=30, decide=True), cache).split())
    assert "settled, from 3 sessions on; before 12 only with margins above 10 % of the limits" in text
    assert "at most 30 sessions" in text


def test_the_document_has_the_same(cache):
    plan = made_plan(sessions=30, target_ci=0.02)
    unknown = json.loads(planned_json(plan, forecasts_of(plan, cache)))
    assert [entry["estimated_s"] for entry in (unknown["plan"], *unknown["trials"])] == [None] * 3
    note_all(cache, plan)
    document = json.loads(planned_json(plan, forecasts_of(plan, cache)))
    assert document["schema_version"] == 1
    assert (document["plan"]["target_ci"], document["plan"]["estimated_s"]) == (0.02, 2 * 63.0)
    for trial in document["trials"]:
        assert (trial["sessions"], trial["estimated_s"], trial["images"]) == (30, 63.0, 4)
        assert trial["estimated_pass_s"] == pytest.approx(0.06)
        assert trial["stated_session_s"] is None
