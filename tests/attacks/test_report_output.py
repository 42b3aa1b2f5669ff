"""Reports that are to go where nothing can be written."""

from __future__ import annotations

import errno
import os
import subprocess
from pathlib import Path

import pytest

from edgebench.errors import EdgeBenchError, StoredResultError
from edgebench.judge.judged import Judged, judge_folder
from edgebench.report.renderers.forms import export
from tests import synthetic_results
from tests.attacks.other_user import as_nobody, require_root, shared_folder
from tests.walk.conftest import COMMAND


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("results")
    return synthetic_results.made_experiment(folder, variants=synthetic_results.QUARTER[:1])


@pytest.fixture(scope="module")
def judged(result: Path) -> Judged:
    return judge_folder(result, [])


@pytest.mark.attack(
    "a report's disk is full: the refusal is reported, the older report stays, no half of one is left"
)
def test_a_full_disk_leaves_the_older_report(
    judged: Judged, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = export(judged, tmp_path / "report.csv")
    older = file.read_bytes()

    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(StoredResultError) as caught:
        export(judged, file)
    assert caught.value.why == "No space left on device" and "-o" in caught.value.fix
    assert list(tmp_path.iterdir()) == [file] and file.read_bytes() == older


@pytest.mark.attack("a report goes into another user's folder: refused before it is made, with the reason")
def test_a_folder_of_another_user_is_said(judged: Judged, monkeypatch: pytest.MonkeyPatch) -> None:
    require_root()

    def refusal() -> list[str]:
        monkeypatch.setattr("edgebench.report.documents.export_csv", None)
        try:
            export(judged, folder / "report.csv")
        except EdgeBenchError as error:
            return [error.what, error.why]
        return []

    with shared_folder() as folder, as_nobody(refusal) as (_, (what, why)):
        assert what == f"{folder / 'report.csv'} cannot be written" and why == "Permission denied"
        assert list(folder.iterdir()) == []


@pytest.mark.attack("-o names a pipe or a device: no report takes its place")
@pytest.mark.parametrize("kind", ["pipe", "device"])
def test_what_is_no_file_keeps_its_place(judged: Judged, tmp_path: Path, kind: str) -> None:
    path = tmp_path / "report.csv"
    if kind == "pipe":
        os.mkfifo(path)
    else:
        path.symlink_to("/dev/null")
    with pytest.raises(EdgeBenchError, match="no plain file"):
        export(judged, path)
    assert not path.is_file() and list(tmp_path.iterdir()) == [path]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["csv", "json"])
@pytest.mark.attack(
    "report -o - | head, or > /dev/full: exit code 0 for head, 1 for a full disk, no traceback"
)
def test_a_report_on_a_stdout_that_takes_nothing(result: Path, name: str) -> None:
    end, output = os.pipe()
    os.close(end)
    words = [*COMMAND, "report", str(result), "-o", "-", "--format", name]
    try:
        gone = subprocess.run(words, stdout=output, stderr=subprocess.PIPE, text=True, timeout=60)
    finally:
        os.close(output)
    assert (gone.returncode, gone.stderr) == (0, "")
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(words, stdout=full, stderr=subprocess.PIPE, text=True, timeout=60)
    assert done.returncode == 1
    assert done.stderr.splitlines()[:2] == [
        "error: the output cannot be written",
        "  why: No space left on device",
    ]
