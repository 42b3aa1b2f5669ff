"""The columns and types of the Parquet tables, and frames turned into them."""

from __future__ import annotations

import re

import pandas as pd
import pyarrow as pa

from edgebench.stage_names import STAGE_NAME
from edgebench.store.records import (
    BATCH_COLUMNS,
    LATER_COLUMNS,
    PASS_COLUMNS,
    PREDICTION_COLUMNS,
    PROBE_COLUMNS,
    WINDOW_COLUMNS,
)

TABLE_COLUMNS: dict[str, tuple[str, ...]] = {
    "passes": PASS_COLUMNS,
    "batches": BATCH_COLUMNS,
    "probes": PROBE_COLUMNS,
    "predictions": PREDICTION_COLUMNS,
    "windows": WINDOW_COLUMNS,
}

_WORD = pa.dictionary(pa.int32(), pa.string())
COLUMN_TYPES: dict[str, pa.DataType] = {
    "worker": pa.int16(),
    "pass": pa.int32(),
    "phase": _WORD,
    "start_ns": pa.int64(),
    "end_ns": pa.int64(),
    "image_ns": pa.int64(),
    "infer_ns": pa.int64(),
    "patches": pa.int32(),
    "batch": pa.int32(),
    "first_patch": pa.int32(),
    "window": pa.int32(),
    "patch": pa.int32(),
    "inferences": pa.int64(),
    "instructions": pa.int64(),
    "probe": _WORD,
    "channel": _WORD,
    "quantity": _WORD,
    "unit": _WORD,
    "t_ns": pa.int64(),
    "value": pa.float64(),
    "set": _WORD,
    "index": pa.int32(),
    "label": pa.int16(),
    "predicted": pa.int16(),
    "scores": pa.list_(pa.float32()),
}
"""Type of every column that has a fixed name; a stage's columns are int64."""

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

_STAGE_COLUMN = {
    "passes": re.compile(rf"{STAGE_NAME}_ns"),
    "batches": re.compile(rf"{STAGE_NAME}_(start|end)_ns"),
}


def is_stage_column(table: str, column: str) -> bool:
    """Whether a column beside the fixed ones belongs to a stage of that table."""
    pattern = _STAGE_COLUMN.get(table)
    return pattern is not None and pattern.fullmatch(column) is not None


def may_lack(table: str, column: str) -> bool:
    """Whether a session's file of that table may be without the column: not all have it."""
    return column in LATER_COLUMNS.get(table, ()) or is_stage_column(table, column)


def to_arrow(frame: pd.DataFrame, name: str) -> pa.Table:
    """A frame as the table that is written; ValueError when its columns are not those of the table.

    Tables beyond EdgeBench's own have whatever columns they have.
    """
    fixed = TABLE_COLUMNS.get(name)
    columns = [str(column) for column in frame.columns]
    if fixed is None:
        table = pa.Table.from_pandas(frame, preserve_index=False)
    else:
        extra = columns[len(fixed) :]
        stages_alone = all(is_stage_column(name, column) for column in extra)
        if tuple(columns[: len(fixed)]) != fixed or not stages_alone:
            raise ValueError(f"these are not the columns of {name}: {columns}")
        schema = pa.schema([(column, COLUMN_TYPES.get(column, pa.int64())) for column in columns])
        table = pa.Table.from_pandas(frame, schema=schema, preserve_index=False)
    # What pandas notes about itself would differ between versions and adds two kilobytes a file.
    return table.replace_schema_metadata(None)
