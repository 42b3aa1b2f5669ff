"""Tables that are far larger in memory than on disk."""

import hashlib

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from edgebench.errors import StoredResultError
from edgebench.records.stored import PASS_COLUMNS, PREDICTION_COLUMNS
from edgebench.results import load as frames
from edgebench.results.parquet import COLUMN_TYPES, memory_bytes, write_options

KEY = "0" * 16


def column(name, rows, value):
    kind = COLUMN_TYPES.get(name, pa.int64())
    if pa.types.is_dictionary(kind):
        indices = pa.array([0], pa.int32()).take(pa.array([0] * rows, pa.int32()))
        return pa.DictionaryArray.from_arrays(indices, ["steady"])
    return pa.array([value] * rows, kind)


def passes(path, rows=100_000):
    """Write equal rows, which take next to nothing on disk."""
    table = pa.table({name: column(name, rows, 7) for name in (*PASS_COLUMNS, "patchify_ns")})
    pq.write_table(table, path)
    return table


def predictions(path, values=1_000_000):
    """Write one row with a million scores, encoded as sessions write them."""
    scores = pa.ListArray.from_arrays([0, values], pa.array([0.5], pa.float32()).take(pa.array([0] * values)))
    given = {name: column(name, 1, 0) for name in PREDICTION_COLUMNS if name != "scores"}
    table = pa.table(given | {"scores": scores})
    pq.write_table(table, path, **write_options(PREDICTION_COLUMNS))
    return table


def read(path, name, columns=None):
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    return frames.read_rows(name, [frames.Source(0, 0, path, path.parent, digest)], [KEY], columns)


@pytest.mark.attack("a table that does not fit into memory: a message, before it is read")
@pytest.mark.parametrize(("name", "write"), [("passes", passes), ("predictions", predictions)])
def test_a_table_that_does_not_fit_into_memory_is_not_read(tmp_path, monkeypatch, name, write):
    """Equal rows take little on disk; their size in memory is rows times widths."""
    path = tmp_path / f"{name}.parquet"
    table = write(path)
    with pq.ParquetFile(path) as parquet:
        needed = memory_bytes(parquet.metadata, parquet.schema_arrow, None)
    assert 0.9 * table.nbytes <= needed <= 1.5 * table.nbytes
    assert read(path, name).count == table.num_rows
    monkeypatch.setattr(pq.ParquetFile, "read", lambda *_, **__: pytest.fail("read"))
    monkeypatch.setattr(frames, "available_bytes", lambda: table.nbytes // 2)
    with pytest.raises(StoredResultError, match="does not fit into memory") as caught:
        read(path, name)
    assert "GB are free" in caught.value.why and caught.value.fix


@pytest.mark.attack("more tables than the memory holds twice, each sound: a message, before they are joined")
def test_tables_that_cannot_be_joined_in_memory_are_named(tmp_path, monkeypatch):
    path = tmp_path / "passes.parquet"
    table = passes(path)
    monkeypatch.setattr(frames, "available_bytes", lambda: int(1.5 * table.nbytes))
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    sources = [frames.Source(0, session, path, path.parent, digest) for session in range(2)]
    with pytest.raises(StoredResultError, match="does not fit into memory"):
        frames.read_rows("passes", sources, [KEY])
    assert frames.read_rows("passes", sources, [KEY], ["image_ns"]).count == 2 * table.num_rows


def test_a_system_that_does_not_tell_its_memory_bounds_nothing(tmp_path, monkeypatch):
    path = tmp_path / "passes.parquet"
    table = passes(path)
    monkeypatch.setattr(frames, "available_bytes", lambda: None)
    assert read(path, "passes").count == table.num_rows
