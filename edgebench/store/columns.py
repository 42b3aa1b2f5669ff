"""Columns of many small tables, joined block by block: each figure is copied into its place as it comes.

Joining all of them in Arrow and turning the whole into pandas would hold everything twice.
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

    def take(self, part: pa.ChunkedArray) -> None:
        """Append the rows of a block."""

    def done(self) -> Any:
        """The values, as a column of a frame; nothing can be taken in afterwards."""


class Columns:
    """The columns of one kind of table, in the order in which they first came.

    Args:
        names: of the columns that are always present; their types are those of `COLUMN_TYPES`.
    """

    def __init__(self, names: Sequence[str]) -> None:
        self._rows = 0
        self._columns: dict[str, Column] = {name: _column(COLUMN_TYPES[name]) for name in names}
        self._types: dict[str, pa.DataType] = {name: COLUMN_TYPES[name] for name in names}

    def take(self, tables: Sequence[pa.Table]) -> None:
        """Append the rows of some tables; a column's type is the same in all that have it."""
        if not tables:
            return
        block = pa.concat_tables(tables, promote_options="default").unify_dictionaries()
        for field in block.schema:
            if field.name not in self._columns:
                self._types[field.name] = field.type
                self._columns[field.name] = column = _column(field.type)
                column.take(_absent(self._rows, field.type))
        for name, column in self._columns.items():
            present = name in block.schema.names
            column.take(block[name] if present else _absent(block.num_rows, self._types[name]))
        self._rows += block.num_rows

    def done(self) -> dict[str, Any]:
        """The columns by name; each gives its memory away, so once only."""
        return {name: self._columns.pop(name).done() for name in list(self._columns)}


class _Numbers:
    """Whole numbers or float64; a missing float is NaN, missing whole numbers make it Int64."""

    def __init__(self, dtype: np.dtype[Any]) -> None:
        self._values: NDArray[Any] = np.empty(0, dtype)
        self._missing: list[tuple[int, NDArray[np.bool_]]] = []  # from which row on, and which

    def take(self, part: pa.ChunkedArray) -> None:
        at = len(self._values)
        # In place: the system moves the pages of a large array, and copies nothing.
        self._values.resize(at + len(part), refcheck=False)
        if part.null_count:
            self._missing.append((at, part.is_null().to_numpy()))
            part = pc.fill_null(part, 0)
        self._values[at:] = part.to_numpy()

    def done(self) -> Any:
        values = self._values
        if not self._missing:
            return values
        missing = np.zeros(len(values), dtype=np.bool_)
        for at, which in self._missing:
            missing[at : at + len(which)] = which
        if values.dtype.kind == "f":
            values[missing] = np.nan
            return values
        return pd.arrays.IntegerArray(values.astype(np.int64, copy=False), missing)


class _Words:
    """Texts of few kinds: numbers of their categories, in the order in which those first came."""

    def __init__(self) -> None:
        self._codes = _Numbers(np.dtype(np.int32))
        self._code_by_word: dict[str, int] = {}

    def take(self, part: pa.ChunkedArray) -> None:
        words = part.combine_chunks() if part.num_chunks != 1 else part.chunk(0)
        # The last place is that of a missing text.
        category_codes = [self._code(word) for word in words.dictionary.to_pylist()] + [-1]
        codes = np.array(category_codes, np.int32)[pc.fill_null(words.indices, -1).to_numpy()]
        self._codes.take(pa.chunked_array([codes]))

    def _code(self, word: str | None) -> int:
        return -1 if word is None else self._code_by_word.setdefault(word, len(self._code_by_word))

    def done(self) -> Any:
        categories = pd.Index(list(self._code_by_word), dtype="str")
        return pd.Categorical.from_codes(self._codes.done(), categories=categories)


class _ArrowValues:
    """Values of any other type, such as lists: held in Arrow until the end."""

    def __init__(self, kind: pa.DataType) -> None:
        self._kind = kind
        self._chunks: list[pa.Array] = []

    def take(self, part: pa.ChunkedArray) -> None:
        self._chunks += part.chunks

    def done(self) -> Any:
        return pa.chunked_array(self._chunks, type=self._kind).to_pandas()


def _column(kind: pa.DataType) -> Column:
    if pa.types.is_dictionary(kind) and pa.types.is_string(kind.value_type):
        return _Words()
    if pa.types.is_signed_integer(kind) or pa.types.is_float64(kind):
        return _Numbers(np.dtype(kind.to_pandas_dtype()))
    return _ArrowValues(kind)


def _absent(rows: int, kind: pa.DataType) -> pa.ChunkedArray:
    return pa.chunked_array([pa.nulls(rows, kind)])
