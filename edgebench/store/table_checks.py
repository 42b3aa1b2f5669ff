"""What the columns of EdgeBench's own tables may hold; anything else was not written by a session."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from edgebench.store.parquet import TABLE_COLUMNS

MOST_NS = 2**62 - 1
"""146 years: the difference of two such moments is still a whole number of 64 bits."""

MAY_BE_MISSING = frozenset({"infer_ns", "value", "instructions"})
"""Of the columns that every table has; a stage's may be missing, too."""

_LEAST = dict.fromkeys(
    ("worker", "pass", "patches", "batch", "first_patch", "index", "window", "patch"), 0
) | {"inferences": 1, "instructions": 1}
"""Of columns that count something."""
_MOMENTS = frozenset({"start_ns", "end_ns", "due_ns", "lateness_ns"})  # of passes; the others are durations


def first_fault(table: str, columns: Mapping[str, Any]) -> tuple[int, str] | None:
    """The first row that cannot be, and why; None when every row can be.

    Args:
        table: passes, batches, windows, probes or predictions.
        columns: as `columns.Columns` gives them.
    """
    for name, column in columns.items():
        required = name in TABLE_COLUMNS[table] and name not in MAY_BE_MISSING
        if required and len(missing := _missing(column)):
            return int(missing[0]), f"column {name!r} has gaps"
        values, present = _numbers(column)
        if values is None or not len(values):
            continue
        low, high = _bounds(table, name)
        if values.min() < low or values.max() > high:
            rows = np.flatnonzero(((values < low) | (values > high)) & present)
            if len(rows):  # what is missing holds a 0 beneath
                return int(rows[0]), f"{name!r} of a row is {int(values[rows[0]])}"
    return None if table == "passes" else _first_reversed(columns)


def _first_reversed(columns: Mapping[str, Any]) -> tuple[int, str] | None:
    """The first window, or stage of a batch, that ends before it starts; a pass has a column of durations."""
    for end in columns:
        start = f"{end.removesuffix('end_ns')}start_ns"
        if not end.endswith("end_ns") or start not in columns:
            continue
        (start_ns, started), (end_ns, ended) = _numbers(columns[start]), _numbers(columns[end])
        if start_ns is None or end_ns is None:
            continue
        backwards = np.flatnonzero((end_ns < start_ns) & started & ended)
        if len(backwards):
            return int(backwards[0]), f"{end!r} of a row lies before its {start!r}"
    return None


def _bounds(table: str, name: str) -> tuple[int, int]:
    if name.endswith("_ns"):
        duration = table == "passes" and name not in _MOMENTS
        return (0 if duration else -MOST_NS), MOST_NS
    return _LEAST.get(name, -(2**63)), 2**63 - 1


def _missing(column: Any) -> NDArray[np.intp]:
    """The rows without a value, of whole numbers and of words; lists and floats have none."""
    if isinstance(column, pd.Categorical):
        return np.flatnonzero(column.codes < 0)
    if isinstance(column, pd.arrays.IntegerArray):
        return np.flatnonzero(column.isna())
    return np.empty(0, dtype=np.intp)


def _numbers(column: Any) -> tuple[NDArray[Any] | None, NDArray[np.bool_] | bool]:
    """Whole numbers with 0 for the missing ones, and which are there; None for anything else."""
    if isinstance(column, pd.arrays.IntegerArray):
        return column.to_numpy(dtype=np.int64, na_value=0), ~column.isna()
    if isinstance(column, np.ndarray) and column.dtype.kind == "i":
        return column, True
    return None, True
