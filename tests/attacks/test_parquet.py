"""Tables of a foreign result that are far larger in memory than a session's."""

import hashlib
import random

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from edgebench.errors import StoredResultError
from edgebench.records.stored import PASS_COLUMNS, PREDICTION_COLUMNS
from edgebench.results import load as frames
from edgebench.results import parquet as parquet_memory
from edgebench.results.parquet import COLUMN_TYPES, MemoryBudget, unfolded_bytes, values_of

KEY = "0" * 16
MB = 10**6


def column(name, rows, value):
    kind = COLUMN_TYPES.get(name, pa.int64())
    if pa.types.is_dictionary(kind):
        indices = pa.array([0], pa.int32()).take(pa.array([0] * rows, pa.int32()))
        return pa.DictionaryArray.from_arrays(indices, ["steady"])
    return pa.array([value] * rows, kind)


def passes(path, rows=100_000):
    """Rows that are all alike, and take next to nothing on disk."""
    table = pa.table({name: column(name, rows, 7) for name in (*PASS_COLUMNS, "patchify_ns")})
    pq.write_table(table, path)
    return table


def predictions(path, values=1_000_000):
    """One row with a million scores that are all alike."""
    scores = pa.ListArray.from_arrays([0, values], pa.array([0.5], pa.float32()).take(pa.array([0] * values)))
    given = {name: column(name, 1, 0) for name in PREDICTION_COLUMNS if name != "scores"}
    table = pa.table(given | {"scores": scores})
    pq.write_table(table, path)
    return table


def read(path, name, columns=None):
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    return frames.read_rows(name, [frames.Source(0, 0, path, path.parent, digest)], [KEY], columns)


@pytest.mark.parametrize(
    ("name", "write"),
    [
        pytest.param(
            "passes",
            passes,
            marks=pytest.mark.attack(
                "a table of equal rows, small on disk: its size in memory is judged before it is read"
            ),
        ),
        pytest.param(
            "predictions",
            predictions,
            marks=pytest.mark.attack(
                "a row with millions of equal scores: its size in memory is judged before it is read"
            ),
        ),
    ],
)
def test_a_small_file_that_unfolds_to_much_is_refused_before_it_is_read(tmp_path, monkeypatch, name, write):
    path = tmp_path / f"{name}.parquet"
    table = write(path)
    assert path.stat().st_size * 20 < table.nbytes
    with pq.ParquetFile(path) as parquet:
        unfolded = unfolded_bytes(path.read_bytes(), parquet.metadata, parquet.schema_arrow, None)
    assert 0.9 * table.nbytes <= unfolded <= 1.5 * table.nbytes
    assert read(path, name).count == table.num_rows
    monkeypatch.setattr(pq.ParquetFile, "read", lambda *_, **__: pytest.fail("read"))
    monkeypatch.setattr(frames, "MAX_UNFOLDED_BYTES", 2 * MB)
    with pytest.raises(StoredResultError, match=f"{name}.parquet is damaged") as caught:
        read(path, name)
    assert "unfold to" in caught.value.why
    assert caught.value.fix


@pytest.mark.attack(
    "more tables than the memory holds, each sound: a message, before the system ends the process"
)
def test_tables_that_do_not_fit_into_memory_are_said(tmp_path, monkeypatch):
    path = tmp_path / "passes.parquet"
    table = passes(path)
    monkeypatch.setattr(parquet_memory, "available_bytes", lambda: table.nbytes)
    with pytest.raises(StoredResultError, match="does not fit into memory") as caught:
        read(path, "passes")
    assert "GB are free" in caught.value.why
    assert read(path, "passes", ["image_ns"]).count == table.num_rows


def test_what_was_taken_is_counted_and_no_bound_is_made_up():
    budget = MemoryBudget()
    budget._free = 100
    assert [bool(budget.take(size)) for size in (30, 30, 30)] == [False, False, True]
    budget._free = None
    assert budget.take(10**15) == ""


def test_a_footer_tells_the_values_of_each_column(tmp_path):
    path = tmp_path / "predictions.parquet"
    predictions(path, 1234)
    assert values_of(path.read_bytes()) == dict.fromkeys(PREDICTION_COLUMNS, 1) | {"scores": 1234}


@pytest.mark.attack("a Parquet footer with any bytes changed: a reason, never a fault")
def test_no_footer_gives_anything_but_counts_or_a_reason(tmp_path):
    path = tmp_path / "predictions.parquet"
    predictions(path, 10)
    sound = path.read_bytes()
    start = len(sound) - 8 - int.from_bytes(sound[-8:-4], "little")
    rng = random.Random(5)
    refused = 0
    for _ in range(2000):
        damaged = bytearray(sound)
        for _ in range(rng.randint(1, 3)):
            damaged[rng.randrange(start, len(sound))] = rng.randrange(256)
        try:
            values_of(bytes(damaged))
        except ValueError:
            refused += 1
    assert refused > 100
