"""A result folder: its records, and its tables as rows or pandas frames, each read when it is asked for."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from edgebench.errors import StoredResultError
from edgebench.files import expand_home, read_regular
from edgebench.records.stored import ExperimentRecord, RunRecord, SessionRecord
from edgebench.results import layout
from edgebench.results.layout import regular_file
from edgebench.results.listing import LATEST, default_output_dir, resolve_results
from edgebench.results.parquet import (
    COLUMN_TYPES,
    TABLE_COLUMNS,
    first_fault,
    is_stage_column,
    joined_rows,
    memory_bytes,
)
from edgebench.results.record_reading import (
    read_bounded,
    read_experiment,
    read_image_paths,
    read_run,
    read_sessions,
)
from edgebench.results.rows import Rows, Words
from edgebench.this_machine import available_bytes

if TYPE_CHECKING:
    import pandas as pd  # which takes long to import

# Parquet files of many sessions as rows: checked, read in parallel, copied once.


MAX_BYTES = 4 * 2**30
"""A larger file was not written by a session."""

UNCHECKED_BYTES = 1 << 20
"""Smaller tables are read whatever memory is free: to ask for it takes longer than to read them."""

MOST_KEPT = 64 * 2**20
"""Larger tables are read trial by trial: in memory they take many times as much."""

_READERS = 3


@dataclass(frozen=True)
class Source:
    """One session's file.

    Attributes:
        trial: the number of its trial among the keys.
        session: the session's number.
        path: the file, which is absent when the session had nothing to put in it.
        root: the result's folder, which no link may leave.
        sha256: of its bytes, as the session's record has it; None where the record knows of no such file.
    """

    trial: int
    session: int
    path: Path
    root: Path
    sha256: str | None = None


AnySource = TypeVar("AnySource", bound=Source)


def read_rows(
    name: str, sources: Sequence[Source], keys: list[str], columns: Sequence[str] | None = None
) -> Rows:
    """Read the rows of all `sources` that exist, in order, with `trial` (words) and `session` in front.

    Args:
        name: passes, batches, windows, probes or predictions.
        sources: the files.
        keys: the trials' keys, the words of `trial`.
        columns: of the table, when not all are wanted; StoredResultError when a file lacks one, except
            for those that not every session has (of a stage): they are missing there.

    Raises:
        StoredResultError: a file is truncated, damaged or has other columns; it says which, and the fix.
    """
    read_sources, tables = _read_tables(name, sources, columns)
    rows = [table.num_rows for table in tables]
    joined = _possible(name, read_sources, tables, columns)
    code = np.min_scalar_type(-len(keys) - 1)  # few trials take a byte a row
    trials = np.repeat(np.array([source.trial for source in read_sources], dtype=code), rows)
    sessions = np.repeat(np.array([source.session for source in read_sources], dtype=np.int32), rows)
    return Rows({"trial": Words(trials, tuple(keys)), "session": sessions, **joined})


def read_arrow(
    name: str, sources: Sequence[AnySource], columns: Sequence[str] | None = None
) -> tuple[list[AnySource], list[pa.Table]]:
    """Read Arrow tables, one for each of the sources that exist, with the errors of `read_rows`."""
    read_sources, tables = _read_tables(name, sources, columns)
    _possible(name, read_sources, list(tables), columns)
    return read_sources, tables


def _read_tables(
    name: str, sources: Sequence[AnySource], columns: Sequence[str] | None
) -> tuple[list[AnySource], list[pa.Table]]:
    """Read the sources that exist; returns them and their tables, whose values are not checked yet."""
    read = partial(_read_table, name=name, columns=columns)
    with ThreadPoolExecutor(_READERS) as pool:  # reading is Arrow's work, outside the interpreter's lock
        found = [
            (source, table)
            for source, table in zip(sources, pool.map(read, sources), strict=True)
            if table is not None
        ]
    return [source for source, _ in found], [table for _, table in found]


def _possible(
    name: str, sources: Sequence[Source], tables: list[pa.Table], columns: Sequence[str] | None
) -> Rows:
    """Join the rows of all tables, which are empty afterwards; StoredResultError for an impossible row."""
    if tables:
        _require_memory(sources[0].path.parent, sum(table.nbytes for table in tables))  # for a copy of them
    ends = np.cumsum([table.num_rows for table in tables])
    joined = joined_rows(name, tables, columns)
    if (fault := first_fault(name, joined)) is not None:
        row, why = fault
        raise _damaged(sources[int(np.searchsorted(ends, row, side="right"))].path, why)
    return joined


def _read_table(source: Source, name: str, columns: Sequence[str] | None) -> pa.Table | None:
    path = source.path
    size = regular_file(path, source.root)
    if size is None:
        if source.sha256 is None:
            return None
        raise _damaged(path, "the file is missing")
    if size > MAX_BYTES:
        raise _damaged(path, f"it is larger than {MAX_BYTES} bytes")
    try:
        # At once: the files are small, and nothing changes between the checks and the reading.
        data = read_regular(path, MAX_BYTES)
        # Parquet's own checksums leave out headers, where a flipped bit can change a figure unnoticed.
        if source.sha256 is not None and hashlib.sha256(data).hexdigest() != source.sha256:
            raise _damaged(path, "it is not what was written: the SHA-256 in session.json differs")
        with pq.ParquetFile(pa.py_buffer(data)) as parquet:
            schema = parquet.schema_arrow
            if fault := _fault(name, schema):
                raise _damaged(path, fault)
            lacking = [column for column in columns or () if column not in schema.names]
            for column in lacking:
                if not is_stage_column(name, column):
                    raise StoredResultError(f"{path} has no column {column[:60]!r}")
            _require_memory(path, memory_bytes(parquet.metadata, schema, columns))
            held = None if columns is None else [column for column in columns if column not in lacking]
            table = parquet.read(columns=held, use_threads=False)
        table.validate(full=True)
    except (pa.ArrowException, OSError, ValueError, OverflowError, MemoryError) as error:
        raise _damaged(path, str(error).partition("\n")[0][:200]) from error
    return table


@lru_cache(maxsize=64)  # thousands of files have the same few schemas
def _fault(name: str, schema: pa.Schema) -> str:
    """Return the first fault of the columns of a table, or ""."""
    if len(set(schema.names)) != len(schema.names):
        return "two columns have the same name"
    if {"trial", "session"} & set(schema.names):
        return "it has a column 'trial' or 'session', which loading adds"
    fixed = TABLE_COLUMNS[name]
    missing = [column for column in fixed if column not in schema.names]
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


def _require_memory(path: Path, needed_bytes: int) -> None:
    """Raise StoredResultError if a file or the tables of a folder take more memory than is free now."""
    free_bytes = None if needed_bytes < UNCHECKED_BYTES else available_bytes()
    if free_bytes is not None and needed_bytes > free_bytes:
        raise StoredResultError(
            f"{path} does not fit into memory",
            why=f"reading it takes {needed_bytes / 1e9:.1f} GB, and {free_bytes / 1e9:.1f} GB are free",
            fix="read the result on a machine with more memory",
        )


def _damaged(path: Path, why: str) -> StoredResultError:
    return StoredResultError(
        f"{path} is damaged, or not what EdgeBench writes",
        why=why,
        fix=f"remove {path.parent}, then run again with --resume to measure it again",
    )


class StoredResults:
    """One experiment, read from disk; nothing in it is ever written.

    What was on disk when `.sessions` was first needed is what all frames show, though a run goes on.

    Attributes:
        path: the result folder.
        experiment: what experiment.json says.
    """

    def __init__(self, path: Path, experiment: ExperimentRecord) -> None:
        self.path = path
        self.experiment = experiment
        self._warnings: list[str] = []
        self._tables: dict[str, Rows] = {}

    @cached_property
    def _records(self) -> dict[str, list[SessionRecord]]:
        records_by_key: dict[str, list[SessionRecord]] = {}
        for trial in self.experiment.trials:
            records, warnings = read_sessions(self.path, trial.key)
            records_by_key[trial.key] = records
            self._warnings += warnings
        self._warnings += self._unplanned_entries()
        return records_by_key

    @property
    def warnings(self) -> list[str]:
        """One line for each thing in the folder that is damaged or foreign, and is left out."""
        _ = self._records, self.run, self.image_paths
        return list(self._warnings)

    def session_records(self, key: str) -> list[SessionRecord]:
        """The sessions of a trial in order, failed ones too; ValueError for no trial of this experiment."""
        if key not in self._records:
            raise ValueError(f"not a trial of this experiment: {key[:100]!r}")
        return list(self._records[key])

    @cached_property
    def run(self) -> RunRecord | None:
        """End of the last run; None if run.json is missing or damaged."""
        try:
            return read_run(self.path)
        except StoredResultError as error:
            self._warnings.append(error.one_line)
            return None

    @cached_property
    def trials(self) -> pd.DataFrame:
        """One row a planned trial: what it is, how far it came (`status`), and `reason`, what is missing."""
        from edgebench.results.frames import trial_frame

        return trial_frame(self.experiment, self._records, self.run)

    @cached_property
    def sessions(self) -> pd.DataFrame:
        """One row a session, failed ones too; reads no Parquet file."""
        from edgebench.results.frames import session_frame

        return session_frame([trial.key for trial in self.experiment.trials], self._records)

    @cached_property
    def passes(self) -> pd.DataFrame:
        """One row a pass: trial, session, the columns of `stored.PASS_COLUMNS`, and a sum a stage in ns."""
        return self._frame("passes")

    @cached_property
    def batches(self) -> pd.DataFrame:
        """One row a batch: trial, session, `stored.BATCH_COLUMNS`, start and end of each stage in ns."""
        return self._frame("batches")

    @cached_property
    def windows(self) -> pd.DataFrame:
        """One row a window: trial, session, `stored.WINDOW_COLUMNS`; empty where devices gave passes."""
        return self._frame("windows")

    @cached_property
    def probes(self) -> pd.DataFrame:
        """One row a sample and channel: trial, session, `stored.PROBE_COLUMNS`."""
        return self._frame("probes")

    @cached_property
    def predictions(self) -> pd.DataFrame:
        """One row a session, worker, set and patch or image, `stored.PREDICTION_COLUMNS`."""
        return self._frame("predictions")

    def _frame(self, name: str) -> pd.DataFrame:
        from edgebench.results.frames import table_frame

        return table_frame(self._kept(name))

    def table(
        self, name: str, columns: Sequence[str] | None = None, trials: Sequence[str] | None = None
    ) -> pd.DataFrame:
        """A table of all sessions, read again, perhaps only some of its columns.

        Args:
            name: passes, batches, windows, probes or predictions.
            columns: those that are wanted; None for all.
            trials: the keys of the trials whose sessions are read; None for all.

        Raises:
            StoredResultError: a file is truncated, damaged or has other columns.
            ValueError: there is no such table, or a key is no trial's of this experiment.
        """
        from edgebench.results.frames import table_frame

        return table_frame(self.rows(name, columns, trials))

    def rows(
        self, name: str, columns: Sequence[str] | None = None, trials: Sequence[str] | None = None
    ) -> Rows:
        """The same as numpy arrays, with the errors of `table`."""
        keys = [trial.key for trial in self.experiment.trials] if trials is None else list(trials)
        return self._read(name, {key: self.session_records(key) for key in keys}, columns)

    def rows_of_trials(self, name: str, columns: Sequence[str] | None = None) -> Callable[[str], Rows]:
        """A function from a trial's key to its rows of a table, with the errors of `table`.

        They are views of the whole table, which is kept where it has all its columns. One of more than
        MOST_KEPT bytes is read trial by trial, and not kept.
        """
        folders = (
            layout.session_folder(self.path, key, record.n)
            for key, records in self._records.items()
            for record in records
            if name in record.tables
        )
        if sum(regular_file(folder / f"{name}.parquet", self.path) or 0 for folder in folders) > MOST_KEPT:
            return lambda key: self.rows(name, columns, [key])
        rows = self._kept(name) if columns is None else self.rows(name, columns)
        codes = rows.words("trial").codes
        of_trial = {
            trial.key: rows.take(slice(*codes.searchsorted(np.array([at, at + 1], codes.dtype)).tolist()))
            for at, trial in enumerate(self.experiment.trials)
        }
        return lambda key: of_trial[key]

    def _kept(self, name: str) -> Rows:
        """All rows of a table, read once."""
        if name not in self._tables:
            self._tables[name] = self.rows(name)
        return self._tables[name]

    def session_rows(self, name: str, session: SessionRecord) -> Rows:
        """A table of one session, read again: with all its columns, and otherwise as `rows`."""
        return self._read(name, {session.trial: [session]})

    def _read(
        self,
        name: str,
        records_by_key: Mapping[str, Sequence[SessionRecord]],
        columns: Sequence[str] | None = None,
    ) -> Rows:
        if name not in TABLE_COLUMNS:
            raise ValueError(f"not the name of a table: {name[:100]!r}")
        sources = [
            Source(
                at,
                record.n,
                layout.session_folder(self.path, key, record.n) / f"{name}.parquet",
                self.path,
                record.tables.get(name),
            )
            for at, (key, records) in enumerate(records_by_key.items())
            for record in records
        ]
        return read_rows(name, sources, list(records_by_key), columns)

    @cached_property
    def image_paths(self) -> dict[str, tuple[str, ...]]:
        """The path of each image by its index, by the SHA-256 of the set's pixels.

        Empty where the images were no files, and where images.json is
        damaged, which `warnings` says then.
        """
        try:
            record = read_image_paths(self.path)
        except StoredResultError as error:
            self._warnings.append(error.one_line)
            return {}
        return {} if record is None else record.sets

    @cached_property
    def scene_jpeg(self) -> bytes | None:
        """The scene's picture, small, as JPEG bytes; None when none was kept."""
        return read_bounded(self.path / layout.SCENE_FILE, self.path)

    def __repr__(self) -> str:
        return f"StoredResults({str(self.path)!r})"

    def _unplanned_entries(self) -> list[str]:
        """One line for each entry of the trials' folder that is not in the plan."""
        planned: set[str] = {trial.key for trial in self.experiment.trials}
        folder = self.path / layout.TRIALS_FOLDER
        try:
            folder_names = sorted(os.listdir(folder))  # noqa: PTH208  # a thousand names, no objects
        except OSError:
            return []
        unplanned = set(folder_names) - planned
        return [
            f"{name[:60]!r} among the trials is not in the plan, and is left out"
            for name in folder_names
            if name in unplanned and not name.startswith(layout.WRITING_PREFIX)
        ]


def load(path: str | Path) -> StoredResults:
    """The experiment in a result folder; reads experiment.json only.

    As for the commands, `latest` is the newest result, `DIR/latest` the newest in a folder, and a bare name
    is looked for among the results: in the folder that EDGEBENCH_OUTPUT_DIR names, else ./results. Unlike the
    commands it reads no configuration file: where one sets output_dir, `latest` is another folder's.

    StoredResultError, with its fix, when there is no such folder, when it is not an EdgeBench result, or
    when experiment.json is truncated, damaged or of another version.
    """
    folder = found_folder(path)
    return StoredResults(folder, read_experiment(folder))


def found_folder(path: str | Path) -> Path:
    """The folder that `load` means; StoredResultError where a bare name, or latest, has none."""
    folder = Path(expand_home(path))
    is_name = len(folder.parts) == 1 or folder.name == LATEST
    return resolve_results(str(folder), default_output_dir()) if is_name else folder
