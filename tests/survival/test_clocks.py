"""Clocks that jump: the machine's by hours, back and forth, and the device's from session to session."""

import itertools
import json
from datetime import UTC, datetime, timedelta

import pytest

import edgebench
from edgebench.judge.judged import judge_folder
from edgebench.report.renderers.forms import export
from edgebench.run.measuring import execution as campaign
from edgebench.run.measuring import session
from edgebench.run.measuring.progress import Observer
from tests.survival.mounts import contents, sessions_of
from tests.survival.quick import Quick
from tests.survival.small import Small

JUMPS_H = (0, 5, -30, 2, -2, 24 * 365, -24 * 400, 1)


class Jumping(datetime):
    """A wall clock that is set anew each time it is looked at."""

    steps = itertools.cycle(JUMPS_H)
    shown = datetime(2025, 3, 1, 12, tzinfo=UTC)

    @classmethod
    def now(cls, tz=None):
        cls.shown += timedelta(hours=next(cls.steps))
        return cls.shown


class StoppedOnce(Observer):
    """Ctrl-C after so many sessions."""

    def __init__(self, after: int) -> None:
        self.left = after

    def session_ended(self, session, latency, status, took_s):
        self.left -= 1
        if self.left == 0:
            raise KeyboardInterrupt


@pytest.mark.attack("the host's wall clock jumps during a run: no figure changes")
def test_a_wall_clock_that_jumps_disturbs_nothing(own, monkeypatch):
    monkeypatch.setattr(session, "datetime", Jumping)
    monkeypatch.setattr(campaign, "datetime", Jumping)
    quick = Quick(own, sessions=4, observer=StoppedOnce(3))
    assert quick.run("one", resume=False).interrupted
    kept = contents(quick.results / "one")
    assert quick.run("one", resume=True).sessions == 5
    folder = quick.results / "one"
    assert kept.items() <= contents(folder).items()
    assert sessions_of(folder) == [0, 1, 2, 3, 0, 1, 2, 3]
    judged = judge_folder(folder)
    sessions = judged.results.sessions
    assert (sessions["duration_s"] >= 0).all() and (sessions["harness_s"].dropna() < 60).all()
    assert not sessions["started_utc"].is_monotonic_increasing  # it did jump
    assert {trial.status for trial in judged.trials} == {"done"}
    assert "</html>" in export(judged, own / "report.html").read_text()


@pytest.mark.attack("the wall clock repeats a second: results do not collide")
def test_results_of_one_second_that_comes_again_have_names_of_their_own(own, monkeypatch):
    class Still(Jumping):
        steps = itertools.cycle([0])

    monkeypatch.setattr(campaign, "datetime", Still)
    quick = Quick(own, sessions=1, precisions=("int8",))
    for _ in range(3):
        quick.run(None, resume=False)
    assert len(list(quick.results.iterdir())) == 3
    assert {len(edgebench.load(path).sessions) for path in quick.results.iterdir()} == {1}


@pytest.mark.attack("a device's clock restarts between two runs: both are read together")
@pytest.mark.parametrize(("first_ns", "then_ns"), [(2 * 10**13, 10**13), (10**17, 0)])
def test_a_device_clock_that_was_set_anew_between_two_runs(own, monkeypatch, first_ns, then_ns):
    """As after a board's restart: its stamps begin anew, and no figure spans two sessions."""
    monkeypatch.setenv("EDGEBENCH_TEST_CLOCK", f"{first_ns},200")
    small = Small(own, sessions=3, precisions=("int8",), observer=StoppedOnce(2))
    assert small.run("one", resume=False).interrupted
    monkeypatch.setenv("EDGEBENCH_TEST_CLOCK", f"{then_ns},-200")
    assert small.run("one", resume=True).sessions == 1
    judged = judge_folder(small.results / "one")
    assert sessions_of(small.results / "one") == [0, 1, 2]
    [trial] = judged.trials
    assert trial.status == "done"
    assert all(0 < value < 10 for values in trial.values_of("image_s") for value in values)
    key = trial.key
    offsets = [record.clock["fit"]["offset_ns"] for record in judged.results.session_records(key)]
    assert [round((offset or 0) / 1e12) for offset in offsets] == [
        round(ns / 1e12) for ns in (first_ns, first_ns, then_ns)
    ]
    assert (
        json.loads((own / "results" / "one" / "trials" / key / "trial.json").read_text())["status"] == "done"
    )
