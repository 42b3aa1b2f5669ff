"""`edgebench compare`: its exit codes, its forms, and what it refuses."""

from __future__ import annotations

import csv
import io
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from edgebench.cli.main import app
from edgebench.errors import EdgeBenchError, StoredResultError, UsageError
from tests.synthetic_results import LEVELS_S, QUARTER, made_experiment

FP32, FP16, INT8 = QUARTER


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("results")
    made_experiment(folder, name="old", sessions=5, images=0)
    made_experiment(folder, name="slower", sessions=5, images=0, seed=8, image_s={FP16: 0.34})
    made_experiment(folder, name="under-five", sessions=4, images=0, seed=8, image_s={FP16: 0.62})
    loaded = {variant: 5.75 * LEVELS_S[variant] for variant in QUARTER}
    made_experiment(folder, name="under-load", sessions=5, images=0, seed=11, image_s=loaded, disturbed=True)
    made_experiment(folder, name="few", sessions=2, images=0, seed=9)
    made_experiment(folder, name="board", sessions=5, images=0, targets=("nano",), variants=(INT8,), seed=10)
    made_experiment(folder, name="unrun", images=0, not_run=QUARTER)
    return folder


def call(folder: Path, *words: str) -> Result:
    environment = {"EDGEBENCH_OUTPUT_DIR": str(folder), "COLUMNS": "80", "NO_COLOR": "1"}
    return CliRunner().invoke(app, ["compare", *words], env=environment)


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("old", "slower"), 0),
        (("old", "slower", "--fail-on", "regression"), 3),
        (("slower", "old", "--fail-on", "regression"), 0),  # quicker is no regression
        (("old", "few"), 0),
        (("old", "few", "--strict"), 4),
        (("old", "few", "--strict", "--fail-on", "regression"), 4),
        (("old", "few", "slower", "--strict", "--fail-on", "regression"), 3),
        (("old", "old", "--strict", "--fail-on", "regression"), 0),
        (("few", "few", "--strict", "--fail-on", "regression"), 0),
        (("old", "slower", "--fail-on", "regression", "--minimum-effect", "25"), 0),
        (("old", "under-five", "--fail-on", "regression"), 0),
        (("under-five", "slower", "--fail-on", "regression"), 0),
        (("old", "under-five", "--fail-on", "regression", "--strict"), 4),
        (("old", "under-five", "slower", "--fail-on", "regression"), 3),
        (("old", "under-five", "-m", "artifact_bytes", "--fail-on", "regression", "--strict"), 0),
        (("old", "under-load", "--fail-on", "regression"), 0),
        (("under-load", "old", "--fail-on", "regression", "--strict"), 4),
        (("old", "under-load", "--fail-on", "regression", "--strict"), 4),
        (("old", "under-load", "--fail-on", "regression", "--include-contaminated"), 3),
        (("old", "under-load", "-m", "memory_bytes", "--fail-on", "regression", "--strict"), 0),
        (("old", "board", "--strict"), 4),  # two of its trials have no partner
        (("old", "slower", "-m", "energy_j", "--strict"), 0),  # the baseline has none either
    ],
)
def test_the_exit_code_says_what_was_asked(folder: Path, words: tuple[str, ...], code: int) -> None:
    done = call(folder, *words)
    assert done.exit_code == code, done.output


def test_boards_of_other_names_are_compared(folder: Path) -> None:
    done = call(folder, "old", "board", "--json")
    [result] = json.loads(done.stdout)["results"]
    assert result["across"] == {"cpu": "nano"} and [pair["a"]["variant"] for pair in result["pairs"]] == [
        INT8
    ]


def test_forms_on_stdout_and_in_files(folder: Path, tmp_path: Path) -> None:
    assert call(folder, "old", "slower", "--format", "md").stdout.startswith("# Comparison")
    assert call(folder, "old", "slower", "--format", "csv").stdout.startswith("baseline,result,")
    target = tmp_path / "comparison.json"
    done = call(folder, "old", "slower", "-o", str(target), "--fail-on", "regression")
    assert (done.exit_code, done.stdout.strip()) == (3, str(target))
    assert json.loads(target.read_text(encoding="utf-8"))["regressed"]
    figure = tmp_path / "ratios.svg"
    assert call(folder, "old", "slower", "--figure", str(figure)).exit_code == 0
    assert b"<svg" in figure.read_bytes()


FEW = "a gate takes 5 sessions a side, not 4"


def rows(done: Result) -> list[dict[str, Any]]:
    [result] = json.loads(done.stdout)["results"]
    return [item for pair in result["pairs"] for item in pair["comparisons"]]


def test_what_a_gate_takes_no_decision_by_stays_visible_with_its_reason(folder: Path) -> None:
    words = ("old", "under-five", "--fail-on", "regression")
    done = call(folder, *words, "--json")
    assert [(item["word"], item["gate"]) for item in rows(done)] == [
        ("same", FEW), ("worse", FEW), ("same", FEW),
    ]  # fmt: skip
    assert not json.loads(done.stdout)["regressed"] and json.loads(done.stdout)["undecided"]
    warning = f"warning: --fail-on regression decides nothing by 3 of 3 comparisons: {FEW}"
    assert warning in " ".join(done.stderr.split())
    shown = " ".join(call(folder, *words).stdout.split())
    assert "▼ worse, gate undecided" in shown and f"undecided by the gate: {FEW}" in shown
    decided = call(folder, "old", "slower", "--fail-on", "regression")
    assert "gate" not in decided.stdout and "decides nothing" not in decided.stderr


def test_a_run_under_load_has_its_warnings(folder: Path) -> None:
    words = ("old", "under-load", "--fail-on", "regression")
    text = "interference: other work competed for the worker's cores in 5 of 5 sessions"
    for item in rows(call(folder, *words, "--json")):
        assert (item["word"], item["gate"]) == ("worse", "contaminated: B has interference")
        [warning] = item["warnings"]
        assert warning.startswith(f"B: {text}")
    [*_, row] = csv.DictReader(io.StringIO(call(folder, *words, "--format", "csv").stdout))
    assert row["warnings"].startswith(f"B: {text}") and row["gate"] == "contaminated: B has interference"
    for form in (("--format", "md"), ()):
        shown = " ".join(call(folder, *words, *form).stdout.replace("\\", "").split())
        assert "B: all 3 trials: interference" in shown and "▼ worse, gate undecided" in shown
    assert "gate" not in call(folder, "old", "under-load").stdout
    [first, *_] = rows(call(folder, *words, "--json", "--include-contaminated"))
    assert first["warnings"] and not first["gate"]


def refused(folder: Path, *words: str) -> EdgeBenchError:
    done = call(folder, *words)
    assert isinstance(done.exception, EdgeBenchError) and not done.stdout, done.output
    return done.exception


def test_what_cannot_be_compared_is_refused_with_its_remedy(folder: Path, tmp_path: Path) -> None:
    made_experiment(tmp_path, name="other", sessions=3, images=0, variants=("mobilenet_v1-1.0-int8",))
    error = refused(folder, "old", str(tmp_path / "other"))
    assert isinstance(error, UsageError) and "no trial in common" in error.what
    error = refused(folder, "old", "unrun")
    assert isinstance(error, StoredResultError) and error.what == "unrun has no finished session"
    newer = shutil.copytree(folder / "old", tmp_path / "newer")
    record = json.loads((newer / "experiment.json").read_text(encoding="utf-8"))
    (newer / "experiment.json").write_text(json.dumps(record | {"schema_version": 4}), encoding="utf-8")
    error = refused(folder, "old", str(newer))
    assert (
        isinstance(error, StoredResultError)
        and "records of version 4" in f"{error.what} {error.why} {error.fix}"
    )
    assert "no result folder" in refused(folder, "old", "nowhere").what


def test_options_are_refused_before_anything_is_read(folder: Path, tmp_path: Path) -> None:
    assert "unknown metric" in refused(folder, "none", "none", "-m", "latency").what
    assert "two forms" in refused(folder, "none", "none", "--json", "--format", "md").what
    assert "in which form" in refused(folder, "none", "none", "-o", str(tmp_path / "x.doc")).what
    assert "no folder" in refused(folder, "none", "none", "-o", str(tmp_path / "no" / "x.md")).what
    assert "in which form" in refused(folder, "none", "none", "--figure", "x.bmp").what
    assert "names no two targets" in refused(folder, "old", "slower", "--pair", "cpu").what
    assert call(folder, "old").exit_code == 2


def test_the_help_says_how_to_begin_at_80_columns(folder: Path) -> None:
    text = call(folder, "--help").stdout
    assert max(map(len, text.splitlines())) <= 80
    for part in ("--fail-on", "--pair nano=coral", "Exit codes:", "--metric"):
        assert part in text
