"""`edgebench.scan`: all results of some folders; only the files that a question needs are opened."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import TypeAlias

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.dataset as pads
from pyarrow.fs import LocalFileSystem

from edgebench.analysis.frames import CONTEXT, CONTEXT_SOURCES, StoredSession, stacked, with_context
from edgebench.analysis.results import Results
from edgebench.errors import StoredResultError
from edgebench.report import words
from edgebench.results.layout import TABLES, session_folder
from edgebench.results.listing import (
    ListedResult,
    UnreadableResult,
    default_output_dir,
    list_results,
    unreadable_reason,
)
from edgebench.results.load import Source, read_arrow
from edgebench.results.parquet import COLUMN_TYPES, TABLE_COLUMNS
from edgebench.results.record_reading import read_sessions

_LABELS = {
    "result": pa.dictionary(pa.int32(), pa.string()),
    "trial": pa.dictionary(pa.int32(), pa.string()),
    "session": pa.int32(),
}
"""What every table has in front of its own columns."""

_ADDED_TYPES = {"scenes": pa.float64(), "emulated": pa.bool_()}
"""Types of the columns of CONTEXT; all others are texts."""


_Labels: TypeAlias = tuple[str, str, int]


@dataclass(frozen=True)
class _File(Source):
    """One session's file, with what its rows are labelled by."""

    labels: _Labels = ("", "", 0)


class ScannedTable:
    """A table of all results: conditions on `result`, `trial` and `session` select files, others rows.

    Each file that is opened passes the checks of `edgebench.load`. A `filter` is a condition of pyarrow, such
    as `pyarrow.dataset.field("result") == "monday"`. A stage's columns are missing where a session has no
    such stage.
    """

    def __init__(self, name: str, results: Mapping[str, ListedResult]) -> None:
        self._name, self._results = name, results
        self._own = {column: COLUMN_TYPES[column] for column in TABLE_COLUMNS[name]}
        added = {column: _ADDED_TYPES.get(column, _LABELS["trial"]) for column in CONTEXT[name]}
        self.schema = pa.schema(list((_LABELS | added | self._own).items()))
        """The columns that every file has."""

    def files(self, filter: pads.Expression | None = None) -> list[Path]:
        """The files that a condition leaves, by what it says of result, trial and session; none is opened."""
        return [self._path(*labels) for labels in self._selected(filter)[0]]

    def dataset(
        self, columns: Sequence[str] | None = None, filter: pads.Expression | None = None
    ) -> pads.InMemoryDataset:
        """The rows of the files that a condition leaves, as a dataset of pyarrow in memory.

        Args:
            columns: those that are wanted; None for all.
            filter: what it says of other columns than result, trial and session is left to the dataset.

        Raises:
            StoredResultError: a file is truncated, damaged or has other columns; it says which, and the fix.
        """
        return pads.dataset(self._read(columns, self._selected(filter)[0]))

    def to_table(
        self, columns: Sequence[str] | None = None, filter: pads.Expression | None = None
    ) -> pa.Table:
        """The rows for which the condition holds; arguments and errors are those of `dataset`."""
        labels, exact = self._selected(filter)
        # A condition on other columns may need some that are not wanted.
        table = self._read(columns if exact else None, labels)
        table = table if exact else table.filter(filter)
        return table if columns is None else table.select([*columns])

    def to_pandas(
        self, columns: Sequence[str] | None = None, filter: pads.Expression | None = None
    ) -> pd.DataFrame:
        """The same as a data frame, as those of `edgebench.load` with `result` in front."""
        frame: pd.DataFrame = self.to_table(columns, filter).to_pandas()
        return frame

    def __repr__(self) -> str:
        return f"ScannedTable({self._name!r}, {len(self._results)} results)"

    @cached_property
    def _labels(self) -> pa.Table:
        """The result, trial and session of each file that may be there: one row each."""
        labels = [
            (name, key, n)
            for name, stored in self._results.items()
            for key, numbers in stored.indexed.sessions.items()
            for n in numbers
        ]
        columns: Iterable[Sequence[object]] = zip(*labels, strict=True) if labels else ([], [], [])
        return pa.table([*columns], names=list(_LABELS))

    @cached_property
    def _fragments(self) -> pads.FileSystemDataset:
        """The same as files: pyarrow tells which of them a condition on labels and columns leaves."""
        format_, system = pads.ParquetFileFormat(), LocalFileSystem()
        result, trial, session = map(pads.field, _LABELS)
        fragments = [
            format_.make_fragment(
                str(self._path(name, key, n)), system, (result == name) & (trial == key) & (session == n)
            )
            for name, key, n in _rows(self._labels)
        ]
        return pads.FileSystemDataset(fragments, self.schema, format_, system)

    def _selected(self, filter: pads.Expression | None) -> tuple[list[_Labels], bool]:
        """The labels of the files that a condition leaves, and whether it holds for each of their rows."""
        if filter is None:
            return _rows(self._labels), True
        try:
            return _rows(self._labels.filter(filter)), True
        except pa.ArrowInvalid:  # it names other columns
            fragments = self._fragments.get_fragments(filter=filter)
            partitions = (pads.get_partition_keys(each.partition_expression) for each in fragments)
            return [(each["result"], each["trial"], each["session"]) for each in partitions], False

    def _path(self, name: str, key: str, n: int) -> Path:
        return session_folder(self._results[name].path, key, n) / f"{self._name}.parquet"

    def _read(self, columns: Sequence[str] | None, labels: Sequence[_Labels]) -> pa.Table:
        """All rows of some files, with their labels in front; each file as its session's record knows it."""
        needed = CONTEXT_SOURCES.get(self._name) or [*self._own][:1]  # one tells how many rows there are
        added = {*_LABELS, *CONTEXT[self._name]}
        read = None if columns is None else [*dict.fromkeys((*columns, *needed))]
        read = read and [name for name in read if name not in added]
        sources: list[_File] = []
        sessions: dict[_Labels, StoredSession] = {}
        results: dict[str, Results] = {}
        for (name, key), members in groupby(labels, key=itemgetter(0, 1)):
            root = self._results[name].path
            records = {record.n: record for record in read_sessions(root, key)[0]}
            for member in members:
                path, record = self._path(*member), records.get(member[2])
                if record is None:
                    raise StoredResultError(
                        f"{path.parent} is gone, or its record is damaged",
                        why="it was sound when its folder was scanned",
                        fix="scan the folder again",
                    )
                if name not in results:
                    results[name] = Results(root, self._results[name].experiment)
                trial = next(planned for planned in results[name].experiment.trials if planned.key == key)
                sessions[member] = results[name], trial, record
                sources.append(_File(0, record.n, path, root, record.tables.get(self._name), member))
        files, parts = read_arrow(self._name, sources, read)
        fixed = pa.schema([field for field in self._own.items() if read is None or field[0] in read])
        table = pa.concat_tables([fixed.empty_table(), *parts], promote_options="default")
        place = np.repeat(np.arange(len(files)), [part.num_rows for part in parts])
        for position, (name, kind) in enumerate(_LABELS.items()):
            values = pa.array([file.labels[position] for file in files], kind)
            table = table.add_column(position, name, values.take(place))
        of_rows = [sessions[file.labels] for file in files]
        context = with_context(self._name, table.select(needed).to_pandas(), of_rows, place)
        for field in self.schema:
            if field.name in CONTEXT[self._name] or field.name == "label":
                others = [name for name in table.column_names if name != field.name]
                values = pa.Array.from_pandas(context[field.name], type=field.type)
                table = table.select(others).append_column(field, values)
        return table if columns is None else table.select([*dict.fromkeys((*_LABELS, *columns))])


class Scan:
    """All results of some folders: `trials` and `sessions` as frames, the tables as datasets.

    The frames have the index (result, trial), the tables have both as columns in front. Nothing is pooled,
    and no table is opened before it is asked for.

    Attributes:
        results: what is known of each result by its name, as the column `result` has it; newest first.
        unreadable: the results that cannot be read, with the reason.
        passes, batches, windows, probes, predictions: the tables, as `ScannedTable`.
    """

    def __init__(self, results: Mapping[str, ListedResult], unreadable: Sequence[UnreadableResult]) -> None:
        self.results, self.unreadable = dict(results), tuple(unreadable)
        self.passes, self.batches, self.windows, self.probes, self.predictions = (
            ScannedTable(name, self.results) for name in TABLES
        )

    @cached_property
    def trials(self) -> pd.DataFrame:
        """One row a planned trial, as `Results.trials`; StoredResultError for a record damaged since."""
        return stacked({name: results.trials for name, results in self._loaded.items()})

    @cached_property
    def sessions(self) -> pd.DataFrame:
        """One row a session, as `Results.sessions`; errors as of `trials`."""
        return stacked({name: results.sessions for name, results in self._loaded.items()})

    @cached_property
    def _loaded(self) -> dict[str, Results]:
        return {name: Results(stored.path, stored.experiment) for name, stored in self.results.items()}

    def __repr__(self) -> str:
        left_out = f", {unreadable_reason(self.unreadable)}" if self.unreadable else ""
        return f"Scan({len(self.results)} results{left_out})"


def scan(*folders: str | Path) -> Scan:
    """All results directly under some folders; without one under EDGEBENCH_OUTPUT_DIR, else ./results.

    What did not change since the last listing is not opened: an index in the cache knows it. Of results that
    are called alike the second is `NAME (2)`. Those that cannot be read are `unreadable`.

    Raises:
        StoredResultError: no result can be read in them; it says what was searched.
    """
    searched = [Path(folder) for folder in folders] or [default_output_dir()]
    named: dict[str, ListedResult] = {}
    unreadable: list[UnreadableResult] = []
    for folder in searched:
        stored, damaged = list_results(folder)
        unreadable += damaged
        for result in stored:
            name = result.path.name
            if not name.isprintable():
                unreadable.append(UnreadableResult(name, "its name holds what is no text"))
                continue
            named[words.unused(name, named)] = result
    if not named:
        raise StoredResultError(
            f"no result in {', '.join(map(str, searched))} can be read",
            why=unreadable_reason(unreadable) or "no folder in it has an experiment.json",
            fix="name the folder that holds result folders",
        )
    return Scan(named, unreadable)


def _rows(labels: pa.Table) -> list[_Labels]:
    return list(zip(*(column.to_pylist() for column in labels.columns), strict=True))
