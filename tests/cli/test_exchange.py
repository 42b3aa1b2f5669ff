"""`edgebench export` and `edgebench import`: from one results folder to another, by a file."""

import contextlib

import pytest
from typer.testing import CliRunner

from edgebench.cli.main import app
from edgebench.errors import StoredResultError, UsageError
from tests.synthetic_results import QUARTER, made_experiment


def call(folder, *words):
    with contextlib.chdir(folder):
        return CliRunner().invoke(app, list(words), env={"EDGEBENCH_OUTPUT_DIR": str(folder / "results")})


@pytest.fixture
def place(tmp_path):
    made_experiment(tmp_path / "results", variants=QUARTER[:1])
    return tmp_path


def test_the_newest_result_goes_into_a_file_of_its_name_and_comes_back(place):
    exported = call(place, "export")
    assert exported.exit_code == 0 and exported.stdout.strip() == "made.zip"
    assert "1 trial, 3 sessions" in exported.stderr and "sha256 " in exported.stderr
    imported = call(place, "import", "made.zip", "--output-dir", "elsewhere")
    assert imported.exit_code == 0 and imported.stdout.strip() == "elsewhere/made"
    digest = exported.stderr.split("sha256 ")[1].split()[0]
    assert f"sha256 {digest}" in imported.stderr, "both ends can compare it"
    assert "0.25 fp32" in call(place, "show", "elsewhere/made").stdout
    assert call(place, "import", "made.zip", "--name", "again").stdout.strip() == str(
        place / "results" / "again"
    )


def test_a_result_is_not_overwritten(place):
    call(place, "export", "made", "-o", "file.zip")
    again = call(place, "import", "file.zip")
    assert isinstance(again.exception, StoredResultError) and again.exception.exit_code == 1
    assert "--name" in again.exception.fix


@pytest.mark.parametrize("words", [("export", "-o", "no/folder.zip"), ("export", "-o", "results")])
def test_a_place_that_cannot_be_is_a_usage_error(place, words):
    refused = call(place, *words)
    assert isinstance(refused.exception, UsageError) and refused.exception.fix


def test_a_file_that_is_no_archive_is_told(place):
    (place / "notes.txt").write_text("notes")
    refused = call(place, "import", "notes.txt", "--output-dir", "elsewhere")
    assert isinstance(refused.exception, StoredResultError) and "edgebench export" in refused.exception.fix
    assert not (place / "elsewhere").exists()
