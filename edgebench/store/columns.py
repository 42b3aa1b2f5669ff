"""Columns of many small tables, joined as the tables come: each figure is copied once, into its place.

Joining in Arrow and turning the whole into pandas holds everything twice and copies it twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from edgebench.store.parquet import COLUMN_TYPES


class Column(Protocol):
    """One column, of as many rows as were taken in so far."""

    def take(self, parts: Sequence[pa.Array | int]) -> None:
        """Append arrays; a number stands for so many rows of a table that has no such column."""

    def done(self) -> Any:
        """The values, as a column of a frame; nothing can be taken in afterwards."""


class Columns:
    """The columns of one kind of table, in the order in which they first came.

    Args:
        names: of columns that are there whatever comes; their types are those of `COLUMN_TYPES`.
    """

    def __init__(self, names: Sequence[str]) -> None:
        self._rows = 0
        self._columns: dict[str, Column] = {name: _column(COLUMN_TYPES[name]) for name in names}

    def take(self, tables: Sequence[pa.Table]) -> None:
        """Append the rows of some tables; a column's type is the same in all that have it."""
        for table in tables:
            for field in table.schema:
                if field.name not in self._columns:
                    self._columns[field.name] = column = _column(field.type)
                    if self._rows:
                        column.take([self._rows])
        for name, column in self._columns.items():
            parts: list[pa.Array | int] = []
            for table in tables:
                at = table.schema.get_field_index(name)
                parts += [table.num_rows] if at < 0 else table.column(at).chunks
            column.take(parts)
        self._rows += sum(table.num_rows for table in tables)

    def done(self) -> dict[str, Any]:
        """The columns by name; each gives its memory away, so once only."""
        return {name: self._columns.pop(name).done() for name in list(self._columns)}


class _Numbers:
    """Whole numbers or float64; a missing float is NaN, missing whole numbers make it Int64."""

    def __init__(self, dtype: np.dtype[Any]) -> None:
        self._values: NDArray[Any] = np.empty(0, dtype)
        self._missing: list[tuple[int, NDArray[np.bool_] | int]] = []  # where, and which or how many

    def take(self, parts: Sequence[pa.Array | int]) -> None:
        at = len(self._values)
        # In place: the system moves the pages of a large array, and copies nothing.
        self._values.resize(at + sum(map(_length, parts)), refcheck=False)
        for part in parts:
            end = at + _length(part)
            if isinstance(part, int):
                self._absent(at, part)
            elif part.null_count:
                self._values[at:end] = pc.fill_null(part, 0).to_numpy()
                self._absent(at, part.is_null().to_numpy(zero_copy_only=False))
            else:
                self._values[at:end] = part.to_numpy()
            at = end

    def _absent(self, at: int, which: NDArray[np.bool_] | int) -> None:
        self._missing.append((at, which))

    def done(self) -> Any:
        values = self._values
        if not self._missing:
            return values
        missing = np.zeros(len(values), dtype=np.bool_)
        for at, which in self._missing:
            missing[at : at + (which if isinstance(which, int) else len(which))] = (
                True if isinstance(which, int) else which
            )
        if values.dtype.kind == "f":
            values[missing] = np.nan
            return values
        if not missing.any():
            return values
        return pd.arrays.IntegerArray(values.astype(np.int64, copy=False), missing)


class _Words:
    """Texts of few kinds: numbers of their categories, in the order in which those first came."""

    def __init__(self) -> None:
        self._codes = _Numbers(np.dtype(np.int32))
        self._known: dict[str, int] = {}

    def take(self, parts: Sequence[pa.Array | int]) -> None:
        found: list[pa.Array | int] = []
        for part in parts:
            if isinstance(part, int):
                found.append(pa.array(np.full(part, -1, np.int32)))
                continue
            own = np.array([self._code(word) for word in part.dictionary.to_pylist()], np.int32)
            codes = pc.fill_null(part.indices, -1).to_numpy()
            # The last place of the numbers stands for a missing text, whose code is -1.
            found.append(pa.array(np.append(own, np.int32(-1))[codes]))
        self._codes.take(found)

    def _code(self, word: str | None) -> int:
        return -1 if word is None else self._known.setdefault(word, len(self._known))

    def done(self) -> Any:
        categories = pd.Index(list(self._known), dtype="str")
        return pd.Categorical.from_codes(self._codes.done(), categories=categories)


class _Others:
    """Whatever else there is, such as lists: kept in Arrow until the end."""

    def __init__(self, kind: pa.DataType) -> None:
        self._kind = kind
        self._chunks: list[pa.Array] = []

    def take(self, parts: Sequence[pa.Array | int]) -> None:
        self._chunks += [pa.nulls(part, self._kind) if isinstance(part, int) else part for part in parts]

    def done(self) -> Any:
        return pa.chunked_array(self._chunks, type=self._kind).to_pandas()


def _column(kind: pa.DataType) -> Column:
    if pa.types.is_dictionary(kind) and pa.types.is_string(kind.value_type):
        return _Words()
    if pa.types.is_signed_integer(kind) or pa.types.is_float64(kind):
        return _Numbers(np.dtype(kind.to_pandas_dtype()))
    return _Others(kind)


def _length(part: pa.Array | int) -> int:
    return part if isinstance(part, int) else len(part)
