"""The flags that end trials and runs, from the command line to what is printed."""

import contextlib
import json
import re
import shutil

import pytest
from typer.testing import CliRunner

from edgebench.cli.main import app
from edgebench.errors import UsageError
from tests.walk.conftest import Place, make_place


class Here(Place):
    def call(self, *words, **env):
        """The command in this process, on the toy device."""
        with contextlib.chdir(self.folder):
            return CliRunner().invoke(app, [*self.toy(), *words], env=self.environment | env)

    def toy(self, *words):
        only = ["--depth", "0.25", "--precision", "int8", "--passes", "2"]
        return ["run", "--device", "toy", "--scene", "scene.png", "--images", "images", *only, *words]


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Here:
    return Here(make_place(tmp_path_factory.mktemp("rules")).folder)


def flat(text):
    return " ".join(text.split())


def test_decide_without_a_profile_is_a_usage_error(here):
    done = here.call("--decide", "--dry-run")
    assert isinstance(done.exception, UsageError)
    assert "--profile" in done.exception.fix


@pytest.mark.parametrize("words", [("--target-ci", "narrow"), ("--max-time", "soon"), ("--target-ci", "0")])
def test_amounts_that_are_none_are_refused(here, words):
    done = here.call(*words, "--dry-run")
    assert isinstance(done.exception, UsageError)
    assert words[0].lstrip("-") in str(done.exception)


def test_a_dry_run_shows_what_ends_trials(here):
    done = here.call("--dry-run", "--target-ci", "5%", "--max-time", "2h")
    assert done.exit_code == 0, done.exception
    assert "1 trial, at most 30 sessions of 2 passes each" in flat(done.stdout)
    assert "a trial ends at a half-width of 5 % of image_s" in flat(done.stdout)
    assert "no session starts after 2 h of measuring" in flat(done.stdout)
    assert all(len(line) <= 80 for line in done.stdout.splitlines())


def test_the_settings_come_from_the_environment_too(here):
    done = here.call("--dry-run", "--json", EDGEBENCH_TARGET_CI="2%", EDGEBENCH_MAX_TIME="90s")
    plan = json.loads(done.stdout)["plan"]
    assert (plan["target_ci"], plan["max_time_s"], plan["sessions"]) == (0.02, 90, 30)
    plain = json.loads(here.call("--dry-run", "--json").stdout)
    assert (plain["plan"]["target_ci"], plain["plan"]["sessions"]) == (None, 5)
    assert plain["trials"][0]["sessions"] == 5


def test_a_run_says_before_it_starts_how_much_it_measures_and_after_it_why_it_ended(here):
    words = ("--name", "plain", "--decide", "--profile", "disco-realtime", "--target-ci", "0.001%")
    done = here.call(*words)
    assert done.exit_code == 0, done.exception
    assert "at most 30 sessions; the time is known after the first of each variant" in flat(done.stderr)
    assert re.search(r"session 1 of at most 30: \S+ \S+, time left unknown yet", flat(done.stderr))
    assert re.search(r"session 2 of at most 30: .*?, at most \d+:\d\d left", flat(done.stderr))
    settled = r"every verdict that can be settled is settled, after (\d+) sessions"  # 3 on a quiet machine
    ended = re.search(rf"{settled} \(Lan-DeMets", flat(done.stdout))
    report = (here.folder / "results" / "plain" / "report.html").read_text()
    assert ended and 3 <= int(ended[1]) <= 30
    assert ended[0].partition(" (")[0] in report
    # What a session takes is known here now, and another run does not wait for its first.
    [trial] = json.loads(here.call("--dry-run", "--json").stdout)["trials"]
    assert trial["estimated_s"] > 0
    known = here.call("--name", "known", "--sessions", "3")
    assert re.search(r"3 sessions, about \d+ seconds? session 1 of 3: \S+ \S+, \d", flat(known.stderr))


def test_time_that_is_over_is_no_failure_and_no_interrupt(here):
    done = here.call("--name", "short", "--max-time", "0.000001", "--sessions", "1")
    assert done.exit_code == 0, done.exception
    assert "the time is over" in done.stderr and "--resume" in done.stderr
    assert "time of 1e-06 s over after 0 of 1 sessions" in flat(done.stdout)
    resumed = here.call("--name", "short", "--resume", "--sessions", "5")
    assert resumed.exit_code == 0
    assert "1 session of 2 passes" in flat(resumed.stderr)
    shown = json.loads((here.folder / "results" / "short" / "run.json").read_text())
    assert (shown["ended"], shown["sessions"], shown["max_time_s"]) == ("complete", 1, None)
    again = here.call("--name", "short", "--resume", "--sessions", "5")
    assert again.exit_code == 0
    assert "short is finished" in flat(again.stderr)
    assert "1 session of 2 passes" in flat(again.stderr)
    assert "with another --name" in flat(again.stderr)
    assert json.loads((here.folder / "results" / "short" / "run.json").read_text()) == shown


def test_resume_alone_goes_on_with_the_newest_unfinished_run(here):
    def resume():
        with contextlib.chdir(here.folder):
            return CliRunner().invoke(app, ["run", "--resume", "-o", "cut"], env=here.environment)

    assert here.call("--sessions", "3", "--seed", "5", "-o", "cut").exit_code == 0
    [folder] = {path.resolve() for path in (here.folder / "cut").iterdir()}
    [lost] = folder.glob("trials/*/sessions/*2")
    shutil.rmtree(lost)
    assert resume().exit_code == 0
    assert lost.is_dir()
    assert "there is no unfinished run in cut" in str(resume().exception)
