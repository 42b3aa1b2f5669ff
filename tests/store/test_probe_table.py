"""The table of samples, which grows row group by row group."""

import errno

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

from edgebench.errors import SessionError
from edgebench.records.session import Channel, ProbeChunk, ProbeInfo
from edgebench.records.stored import PROBE_COLUMNS
from edgebench.results import tables as probe_table
from edgebench.results.parquet import COLUMN_TYPES
from edgebench.results.tables import ProbeTableWriter
from tests.sample_tables import write_samples

INFO = ProbeInfo(
    "fake", "0", 50.0, "1 mW", "board", (Channel("vdd", "power", "W"), Channel("t", "temperature", "C"))
)


def chunk_of(first_ns, n, probe="fake:0"):
    stamps = first_ns + np.arange(n, dtype=np.int64)
    volts = np.where(stamps % 7 == 0, np.nan, stamps / 10)
    return ProbeChunk(probe, stamps, {"vdd": volts, "t": stamps * 2.0})


def test_samples_become_one_row_a_channel(tmp_path):
    stamps = np.array([10, 20], np.int64)
    chunk = ProbeChunk("fake:0", stamps, {"vdd": np.array([1.5, np.nan]), "t": np.array([40.0, 41.0])})
    table = write_samples(tmp_path / "probes.parquet", [chunk, chunk], [INFO])
    rows = pd.read_parquet(table.path)
    assert (table.rows, len(rows)) == (8, 8)
    assert rows["channel"].tolist() == ["vdd"] * 2 + ["t"] * 2 + ["vdd"] * 2 + ["t"] * 2
    assert rows["t_ns"].tolist() == [10, 20] * 4
    np.testing.assert_array_equal(rows["value"], [1.5, np.nan, 40.0, 41.0] * 2)
    assert rows[rows["channel"] == "t"]["unit"].unique().tolist() == ["C"]
    assert {field.name: field.type for field in pq.read_schema(table.path)} == {
        name: COLUMN_TYPES[name] for name in PROBE_COLUMNS
    }


def test_row_groups_come_as_the_rows_do_and_change_nothing(tmp_path, monkeypatch):
    other = ProbeInfo("slow", "", 2.0, "", "usb", INFO.channels)
    chunks = [chunk_of(1000 * number, 60, ("fake:0", "slow:")[number % 2]) for number in range(10)]
    whole = write_samples(tmp_path / "whole.parquet", chunks, [INFO, other])
    monkeypatch.setattr(probe_table, "ROW_GROUP_ROWS", 100)
    path = tmp_path / "groups.parquet"
    with ProbeTableWriter(path) as table:
        for chunk in chunks:
            table.write(chunk, [INFO, other])
        assert table.rows == 1200
        assert path.stat().st_size > 1000  # what came is not waiting for the end
        groups = table.close()
    assert pq.ParquetFile(path).num_row_groups > 5
    pd.testing.assert_frame_equal(pd.read_parquet(path), pd.read_parquet(whole.path))
    assert groups.rows == whole.rows


@pytest.mark.parametrize(
    "chunk",
    [
        ProbeChunk("fake:1", np.array([1]), {"vdd": np.array([1.0])}),
        ProbeChunk("fake:0", np.array([1]), {"other": np.array([1.0])}),
    ],
)
def test_samples_that_were_not_announced_are_refused_and_leave_no_file(chunk, tmp_path):
    with pytest.raises(SessionError):
        write_samples(tmp_path / "probes.parquet", [chunk_of(0, 3), chunk], [INFO])
    assert list(tmp_path.iterdir()) == []


@pytest.mark.attack("the disk is full during the samples: no half table is left")
def test_a_disk_that_is_full_leaves_no_file(tmp_path, monkeypatch):
    def full(self, *_, **__):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(probe_table, "ROW_GROUP_ROWS", 10)
    with pytest.raises(OSError, match="No space left"), ProbeTableWriter(tmp_path / "p.parquet") as table:
        table.write(chunk_of(0, 20), [INFO])
        monkeypatch.setattr(pq.ParquetWriter, "write_table", full)
        table.write(chunk_of(20, 20), [INFO])
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("asked", ["rapl", "rapl:"])
def test_a_meter_without_an_address_is_one_meter(asked, tmp_path):
    info = ProbeInfo("rapl", "", 50.0, "", "chip", (Channel("package", "power", "W"),))
    chunk = ProbeChunk(asked, np.array([1]), {"package": np.array([2.0])})
    table = write_samples(tmp_path / "probes.parquet", [chunk], [info])
    assert pd.read_parquet(table.path)["probe"].tolist() == ["rapl:"]


def test_the_footer_has_what_is_said_of_the_rows(tmp_path):
    with ProbeTableWriter(tmp_path / "probes.parquet") as table:
        table.write(chunk_of(0, 3), [INFO])
        table.close({"said": "of them"})
    assert pq.ParquetFile(tmp_path / "probes.parquet").metadata.metadata[b"said"] == b"of them"
