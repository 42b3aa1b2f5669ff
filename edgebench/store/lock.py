"""One writer an experiment: the system's own file lock, and a note of which process holds it.

The note stays in the folder of a writer that was killed, and folders are handed on: it names no machine.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import filelock

from edgebench.errors import StoredResultError
from edgebench.regular_files import read_regular
from edgebench.store.file_writing import replace_file
from edgebench.store.layout import HOLDER_FILE, LOCK_FILE, regular_file
from edgebench.this_machine import started_s as process_started_s

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


def _holder(folder: Path) -> str:
    """Who holds the lock, as far as the note can be read: it lies in a folder that anyone may write."""
    path = folder / HOLDER_FILE
    try:
        if regular_file(path, folder) is None:
            return ""
        note = json.loads(read_regular(path, _MAX_NOTE_BYTES))
        pid, started_s = int(note["pid"]), float(note["started_s"])
    except (StoredResultError, OSError, ValueError, LookupError, TypeError, OverflowError, RecursionError):
        return ""
    where = "" if _runs_here(pid, started_s) else " on another machine that has this folder"
    return f"process {pid}{where} holds the lock"


def _runs_here(pid: int, started_s: float) -> bool:
    """Whether it is a process of this machine; another machine's may have its number, not its start."""
    started = process_started_s(pid)
    return started is not None and abs(started - started_s) < 1.0
