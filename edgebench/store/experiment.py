"""The writer's side of an experiment's folder: whole sessions, one writer, nothing overwritten."""

from __future__ import annotations

import json
import re
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from edgebench.atomic import require_folder
from edgebench.errors import StoredResultError
from edgebench.store import layout
from edgebench.store.file_writing import (
    as_stored_result_error,
    new_folder,
    remove_leftovers,
    replace_file,
    write_file,
    write_table,
)
from edgebench.store.lock import WriterLock
from edgebench.store.record_reading import read_experiment, read_sessions
from edgebench.store.records import (
    SCHEMA_VERSION,
    ExperimentRecord,
    ImagePathsRecord,
    RunRecord,
    SessionRecord,
    SessionTables,
)
from edgebench.vocabulary.launch_secrets import has_secrets


class ExperimentStore:
    """An experiment's folder, locked against a second writer until `close`.

    Attributes:
        path: the folder.
        record: what experiment.json says.
        warnings: one line for each damaged session, which is measured again.
    """

    def __init__(self, path: Path, record: ExperimentRecord, lock: WriterLock) -> None:
        self.path = path
        self.record = record
        self.warnings: list[str] = []
        self._lock = lock
        self._keys = {trial.key for trial in record.trials}

    @classmethod
    def create(
        cls,
        output_dir: Path,
        name: str | None,
        record: ExperimentRecord,
        scene_jpeg: bytes | None = None,
        image_paths: ImagePathsRecord | None = None,
    ) -> ExperimentStore:
        """A new folder `output_dir/name`, or one named by time and `record.name` when `name` is None.

        UsageError for a name that cannot be a folder's; StoredResultError when an experiment of that
        name exists, or when the folder cannot be written.
        """
        if name is not None:
            layout.check_name(name)
        with as_stored_result_error(output_dir):
            output_dir.mkdir(parents=True, exist_ok=True)
            path = _new_timed(output_dir, record) if name is None else _new_named(output_dir, name)
        with as_stored_result_error(path):
            lock = WriterLock(path)
            try:
                if (path / layout.EXPERIMENT_FILE).exists():
                    raise _exists(path)
                remove_leftovers(path)
                if scene_jpeg is not None:
                    replace_file(path / layout.SCENE_FILE, scene_jpeg)
                if image_paths is not None:
                    replace_file(path / layout.IMAGES_FILE, image_paths.model_dump_json(indent=1).encode())
                (path / layout.TRIALS_FOLDER).mkdir(exist_ok=True)
                # Last, because a folder with it is an experiment.
                _write_record(path, record)
            except BaseException:
                lock.release()
                raise
        return cls(path, record, lock)

    @classmethod
    def open(cls, path: Path) -> ExperimentStore:
        """An experiment to go on with; what a killed writer left half done is removed.

        StoredResultError when it is not an experiment, another writer holds it, or it cannot be written.
        """
        record = read_experiment(path)
        with as_stored_result_error(path):
            lock = WriterLock(path)
            try:
                remove_leftovers(path)
                for trial in record.trials:
                    folder = layout.trial_folder(path, trial.key)
                    for subfolder in (folder, folder / layout.SESSIONS_FOLDER):
                        remove_leftovers(layout.inside(subfolder, path))
            except BaseException:
                lock.release()
                raise
        return cls(path, record, lock)

    def finished(self, key: str) -> list[SessionRecord]:
        """The sessions of a trial that are on disk, in order, failed ones too; reads no tables.

        A damaged one is left out and named in `warnings`.
        """
        records, warnings = read_sessions(self.path, self._require_key(key))
        self.warnings += [line for line in warnings if line not in self.warnings]
        return records

    def next_n(self, key: str) -> int:
        """The number that the trial's next session gets; that of a damaged session is not used again."""
        return max(layout.session_numbers(self.path, self._require_key(key)), default=-1) + 1

    def has(self, keys: Iterable[str]) -> bool:
        """Whether all of these are keys of the experiment's trials."""
        return self._keys.issuperset(keys)

    def extend(self, record: ExperimentRecord) -> None:
        """Put a record with more targets and trials in the place of experiment.json.

        ValueError where it has lost or changed a target or a trial that was there.
        """
        for name in ("targets", "trials"):
            before, after = getattr(self.record, name), getattr(record, name)
            if after[: len(before)] != before:
                raise ValueError(f"{name} of an experiment may only be appended to")
        with as_stored_result_error(self.path):
            _write_record(self.path, record)
        self.record = record
        self._keys = {trial.key for trial in record.trials}

    @contextmanager
    def scratch(self) -> Iterator[Path]:
        """A folder on the experiment's disk for what a session samples; removed with whatever is left in it.

        One that a killed writer leaves is removed by `open`.
        """
        with as_stored_result_error(self.path):
            folder = Path(tempfile.mkdtemp(dir=self.path, prefix=layout.WRITING_PREFIX))
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def write_session(self, record: SessionRecord, tables: SessionTables) -> Path:
        """Put a session on disk, whole or not at all; returns its folder.

        StoredResultError when there is a session of that number, or when the disk refuses.
        """
        folder = layout.session_folder(self.path, self._require_key(record.trial), record.n)
        tables_by_name = {name: getattr(tables, name) for name in layout.TABLES} | tables.extra
        for name in tables_by_name:
            if not layout.is_table_name(name):
                raise ValueError(f"not the name of a table: {name[:100]!r}")
        # Whatever is written must be readable: NaN would come back as a missing figure.
        SessionRecord.model_validate_json(record.model_dump_json())
        if folder.exists():
            raise StoredResultError(
                f"session {record.n} of trial {record.trial} exists already",
                fix="a finished session is never overwritten; remove its folder to measure it anew",
            )
        with as_stored_result_error(folder):
            folder.parent.mkdir(parents=True, exist_ok=True)
            with new_folder(folder) as temporary:
                hashes = {
                    name: write_table(temporary / f"{name}.parquet", table, name)
                    for name, table in tables_by_name.items()
                    if table is not None
                }
                with_hashes = record.model_copy(update={"tables": hashes})
                write_file(temporary / layout.SESSION_FILE, with_hashes.model_dump_json(indent=1).encode())
        return folder

    def write_trial(self, key: str, summary: Mapping[str, Any]) -> Path:
        """Write trial.json, which is derived and may be replaced; ValueError for what JSON cannot hold."""
        path = layout.trial_folder(self.path, self._require_key(key)) / layout.TRIAL_FILE
        document = {"schema_version": SCHEMA_VERSION, **summary}
        data = json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False).encode()
        with as_stored_result_error(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            replace_file(path, data)
        return path

    def write_run(self, run: RunRecord) -> Path:
        """Write run.json, which says how the last run ended and replaces what an earlier one said."""
        path = self.path / layout.RUN_FILE
        with as_stored_result_error(path):
            replace_file(path, run.model_dump_json(indent=1).encode())
        return path

    def close(self) -> None:
        """Give the lock back; safe to call twice."""
        self._lock.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _require_key(self, key: str) -> str:
        if key not in self._keys:
            raise ValueError(f"not a trial of this experiment: {key[:100]!r}")
        return key


def require_writable(output_dir: Path) -> None:
    """Make `output_dir` and try it out, so that a run that could keep nothing ends before it measures.

    Its last folder alone is made. UsageError when the one above it is not there; StoredResultError, with
    its fix, when nothing can be written there.
    """
    with as_stored_result_error(output_dir):
        require_folder(output_dir.parent, "--output-dir")
        output_dir.mkdir(exist_ok=True)
        with tempfile.TemporaryFile(dir=output_dir) as file:
            file.write(b"edgebench")


def _write_record(folder: Path, record: ExperimentRecord) -> None:
    """Write experiment.json, for its owner alone where launches have values that may be secrets."""
    private = any(has_secrets(target.launch) for target in record.targets)
    data = record.model_dump_json(indent=1).encode()
    replace_file(folder / layout.EXPERIMENT_FILE, data, private=private)


def _new_timed(output_dir: Path, record: ExperimentRecord) -> Path:
    try:
        created = datetime.fromisoformat(record.created_utc).astimezone(UTC)
    except ValueError as error:
        raise ValueError(f"created_utc is not a time: {record.created_utc!r}") from error
    stem = f"{created:%Y%m%d-%H%M%S}-{re.sub('[^A-Za-z0-9_-]+', '-', record.name)[:60]}"
    for count in range(1, 1000):
        path = output_dir / (stem if count == 1 else f"{stem}-{count}")
        try:
            path.mkdir()
        except FileExistsError:
            continue
        return path
    raise StoredResultError(f"{output_dir} has too many results of this second", fix="give one a --name")


def _new_named(output_dir: Path, name: str) -> Path:
    path = output_dir / name
    try:
        path.mkdir()
    except FileExistsError:
        # A run that was stopped before its plan was written leaves only its lock: its name is free again.
        ours = {layout.LOCK_FILE, layout.HOLDER_FILE, layout.SCENE_FILE, layout.TRIALS_FOLDER}
        ours.add(layout.IMAGES_FILE)
        if not path.is_dir() or any(
            entry.name not in ours and not entry.name.startswith(layout.WRITING_PREFIX)
            for entry in path.iterdir()
        ):
            raise _exists(path) from None
    return path


def _exists(path: Path) -> StoredResultError:
    return StoredResultError(
        f"the result {path} exists already",
        why="a result is never overwritten",
        fix="continue it with --resume, or choose another --name",
    )
