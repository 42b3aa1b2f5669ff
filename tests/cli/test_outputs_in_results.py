"""An output that a user names never replaces, or gets among, the records of a stored result."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from typer.testing import CliRunner

from edgebench.cli.main import app
from edgebench.errors import UsageError
from tests.synthetic_results import QUARTER, made_experiment

pytestmark = pytest.mark.attack("an output is named inside a stored result: refused, every record stays")


@pytest.fixture
def result(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = made_experiment(tmp_path / "results", variants=QUARTER[:1])
    monkeypatch.chdir(tmp_path)
    return folder


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def refused(words: Sequence[str], result: Path) -> None:
    before = contents(result)
    done = CliRunner().invoke(app, list(words))
    assert isinstance(done.exception, UsageError), done.output
    assert "is part of the stored result made" in done.exception.what
    assert done.exception.why and done.exception.fix.startswith("name another")
    assert contents(result) == before


@pytest.mark.parametrize(
    "words",
    [
        "report made -o results/made/experiment.json",
        "report made -o results/made/trials/new.csv",
        "report made --figures results/made/trials",
        "compare made made -o results/made/experiment.json",
        "compare made made --figure results/made/trials/x.png",
        "history --figure results/made/trials/x.png",
        "export made -o results/made/scene.jpg",
        "profiles new sky --limit mass_g=9 --force -o results/made/run.json",
        "meters record replay -o results/made/images.json",
        "cortexm build --board nucleo-h743zi2 -o results/made/experiment.json",
        "new meter my-sensor -o results/made/trials",
    ],
)
def test_no_command_writes_an_output_among_the_records(words: str, result: Path) -> None:
    refused(words.split(), result)


def test_every_file_of_a_result_is_kept(result: Path) -> None:
    (result / "run.json").touch()
    for path in sorted(contents(result)):
        refused(["report", "made", "--format", "json", "-o", path], result)


def test_where_a_folder_is_the_working_folder_or_reached_by_a_link(
    result: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (result.parent / "link").symlink_to(result / "trials")
    refused(["report", str(result), "-o", "results/link/report.html"], result)
    monkeypatch.chdir(result)
    refused(["report", str(result), "--format", "json", "-o", "experiment.json"], result)


def test_a_report_goes_into_the_results_folder_beside_its_records(result: Path) -> None:
    before = contents(result)
    for words in (["report", "made"], ["report", "made", "-o", "results/made/report.md"]):
        done = CliRunner().invoke(app, words)
        assert done.exit_code == 0, done.output
    after = contents(result)
    assert {name: after[name] for name in before} == before
    assert {Path(name).name for name in set(after) - set(before)} == {"report.html", "report.md"}
