"""Samples on disk while they are taken."""

import errno

import numpy as np
import pytest

from edgebench.link.host_probes import SampleSpool
from edgebench.records.session import ProbeChunk


def chunk_of(probe, first_ns, n, **values):
    stamps = first_ns + np.arange(n, dtype=np.int64)
    return ProbeChunk(probe, stamps, values or {"in": stamps / 2, "temperatur é": np.full(n, np.nan)})


def test_chunks_of_several_probes_come_back_in_their_order(tmp_path):
    spool = SampleSpool(tmp_path / "spool")
    chunks = [chunk_of(("a:", "b:1")[number % 2], 100 * number, number) for number in range(8)]
    chunks.append(chunk_of("a:", 900, 2, other=np.array([1.0, 2.0])))
    for chunk in chunks:
        spool.add(chunk)
    assert sorted(spool.probes) == ["a:", "b:1"]
    for probe in ("a:", "b:1"):
        for _ in range(2):  # as often as it is asked for
            back = list(spool.chunks(probe))
            sent = [chunk for chunk in chunks if chunk.probe == probe and len(chunk.stamps_ns)]
            assert [list(chunk.values) for chunk in back] == [list(chunk.values) for chunk in sent]
            for chunk, original in zip(back, sent, strict=True):
                np.testing.assert_array_equal(chunk.stamps_ns, original.stamps_ns)
                for name, values in original.values.items():
                    np.testing.assert_array_equal(chunk.values[name], values)
    assert list(spool.chunks("c:")) == []
    spool.close()
    assert list((tmp_path / "spool").iterdir()) == []


@pytest.mark.attack("the disk is full while a session samples: the run ends with what to do about it")
def test_a_disk_that_is_full_is_noted_and_told_later(tmp_path, monkeypatch):
    def full(self, probe):
        raise OSError(errno.ENOSPC, "No space left on device")

    spool = SampleSpool(tmp_path)
    spool.add(chunk_of("a:", 0, 3))
    monkeypatch.setattr(SampleSpool, "_add_file", full)
    spool.add(chunk_of("b:", 0, 3))
    monkeypatch.undo()
    spool.add(chunk_of("b:", 0, 3))
    with pytest.raises(OSError, match="No space left"):
        spool.require_written()
    with pytest.raises(OSError, match="No space left"):
        list(spool.chunks("a:"))
    spool.close()
