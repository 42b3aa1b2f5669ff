"""A result folder packed into one archive, without what identifies hosts and users."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile, ZipInfo

import pyarrow as pa
from pydantic import BaseModel

from edgebench.errors import StoredResultError
from edgebench.regular_files import open_regular
from edgebench.store import layout
from edgebench.store.archive import MANIFEST, ArchivedFile, Manifest
from edgebench.store.exported_copy import (
    copy_of_experiment,
    copy_of_image_paths,
    copy_of_run,
    copy_of_session,
    copy_probe_table,
    names_of,
    renames_probes,
)
from edgebench.store.frames import MAX_BYTES
from edgebench.store.record_reading import (
    read_bounded,
    read_experiment,
    read_image_paths,
    read_run,
    read_sessions,
)
from edgebench.store.records import SessionRecord
from edgebench.store.redaction import PrivateNames

_BLOCK = 1 << 20


@dataclass(frozen=True)
class Packed:
    """What went into an archive.

    Attributes:
        sha256: of the whole file.
        size: of it, in bytes.
        warnings: one line for each session that is damaged, and was left out.
    """

    trials: int
    sessions: int
    sha256: str
    size: int
    warnings: tuple[str, ...]


def write_archive(
    folder: Path, path: Path, *, edgebench_version: str, progress: Callable[[int, int], None] | None = None
) -> Packed:
    """Pack a result into `path`, in one step; the same result gives the same bytes.

    Args:
        folder: of the result; nothing in it is changed.
        path: a file that is there is replaced.
        edgebench_version: that which packs it, for the manifest.
        progress: called with how many sessions are packed, and of how many.

    Raises:
        StoredResultError: the result cannot be read or a table of it is damaged, or `path` not be written.
    """
    record = read_experiment(folder)
    run = read_run(folder)
    images = read_image_paths(folder)
    sessions: list[SessionRecord] = []
    warnings: list[str] = []
    for trial in record.trials:
        sound, damaged = read_sessions(folder, trial.key)
        sessions += sound
        warnings += damaged
    names = names_of(record, sessions)
    try:
        temporary = tempfile.NamedTemporaryFile(  # noqa: SIM115  # renamed into place, else removed
            dir=path.parent, prefix=layout.WRITING_PREFIX, delete=False
        )
        try:
            with temporary, ZipFile(temporary, "w") as archive:
                packer = _Packer(archive, folder, names)
                packer.add_record(layout.EXPERIMENT_FILE, copy_of_experiment(record, names))
                if run is not None:
                    packer.add_record(layout.RUN_FILE, copy_of_run(run, names))
                if images is not None:
                    packer.add_record(layout.IMAGES_FILE, copy_of_image_paths(images, names))
                packer.add_picture()
                for trial in record.trials:
                    packer.add_summary(trial.key)
                for done, session in enumerate(sessions, start=1):
                    packer.add_session(session)
                    if progress is not None:
                        progress(done, len(sessions))
                # A folder's name may be bytes that are no text.
                name = os.fsencode(folder.resolve().name).decode(errors="replace")
                packer.add_manifest(name, edgebench_version)
            os.chmod(temporary.name, 0o644)  # noqa: PTH101  # it holds nothing private, and is made to be given away
            Path(temporary.name).replace(path)
        except BaseException:
            Path(temporary.name).unlink(missing_ok=True)
            raise
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise StoredResultError(
            f"{path} cannot be written", why=error.strerror or str(error), fix="choose another file with -o"
        ) from error
    return Packed(len(record.trials), len(sessions), digest, path.stat().st_size, tuple(warnings))


class _Packer:
    """Adds a result's files to an archive, and keeps their checksums."""

    def __init__(self, archive: ZipFile, folder: Path, names: PrivateNames) -> None:
        self._archive = archive
        self._folder = folder
        self._names = names
        self._files: dict[str, ArchivedFile] = {}

    def add_record(self, name: str, record: BaseModel) -> None:
        self._add_bytes(name, record.model_dump_json(indent=1).encode(), ZIP_DEFLATED)

    def add_picture(self) -> None:
        """The scene's picture, where one was kept."""
        jpeg = read_bounded(self._folder / layout.SCENE_FILE, self._folder)
        if jpeg is not None:
            self._add_bytes(layout.SCENE_FILE, jpeg, ZIP_STORED)

    def add_summary(self, key: str) -> None:
        """trial.json, where there is a sound one: it is derived, and can be made again."""
        path = layout.trial_folder(self._folder, key) / layout.TRIAL_FILE
        data = read_bounded(path, self._folder)
        if data is None:
            return
        try:
            summary = self._names.texts(json.loads(data))
            # Half a surrogate pair is sound JSON, and no text that a file can hold.
            text = json.dumps(summary, indent=1, ensure_ascii=False).encode()
        except (ValueError, RecursionError):
            return
        self._add_bytes(f"{layout.TRIALS_FOLDER}/{key}/{layout.TRIAL_FILE}", text, ZIP_DEFLATED)

    def add_session(self, session: SessionRecord) -> None:
        """A session's tables, each held against its checksum, and its record."""
        folder = layout.session_folder(self._folder, session.trial, session.n)
        prefix = folder.relative_to(self._folder).as_posix()
        checksums = {}
        for table, sha256 in session.tables.items():
            path = folder / f"{table}.parquet"
            if layout.regular_file(path, self._folder) is None:
                raise _damaged(path, "the file is missing")
            packed = self._add_table(f"{prefix}/{table}.parquet", path, session, table, sha256)
            checksums[table] = packed
        record = copy_of_session(session, self._names).model_copy(update={"tables": checksums})
        self.add_record(f"{prefix}/{layout.SESSION_FILE}", record)

    def _add_table(self, name: str, path: Path, session: SessionRecord, table: str, sha256: str) -> str:
        try:
            with open_regular(path, MAX_BYTES) as source:
                if table != "probes" or not renames_probes(session, self._names):
                    packed = self._add_file(name, source)
                    if packed != sha256:
                        raise _damaged(path, "its checksum differs from the session's record")
                    return packed
                if hashlib.file_digest(source, "sha256").hexdigest() != sha256:
                    raise _damaged(path, "its checksum differs from the session's record")
                source.seek(0)
                with tempfile.TemporaryDirectory(prefix="edgebench-export-") as scratch:
                    renamed = Path(scratch) / path.name
                    copy_probe_table(source, renamed, self._names)
                    with renamed.open("rb") as copied:
                        return self._add_file(name, copied)
        except pa.ArrowException as error:
            raise _damaged(path, str(error).splitlines()[0]) from error

    def add_manifest(self, name: str, edgebench_version: str) -> None:
        """The last member: all others with their checksums."""
        manifest = Manifest(name=name, edgebench_version=edgebench_version, files=self._files)
        with self._archive.open(_member(MANIFEST, ZIP_DEFLATED), "w") as member:
            member.write(manifest.model_dump_json(indent=1).encode())

    def _add_bytes(self, name: str, data: bytes, compression: int) -> None:
        with self._archive.open(_member(name, compression), "w") as member:
            member.write(data)
        self._files[name] = ArchivedFile(bytes=len(data), sha256=hashlib.sha256(data).hexdigest())

    def _add_file(self, name: str, source: BinaryIO) -> str:
        """Copy a file; returns the SHA-256 of what was copied."""
        digest, size = hashlib.sha256(), 0
        # Parquet is compressed already.
        with self._archive.open(_member(name, ZIP_STORED), "w", force_zip64=True) as member:
            while block := source.read(_BLOCK):
                member.write(block)
                digest.update(block)
                size += len(block)
        self._files[name] = ArchivedFile(bytes=size, sha256=digest.hexdigest())
        return digest.hexdigest()


def _member(name: str, compression: int) -> ZipInfo:
    """A member without a date, so that equal results give equal archives."""
    info = ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0))
    info.compress_type = compression
    info.external_attr = 0o644 << 16
    return info


def _damaged(path: Path, why: str) -> StoredResultError:
    return StoredResultError(
        f"{path} is damaged",
        why=why,
        fix=f"take it from a backup, or remove {path.parent} to export the result without that session",
    )
