"""Whole runs on a disk that becomes full while the samples of a meter are written to it."""

import errno
import io
import os
from pathlib import Path
from typing import Any

import pytest

import edgebench
from edgebench.errors import StoredResultError
from edgebench.judge.trials import trials_of
from tests.backends.replaying import run, scenario

METERED = "power = { idle_w = 2, active_w = 4, noise_w = 0.1 }"


class FullDisk(io.FileIO):
    """A file on a disk that becomes full after some bytes."""

    left = 2000

    def write(self, data):
        self.left -= len(data)
        if self.left < 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return super().write(data)


def fill_disk_amid_session(monkeypatch, number):
    """The disk becomes full while the samples of that session are written."""
    open_file = Path.open
    folders: list[Path] = []  # of the sessions, in their order

    def open_or_fill(path, mode="r", *arguments, **options):
        if path.suffix != ".arrow" or mode != "xb":
            return open_file(path, mode, *arguments, **options)
        if path.parent.parent not in folders:
            folders.append(path.parent.parent)
        return (FullDisk if folders.index(path.parent.parent) == number else io.FileIO)(path, mode)

    monkeypatch.setattr(Path, "open", open_or_fill)


@pytest.mark.attack(
    "the results' disk is full while samples are written: the run ends with what to do, --resume goes on"
)
def test_a_run_whose_samples_fill_the_disk_is_resumed(session_cache, tmp_path, monkeypatch):
    source = scenario(tmp_path, METERED)
    flags: dict[str, Any] = {"meter": ["replay"], "name": "metered", "passes": 8}
    with monkeypatch.context() as patch:
        fill_disk_amid_session(patch, 1)
        with pytest.raises(StoredResultError) as caught:
            run(session_cache, tmp_path / "full", source, **flags)
    assert caught.value.why == os.strerror(errno.ENOSPC)
    assert "make room" in caught.value.fix and "--resume" in caught.value.fix
    folder = tmp_path / "full" / "metered"
    begun = edgebench.load(folder)
    [trial] = begun.experiment.trials
    assert [record.status for record in begun.session_records(trial.key)] == ["ok"]
    resumed, outcome = run(session_cache, tmp_path / "full", source, resume=True, **flags)
    assert (resumed, outcome.sessions) == (folder, 2)
    [measured] = trials_of(edgebench.load(folder))
    assert (measured.status, len(measured.estimate("energy_j").sessions)) == ("done", 3)
    assert not list(folder.rglob("*.arrow"))
