"""What stays the same while the code behind it changes: figures, verdicts, keys, names, and what is refused.

A test that fails says what changed. Where that was meant, `python -m tests.frozen` renews the files.
"""

from __future__ import annotations

import hashlib
import re
import shutil
from pathlib import Path

import pytest

from tests.frozen import goldens
from tests.frozen.console import carry_out
from tests.frozen.corpus import outcomes
from tests.frozen.interface import interface
from tests.frozen.keys import keys
from tests.frozen.replays import QUICK, SLOW, comparisons, references

OF_ANOTHER_VERSION = (
    "results --json",
    "history",
    "show latest",
    "show results/other",
    "show other --json",
    "fit results/other",
    "report results/other -o page.html",
    "mission results/other --profile disco-greenland --days 5",
    "compare results/other results/other",
    "export results/other -o other.zip",
    "run --device replay --set source=steady --precision int8 --sessions 3 --passes 3 --no-telemetry "
    "--profile disco-realtime --meter replay --quiet --name other --resume",
)


@pytest.mark.parametrize("name", QUICK)
def test_a_quick_replay_gives_the_same_figures_and_verdicts(quick, name):
    assert goldens.differences(f"replay/{name}", quick[1][name]) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", SLOW)
def test_a_replay_gives_the_same_figures_and_verdicts(slow, name):
    assert goldens.differences(f"replay/{name}", slow[1][name]) == []


def test_results_compare_as_they_did(quick):
    assert goldens.differences("comparisons", comparisons(quick[0])) == []


def test_names_flags_columns_and_exit_codes_are_the_same(quick):
    assert goldens.differences("interface", interface(quick[0]), 2) == []


def test_published_figures_are_judged_as_they_were(tmp_path):
    assert goldens.differences("reference", references(tmp_path)) == []


def test_trials_have_the_same_keys(tmp_path):
    pytest.importorskip("onnx")  # one of the models is a user's own
    assert goldens.differences("keys", keys(tmp_path), 1) == []


def test_toml_files_are_accepted_and_refused_as_they_were(tmp_path):
    assert goldens.differences("inputs", outcomes(tmp_path), 1) == []


@pytest.mark.parametrize("version", [2, 99])
def test_a_result_of_another_version_is_named_as_such_and_never_changed(quick, tmp_path, version):
    folder, ours = tmp_path / "results" / "other", re.compile(r'("schema_version": ?)3\b')
    records = (path for path in sorted(quick[0].rglob("experiment.json")) if ours.search(path.read_text()))
    shutil.copytree(next(records).parent, folder)
    for record in folder.rglob("*.json"):
        record.write_text(ours.sub(rf"\g<1>{version}", record.read_text(), count=1))
    before, named = _contents(folder), f"records of version {version}"
    listed, *refused = carry_out(tmp_path, [words.split() for words in OF_ANOTHER_VERSION])
    [left_out] = listed.document["left_out"]
    assert (listed.code, listed.document["results"], left_out["result"]) == (0, [], "other")
    assert left_out["reason"].startswith(f"experiment.json holds {named}")
    for words, outcome in zip(OF_ANOTHER_VERSION[1:], refused, strict=True):
        text = " ".join((outcome.stdout + outcome.stderr).split())
        assert (outcome.code, named in text, "fix: " in text) == (1, True, True), f"{words}: {text}"
    assert _contents(folder) == before
    assert [path.name for path in (tmp_path / "results").iterdir()] == ["other"]
    assert not [*tmp_path.glob("*.html"), *tmp_path.glob("*.zip")]


def _contents(folder: Path) -> dict[str, str]:
    """Every file by its content, but for the lock of those that read it."""
    files = (path for path in sorted(folder.rglob("*")) if path.is_file() and path.name != ".lock")
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}
