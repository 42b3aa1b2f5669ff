"""The writer's side of an experiment's folder: whole sessions, one writer, nothing overwritten."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
import secrets
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import filelock
import pyarrow as pa
import pyarrow.parquet as pq

from edgebench.errors import SessionError, StoredResultError
from edgebench.files import read_regular, require_folder, write_atomically
from edgebench.records.stored import (
    ExperimentRecord,
    ImagePathsRecord,
    RunRecord,
    SessionRecord,
    SessionTables,
    TableFile,
)
from edgebench.records.target import has_secrets
from edgebench.results import layout
from edgebench.results.layout import HOLDER_FILE, LOCK_FILE, SCHEMA_VERSION, WRITING_PREFIX, regular_file
from edgebench.results.load import Source, read_rows
from edgebench.results.parquet import MOST_NS, to_arrow, write_options
from edgebench.results.record_reading import read_experiment, read_sessions, record_bytes, with_checksum
from edgebench.this_machine import started_s as process_started_s

if TYPE_CHECKING:
    import pandas as pd  # which takes long to import

# Files that are whole or not there: written, flushed to the disk, then renamed; errors in words.


_FIXES = {
    **dict.fromkeys(
        (errno.ENOSPC, errno.EDQUOT),
        "make room, then go on with --resume; or choose another disk with --output-dir",
    ),
    **dict.fromkeys(
        (errno.EACCES, errno.EPERM, errno.EROFS),
        "choose a folder that you may write with --output-dir, or change its permissions",
    ),
}


@contextmanager
def as_stored_result_error(
    path: Path,
    what: str = "the result cannot be written to {}",
    fix: str = "choose another folder with --output-dir",
) -> Iterator[None]:
    """Turn the system's refusal to write below `path` into a StoredResultError with its fix."""
    try:
        yield
    except OSError as error:
        known = _FIXES.get(error.errno or 0, fix)
        raise StoredResultError(what.format(path), why=error.strerror or str(error), fix=known) from error


def write_file(path: Path, data: bytes) -> None:
    """Write a new file and flush it to the disk; FileExistsError when there is one."""
    with path.open("xb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def write_table(path: Path, rows: pd.DataFrame | TableFile, name: str) -> str:
    """Write a new Parquet file and flush it to the disk; returns the hex SHA-256 of its bytes.

    Rows that are a file already are moved there. Raises ValueError for other columns than those of the table.
    """
    if isinstance(rows, TableFile):
        rows.path.rename(path)
        return rows.sha256
    table = to_arrow(rows, name)
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, **write_options(table.column_names))
    data = sink.getvalue().to_pybytes()
    write_file(path, data)
    return hashlib.sha256(data).hexdigest()


def replace_file(path: Path, data: bytes, *, private: bool = False) -> None:
    """Put `data` at `path` in one step, whether or not something is there.

    A `private` file is its owner's alone to read, whatever the umask allows.
    """
    write_atomically(path, data, private=private)
    flush_folder(path.parent)


@contextmanager
def new_folder(path: Path) -> Iterator[Path]:
    """A temporary folder to fill, which becomes `path` in one step when the block ends well.

    FileExistsError when there is a `path`; the caller's lock keeps others from making it meanwhile.
    """
    if path.exists() or path.is_symlink():
        raise FileExistsError(errno.EEXIST, "the folder exists already", str(path))
    temporary = path.parent / f"{WRITING_PREFIX}{secrets.token_hex(8)}"
    temporary.mkdir()
    try:
        yield temporary
        flush_folder(temporary)
        temporary.rename(path)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise
    flush_folder(path.parent)


def flush_folder(path: Path) -> None:
    """Flush a folder's entries to the disk, where the system can."""
    if os.name != "posix":
        return
    handle = os.open(path, os.O_RDONLY)
    try:
        # Some network file systems refuse it; the rename itself stays atomic there.
        with suppress(OSError):
            os.fsync(handle)
    finally:
        os.close(handle)


def remove_leftovers(folder: Path) -> None:
    """Remove what a killed writer left directly in `folder`; only under the experiment's lock."""
    if not folder.is_dir() or folder.is_symlink():
        return
    with os.scandir(folder) as entries:
        leftovers = [entry for entry in entries if entry.name.startswith(WRITING_PREFIX)]
    for entry in leftovers:
        if entry.is_dir(follow_symlinks=False):
            shutil.rmtree(entry)
        else:
            os.unlink(entry)  # noqa: PTH108


# One writer an experiment: the system's own file lock, and a note of which process holds it.
#
# The note stays in the folder of a writer that was killed, and folders are handed on: it names no machine.


_MAX_NOTE_BYTES = 4096


class WriterLock:
    """The lock of one experiment's folder; taken when made, given back by `release` or by the end.

    The system gives it back when its process dies, however it dies, so there is nothing to clean up.

    Raises:
        StoredResultError: another writer holds it, or its path is not a plain file in this folder.
        OSError: the folder cannot be written.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        regular_file(folder / LOCK_FILE, folder)
        # Not thread-local: the thread that closes need not be the one that opened.
        self._lock = filelock.FileLock(folder / LOCK_FILE, thread_local=False)
        try:
            self._lock.acquire(timeout=0)
        except filelock.Timeout as error:
            raise StoredResultError(
                f"{folder} is being written by another EdgeBench",
                why=_holder(folder),
                fix="wait until it ends, or choose another --name",
            ) from error
        try:
            note = {"pid": os.getpid(), "started_s": process_started_s()}
            # Put in its place, not written through whatever lies there: a link may lead anywhere.
            replace_file(folder / HOLDER_FILE, json.dumps(note).encode())
        except BaseException:
            self._lock.release()
            raise

    def release(self) -> None:
        """Give the lock back; safe to call twice."""
        if self._lock.is_locked:
            (self._folder / HOLDER_FILE).unlink(missing_ok=True)
            self._lock.release()


@contextmanager
def _locked(folder: Path) -> Iterator[WriterLock]:
    """The lock of a folder, which is given back where the block fails; the system's errors in words."""
    with as_stored_result_error(folder):
        lock = WriterLock(folder)
        try:
            yield lock
        except BaseException:
            lock.release()
            raise


def _holder(folder: Path) -> str:
    """Name the holder of the lock; "" if its note cannot be read."""
    path = folder / HOLDER_FILE
    try:
        if regular_file(path, folder) is None:
            return ""
        note = json.loads(read_regular(path, _MAX_NOTE_BYTES))
        pid, started_s = int(note["pid"]), float(note["started_s"])
    except (StoredResultError, OSError, ValueError, LookupError, TypeError, OverflowError, RecursionError):
        return ""
    # Another machine's process may have the number of one of this machine, not its start.
    started = process_started_s(pid)
    runs_here = started is not None and abs(started - started_s) < 1.0
    where = "" if runs_here else " on another machine that has this folder"
    return f"process {pid}{where} holds the lock"


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
        self._inode = path.stat().st_ino
        self._keys = {trial.key for trial in record.trials}
        self._sessions_by_passes: dict[str, str] = {}  # the session in words by the SHA-256 of its passes
        self._read_keys: set[str] = set()

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
        with _locked(path) as lock:
            if (path / layout.EXPERIMENT_FILE).exists():
                raise _exists(path)
            remove_leftovers(path)
            if scene_jpeg is not None:
                replace_file(path / layout.SCENE_FILE, scene_jpeg)
            if image_paths is not None:
                replace_file(path / layout.IMAGES_FILE, record_bytes(image_paths))
            (path / layout.TRIALS_FOLDER).mkdir(exist_ok=True)
            # Last, because a folder with it is an experiment.
            _write_record(path, record)
        return cls(path, record, lock)

    @classmethod
    def open(cls, path: Path) -> ExperimentStore:
        """An experiment to go on with; what a killed writer left half done is removed.

        StoredResultError when it is not an experiment, another writer holds it, or it cannot be written.
        """
        record = read_experiment(path)
        with _locked(path) as lock:
            remove_leftovers(path)
            for trial in record.trials:
                folder = layout.trial_folder(path, trial.key)
                for subfolder in (folder, folder / layout.SESSIONS_FOLDER):
                    remove_leftovers(layout.inside(subfolder, path))
        return cls(path, record, lock)

    def finished(self, key: str) -> list[SessionRecord]:
        """The sessions of a trial that are on disk, in order, failed ones too; reads no tables.

        A damaged one is left out and named in `warnings`.
        """
        records, warnings = read_sessions(self.path, self._require_key(key))
        self._read_keys.add(key)
        for record in records:
            self._note_passes(record)
        self.warnings += [line for line in warnings if line not in self.warnings]
        return records

    def next_n(self, key: str) -> int:
        """The number that the trial's next session gets; that of a damaged session is not used again."""
        sessions = layout.sessions_folder(self.path, self._require_key(key))
        return max(layout.numbers_in(sessions), default=-1) + 1

    def has(self, keys: Iterable[str]) -> bool:
        """Return True if all of these are keys of the experiment's trials."""
        return self._keys.issuperset(keys)

    def extend(self, record: ExperimentRecord) -> None:
        """Put a record with more targets and trials in the place of experiment.json.

        ValueError where it has lost or changed a target or a trial that was there.
        """
        for name in ("targets", "trials"):
            before, after = getattr(self.record, name), getattr(record, name)
            if after[: len(before)] != before:
                raise ValueError(f"{name} of an experiment may only be appended to")
        with self._writing(self.path):
            _write_record(self.path, record)
        self.record = record
        self._keys = {trial.key for trial in record.trials}

    @contextmanager
    def scratch(self) -> Iterator[Path]:
        """A folder on the experiment's disk for what a session samples; removed with whatever is left in it.

        One that a killed writer leaves is removed by `open`.
        """
        with self._writing(self.path):
            folder = Path(tempfile.mkdtemp(dir=self.path, prefix=layout.WRITING_PREFIX))
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def write_session(self, record: SessionRecord, tables: SessionTables) -> Path:
        """Put a session on disk, whole or not at all; returns its folder.

        StoredResultError when there is a session of that number, or when the disk refuses. SessionError
        (`protocol_error`) for one whose passes cannot be its own; nothing of it is kept then.
        """
        folder = layout.session_folder(self.path, self._require_key(record.trial), record.n)
        tables_by_name = {name: getattr(tables, name) for name in layout.TABLES}
        # Whatever is written must be readable: NaN would come back as a missing figure.
        SessionRecord.model_validate_json(record.model_dump_json())
        if folder.exists():
            raise StoredResultError(
                f"session {record.n} of trial {record.trial} exists already",
                fix="a finished session is never overwritten; remove its folder to measure it again",
            )
        with self._writing(folder):
            folder.parent.mkdir(parents=True, exist_ok=True)
            with new_folder(folder) as temporary:
                hashes = {
                    name: write_table(temporary / f"{name}.parquet", table, name)
                    for name, table in tables_by_name.items()
                    if table is not None
                }
                with_hashes = record.model_copy(update={"tables": hashes})
                self._require_own_passes(with_hashes, temporary)
                write_file(temporary / layout.SESSION_FILE, record_bytes(with_hashes))
        self._note_passes(with_hashes)
        return folder

    def _note_passes(self, record: SessionRecord) -> None:
        if "passes" in record.tables:
            self._sessions_by_passes[record.tables["passes"]] = f"session {record.n} of trial {record.trial}"

    def _require_own_passes(self, record: SessionRecord, folder: Path) -> None:
        """SessionError for passes outside the session's steady window, or equal to those of another session.

        Emulated devices and clocks of their own may repeat their stamps; no device that is measured does.
        """
        why = ""
        for name in ("passes", "windows"):
            source = Source(0, record.n, folder / f"{name}.parquet", folder, record.tables.get(name))
            rows = read_rows(name, [source], [record.trial], ("phase", "start_ns", "end_ns"))
            begin_ns, end_ns = record.windows_ns.get("steady") or (-MOST_NS, MOST_NS)
            early, late = rows.whole("start_ns") < begin_ns, rows.whole("end_ns") > end_ns
            if count := int((rows.equal("phase", "steady") & (early | late)).sum()):
                why = f"{count} of its steady {name} are outside its steady window"
        if not (record.emulated or record.own_time):
            for key in self._keys - self._read_keys:
                self.finished(key)
            if other := self._sessions_by_passes.get(record.tables.get("passes", "")):
                why = f"its passes are those of {other}"
        if why:
            what = "the session is damaged"
            fix = "measure it again; if that does not help, restart its agent or `edgebench fleet worker`"
            raise SessionError(what, status="protocol_error", stage="measure", why=why, fix=fix)

    def write_trial(self, key: str, summary: Mapping[str, Any]) -> Path:
        """Write trial.json, which is derived and may be replaced; ValueError for what JSON cannot hold."""
        path = layout.trial_folder(self.path, self._require_key(key)) / layout.TRIAL_FILE
        document = {"schema_version": SCHEMA_VERSION, **summary}
        data = with_checksum(json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False))
        with self._writing(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            replace_file(path, data)
        return path

    def write_run(self, run: RunRecord) -> Path:
        """Write run.json, which says how the last run ended and replaces what an earlier one said."""
        path = self.path / layout.RUN_FILE
        with self._writing(path):
            replace_file(path, record_bytes(run))
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

    @contextmanager
    def _writing(self, path: Path) -> Iterator[None]:
        """Write below the folder, which is not made again where it has vanished: StoredResultError."""
        try:
            is_there = (
                self.path.stat().st_ino == self._inode and (self.path / layout.EXPERIMENT_FILE).exists()
            )
        except OSError:
            is_there = False
        if not is_there:
            raise StoredResultError(
                f"the result folder {self.path} is gone",
                why="it was removed, renamed or replaced, or its disk unmounted, while the run wrote to it",
                fix="put it back there and go on with --resume; otherwise run again",
            )
        with as_stored_result_error(path):
            yield

    def _require_key(self, key: str) -> str:
        if key not in self._keys:
            raise ValueError(f"not a trial of this experiment: {key[:100]!r}")
        return key


def require_writable(output_dir: Path) -> None:
    """Write a temporary file where results will be, so that a run that could keep nothing ends at once.

    A missing `output_dir` is not made; its parent is tried instead.

    Raises:
        UsageError: the parent does not exist.
        StoredResultError: nothing can be written there.
    """
    with as_stored_result_error(output_dir):
        require_folder(output_dir.parent, "--output-dir")
        with tempfile.TemporaryFile(dir=output_dir if output_dir.exists() else output_dir.parent) as file:
            file.write(b"edgebench")


def _write_record(folder: Path, record: ExperimentRecord) -> None:
    """Write experiment.json, for its owner alone where launches have values that may be secrets."""
    private = any(has_secrets(asdict(target.launch)) for target in record.targets)
    replace_file(folder / layout.EXPERIMENT_FILE, record_bytes(record), private=private)


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
        ours = {LOCK_FILE, HOLDER_FILE, layout.SCENE_FILE, layout.TRIALS_FOLDER, layout.IMAGES_FILE}
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
