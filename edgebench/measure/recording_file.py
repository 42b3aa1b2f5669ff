"""The Parquet file of a recording: written as the samples come, at its place when it is whole."""

from __future__ import annotations

import fcntl
import json
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from typing import BinaryIO

from edgebench.errors import StoredResultError
from edgebench.store.probe_table import ProbeTableWriter
from edgebench.vocabulary.probe import ProbeChunk, ProbeInfo

PROBE_KEY = "edgebench.probe"
"""Of the file's metadata: what the probe said of itself, as JSON with the fields of ProbeInfo."""


class RecordingFile:
    """One that is being written; what is not kept by the end of the context is removed.

    What a process that was killed has left of the same recording is removed by the next one.

    Args:
        path: where it will be; StoredResultError where that cannot be, here and in `keep`.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._temporary = path.with_name(f"{_temporary_prefix(path)}{secrets.token_hex(4)}")
        self._fault: OSError | None = None
        with self._as_stored_result_error():
            _remove_leftovers(path)
            self._table = ProbeTableWriter(self._temporary)
            self._being_written = _held(self._temporary)

    @property
    def full(self) -> bool:
        """Whether the disk refused a sample: it and all after it are lost, and `keep` says so."""
        return self._fault is not None

    def write(self, chunk: ProbeChunk, info: ProbeInfo) -> None:
        """Append a chunk of the probe."""
        if self._fault is None:
            try:
                self._table.write(chunk, [info])
            except OSError as error:
                self._fault = error

    def keep(self, info: ProbeInfo) -> None:
        """Put the file at its place, in one step; its metadata say what its samples are of."""
        with self._as_stored_result_error():
            if self._fault is not None:
                raise self._fault
            self._table.close({PROBE_KEY: json.dumps(asdict(info))})
            self._temporary.replace(self._path)

    def __enter__(self) -> RecordingFile:
        return self

    def __exit__(self, *error: object) -> None:
        self._table.__exit__(None, None, None)
        self._temporary.unlink(missing_ok=True)
        self._being_written.close()

    @contextmanager
    def _as_stored_result_error(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            why = error.strerror or str(error)
            fix = "name another file with -o"
            raise StoredResultError(f"{self._path} cannot be written", why=why, fix=fix) from error


def _temporary_prefix(path: Path) -> str:
    return f".{path.name}.writing-"


def _held(path: Path) -> BinaryIO:
    """The file with a lock by which others see that it is being written, until it is closed."""
    file = path.open("rb")
    with suppress(OSError):  # some network file systems have none
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    return file


def _remove_leftovers(path: Path) -> None:
    """Remove the temporary files of this recording that no process writes any more."""
    with os.scandir(path.parent) as entries:
        leftovers = [
            Path(entry.path)
            for entry in entries
            if entry.name.startswith(_temporary_prefix(path)) and entry.is_file(follow_symlinks=False)
        ]
    for leftover in leftovers:
        with suppress(OSError), leftover.open("rb") as file:  # one that is written, or another user's, stays
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            leftover.unlink()
