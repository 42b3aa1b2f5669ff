"""The columns and types of the Parquet tables, and frames turned into them."""

from __future__ import annotations

import re
import threading
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, get_type_hints

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from edgebench.records.described import texts_of
from edgebench.records.stored import (
    BatchRow,
    BatchStageRow,
    PacedPassRow,
    PassRow,
    PassStageRow,
    PredictionRow,
    ProbeRow,
    WindowRow,
    columns_of,
)
from edgebench.results.rows import AnyColumn, Rows, Whole, rows_of
from edgebench.session_stages import STAGE_NAME
from edgebench.this_machine import available_bytes

if TYPE_CHECKING:
    import pandas as pd  # which takes long to import

ROWS: dict[str, type] = {
    "passes": PassRow,
    "batches": BatchRow,
    "probes": ProbeRow,
    "predictions": PredictionRow,
    "windows": WindowRow,
}
_MORE_COLUMNS: dict[str, dict[str, type]] = {
    "passes": {"stage_columns": PassStageRow, "paced_columns": PacedPassRow},
    "batches": {"stage_columns": BatchStageRow},
}
TABLE_COLUMNS = {name: columns_of(row) for name, row in ROWS.items()}

_ARROW: dict[str, pa.DataType] = {
    "int16": pa.int16(),
    "int32": pa.int32(),
    "int64": pa.int64(),
    "double": pa.float64(),
    "dictionary<string>": pa.dictionary(pa.int32(), pa.string()),
    "list<float>": pa.list_(pa.float32()),
}


def _dtypes(row: type) -> dict[str, str]:
    hints = get_type_hints(row, include_extras=True)
    return {name.rstrip("_"): hint.__metadata__[0] for name, hint in hints.items()}


COLUMN_TYPES = {name: _ARROW[dtype] for row in ROWS.values() for name, dtype in _dtypes(row).items()}
"""Type of every column that has a fixed name; a stage's columns are int64."""


def table_schemas() -> dict[str, Any]:
    """The Parquet tables and their columns: dtype, unit and description."""
    tables = {}
    for name, row in ROWS.items():
        kinds = {"columns": row, **_MORE_COLUMNS.get(name, {})}
        tables[name] = {"description": (row.__doc__ or "").strip()} | {
            kind: {
                re.sub("^stage_", "<stage>_", column.rstrip("_")): {
                    "dtype": _dtypes(of)[column.rstrip("_")],
                    "unit": text.unit or None,
                    "description": text.text,
                }
                for column, text in texts_of(of).items()
            }
            for kind, of in kinds.items()
        }
    description = (
        "The Parquet files of a session. Every *_ns column is on the device's monotonic clock; a stage is a "
        "named part of a batch's time: patchify, preprocess, infer. load() puts `trial` and `session` first."
    )
    return {"schema_version": 1, "description": description, "tables": tables}


DICTIONARY_COLUMNS = (
    "worker",
    "pass",
    "phase",
    "patches",
    "probe",
    "channel",
    "quantity",
    "unit",
    "set",
    "label",
)
"""Columns with few distinct values; a dictionary of stamps would only be thrown away again."""


def write_options(columns: Sequence[str]) -> dict[str, Any]:
    """How these columns are written, for pyarrow."""
    return {
        "compression": "zstd",
        "use_dictionary": [column for column in columns if column in DICTIONARY_COLUMNS],
        # Stamps at an even distance take next to nothing so.
        "column_encoding": {column: "DELTA_BINARY_PACKED" for column in columns if column == "t_ns"},
    }


_STAGE_COLUMN = {
    "passes": re.compile(rf"{STAGE_NAME}_ns"),
    "batches": re.compile(rf"{STAGE_NAME}_(start|end)_ns"),
}


def is_stage_column(table: str, column: str) -> bool:
    """Whether a column, not one of the fixed ones, belongs to a stage of that table."""
    pattern = _STAGE_COLUMN.get(table)
    return pattern is not None and pattern.fullmatch(column) is not None


def to_arrow(frame: pd.DataFrame, name: str) -> pa.Table:
    """A frame as the table that is written; ValueError when its columns are not those of the table."""
    fixed = TABLE_COLUMNS[name]
    columns = [str(column) for column in frame.columns]
    stages_alone = all(is_stage_column(name, column) for column in columns[len(fixed) :])
    if tuple(columns[: len(fixed)]) != fixed or not stages_alone:
        raise ValueError(f"these are not the columns of {name}: {columns}")
    schema = pa.schema([(column, COLUMN_TYPES.get(column, pa.int64())) for column in columns])
    table = pa.Table.from_pandas(frame, schema=schema, preserve_index=False)
    # What pandas notes about itself would differ between versions and adds two kilobytes a file.
    return table.replace_schema_metadata(None)


# Many small tables as one.


def joined_rows(name: str, tables: list[pa.Table], columns: Sequence[str] | None = None) -> Rows:
    """The rows of some tables of one kind one after the other; `tables` is empty afterwards.

    What a table lacks of the others' columns is missing in its rows.

    Args:
        name: passes, batches, windows, probes or predictions.
        tables: of any number of files.
        columns: those that are wanted; None for all.
    """
    wanted = [column for column in TABLE_COLUMNS[name] if columns is None or column in columns]
    schema = pa.schema([(column, COLUMN_TYPES[column]) for column in wanted])
    # schema.empty_table() would import pandas.
    empty = pa.Table.from_arrays([pa.nulls(0, field.type) for field in schema], schema=schema)
    whole = pa.concat_tables([empty, *tables], promote_options="default")
    tables.clear()
    return rows_of(whole)


# What the columns of EdgeBench's own tables may hold; anything else was not written by a session.


MOST_NS = 2**62 - 1
"""146 years: the difference of two such moments is still a whole number of 64 bits."""

MAY_BE_MISSING = frozenset({"infer_ns", "value", "instructions"})
"""Columns of every table whose values may be missing; a stage's may, too."""

_LEAST = dict.fromkeys(
    ("worker", "pass", "patches", "batch", "first_patch", "index", "window", "patch"), 0
) | {"inferences": 1, "instructions": 1}
"""The least values of columns that count something."""
_MOMENTS = frozenset({"start_ns", "end_ns", "due_ns", "lateness_ns"})  # of passes; the others are durations


def first_fault(table: str, rows: Rows) -> tuple[int, str] | None:
    """The first row that cannot be, and why; None when every row can be.

    Args:
        table: passes, batches, windows, probes or predictions.
        rows: as `joined_rows` gives them.
    """
    for name, column in rows.items():
        required = name in TABLE_COLUMNS[table] and name not in MAY_BE_MISSING
        if required and len(missing := np.flatnonzero(rows.missing(name))):
            return int(missing[0]), f"column {name!r} has gaps"
        if not _is_whole(column) or not len(column):
            continue
        values, (low, high) = rows.whole(name), _bounds(table, name)
        if values.min() < low or values.max() > high:
            wrong = np.flatnonzero(((values < low) | (values > high)) & ~rows.missing(name))
            if len(wrong):  # what is missing holds a 0 beneath
                return int(wrong[0]), f"{name!r} of a row is {int(values[wrong[0]])}"
    if table != "passes":
        return _first_reversed(rows, table == "windows")
    if {"phase", "image_ns"} <= set(rows):
        timeless = np.flatnonzero(rows.equal("phase", "steady") & (rows.whole("image_ns") == 0))
        if len(timeless):
            return int(timeless[0]), "'image_ns' of a steady pass is 0"
    return None


def _first_reversed(rows: Rows, takes_time: bool) -> tuple[int, str] | None:
    """The first window without a duration, or stage of a batch that ends before it starts."""
    for end in rows:
        start = f"{end.removesuffix('end_ns')}start_ns"
        if not end.endswith("end_ns") or start not in rows:
            continue
        present = ~(rows.missing(start) | rows.missing(end))
        wrong = np.flatnonzero((rows.whole(end) < rows.whole(start) + takes_time) & present)
        if len(wrong):
            order = "not after" if takes_time else "before"
            return int(wrong[0]), f"{end!r} of a row is {order} its {start!r}"
    return None


def _is_whole(column: AnyColumn) -> bool:
    return isinstance(column, Whole) or (isinstance(column, np.ndarray) and column.dtype.kind == "i")


def _bounds(table: str, name: str) -> tuple[int, int]:
    if name.endswith("_ns"):
        duration = table == "passes" and name not in _MOMENTS
        return (0 if duration else -MOST_NS), MOST_NS
    return _LEAST.get(name, -(2**63)), 2**63 - 1


# How many values each column of a Parquet file has, out of its footer.
#
# pyarrow would end the process for a footer that was made to do harm, where it is asked for a single
# column.
#
# The footer is a struct of Thrift's compact protocol; fields by number as in parquet-format's
# parquet.thrift.


_MAGIC = b"PAR1"
_MAX_DEPTH = 16
_ROW_GROUPS, _COLUMNS, _COLUMN, _PATH, _VALUES = 4, 1, 3, 3, 5


def values_of(data: bytes) -> dict[str, int]:
    """Values by column, over all row groups; those of a list by the column that the list is.

    ValueError where the bytes are no Parquet file, or its footer is damaged.
    """
    if len(data) < 12 or data[-4:] != _MAGIC:
        raise ValueError("it does not end like a Parquet file")
    length = int.from_bytes(data[-8:-4], "little")
    if length > len(data) - 12:
        raise ValueError("its footer is longer than the file")
    counts: dict[str, int] = {}
    try:
        for group in _Compact(data[-8 - length : -8]).struct().get(_ROW_GROUPS, ()):
            for chunk in group[_COLUMNS]:
                column = chunk[_COLUMN]
                name = column[_PATH][0].decode()
                counts[name] = counts.get(name, 0) + int(column[_VALUES])
    except (IndexError, KeyError, TypeError, AttributeError) as error:
        raise ValueError("its footer is damaged") from error
    return counts


class _Compact:
    """Values of Thrift's compact protocol in bytes, one after the other; a struct's are by field number."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def struct(self, depth: int = 0) -> dict[int, Any]:
        if depth > _MAX_DEPTH:
            raise ValueError("its footer is nested too deeply")
        fields: dict[int, Any] = {}
        number = 0
        while head := self._byte():
            step, kind = head >> 4, head & 15
            number = number + step if step else self._zigzag()
            # A field that is true or false has its value in its type.
            fields[number] = kind == 1 if kind in (1, 2) else self._value(kind, depth)
        return fields

    def _value(self, kind: int, depth: int) -> Any:
        if kind in (1, 2, 3):
            return self._byte()
        if kind in (4, 5, 6):
            return self._zigzag()
        if kind == 7:
            return self._bytes(8)
        if kind == 8:
            return self._bytes(self._varint())
        if kind in (9, 10):
            head = self._byte()
            size = head >> 4 if head >> 4 < 15 else self._varint()
            return [self._value(head & 15, depth + 1) for _ in range(self._within(size))]
        if kind == 12:
            return self.struct(depth + 1)
        raise ValueError(f"its footer has a value of the unknown kind {kind}")

    def _byte(self) -> int:
        self._at += 1
        return self._data[self._at - 1]

    def _bytes(self, size: int) -> bytes:
        self._at += self._within(size)
        return self._data[self._at - size : self._at]

    def _within(self, size: int) -> int:
        """The size, which takes at least as many bytes; IndexError where there are fewer."""
        if size > len(self._data) - self._at:
            raise IndexError
        return size

    def _varint(self) -> int:
        value = shift = 0
        while True:
            byte = self._byte()
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value
            if shift > 63:
                raise ValueError("its footer has a number of more than 64 bits")

    def _zigzag(self) -> int:
        value = self._varint()
        return (value >> 1) ^ -(value & 1)


# How much memory a Parquet table takes, from its footer: a file of megabytes may unfold to all there is.
#
# Runs of equal values and dictionaries take next to nothing on disk, so neither the size of a file nor the
# size
# that its pages have unpacked bounds what is read; the rows times what the types of their columns take do.


MAX_BYTES = 16 * 2**30
"""Most bytes of one session's table: more than 400 million rows of samples take, an hour of 100 kHz."""

_CODE_BYTES = 4  # of a dictionary's index, and of a list's or a text's offset


def unfolded_bytes(
    data: bytes, metadata: pq.FileMetaData, schema: pa.Schema, columns: Sequence[str] | None
) -> int:
    """What the columns of a file take in memory, in bytes, as its footer has it.

    Args:
        data: the file's bytes.
        metadata: of the same, as pyarrow reads it.
        schema: the columns' types in memory.
        columns: those that are wanted; None for all.

    Raises:
        ValueError: the footer is damaged.
    """
    groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
    rows = int(max(metadata.num_rows, sum(group.num_rows for group in groups)))
    row_bytes, lists = _widths(schema, tuple(schema.names if columns is None else columns))
    # A list's values are a column of their own, with more of them than there are rows.
    values = values_of(data) if lists else {}
    unfolded = rows * row_bytes + sum(values.get(name, 0) * width for name, width in lists.items())
    return max(unfolded, sum(int(group.total_byte_size) for group in groups))


@lru_cache(maxsize=64)  # thousands of files have the same few schemas
def _widths(schema: pa.Schema, columns: tuple[str, ...]) -> tuple[int, dict[str, int]]:
    """Bytes of a row without its lists, and of a value of each list by column."""
    row_bytes, lists = 0, {}
    for field in schema:
        if field.name not in columns:
            continue
        if pa.types.is_nested(field.type):
            row_bytes += _CODE_BYTES
            value = field.type.value_type if pa.types.is_list(field.type) else pa.float64()
            lists[field.name] = _width(value)
        else:
            row_bytes += _width(field.type)
    return row_bytes, lists


def _width(kind: pa.DataType) -> int:
    if pa.types.is_dictionary(kind):
        kind = kind.index_type
    try:
        return max(1, int(kind.bit_width) // 8)
    except ValueError:  # text and the like: its content is in the size of the pages
        return _CODE_BYTES


class MemoryBudget:
    """The memory that the tables of one frame may take together; may be asked from several threads."""

    def __init__(self) -> None:
        self._free = available_bytes()
        self._taken = 0
        self._lock = threading.Lock()

    def take(self, size_bytes: int) -> str:
        """Why a table of that size does not fit with those before it; "" where it fits, and is counted.

        It counts twice: while the tables are joined, its rows are held both as read and as joined.
        """
        with self._lock:
            lack = self._lack(2 * size_bytes)
            if not lack:
                self._taken += size_bytes
            return lack

    def lack(self, size_bytes: int) -> str:
        """Why this many bytes more do not fit for a moment; "" where they do. They are not counted."""
        with self._lock:
            return self._lack(size_bytes)

    def _lack(self, size_bytes: int) -> str:
        needed = self._taken + size_bytes
        if self._free is None or needed <= self._free:
            return ""
        return f"reading takes {needed / 1e9:.1f} GB of memory, and {self._free / 1e9:.1f} GB are free"
