"""An archive of a result, from anybody: held against its manifest, then a result folder in one step.

Nothing is written to the output folder before every member has been unpacked, its checksum compared and its
record read; what goes wrong before that leaves nothing behind.
"""

from __future__ import annotations

import hashlib
import shutil
import stat
import struct
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from lzma import LZMAError
from pathlib import Path
from typing import BinaryIO
from zipfile import BadZipFile, ZipFile, ZipInfo

from pydantic import ValidationError
from pydantic_core import from_json

from edgebench.archives import TooLarge, require_bounded
from edgebench.errors import StoredResultError
from edgebench.refusals import refusal
from edgebench.regular_files import open_regular
from edgebench.store import archive as form
from edgebench.store import layout
from edgebench.store.archive import ArchivedFile, Manifest
from edgebench.store.experiment import require_writable
from edgebench.store.file_writing import as_stored_result_error, new_folder
from edgebench.store.record_reading import (
    MAX_JSON_BYTES,
    read_experiment,
    read_image_paths,
    read_run,
    read_sessions,
)

_BLOCK = 1 << 20
_END = b"PK\x05\x06"
_ENCRYPTED = 0x1
_UNPACKING_ERRORS = (
    BadZipFile, NotImplementedError, RuntimeError, EOFError, ValueError, struct.error, zlib.error, LZMAError,
)  # fmt: skip
"""What zipfile and its decompressors raise of an archive that is damaged or of an unknown kind."""


@dataclass(frozen=True)
class Unpacked:
    """A result that was unpacked.

    Attributes:
        path: its folder.
        sha256: of the archive.
        edgebench_version: the version that packed it.
    """

    path: Path
    trials: int
    sessions: int
    sha256: str
    edgebench_version: str


def unpack_archive(
    file: Path,
    output_dir: Path,
    name: str | None = None,
    *,
    progress: Callable[[int, int], None] | None = None,
) -> Unpacked:
    """Put the result of an archive into `output_dir`, under its own name or another.

    Args:
        file: what `write_archive` wrote, from whomever.
        output_dir: made where it is missing, as a run does.
        name: of the result's folder; None for the archive's own.
        progress: called with how many files are unpacked, and of how many.

    Raises:
        UsageError: `name` cannot be a folder's.
        StoredResultError: it is no archive of a result, damaged, of a newer version or too large; the result
            exists already, or cannot be written. Nothing has been written then.
    """
    if name is not None:
        layout.check_name(name)
    try:
        with open_regular(file) as opened:
            digest = hashlib.file_digest(opened, "sha256").hexdigest()
            _require_directory(opened, file)
            opened.seek(0)
            try:
                with ZipFile(opened) as archive:
                    return _unpack(archive, file, output_dir, name, digest, progress)
            except _UNPACKING_ERRORS as error:
                raise _refused(file, str(error) or type(error).__name__) from error
    except OSError as error:
        raise StoredResultError(
            f"{file} cannot be read",
            why=error.strerror or str(error),
            fix="name a file that `edgebench export` wrote",
        ) from error


def _unpack(
    archive: ZipFile,
    file: Path,
    output_dir: Path,
    name: str | None,
    digest: str,
    progress: Callable[[int, int], None] | None,
) -> Unpacked:
    members = _members(archive, file)
    manifest = _manifest(archive, members, file)
    folder = output_dir / (_own_name(manifest.name, file) if name is None else name)
    require_writable(output_dir)
    if folder.exists() or folder.is_symlink():
        raise StoredResultError(
            f"the result {folder} exists already",
            why="a result is never overwritten",
            fix="choose another --name, or another --output-dir",
        )
    whole_bytes = sum(entry.bytes for entry in manifest.files.values())
    with as_stored_result_error(folder):
        free_bytes = shutil.disk_usage(output_dir).free
        if whole_bytes > free_bytes:
            raise StoredResultError(
                f"{file} does not fit into {output_dir}",
                why=f"it unfolds to {whole_bytes >> 20} MiB, and {free_bytes >> 20} MiB are free",
                fix="make room, or choose another --output-dir",
            )
        with new_folder(folder) as temporary:
            for number, (path, entry) in enumerate(manifest.files.items(), start=1):
                target = temporary / path
                target.parent.mkdir(parents=True, exist_ok=True)
                _copy(archive, members[path], entry, target, file)
                if progress is not None:
                    progress(number, len(manifest.files))
            trials, sessions = _require_sound(temporary, manifest, file)
    return Unpacked(folder, trials, sessions, digest, manifest.edgebench_version)


def _require_directory(opened: BinaryIO, file: Path) -> None:
    """StoredResultError for a list of members that is too long to be read: zipfile reads it as a whole."""
    size = opened.seek(0, 2)
    opened.seek(max(0, size - (1 << 16) - 22))
    tail = opened.read()
    at = tail.rfind(_END)
    if at < 0 or len(tail) < at + 22:
        raise _refused(file, "it is no zip archive")
    (directory_bytes,) = struct.unpack_from("<L", tail, at + 12)
    if directory_bytes == 0xFFFFFFFF:  # in the record of a large archive, 64 bits wide
        wide = tail.rfind(b"PK\x06\x06")
        if wide < 0 or len(tail) < wide + 56:
            raise _refused(file, "its list of members cannot be found")
        (directory_bytes,) = struct.unpack_from("<Q", tail, wide + 40)
    if directory_bytes > form.MOST_DIRECTORY_BYTES:
        raise _refused(file, f"its list of members has {directory_bytes >> 20} MiB")


def _members(archive: ZipFile, file: Path) -> dict[str, ZipInfo]:
    """The members by name: plain files of a result and the manifest alone, each once, bounded together."""
    size = file.stat().st_size
    try:
        require_bounded(
            archive, max(form.LEAST_BYTES, form.MOST_UNFOLDED * size), most_members=form.MOST_MEMBERS
        )
    except TooLarge as error:
        raise _refused(file, str(error)) from error
    members: dict[str, ZipInfo] = {}
    for info in archive.infolist():
        label = repr(info.filename[:100])
        if stat.S_ISLNK(info.external_attr >> 16):
            raise _refused(file, f"{label} is a link")
        if form.foreign([info.filename]) is not None:
            raise _refused(file, f"{label} is no file of a result")
        if info.filename in members:
            raise _refused(file, f"{label} is in it twice")
        if info.flag_bits & _ENCRYPTED:
            raise _refused(file, f"{label} is encrypted")
        members[info.filename] = info
    return members


def _manifest(archive: ZipFile, members: Mapping[str, ZipInfo], file: Path) -> Manifest:
    info = members.get(form.MANIFEST)
    if info is None:
        raise _refused(file, f"it has no {form.MANIFEST}")
    with archive.open(info) as member:
        data = member.read(MAX_JSON_BYTES + 1)
    try:
        value = from_json(data, allow_inf_nan=False)
    except ValueError as error:
        raise _refused(file, f"{form.MANIFEST} is not JSON: {error}") from error
    if not isinstance(value, dict) or value.get("format") != form.FORMAT:
        raise _refused(file, f"{form.MANIFEST} is not that of a result")
    version = value.get("version")
    if isinstance(version, int) and not isinstance(version, bool) and version > form.VERSION:
        raise StoredResultError(
            f"{file} was written by a newer EdgeBench",
            why=f"the archive has version {version}, and this EdgeBench reads up to {form.VERSION}",
            fix="update EdgeBench: pip install --upgrade edgebench",
        )
    try:
        manifest = Manifest.model_validate(value)
    except ValidationError as error:
        raise _refused(
            file, f"{form.MANIFEST}: {refusal(error, value, Manifest).sentence()[:300]}"
        ) from error
    listed, packed = set(manifest.files), set(members) - {form.MANIFEST}
    if listed != packed:
        name = min(listed ^ packed)
        where = (
            "in the archive and not in its list" if name in packed else "in its list and not in the archive"
        )
        raise _refused(file, f"{name[:100]!r} is {where}")
    if layout.EXPERIMENT_FILE not in packed:
        raise _refused(file, f"it has no {layout.EXPERIMENT_FILE}")
    return manifest


def _own_name(name: str, file: Path) -> str:
    try:
        return layout.check_name(name)
    except Exception as error:
        raise StoredResultError(
            f"the result in {file} has a name that no folder may have",
            why=repr(name[:100]),
            fix="choose a --name",
        ) from error


def _copy(archive: ZipFile, info: ZipInfo, entry: ArchivedFile, target: Path, file: Path) -> None:
    """Unpack a member; StoredResultError where it is not what the manifest says."""
    digest, size = hashlib.sha256(), 0
    with archive.open(info) as member, target.open("xb") as output:
        while block := member.read(_BLOCK):
            size += len(block)
            if size > entry.bytes:
                break
            digest.update(block)
            output.write(block)
    if size != entry.bytes or digest.hexdigest() != entry.sha256:
        raise _refused(file, f"the checksum of {info.filename!r} differs from its list")


def _require_sound(folder: Path, manifest: Manifest, file: Path) -> tuple[int, int]:
    """Read every record as a report would; returns the numbers of trials and sessions."""
    try:
        record = read_experiment(folder)
        read_run(folder)
        read_image_paths(folder)
    except StoredResultError as error:
        # Its path is that of a folder that is gone when somebody reads this.
        newer = "newer" in error.what
        why = error.why if newer else f"a record in it is damaged: {error.why}"
        raise StoredResultError(
            f"{file} was written by a newer EdgeBench" if newer else f"{file} is damaged",
            why=why,
            fix=error.fix,
        ) from error
    files = {name for name in manifest.files if name.startswith(f"{layout.TRIALS_FOLDER}/")}
    sessions = 0
    for trial in record.trials:
        prefix = f"{layout.TRIALS_FOLDER}/{trial.key}/"
        files.discard(prefix + layout.TRIAL_FILE)
        records, warnings = read_sessions(folder, trial.key)
        if warnings:
            raise _refused(file, f"a session of trial {trial.key} is damaged")
        sessions += len(records)
        for session in records:
            at = f"{prefix}{layout.SESSIONS_FOLDER}/{session.n:03}/"
            files.discard(at + layout.SESSION_FILE)
            for table, sha256 in session.tables.items():
                entry = manifest.files.get(f"{at}{table}.parquet")
                if entry is None or entry.sha256 != sha256:
                    raise _refused(file, f"session {session.n} of trial {trial.key} has another {table!r}")
                files.discard(f"{at}{table}.parquet")
    if files:
        raise _refused(file, f"{min(files)!r} belongs to no session of it")
    return len(record.trials), sessions


def _refused(file: Path, why: str) -> StoredResultError:
    return StoredResultError(
        f"{file} is not a sound archive of a result",
        why=why,
        fix="ask for it again, or for what `edgebench export` writes",
    )
