"""Trials that end when they have been measured enough, on replayed sessions: the same on every machine."""

import io
import json
from typing import Any

import jsonschema
import pytest

import edgebench
from edgebench.judge.judged import judge_folder
from edgebench.judge.requirements.profile import load_profile
from edgebench.judge.trials import trials_of
from edgebench.report.renderers.terminal import make_console
from edgebench.report.schemas import schema
from edgebench.run.measuring.host_queue import Outcome
from edgebench.run.measuring.session import LocalDevice
from edgebench.stats.intervals import SPENDING_NAME
from tests.backends.replaying import figures, run, scenario
from tests.report.samples import print_result

pytestmark = pytest.mark.slow

TARGET = "2.5%"


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    return scenario(tmp_path_factory.mktemp("scenario"))


def profile(folder, **limits):
    """A profile of limits by quantity."""
    lines = ["schema_version = 1", 'name = "mine"', 'title = "made"']
    for quantity, limit in limits.items():
        lines += ["[[requirements]]", f'name = "{quantity}"', f'quantity = "{quantity}"', f"limit = {limit}"]
    path = folder / "mine.toml"
    path.write_text("\n".join(lines))
    return str(path)


def only(path):
    [trial] = trials_of(edgebench.load(path))
    assert trial.ended is not None
    return trial, trial.ended


def adaptive(cache, folder, source, **flags):
    path, outcome = run(cache, folder, source, **{"sessions": None, **flags})
    assert not outcome.interrupted
    return path, outcome


@pytest.fixture(scope="module")
def narrow(session_cache, tmp_path_factory, source):
    """A trial that reaches its target in one run."""
    path, outcome = adaptive(session_cache, tmp_path_factory.mktemp("narrow"), source, target_ci=TARGET)
    return path, outcome


def test_a_target_that_is_reached_ends_the_trial(narrow):
    path, outcome = narrow
    trial, end = only(path)
    assert (end.by, trial.status, outcome.out_of_time) == ("rule", "done", False)
    assert 12 <= end.sessions == outcome.sessions < 30
    assert end.half_width is not None and end.half_width <= 0.025
    assert "of 2.5 % asked, after" in end.text
    record = edgebench.load(path).experiment
    assert (record.sessions, record.target_ci, record.decide) == (30, 0.025, False)
    assert record.config["sessions"] == {"value": 30, "origin": "default with target-ci"}


def test_how_the_run_ended_is_kept_and_told_everywhere(narrow):
    path, outcome = narrow
    kept = json.loads((path / "run.json").read_text())
    jsonschema.validate(kept, schema("run"))
    assert (kept["ended"], kept["sessions"]) == ("complete", outcome.sessions)
    assert kept["settled"] == [only(path)[0].key]
    [file] = path.glob("trials/*/trial.json")
    assert json.loads(file.read_text())["ended"]["by"] == "rule"
    found = judge_folder(path, ())
    out = io.StringIO()
    print_result(make_console(out), found.trials, found.verdicts)
    assert "half-width" in out.getvalue()


def session_clock(monkeypatch, session_s):
    """A clock that goes on by so many seconds with every session that is measured."""
    measured = LocalDevice.measure
    elapsed_s = [0.0]

    def measure(*given):
        elapsed_s[0] += session_s
        return measured(*given)

    monkeypatch.setattr(LocalDevice, "measure", measure)
    return lambda: elapsed_s[0]


def test_a_run_that_is_out_of_time_goes_on_to_the_very_same_end(
    session_cache, tmp_path, source, narrow, monkeypatch
):
    flags: dict[str, Any] = {"target_ci": TARGET, "name": "cut", "max_time": "25s"}
    clock = session_clock(monkeypatch, 13.0)
    path, outcome = adaptive(session_cache, tmp_path, source, clock=clock, **flags)
    assert (outcome.out_of_time, outcome.sessions) == (True, 2)
    trial, end = only(path)
    assert (end.by, trial.status) == ("time", "partial")
    assert end.text == (
        "time of 25 s over after 2 of at most 30 sessions, without reaching 2.5 %: no interval yet"
    )
    monkeypatch.undo()
    flags["clock"] = lambda: 0.0  # a busy machine takes longer than that for all of them
    again, outcome = run(session_cache, tmp_path, source, resume=True, sessions=None, **flags)
    assert again == path
    assert figures(edgebench.load(path)) == figures(edgebench.load(narrow[0]))
    last = edgebench.load(path).run
    assert last is not None and last.ended == "complete"
    # It is finished now, and the rule it was begun with says so, whatever is asked for.
    _, outcome = run(session_cache, tmp_path, source, resume=True, sessions=50, name="cut")
    assert outcome == Outcome(False, 0, False, outcome.elapsed_s)


def test_a_target_that_is_never_reached_ends_at_the_most_sessions(session_cache, tmp_path, source):
    path, outcome = adaptive(session_cache, tmp_path, source, target_ci="0.01%", sessions=4)
    trial, end = only(path)
    assert (end.by, end.sessions, trial.status, outcome.sessions) == ("most", 4, "done", 4)
    assert end.text.startswith("4 sessions, the most allowed, without reaching 0.01 %: now ")


def test_verdicts_that_pass_and_fail_are_settled_at_the_third_session(session_cache, tmp_path, source):
    mine = profile(tmp_path, image_s=1.0, infer_s=0.1)
    path, _ = adaptive(session_cache, tmp_path, source, decide=True, profile=[mine])
    _, end = only(path)
    assert (end.by, end.sessions) == ("rule", 3)
    assert end.text == f"every verdict that can be settled is settled, after 3 sessions ({SPENDING_NAME})"
    verdicts = judge_folder(path).verdicts
    assert [one.word for one in verdicts] == ["pass", "fail"]


def test_what_is_missing_does_not_keep_a_trial_running(session_cache, tmp_path, source):
    flags = {"decide": True, "profile": ["disco-realtime"]}
    path, _ = adaptive(session_cache, tmp_path, source, **flags)
    assert only(path)[1].sessions == 3
    words = {one.word for one in judge_folder(path, [load_profile("disco-realtime")]).verdicts}
    assert words == {"pass", "unknown"}


def test_a_verdict_at_its_limit_is_never_settled(session_cache, tmp_path, source, narrow):
    median = only(narrow[0])[0].estimate("image_s").value
    mine = profile(tmp_path, image_s=median)
    path, _ = adaptive(session_cache, tmp_path, source, decide=True, profile=[mine], sessions=4)
    _, end = only(path)
    assert (end.by, end.unsettled) == ("most", ("mine: image_s",))
    # With a target beside it, whichever comes first ends it.
    path, _ = adaptive(session_cache, tmp_path, source, decide=True, profile=[mine], target_ci=TARGET)
    assert only(path)[1].text == only(narrow[0])[1].text
