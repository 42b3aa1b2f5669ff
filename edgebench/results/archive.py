"""The file that a result is passed on as: a zip archive with a manifest of checksums, version 1.

Its members are those of a result folder, under the same names (see `edgebench.records.stored`), and
`manifest.json`::

    {"format": "edgebench-result", "version": 1, "name": "20261121-120000-cpu", "edgebench_version": "0.3.0",
     "files": {"experiment.json": {"bytes": 4213, "sha256": "..."}, ...}}
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
import secrets
import shutil
import stat
import struct
import tempfile
import zlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from lzma import LZMAError
from pathlib import Path
from typing import Annotated, BinaryIO, Literal
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile, ZipInfo

import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic_core import from_json

from edgebench.errors import StoredResultError, UsageError
from edgebench.files import TooLarge, open_regular, require_bounded
from edgebench.records.stored import ExperimentRecord, SessionRecord
from edgebench.refusals import refusal
from edgebench.results import layout
from edgebench.results.layout import EXPERIMENT_FILE, IMAGES_FILE, RUN_FILE, SCENE_FILE
from edgebench.results.load import MAX_BYTES
from edgebench.results.parquet import write_options
from edgebench.results.record_reading import (
    MAX_JSON_BYTES,
    OtherVersionError,
    read_bounded,
    read_experiment,
    read_image_paths,
    read_run,
    read_sessions,
    record_bytes,
    remove_checksum,
    with_checksum,
)
from edgebench.results.redaction import PORT, PrivateNames, exported, written
from edgebench.results.writing import as_stored_result_error, new_folder, require_writable

FORMAT = "edgebench-result"
VERSION = 1
MANIFEST = "manifest.json"
MOST_MEMBERS = 200_000
"""A thousand trials of thirty sessions each with their tables."""
MOST_UNFOLDED = 50
"""How many times its own size an archive may unfold to: tables are compressed already, records tenfold."""
LEAST_BYTES = 64 << 20
"""An archive may unfold to so much, however small it is."""
MOST_DIRECTORY_BYTES = 64 << 20
"""Size of the archive's list of members, which is read as a whole: 300 bytes each."""

_MEMBER = re.compile(
    r"trials/[0-9a-f]{16}/(?:trial\.json|sessions/[0-9]{3,6}/(?:session\.json|[a-z][a-z0-9_]{0,40}\.parquet))"
)


class ArchivedFile(BaseModel):
    """What the manifest says of a member."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    bytes: int = Field(ge=0)
    sha256: Annotated[str, Field(pattern="^[0-9a-f]{64}$")]


class ArchiveManifest(BaseModel):
    """manifest.json: every other member with its checksum."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    format: Literal["edgebench-result"] = "edgebench-result"
    version: int = Field(default=VERSION, ge=1, strict=True)
    name: str
    edgebench_version: str
    files: dict[str, ArchivedFile]


def is_member(name: str) -> bool:
    """Whether a result folder has a file of that name; nothing else is packed or unpacked."""
    return name in (EXPERIMENT_FILE, RUN_FILE, IMAGES_FILE, SCENE_FILE) or _MEMBER.fullmatch(name) is not None


# An archive of a result, from anybody: held against its manifest, then a result folder in one step.
#
# Nothing is written to the output folder before every member has been unpacked, its checksum compared and
# its
# record read; what goes wrong before that leaves nothing behind.


_BLOCK = 1 << 20
_END = b"PK\x05\x06"
_ENCRYPTED = 0x1
_UNPACKING_ERRORS = (
    BadZipFile, NotImplementedError, RuntimeError, EOFError, ValueError, struct.error, zlib.error, LZMAError,
)  # fmt: skip
"""What zipfile and its decompressors raise of an archive that is damaged or of an unknown kind."""


@dataclass(frozen=True)
class Packed:
    """A result that was packed or unpacked.

    Attributes:
        path: the archive that was written, or the folder that it was unpacked to.
        sha256: of the archive.
        edgebench_version: the version that packed it.
        warnings: of packing, one line for each session that is damaged, and was left out.
    """

    path: Path
    trials: int
    sessions: int
    sha256: str
    edgebench_version: str
    warnings: tuple[str, ...] = ()


def unpack_archive(
    file: Path,
    output_dir: Path,
    name: str | None = None,
    *,
    progress: Callable[[int, int], None] | None = None,
) -> Packed:
    """Put the result of an archive into `output_dir`, under its own name or another.

    Args:
        file: what `write_archive` wrote, from whomever.
        output_dir: made where it is missing, as a run does.
        name: of the result's folder; None for the archive's own.
        progress: called with how many files are unpacked, and of how many.

    Raises:
        UsageError: `name` cannot be a folder's.
        StoredResultError: it is no archive of a result, damaged, of another version or too large; the result
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
) -> Packed:
    members = _members(archive, file)
    manifest = _manifest(archive, members, file)
    try:
        folder = output_dir / layout.check_name(manifest.name if name is None else name)
    except UsageError as error:
        raise StoredResultError(
            f"the result in {file} has a name that no folder may have",
            why=repr(manifest.name[:100]),
            fix="choose a --name",
        ) from error
    require_writable(output_dir)
    if folder.exists() or folder.is_symlink():
        raise StoredResultError(
            f"the result {folder} exists already",
            why="a result is never overwritten",
            fix="choose another --name, or another --output-dir",
        )
    whole_bytes = sum(entry.bytes for entry in manifest.files.values())
    with as_stored_result_error(folder):
        output_dir.mkdir(exist_ok=True)
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
    return Packed(folder, trials, sessions, digest, manifest.edgebench_version)


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
    if directory_bytes > MOST_DIRECTORY_BYTES:
        raise _refused(file, f"its list of members has {directory_bytes >> 20} MiB")


def _members(archive: ZipFile, file: Path) -> dict[str, ZipInfo]:
    """The members by name: plain files of a result and the manifest alone, each once, bounded together."""
    size = file.stat().st_size
    try:
        require_bounded(archive, max(LEAST_BYTES, MOST_UNFOLDED * size), most_members=MOST_MEMBERS)
    except TooLarge as error:
        raise _refused(file, str(error)) from error
    members: dict[str, ZipInfo] = {}
    for info in archive.infolist():
        faults = {
            "is a link": stat.S_ISLNK(info.external_attr >> 16),
            "is no file of a result": info.filename != MANIFEST and not is_member(info.filename),
            "is in it twice": info.filename in members,
            "is encrypted": info.flag_bits & _ENCRYPTED,
        }
        if fault := next((fault for fault, is_found in faults.items() if is_found), ""):
            raise _refused(file, f"{info.filename[:100]!r} {fault}")
        members[info.filename] = info
    return members


def _manifest(archive: ZipFile, members: Mapping[str, ZipInfo], file: Path) -> ArchiveManifest:
    info = members.get(MANIFEST)
    if info is None:
        raise _refused(file, f"it has no {MANIFEST}")
    with archive.open(info) as member:
        data = member.read(MAX_JSON_BYTES + 1)
    try:
        value = from_json(data, allow_inf_nan=False)
    except ValueError as error:
        raise _refused(file, f"{MANIFEST} is not JSON: {error}") from error
    if not isinstance(value, dict) or value.get("format") != FORMAT:
        raise _refused(file, f"{MANIFEST} is not that of a result")
    version = value.get("version")
    if isinstance(version, int) and not isinstance(version, bool) and version > VERSION:
        raise StoredResultError(
            f"{file} was written by a newer EdgeBench",
            why=f"the archive has version {version}, and this EdgeBench reads up to {VERSION}",
            fix="update EdgeBench: pip install --upgrade edgebench",
        )
    try:
        manifest = ArchiveManifest.model_validate(value)
    except ValidationError as error:
        sentence = refusal(error, value, ArchiveManifest).sentence()[:300]
        raise _refused(file, f"{MANIFEST}: {sentence}") from error
    listed, packed = set(manifest.files), set(members) - {MANIFEST}
    if listed != packed:
        name = min(listed ^ packed)
        where = (
            "in the archive and not in its list" if name in packed else "in its list and not in the archive"
        )
        raise _refused(file, f"{name[:100]!r} is {where}")
    if layout.EXPERIMENT_FILE not in packed:
        raise _refused(file, f"it has no {layout.EXPERIMENT_FILE}")
    return manifest


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


def _require_sound(folder: Path, manifest: ArchiveManifest, file: Path) -> tuple[int, int]:
    """Read every record as a report would; returns the numbers of trials and sessions."""
    try:
        record = read_experiment(folder)
        read_run(folder)
        read_image_paths(folder)
    # The errors name a path in a folder that is gone when somebody reads them.
    except OtherVersionError as error:
        raise OtherVersionError(file, error.version) from error
    except StoredResultError as error:
        raise StoredResultError(
            f"{file} is damaged", why=f"a record in it is damaged: {error.why}", fix=error.fix
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


# A stored result as it may leave the house: no host, no user, no address of a port, in records and tables.
#
# `edgebench.results.redaction` treats what reports show of a record. Here the whole record is passed on, with
# the
# samples, in which each reading names its meter by `kind:address`.


_DEVICE_FILE = re.compile(r"/dev/[^\s?#]+")
"""In a meter's address: below /dev/serial/by-id a name has the device's serial number."""


def names_of(record: ExperimentRecord, sessions: Iterable[SessionRecord]) -> PrivateNames:
    """What has to be taken out of an experiment's records, the ports of its meters included.

    For several ports each gets a number of its own, so that meters of a kind stay apart.
    """
    names = PrivateNames.of_targets(record.targets)
    texts = [meter for target in record.targets for meter in (*target.meters, *target.preferred_meters)]
    for session in sessions:
        texts += [str(info.get("address") or "") for info in session.probes]
        texts += [*session.probe_reasons, *session.monitor_reasons]
    ports = dict.fromkeys(port for text in texts for port in _DEVICE_FILE.findall(text))
    numbered = tuple(
        (port, PORT if number == 1 else f"{PORT[:-1]} {number})")
        for number, port in enumerate(ports, start=1)
    )
    longest_first = sorted(dict(numbered + names.values).items(), key=lambda item: (-len(item[0]), item))
    return replace(names, values=tuple(longest_first))


def copy_of_experiment(record: ExperimentRecord, names: PrivateNames) -> ExperimentRecord:
    """The experiment's record without the names."""
    shown = written(exported(record), names)
    targets = tuple(
        replace(
            target,
            meters=names.paths(target.meters),
            preferred_meters=names.paths(target.preferred_meters),
        )
        for target in shown.targets
    )
    return shown.model_copy(update={"targets": targets})


def copy_of_session(record: SessionRecord, names: PrivateNames) -> SessionRecord:
    """A session's record without the names; its checksums of tables are those of the tables as they were."""
    shown = written(record, names)
    return shown.model_copy(
        update={
            "probes": tuple(
                {**info, "address": names.path(str(info["address"]))} if info.get("address") else info
                for info in shown.probes
            ),
            **{
                field: {names.path(meter): reason for meter, reason in getattr(shown, field).items()}
                for field in ("probe_reasons", "monitor_reasons")
            },
        }
    )


def copy_probe_table(source: BinaryIO, target: Path, names: PrivateNames) -> None:
    """Write a session's samples again with the meters' addresses changed, a part at a time.

    Raises OSError, and pyarrow.ArrowException for a file that is damaged.
    """
    with pq.ParquetFile(source) as file:
        field = file.schema_arrow.field("probe")
        at = file.schema_arrow.get_field_index("probe")
        options = write_options(file.schema_arrow.names)
        with pq.ParquetWriter(target, file.schema_arrow, **options) as writer:
            for batch in file.iter_batches():
                column = batch.column(at).dictionary_encode()
                renamed = [name and names.path(name) for name in column.dictionary.to_pylist()]
                values = pa.array(renamed, pa.string()).take(column.indices).cast(field.type)
                writer.write_batch(batch.set_column(at, field, values))


# A result folder packed into one archive, without what identifies hosts and users.


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
        temporary = path.parent / f"{layout.WRITING_PREFIX}{secrets.token_hex(8)}"
        try:
            with ZipFile(temporary, "x") as archive:
                packer = _Packer(archive, folder, names)
                packer.add_record(layout.EXPERIMENT_FILE, copy_of_experiment(record, names))
                if run is not None:
                    packer.add_record(layout.RUN_FILE, written(run, names))
                if images is not None:
                    packer.add_record(layout.IMAGES_FILE, written(images, names))
                if (jpeg := read_bounded(folder / layout.SCENE_FILE, folder)) is not None:
                    packer.add(layout.SCENE_FILE, io.BytesIO(jpeg), ZIP_STORED)
                for trial in record.trials:
                    packer.add_summary(trial.key)
                for done, session in enumerate(sessions, start=1):
                    packer.add_session(session)
                    if progress is not None:
                        progress(done, len(sessions))
                # A folder's name may be bytes that are no text.
                name = os.fsencode(folder.resolve().name).decode(errors="replace")
                manifest = ArchiveManifest(name=name, edgebench_version=edgebench_version, files=packer.files)
                packer.add(MANIFEST, io.BytesIO(manifest.model_dump_json(indent=1).encode()), ZIP_DEFLATED)
            with temporary.open("rb") as file:
                digest = hashlib.file_digest(file, "sha256").hexdigest()
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)
    except OSError as error:
        raise StoredResultError(
            f"{path} cannot be written", why=error.strerror or str(error), fix="choose another file with -o"
        ) from error
    return Packed(path, len(record.trials), len(sessions), digest, edgebench_version, tuple(warnings))


class _Packer:
    """Adds a result's files to an archive, and keeps their checksums."""

    def __init__(self, archive: ZipFile, folder: Path, names: PrivateNames) -> None:
        self._archive = archive
        self._folder = folder
        self._names = names
        self.files: dict[str, ArchivedFile] = {}

    def add_record(self, name: str, record: BaseModel) -> None:
        """A record as JSON."""
        self.add(name, io.BytesIO(record_bytes(record)), ZIP_DEFLATED)

    def add_summary(self, key: str) -> None:
        """trial.json, where there is a sound one: it is derived, and can be made again."""
        path = layout.trial_folder(self._folder, key) / layout.TRIAL_FILE
        data = read_bounded(path, self._folder)
        if data is None:
            return
        try:
            document = json.loads(data)
            remove_checksum(document, data)
            summary = self._names.texts(document)
            # Half a surrogate pair is sound JSON, and no text that a file can hold.
            summary_bytes = with_checksum(json.dumps(summary, indent=1, ensure_ascii=False))
        except (ValueError, RecursionError):
            return
        self.add(f"{layout.TRIALS_FOLDER}/{key}/{layout.TRIAL_FILE}", io.BytesIO(summary_bytes), ZIP_DEFLATED)

    def add_session(self, session: SessionRecord) -> None:
        """A session's tables, each compared with its checksum, and its record."""
        folder = layout.session_folder(self._folder, session.trial, session.n)
        prefix = folder.relative_to(self._folder).as_posix()
        checksums = {}
        for table, sha256 in session.tables.items():
            path = folder / f"{table}.parquet"
            if layout.regular_file(path, self._folder) is None:
                raise _damaged(path, "the file is missing")
            checksums[table] = self._add_table(f"{prefix}/{table}.parquet", path, session, table, sha256)
        record = copy_of_session(session, self._names).model_copy(update={"tables": checksums})
        self.add_record(f"{prefix}/{layout.SESSION_FILE}", record)

    def _add_table(self, name: str, path: Path, session: SessionRecord, table: str, sha256: str) -> str:
        try:
            with open_regular(path, MAX_BYTES) as source:
                if hashlib.file_digest(source, "sha256").hexdigest() != sha256:
                    raise _damaged(path, "its checksum differs from the session's record")
                source.seek(0)
                addresses = [str(info.get("address") or "") for info in session.probes]
                if table != "probes" or all(self._names.path(name) == name for name in addresses):
                    return self.add(name, source)
                with tempfile.TemporaryDirectory(prefix="edgebench-export-") as scratch:
                    renamed = Path(scratch) / path.name
                    copy_probe_table(source, renamed, self._names)
                    with renamed.open("rb") as copied:
                        return self.add(name, copied)
        except (pa.ArrowException, KeyError) as error:
            raise _damaged(path, str(error).splitlines()[0]) from error

    def add(self, name: str, source: BinaryIO, compression: int = ZIP_STORED) -> str:
        """Copy a file; returns the SHA-256 of what was copied. Parquet is compressed already."""
        digest, size = hashlib.sha256(), 0
        info = ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0))  # no date: equal results give equal archives
        info.compress_type, info.external_attr = compression, 0o644 << 16
        with self._archive.open(info, "w", force_zip64=True) as member:
            while block := source.read(_BLOCK):
                member.write(block)
                digest.update(block)
                size += len(block)
        self.files[name] = ArchivedFile(bytes=size, sha256=digest.hexdigest())
        return digest.hexdigest()


def _damaged(path: Path, why: str) -> StoredResultError:
    return StoredResultError(
        f"{path} is damaged",
        why=why,
        fix=f"take it from a backup, or remove {path.parent} to export the result without that session",
    )
