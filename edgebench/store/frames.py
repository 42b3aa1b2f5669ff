"""Parquet files of many sessions as one pandas frame: checked, read side by side, copied once."""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from edgebench.errors import StoredResultError
from edgebench.regular_files import read_regular
from edgebench.store.columns import Columns
from edgebench.store.layout import regular_file
from edgebench.store.parquet import COLUMN_TYPES, TABLE_COLUMNS, is_stage_column, may_lack
from edgebench.store.parquet_memory import MAX_BYTES as MAX_UNFOLDED_BYTES
from edgebench.store.parquet_memory import MemoryBudget, unfolded_bytes
from edgebench.store.table_checks import first_fault

MAX_ROWS = 400_000_000
"""A file that declares more rows was not written by a session: an hour of 100 kHz has 360 million."""

MAX_BYTES = 4 * 2**30
"""A larger file was not written by a session."""

_READERS = 3
_BLOCK = 256  # files that are held in Arrow at a time


@dataclass(frozen=True)
class Source:
    """One session's file.

    Attributes:
        trial: the number of its trial among the keys.
        session: the session's number.
        path: the file, which is absent when the session had nothing to put in it.
        sha256: of its bytes, as the session's record has it; None where the record knows of no such file.
    """

    trial: int
    session: int
    path: Path
    sha256: str | None = None


def read_frame(
    name: str,
    sources: Sequence[Source],
    keys: list[str],
    root: Path,
    columns: Sequence[str] | None = None,
) -> pd.DataFrame:
    """The rows of all `sources` that exist, in order, with `trial` (category) and `session` in front.

    Args:
        name: passes, batches, windows, probes, predictions, or the name of a further table.
        sources: the files.
        keys: the trials' keys, all of which are categories of `trial`.
        root: the experiment's folder, which no link may leave.
        columns: of the table, when not all are wanted; StoredResultError when a file lacks one, except
            for those that not every session has (of a stage, of a later version): they are missing there.

    Raises:
        StoredResultError: a file is truncated, damaged or has other columns; it says which, and the fix.
    """
    fixed = TABLE_COLUMNS.get(name)
    joined: Columns | _FurtherTables = _FurtherTables(root, name)
    if fixed is not None:
        joined = Columns([column for column in fixed if columns is None or column in columns])
    read_sources: list[Source] = []
    rows: list[int] = []
    budget = MemoryBudget()
    with ThreadPoolExecutor(_READERS) as pool:
        # Reading is Arrow's work, outside the interpreter's lock; one block is joined while the next is read.
        blocks = deque(sources[at : at + _BLOCK] for at in range(0, len(sources), _BLOCK))
        ahead: deque[tuple[Sequence[Source], list[Future[pa.Table | None]]]] = deque()
        while blocks or ahead:
            while blocks and len(ahead) < 2:
                block = blocks.popleft()
                futures = [pool.submit(_read_table, source, name, root, columns, budget) for source in block]
                ahead.append((block, futures))
            block, futures = ahead.popleft()
            results = zip(block, (future.result() for future in futures), strict=True)
            tables_read = [(source, table) for source, table in results if table is not None]
            read_sources += [source for source, _ in tables_read]
            rows += [table.num_rows for _, table in tables_read]
            joined.take([table for _, table in tables_read])
    values = joined.done()
    if fixed is not None and (fault := first_fault(name, values)) is not None:
        row, why = fault
        raise _damaged(read_sources[int(np.searchsorted(np.cumsum(rows), row, side="right"))].path, why)
    trials = np.repeat(np.array([source.trial for source in read_sources], dtype=np.int32), rows)
    sessions = np.repeat(np.array([source.session for source in read_sources], dtype=np.int32), rows)
    categories = pd.Index(keys, dtype="str")
    front = {"trial": pd.Categorical.from_codes(trials, categories=categories), "session": sessions}
    return pd.DataFrame({**front, **values}, copy=False)


class _FurtherTables:
    """Joins tables of another name, which have whatever columns they have, as `Columns` does its own."""

    def __init__(self, root: Path, name: str) -> None:
        self._label = f"the tables {name!r} of {root}"
        self._tables: list[pa.Table] = []

    def take(self, tables: Sequence[pa.Table]) -> None:
        self._tables += tables

    def done(self) -> dict[str, Any]:
        if not self._tables:
            return {}
        try:
            joined = pa.concat_tables(self._tables, promote_options="permissive")
        except pa.ArrowException as error:
            raise StoredResultError(
                f"{self._label} do not fit each other", why=str(error).partition("\n")[0][:200]
            ) from error
        return {str(column): values for column, values in _to_pandas(joined).items()}


def _read_table(
    source: Source, name: str, root: Path, columns: Sequence[str] | None, budget: MemoryBudget
) -> pa.Table | None:
    path = source.path
    size = regular_file(path, root)
    if size is None:
        if source.sha256 is None:
            return None
        raise _damaged(path, "the file is missing")
    if size > MAX_BYTES:
        raise _damaged(path, f"it is larger than {MAX_BYTES} bytes")
    if lack := budget.lack(size):
        raise _too_large(path, lack)
    try:
        # At once: the files are small, and nothing changes between the checks and the reading.
        data = read_regular(path, MAX_BYTES)
        # Parquet's own checksums leave out headers, where a flipped bit can change a figure unnoticed.
        if source.sha256 is not None and hashlib.sha256(data).hexdigest() != source.sha256:
            raise _damaged(path, "it is not what was written: the SHA-256 in session.json differs")
        with pq.ParquetFile(pa.py_buffer(data)) as parquet:
            schema, rows = parquet.schema_arrow, parquet.metadata.num_rows
            unfolded = unfolded_bytes(data, parquet.metadata, schema, columns)
            fault = _fault(name, schema) or (f"its footer declares {rows} rows" if rows > MAX_ROWS else "")
            if not fault and unfolded > MAX_UNFOLDED_BYTES:
                fault = f"{size / 1e6:.1f} MB of it unfold to {unfolded / 1e9:.1f} GB"
            if fault:
                raise _damaged(path, fault)
            lacking = [column for column in columns or () if column not in schema.names]
            for column in lacking:
                if not may_lack(name, column):
                    raise StoredResultError(f"{path} has no column {column[:60]!r}")
            if lack := budget.take(unfolded):
                raise _too_large(path, lack)
            held = None if columns is None else [column for column in columns if column not in lacking]
            table = parquet.read(columns=held, use_threads=False)
        table.validate(full=True)
    except (pa.ArrowException, OSError, ValueError, OverflowError, MemoryError) as error:
        raise _damaged(path, str(error).partition("\n")[0][:200]) from error
    return table


@lru_cache(maxsize=64)  # thousands of files have the same few schemas
def _fault(name: str, schema: pa.Schema) -> str:
    """What is wrong with the columns of a table, or ""."""
    if len(set(schema.names)) != len(schema.names):
        return "two columns have the same name"
    if {"trial", "session"} & set(schema.names):
        return "it has a column 'trial' or 'session', which loading adds"
    fixed = TABLE_COLUMNS.get(name)
    if fixed is None:
        return ""
    missing = [column for column in fixed if column not in schema.names and not may_lack(name, column)]
    if missing:
        return f"it has no column {missing[0]}"
    for field in schema:
        if field.name in fixed:
            type_fits = field.type.equals(COLUMN_TYPES[field.name])
        else:
            type_fits = is_stage_column(name, field.name) and field.type.equals(pa.int64())
        if not type_fits:
            return f"its column {field.name[:60]!r} is of type {str(field.type)[:60]}"
    return ""


def _to_pandas(table: pa.Table) -> pd.DataFrame:
    # Whole numbers stay whole where some are missing (a stage that only some trials have).
    gaps = {
        column: table[column]
        for column in table.column_names
        if table[column].null_count and pa.types.is_integer(table[column].type)
    }
    names = table.column_names
    table = table.drop_columns(list(gaps)).unify_dictionaries()
    # Each column's memory is given back as soon as it has been copied.
    frame: pd.DataFrame = table.to_pandas(split_blocks=True, self_destruct=True, use_threads=True)
    for column in frame.columns:
        # An empty dictionary comes back without a type.
        if isinstance(frame[column].dtype, pd.CategoricalDtype) and not len(frame[column].cat.categories):
            frame[column] = frame[column].astype(pd.CategoricalDtype(pd.Index([], dtype="str")))
    for column, values in gaps.items():
        frame[column] = values.cast(pa.int64()).to_pandas(types_mapper={pa.int64(): pd.Int64Dtype()}.get)
    return frame[names] if gaps else frame


def _too_large(path: Path, lack: str) -> StoredResultError:
    fix = "read the result on a machine with more memory"
    return StoredResultError(f"{path} does not fit into memory", why=lack, fix=fix)


def _damaged(path: Path, why: str) -> StoredResultError:
    return StoredResultError(
        f"{path} is damaged, or not what EdgeBench writes",
        why=why,
        fix=f"remove {path.parent}, then run again with --resume to measure it anew",
    )
