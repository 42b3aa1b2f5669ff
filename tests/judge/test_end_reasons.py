"""Ends of a trial's measuring, from its records."""

from dataclasses import replace

import pytest

from edgebench.judge.requirements.profile import Profile
from edgebench.judge.trial import Estimate, EstimateKey
from edgebench.judge.verdicts.stopping import Rule, with_end
from edgebench.records.stored import Failure, RunRecord
from edgebench.results.listing import is_done
from edgebench.stats.intervals import SPENDING_NAME
from tests.judge.test_cautions import _record
from tests.judge.trials import trial

STARTED = "2025-03-01T12:00:00Z"
EASY = Profile.from_record({"name": "easy", "requirements": [{"name": "it", "limit": 9.0}]})
CLOSE = Profile.from_record({"name": "close", "requirements": [{"name": "it", "limit": 1.001}]})


def run(ended=None, **changes):
    return RunRecord(started_utc=STARTED, ended=ended, **changes)


def measured(sessions, half=0.016, **changes):
    """A trial of so many sessions whose half-width is that share."""
    values = tuple((1.0 + half * (-1) ** n,) for n in range(sessions))
    partial = trial(values or (), **{"status": "partial", "reason": "some are there", **changes})
    low, high = (1.0 - half, 1.0 + half) if sessions >= 3 else (None, None)
    latency = Estimate(1.0, low, high, n=sessions)
    return replace(partial, estimates={**partial.estimates, EstimateKey("image_s", "median"): latency})


def records(ok, *statuses):
    failure = Failure(what="SIGSEGV", stage="load")
    finished = [_record(n) for n in range(ok)]
    return finished + [_record(ok + at, status, failure=failure) for at, status in enumerate(statuses)]


def ended(of_trial, recorded, rule, last=None):
    with_reason = with_end(of_trial, recorded, rule, last)
    assert with_reason.ended is not None
    return with_reason, with_reason.ended


PLAIN = Rule(None, None, 3, 5)
NARROW = Rule(0.01, None, 3, 30)


def test_as_many_as_planned():
    with_reason, end = ended(measured(5, status="done", reason=""), records(5), PLAIN, run("complete"))
    assert (end.by, end.sessions, end.text) == ("sessions", 5, "5 sessions, as planned")
    assert (with_reason.status, with_reason.reason, end.half_width) == ("done", "", pytest.approx(0.016))


def test_a_width_that_was_reached():
    with_reason, end = ended(measured(12, half=0.0079), records(12), NARROW)
    assert (end.by, end.text) == ("rule", "half-width 0.79 % of 1 % asked, after 12 sessions")
    assert (with_reason.status, with_reason.reason) == ("done", "")


def test_a_width_of_too_few_sessions_is_none_that_was_reached():
    _, end = ended(measured(11, half=0.0079), records(11), NARROW, run("time", max_time_s=1800.0))
    assert end.by == "time"
    few = "now 0.79 %, but 1 % ends a trial from 12 sessions on"
    assert end.text == f"time of 30 min over after 11 of at most 30 sessions, {few}"
    _, end = ended(measured(5, half=0.0079), records(5), replace(NARROW, most=5))
    assert (end.by, end.text) == ("most", f"5 sessions, the most allowed, {few}")


def test_verdicts_that_were_settled_and_by_which_rule():
    both = Rule(0.01, (EASY,), 3, 30)
    _, end = ended(measured(3), records(3), both)
    assert end.text == f"every verdict that can be settled is settled, after 3 sessions ({SPENDING_NAME})"
    _, end = ended(measured(12, half=0.001), records(12), both)
    assert end.text.startswith(
        "half-width 0.1 % of 1 % asked and every verdict that can be settled is settled, after 12"
    )


def test_the_most_sessions_without_reaching_it():
    with_reason, end = ended(measured(30, status="done", reason=""), records(30), NARROW, run("complete"))
    assert (end.by, with_reason.status) == ("most", "done")
    assert end.text == "30 sessions, the most allowed, without reaching 1 %: now 1.6 %"
    _, end = ended(measured(30), records(30), Rule(None, (EASY, CLOSE), 3, 30))
    assert end.text == "30 sessions, the most allowed, not settled: close: it"
    assert end.unsettled == ("close: it",)


def test_the_time_that_was_given():
    last = run("time", max_time_s=1800, elapsed_s=1801.5)
    with_reason, end = ended(measured(4), records(4), NARROW, last)
    assert (end.by, with_reason.status, with_reason.reason) == ("time", "done", "")
    assert end.text == ("time of 30 min over after 4 of at most 30 sessions, without reaching 1 %: now 1.6 %")
    with_reason, end = ended(measured(2), records(2), NARROW, last)
    assert with_reason.status == "partial"
    assert with_reason.reason == end.text
    assert end.text.endswith("without reaching 1 %: no interval yet")
    with_reason, end = ended(measured(4), records(4, "crash"), PLAIN, last)
    assert (with_reason.status, with_reason.reason) == (
        "partial",
        "time of 30 min over after 4 of 5 sessions, 1 failed",
    )


def test_time_that_ended_before_the_first_session():
    of_trial = trial((), status="not_run", reason="no session has run")
    with_reason, end = ended(of_trial, [], PLAIN, run("time", max_time_s=90))
    assert (with_reason.status, with_reason.reason) == ("not_run", "time of 90 s over after 0 of 5 sessions")
    assert end.sessions == 0


@pytest.mark.parametrize("last", [None, run(), run("interrupted")])
def test_a_run_that_was_stopped_or_killed(last):
    with_reason, end = ended(measured(4), records(4, "interrupted"), PLAIN, last)
    assert (end.by, end.text) == ("interrupted", "stopped after 4 of 5 sessions")
    assert (with_reason.status, with_reason.reason) == ("partial", "some are there")
    with_reason, end = ended(measured(4), records(4), NARROW, last)
    assert (with_reason.status, with_reason.reason) == ("partial", "stopped after 4 of at most 30 sessions")


@pytest.mark.parametrize("statuses", [("crash", "timeout"), ("golden_mismatch",)])
def test_sessions_that_failed_again_and_again(statuses):
    with_reason, end = ended(measured(3), records(3, *statuses), NARROW, run("time", max_time_s=5))
    assert (end.by, with_reason.status) == ("failures", "partial")
    assert end.text == "given up after sessions that failed, with 3 of at most 30 sessions"
    assert with_reason.reason.endswith(f", {len(statuses)} failed")


def test_a_failure_that_was_not_repeated():
    _, end = ended(measured(4), records(4, "crash"), PLAIN, run("complete"))
    assert end.by == "failures"


@pytest.mark.parametrize(
    ("last", "statuses", "done"),
    [
        (run("complete", settled=("0123456789abcdef",)), ("ok",) * 4, True),
        (run("complete"), ("ok",) * 4, False),  # killed before its trials were summed up
        (run("complete", settled=("0123456789abcdef",)), ("ok", "ok", "crash", "ok", "ok"), True),
        (run("complete", settled=()), ("ok", "ok", "crash", "ok", "ok"), False),
        (run("interrupted", settled=("0123456789abcdef",)), ("ok",) * 4, True),
        (run("time", settled=()), ("ok", "ok", "ok", "ok", "crash"), True),
        (run("time", settled=()), ("ok", "ok", "ok", "crash", "crash"), False),
    ],
)
def test_fit_and_the_stored_trials_agree_on_what_is_done(last, statuses, done):
    of_trial = measured(statuses.count("ok"))
    assert is_done(of_trial.key, statuses, last, least=NARROW.least, most=NARROW.most) is done
    failure = Failure(what="SIGSEGV", stage="load")
    recorded = [
        _record(at, status, failure=None if status == "ok" else failure) for at, status in enumerate(statuses)
    ]
    with_reason, _ = ended(of_trial, recorded, NARROW, last)
    assert (with_reason.status == "done") is done


def test_what_was_not_to_be_measured_did_not_end():
    of_trial = trial((), status="unsupported", reason="too large")
    assert with_end(of_trial, [], PLAIN, run("complete")) == of_trial
