"""`edgebench results`: every result with date, targets, trials and verdicts; damaged ones with the reason."""

import json
import shutil

import pytest
from jsonschema import Draft202012Validator
from typer.testing import CliRunner

from edgebench.cli.main import app
from edgebench.records.stored import RunRecord
from edgebench.report.schemas import schema
from tests.judge.histories import put_result, template

PROFILE = "disco-realtime"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A complete result with verdicts, an interrupted one, one without a run.json, one of a newer version."""
    folder = tmp_path_factory.mktemp("results")
    parts = template(folder / "made")
    profiles = ({"name": PROFILE},)
    verdicts = {PROFILE: {"pass": 1, "fail": 1}}
    began = "2025-01-01T02:00:00Z"
    out = folder / "results"
    put_result(out, parts, "old", day=1, profiles=profiles)
    interrupted = put_result(
        out, parts, "stopped", day=2, sessions=4, run=RunRecord(started_utc=began, ended="interrupted")
    )
    assert interrupted.is_dir()
    complete = RunRecord(started_utc=began, ended="complete", verdicts=verdicts)
    put_result(out, parts, "new", day=3, profiles=profiles, run=complete)
    (out / "newer").mkdir()
    (out / "newer" / "experiment.json").write_text('{"schema_version": 9}')
    return out


def call(folder, *words, columns=80, **environment):
    settings = {"COLUMNS": str(columns), "NO_COLOR": "1", "TERM": "dumb", **environment}
    return CliRunner().invoke(app, ["results", "--output-dir", str(folder), *words], env=settings)


def test_newest_first_with_what_each_is(folder):
    done = call(folder)
    assert done.exit_code == 0, done.exception
    lines = done.stdout.splitlines()
    assert max(map(len, lines)) <= 80
    rows = [line.split() for line in lines if "2025-01-" in line]
    assert rows[0] == ["new", "2025-01-04", "02:00", "cpu", "2", PROFILE, "✓", "1", "✕", "1"]
    assert [line.strip() for line in lines if "(latest)" in line] == ["(latest)"]
    assert rows[1] == ["stopped", "2025-01-03", "02:00", "cpu", "0", "of", "2", "-"]
    assert rows[2] == ["old", "2025-01-02", "02:00", "cpu", "2", "not", "recorded"]
    assert "interrupted" in done.stdout
    flat = " ".join(done.stdout.split())
    assert "edgebench fit old" in flat
    assert "newer: experiment.json holds records of version" in flat


def test_json_has_the_same(folder):
    document = json.loads(call(folder, "--json").stdout)
    Draft202012Validator(schema("results")).validate(document)
    assert [(each["result"], each["latest"], each["ended"]) for each in document["results"]] == [
        ("new", True, "complete"),
        ("stopped", False, "interrupted"),
        ("old", False, None),
    ]
    new, stopped, old = document["results"]
    assert new["verdicts"] == {PROFILE: {"pass": 1, "fail": 1, "inconclusive": 0, "unknown": 0}}
    assert (new["trials"], new["measured"], new["variants"]) == (2, 2, 2)
    assert (stopped["trials"], stopped["measured"], stopped["verdicts"]) == (2, 0, None)
    assert (old["profiles"], old["verdicts"]) == ([PROFILE], None)
    assert [each["result"] for each in document["left_out"]] == ["newer"]


def test_only_the_newest(folder):
    assert [
        each["result"] for each in json.loads(call(folder, "--json", "--last", "1").stdout)["results"]
    ] == ["new"]


def test_a_damaged_run_record_is_as_none(folder, tmp_path):
    shutil.copytree(folder / "new", tmp_path / "new")
    (tmp_path / "new" / "run.json").write_text("{")
    [row] = json.loads(call(tmp_path, "--json").stdout)["results"]
    assert (row["verdicts"], row["ended"]) == (None, None)


@pytest.mark.parametrize(
    ("verdicts", "shown"),
    [
        ({PROFILE: {"pass": -1}}, None),
        ({PROFILE: {"pass": 3}}, None),
        ({PROFILE: {"pass": 2, "fail": 1}}, None),
        ({f"p{number}": {"pass": 1} for number in range(1000)}, {}),
    ],
)
def test_verdicts_that_the_trials_cannot_have_come_to_are_not_shown(folder, tmp_path, verdicts, shown):
    shutil.copytree(folder / "new", tmp_path / "new")
    run = RunRecord(started_utc="2025-01-01T02:00:00Z", ended="complete", verdicts=verdicts)
    (tmp_path / "new" / "run.json").write_text(run.model_dump_json())
    [row] = json.loads(call(tmp_path, "--json").stdout)["results"]
    assert (row["verdicts"], row["ended"]) == (shown, "complete")


def test_without_results_it_says_how_to_begin(tmp_path):
    done = call(tmp_path / "none")
    assert done.exit_code == 0
    assert "There is no result in" in done.stdout
    assert "edgebench run --device cpu" in done.stdout
    assert json.loads(call(tmp_path / "none", "--json").stdout)["results"] == []
