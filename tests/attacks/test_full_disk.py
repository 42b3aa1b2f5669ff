"""Whole runs on a disk that becomes full while the samples of a meter are written to it."""

import errno
import os
from typing import Any

import pytest

import edgebench
from edgebench.errors import StoredResultError
from edgebench.judge.summarise import summarise
from edgebench.link.host_probes import SampleSpool
from tests.backends.replaying import run, scenario

METERED = "power = { idle_w = 2, active_w = 4, noise_w = 0.1 }"


def fill_disk_amid_session(monkeypatch, number):
    """Have the spools of the session with that number, from 0 on, take a first write and no other."""
    folders: list[str] = []
    add_file = SampleSpool._add_file

    def add_full_file(spool, probe):
        add_file(spool, probe)
        if spool.folder.parent not in folders:
            folders.append(spool.folder.parent)
        if folders.index(spool.folder.parent) == number:
            write_batch = spool._writers[probe].write_batch
            left = [1]

            class Full:
                def write_batch(self, rows):
                    if not left[0]:
                        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
                    left[0] -= 1
                    write_batch(rows)

            spool._writers[probe] = Full()

    monkeypatch.setattr(SampleSpool, "_add_file", add_full_file)


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
    [summary] = summarise(edgebench.load(folder))
    assert summary.power is not None
    assert (summary.status, len(summary.power[0].energy_j_sessions)) == ("done", 3)
    assert not list(folder.rglob("*.samples"))
