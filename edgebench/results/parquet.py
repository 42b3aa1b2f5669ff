"""Columns, types, possible rows and size in memory of the Parquet tables, and frames turned into them."""

from __future__ import annotations

import re
from collections.abc import Sequence
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
    """Describe the Parquet tables and their columns: dtype, unit and description."""
    tables = {}
    for name, row in ROWS.items():
        kinds = {"columns": row, **_MORE_COLUMNS.get(name, {})}
        tables[name] = {"description": (row.__doc__ or "").strip()} | {
            kind: {
                re.sub("^stage_", "<stage>_", column.rstrip("_")): {
                    "dtype": _dtypes(type_)[column.rstrip("_")],
                    "unit": text.unit or None,
                    "description": text.text,
                }
                for column, text in texts_of(type_).items()
            }
            for kind, type_ in kinds.items()
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
    """Return pyarrow's options for writing these columns."""
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
    """Return True if a column, not one of the fixed ones, belongs to a stage of that table."""
    pattern = _STAGE_COLUMN.get(table)
    return pattern is not None and pattern.fullmatch(column) is not None


def to_arrow(frame: pd.DataFrame, name: str) -> pa.Table:
    """Turn a frame into the table that is written. Raises ValueError for columns of another table."""
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
    """Join the rows of tables of one kind; `tables` is empty afterwards.

    A column that one table lacks is missing in its rows.

    Args:
        name: passes, batches, windows, probes or predictions.
        tables: of any number of files.
        columns: wanted ones; None for all.
    """
    wanted = [column for column in TABLE_COLUMNS[name] if columns is None or column in columns]
    schema = pa.schema([(column, COLUMN_TYPES[column]) for column in wanted])
    # schema.empty_table() would import pandas.
    empty = pa.Table.from_arrays([pa.nulls(0, field.type) for field in schema], schema=schema)
    whole = pa.concat_tables([empty, *tables], promote_options="default")
    tables.clear()
    return rows_of(whole)


# Values that the columns may hold.


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
    """Find the first impossible row, and the reason; None if every row is possible.

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
    """Find the first window without a duration, or stage of a batch that ends before it starts."""
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


_CODE_BYTES = 4  # of an offset of a list or a text


def memory_bytes(metadata: pq.FileMetaData, schema: pa.Schema, columns: Sequence[str] | None) -> int:
    """Return the bytes that a table takes in memory, from its footer.

    Runs of equal values and dictionaries take little on disk, and lists have more values than rows: it is the
    larger one of rows times the widths of the columns and the declared size of the pages without compression.

    Args:
        metadata: of the file.
        schema: types of the columns in memory.
        columns: wanted ones; None for all.
    """
    wanted = schema if columns is None else [field for field in schema if field.name in columns]
    widths = sum(_width_bytes(field.type) for field in wanted)
    groups = range(metadata.num_row_groups)
    declared = sum(int(metadata.row_group(group).total_byte_size) for group in groups)
    return max(int(metadata.num_rows) * widths, declared)


def _width_bytes(kind: pa.DataType) -> int:
    """Bytes of a value; of a list or a text those of its offset."""
    if pa.types.is_dictionary(kind):
        kind = kind.index_type
    return max(1, int(kind.bit_width) // 8) if pa.types.is_primitive(kind) else _CODE_BYTES
