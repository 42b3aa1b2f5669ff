"""Rows of a table as columns of numpy arrays: what judging reads. pandas, slow to import, is not needed."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Words:
    """A column of few distinct texts.

    Attributes:
        codes: signed whole numbers [n], the place of each row's text in `words`; -1 where it is missing.
        words: each text once.
    """

    codes: NDArray[np.signedinteger[Any]]
    words: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.codes)

    def __getitem__(self, where: Any) -> Words:
        return Words(self.codes[where], self.words)


@dataclass(frozen=True, eq=False)
class Whole:
    """A column of whole numbers, some of them missing.

    Attributes:
        values: int64 [n]; 0 where it is missing.
        present: bool [n].
    """

    values: NDArray[np.int64]
    present: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, where: Any) -> Whole:
        return Whole(self.values[where], self.present[where])


AnyColumn: TypeAlias = NDArray[Any] | Words | Whole
Where: TypeAlias = slice | NDArray[np.bool_] | NDArray[np.intp]


class Rows(Mapping[str, AnyColumn]):
    """Columns of equal length, by name.

    `rows[name]` is the column as it is held; the methods give it as numbers, or compare its texts.
    """

    def __init__(self, columns: Mapping[str, AnyColumn]) -> None:
        self._columns = dict(columns)
        self.count = len(next(iter(self._columns.values()), ()))

    def __getitem__(self, name: str) -> AnyColumn:
        return self._columns[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __len__(self) -> int:
        return len(self._columns)

    def take(self, where: Where) -> Rows:
        """Some of the rows: views for a slice, copies otherwise."""
        return Rows({name: column[where] for name, column in self._columns.items()})

    def whole(self, name: str) -> NDArray[np.int64]:
        """A column of whole numbers; 0 where one is missing."""
        column = self._columns[name]
        return column.values if isinstance(column, Whole) else np.asarray(column, np.int64)

    def floats(self, name: str) -> NDArray[np.float64]:
        """A column of numbers; NaN where one is missing."""
        column = self._columns[name]
        if isinstance(column, Whole):
            return np.where(column.present, column.values, np.nan)
        return np.asarray(column, np.float64)

    def missing(self, name: str) -> NDArray[np.bool_]:
        """Where a column has no value. A list has one, and so has a float that is NaN."""
        column = self._columns[name]
        if isinstance(column, Words):
            return np.asarray(column.codes < 0)
        return ~column.present if isinstance(column, Whole) else np.zeros(len(column), np.bool_)

    def words(self, name: str) -> Words:
        """A column of texts; ValueError for one of numbers."""
        column = self._columns[name]
        if not isinstance(column, Words):
            raise ValueError(f"the column {name!r} holds no texts")
        return column

    def word(self, name: str, row: int) -> str:
        """The text of one row of a column of texts, which has one there."""
        column = self.words(name)
        return column.words[int(column.codes[row])]

    def having(self, name: str, chosen: Callable[[str], bool]) -> NDArray[np.bool_]:
        """Where a column of texts has one that `chosen` takes; each distinct text is looked at once."""
        column = self.words(name)
        codes = [code for code, word in enumerate(column.words) if chosen(word)]
        # Compared as they are: as places in an array they would be copied, at eight times the size.
        return np.isin(column.codes, np.array(codes, column.codes.dtype), kind="sort")

    def equal(self, name: str, word: str) -> NDArray[np.bool_]:
        """Where a column of texts has this one."""
        column = self.words(name)
        code = column.words.index(word) if word in column.words else len(column.words)
        return np.asarray(column.codes == code)

    def spans(self, *names: str) -> Iterator[tuple[int, int]]:
        """First row, and row after the last, of each run of rows that are equal in these columns."""
        if not self.count:
            return
        changes = np.zeros(self.count - 1, np.bool_)
        for values in map(self._plain, names):
            changes |= values[1:] != values[:-1]
        edges = [0, *(np.flatnonzero(changes) + 1).tolist(), self.count]
        yield from itertools.pairwise(edges)

    def ordered(self, *names: str) -> Rows:
        """The rows by these columns, the first one above all; rows that are equal stay in their order."""
        return self.take(np.lexsort([*map(self._plain, reversed(names))]))

    def _plain(self, name: str) -> NDArray[Any]:
        """What tells a column's values apart, in their order: no copy."""
        column = self._columns[name]
        if isinstance(column, Words):
            return column.codes
        return column.values if isinstance(column, Whole) else column


def rows_of(table: pa.Table) -> Rows:
    """The columns of an Arrow table, whose memory is free before the next one is copied."""
    parts = dict(zip(table.column_names, table.columns, strict=True))
    del table
    return Rows({name: _column(parts.pop(name)) for name in list(parts)})


def _column(column: pa.ChunkedArray) -> AnyColumn:
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        column = column.dictionary_encode()
    if pa.types.is_nested(column.type):
        return np.asarray(column.to_numpy(), np.object_)
    present = None
    if column.null_count:
        present = _joined(column.is_valid().cast(pa.uint8()).chunks, np.dtype(np.uint8)).view(np.bool_)
    if pa.types.is_dictionary(column.type):
        column = column.unify_dictionaries()
        listed = column.chunk(0).dictionary.to_pylist() if column.num_chunks else []
        distinct = list(dict.fromkeys(listed))
        # Few words take a byte a row, of tens of millions.
        kind = np.min_scalar_type(-len(listed) - 1)
        codes = _joined([chunk.indices for chunk in column.chunks], kind)
        codes = codes if present is None else np.where(present, codes, kind.type(-1))
        if len(distinct) < len(listed):
            codes = np.array([*map(distinct.index, listed), -1], kind)[codes]
        return Words(codes, tuple(distinct))
    values = _joined(column.chunks, np.dtype(column.type.to_pandas_dtype()))
    if present is None:
        return values
    if values.dtype.kind == "f":
        return np.where(present, values, np.nan)
    return Whole(np.where(present, values, 0).astype(np.int64, copy=False), present)


def _joined(chunks: Sequence[pa.Array], kind: np.dtype[Any]) -> NDArray[Any]:
    """Numbers as one array, of any value where one is missing.

    Arrow's own conversion, and a scalar of Arrow, would import pandas.
    """
    parts = [np.empty(0, kind)]
    for chunk in chunks:
        data = chunk.buffers()[-1]
        if data is not None:
            given = np.dtype(chunk.type.to_pandas_dtype())
            parts.append(np.frombuffer(data, given, len(chunk), chunk.offset * given.itemsize))
    return np.concatenate(parts, dtype=kind)


def union_ns(intervals: NDArray[np.int64]) -> int:
    """The time covered by int64 [n, 2] (start, end) intervals, each moment counted once, in ns."""
    if len(intervals) == 0:
        return 0
    ordered = intervals[np.argsort(intervals[:, 0], kind="stable")]
    starts, ends = ordered[:, 0], ordered[:, 1]
    reached = np.maximum.accumulate(ends)
    # What an earlier interval has covered is not covered again.
    covered_from = np.maximum(starts[1:], reached[:-1])
    return int(ends[0] - starts[0] + np.maximum(ends[1:] - covered_from, 0).sum())


def by_number(rows: Rows, name: str) -> dict[int, Rows]:
    """The rows of each number in a column, whose equal numbers follow each other: views, no copies."""
    parts = (rows.take(slice(first, last)) for first, last in rows.spans(name))
    return {int(part.whole(name)[0]): part for part in parts}
