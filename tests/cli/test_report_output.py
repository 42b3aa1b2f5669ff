"""Where `edgebench report` writes: a file in the form of its ending, or stdout in the form of --format."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from edgebench.cli.main import app
from edgebench.errors import StoredResultError, UsageError
from edgebench.report.renderers.forms import FORMS
from tests import synthetic_results
from tests.report.pdf_browser import installed


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("results")
    return synthetic_results.made_experiment(folder, variants=synthetic_results.QUARTER[:1])


def report(*words: object) -> Result:
    return CliRunner().invoke(app, ["report", *map(str, words)], env={"COLUMNS": "80"})


@pytest.mark.parametrize("name", FORMS)
def test_stdout_has_the_bytes_of_the_file_and_nothing_else(
    result: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    installed(tmp_path / "bin")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    file = tmp_path / f"report{FORMS[name].endings[0]}"
    assert report(result, "-o", file).exit_code == 0
    done = report(result, "-o", "-", "--format", name)
    assert done.exit_code == 0 and done.stdout_bytes == file.read_bytes()


def test_a_form_without_a_file_goes_to_stdout_and_stdout_is_markdown_unless_said(result: Path) -> None:
    assert json.loads(report(result, "--format", "json").stdout)["schema_version"] == 1
    assert report(result, "-o", "-").stdout.startswith("# MobileNet v1 on cpu")
    published = report("--reference", "--format", "csv")
    assert published.stdout.startswith("trial,") and not Path("reference.html").exists()


def test_the_help_names_every_form() -> None:
    text = " ".join(report("--help").stdout.replace("│", " ").split())
    assert all(
        form.endings[0] in text and f"{form.name} ({form.description})" in text for form in FORMS.values()
    )


@pytest.mark.parametrize(
    ("words", "what", "fix"),
    [
        (("-o", "report.docx"), "'report.docx' does not say", ".html, .md, "),
        (("-o", "report"), "'report' does not say", "--format"),
        (("-o", "a.html", "--format", "md"), "does not end as --format md", ".md"),
        (("--format", "docx"), "no form 'docx'", "html (a page), md (Markdown)"),
        (("-o", "."), "-o . is a folder", "report.html"),
        (("-o", "none/report.md"), "there is no folder none", "mkdir -p none"),
    ],
)
def test_what_cannot_be_written_is_refused_before_anything_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], what: str, fix: str
) -> None:
    monkeypatch.chdir(tmp_path)
    synthetic_results.made_experiment(
        tmp_path / "results", variants=synthetic_results.QUARTER[:1], sessions=1
    )
    monkeypatch.setattr("edgebench.judge.judged.judge_folder", None)
    done = report("latest", *words)
    assert isinstance(done.exception, UsageError) and done.exception.exit_code == 2
    assert what in done.exception.what
    assert fix.removesuffix(" none") in done.exception.fix
    assert [path.name for path in tmp_path.iterdir()] == ["results"]


def test_without_sessions_it_is_written_and_says_so(tmp_path: Path) -> None:
    path = synthetic_results.made_experiment(tmp_path, not_run=synthetic_results.QUARTER)
    done = report(path, "-o", "-")
    assert done.exit_code == 0 and "no session has run" in done.stdout
    assert "note: no session of this result has finished" in done.stderr and "--resume" in done.stderr


def test_a_result_of_another_version_says_how_to_read_it(tmp_path: Path) -> None:
    path = synthetic_results.made_experiment(tmp_path, variants=synthetic_results.QUARTER[:1], sessions=1)
    record = json.loads((path / "experiment.json").read_text())
    (path / "experiment.json").write_text(json.dumps(record | {"schema_version": 4}))
    done = report(path, "-o", tmp_path / "report.md")
    assert isinstance(done.exception, StoredResultError) and done.exception.exit_code == 1
    assert "holds records of version 4" in done.exception.what
    assert "use the EdgeBench that wrote it" in done.exception.fix
    assert not (tmp_path / "report.md").exists()


def test_figures_are_written_too_and_stdout_stays_the_reports(result: Path, tmp_path: Path) -> None:
    folder = tmp_path / "figures"
    done = report(result, "-o", "-", "--format", "csv", "--figures", folder)
    assert done.exit_code == 0 and done.stdout.startswith("trial,")
    assert {"latency.svg", "latency.png", "latency.pdf", "targets.svg"} <= {
        path.name for path in folder.iterdir()
    }
    assert "figures as SVG, PNG and PDF: " in done.stderr
    published = report("--reference", "-o", tmp_path / "reference.md", "--figures", folder)
    assert published.exit_code == 0 and (tmp_path / "reference.md").exists()


def test_a_figures_folder_that_is_a_file_is_refused_before_the_report_is_written(
    result: Path, tmp_path: Path
) -> None:
    (tmp_path / "taken").write_text("")
    done = report(result, "-o", tmp_path / "report.md", "--figures", tmp_path / "taken")
    assert isinstance(done.exception, UsageError) and "is no folder" in str(done.exception)
    assert not (tmp_path / "report.md").exists()
