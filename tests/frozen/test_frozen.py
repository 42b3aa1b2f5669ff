"""What stays the same while the code behind it changes: figures, verdicts, keys, names, and what is refused.

A test that fails says what changed. Where that was meant, `python -m tests.frozen` renews the files.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest

from tests.frozen import goldens
from tests.frozen.console import carry_out
from tests.frozen.corpus import outcomes
from tests.frozen.interface import interface
from tests.frozen.keys import keys
from tests.frozen.replays import QUICK, SLOW, comparisons, references, replays

VERSION_1 = Path(__file__).parent / "version1"
STORED_EARLIER = "stored by an earlier version (records of version 1)"
OF_VERSION_1 = (
    "results --json",
    "history",
    "show latest",
    "show results/version1",
    "show version1 --json",
    "fit results/version1",
    "report results/version1 -o page.html",
    "mission results/version1 --profile disco-greenland --days 5",
    "compare results/version1 results/version1",
    "export results/version1 -o version1.zip",
    "run --device replay --set source=steady --precision int8 --sessions 3 --passes 3 --no-telemetry "
    "--profile disco-realtime --meter replay --quiet --resume",
    "run --device replay --set source=steady --precision int8 --sessions 3 --passes 3 --no-telemetry "
    "--profile disco-realtime --meter replay --quiet --name version1 --resume",
)


@pytest.fixture(scope="module")
def quick(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """The folder in which the quick scenarios were played, and what came of each."""
    folder = tmp_path_factory.mktemp("quick")
    return folder, replays(folder, QUICK)


@pytest.fixture(scope="module")
def slow(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return replays(tmp_path_factory.mktemp("slow"), SLOW)


@pytest.mark.parametrize("name", QUICK)
def test_a_quick_replay_gives_the_same_figures_and_verdicts(quick, name):
    assert goldens.differences(f"replay/{name}", quick[1][name]) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", SLOW)
def test_a_replay_gives_the_same_figures_and_verdicts(slow, name):
    assert goldens.differences(f"replay/{name}", slow[name]) == []


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


def test_a_result_of_version_1_is_named_and_refused_and_never_changed(tmp_path):
    folder = tmp_path / "results" / "version1"
    shutil.copytree(VERSION_1, folder)
    before = _contents(folder)
    listed, *refused = carry_out(tmp_path, [words.split() for words in OF_VERSION_1])
    [left_out] = listed.document["left_out"]
    assert (listed.code, listed.document["results"], left_out["result"]) == (0, [], "version1")
    assert left_out["reason"].startswith(f"experiment.json was {STORED_EARLIER}")
    for words, outcome in zip(OF_VERSION_1[1:], refused, strict=True):
        text = " ".join((outcome.stdout + outcome.stderr).split())
        assert (outcome.code, STORED_EARLIER in text, "fix: " in text) == (1, True, True), f"{words}: {text}"
    assert _contents(folder) == before
    assert [path.name for path in (tmp_path / "results").iterdir()] == ["version1"]
    assert not [*tmp_path.glob("*.html"), *tmp_path.glob("*.zip")]


@pytest.mark.attack("an archive holds records of version 1: refused with the reason, nothing is left")
def test_an_archive_of_version_1_is_refused_and_leaves_nothing(tmp_path):
    files = {
        name: {"bytes": (VERSION_1 / name).stat().st_size, "sha256": digest}
        for name, digest in _contents(VERSION_1).items()
    }
    about = {"format": "edgebench-result", "version": 1, "name": "version1", "edgebench_version": "0.2.0"}
    with ZipFile(tmp_path / "version1.zip", "w") as archive:
        archive.writestr("manifest.json", json.dumps(about | {"files": files}))
        for name in files:
            archive.write(VERSION_1 / name, name)
    [outcome] = carry_out(tmp_path, [["import", "version1.zip", "--output-dir", "imported"]])
    assert outcome.code == 1
    assert f"version1.zip was {STORED_EARLIER}" in " ".join(outcome.stderr.split())
    assert not [*(tmp_path / "imported").iterdir()]


def _contents(folder: Path) -> dict[str, str]:
    """Every file by its content, but for the lock of those that read it."""
    files = (path for path in sorted(folder.rglob("*")) if path.is_file() and path.name != ".lock")
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}
