"""Records as files: written with a checksum, read back bounded, checked and validated."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import from_json

from edgebench.errors import StoredResultError
from edgebench.files import read_regular
from edgebench.records.stored import ExperimentRecord, ImagePathsRecord, RunRecord, SessionRecord
from edgebench.records.values import ImageSet
from edgebench.refusals import refusal
from edgebench.results.layout import (
    EXPERIMENT_FILE,
    IMAGES_FILE,
    LOCK_FILE,
    RUN_FILE,
    SCHEMA_VERSION,
    SESSION_FILE,
    SESSIONS_FOLDER,
    TRIALS_FOLDER,
    inside,
    numbers_in,
    other_version,
    regular_file,
    sessions_folder,
)
from edgebench.results.redaction import PrivateNames

MAX_JSON_BYTES = 64 * 2**20
"""A larger record was not written by EdgeBench, and is not read."""

_Model = TypeVar("_Model", bound=BaseModel)


class OtherVersionError(StoredResultError):
    """A file holds records of another version than SCHEMA_VERSION."""

    def __init__(self, path: Path | str, version: int) -> None:
        self.version = version
        super().__init__(
            f"{path} holds {other_version(version)}",
            why=f"this EdgeBench reads records of version {SCHEMA_VERSION} alone",
            fix="measure again, or use the EdgeBench that wrote it",
        )


_CHECKSUM = b',\n "sha256": "'


def with_checksum(text: str) -> bytes:
    """Return the file of a JSON object, indented by 1: its text, with the SHA-256 of it as last field."""
    content = text.removesuffix("\n}").encode()
    return content + _CHECKSUM + hashlib.sha256(content).hexdigest().encode() + b'"\n}'


def record_bytes(record: BaseModel) -> bytes:
    """Return the file of a record."""
    return with_checksum(record.model_dump_json(indent=1, exclude={"sha256"}))


def remove_checksum(document: Any, data: bytes) -> None:
    """Take the checksum out of a parsed file, if it has one.

    Raises ValueError if the file is not what was written.
    """
    content, _, _ = data.rpartition(_CHECKSUM)
    stored = document.pop("sha256", "") if isinstance(document, dict) else ""
    if stored not in ("", hashlib.sha256(content).hexdigest()):
        raise ValueError("it is not what was written: its SHA-256 differs")


def read_experiment(folder: Path) -> ExperimentRecord:
    """experiment.json of a result folder.

    StoredResultError, each with its fix: no such folder, not a result (foreign), nothing measured yet,
    truncated or damaged, written by another version of EdgeBench (OtherVersionError).
    """
    if not folder.is_dir():
        missing = f"there is no result folder {folder}"
        what = f"{folder} is a file, not a result folder" if folder.exists() else missing
        raise StoredResultError(what, fix="name the folder of an experiment, or 'latest'")
    path = folder / EXPERIMENT_FILE
    data = read_bounded(path, folder)
    if data is None:
        raise _no_experiment(folder)
    if not data.strip():
        raise _damaged(path, "the file is empty")
    record = parse(data, path, ExperimentRecord)
    keys = [trial.key for trial in record.trials]
    if len(set(keys)) != len(keys):
        raise _damaged(path, "two trials have the same key")
    return record


def read_run(folder: Path) -> RunRecord | None:
    """run.json of a result folder, None without one; StoredResultError when it is damaged."""
    return _read_optional(folder / RUN_FILE, RunRecord)


def read_image_paths(folder: Path) -> ImagePathsRecord | None:
    """images.json of a result folder, None without one; StoredResultError when it is damaged."""
    return _read_optional(folder / IMAGES_FILE, ImagePathsRecord)


def _read_optional(path: Path, model: type[_Model]) -> _Model | None:
    data = read_bounded(path, path.parent)
    return None if data is None else parse(data, path, model)


def _read_session(sessions: str, folder: Path, key: str, n: int) -> SessionRecord:
    """session.json of one session, in the folder of its trial's sessions; StoredResultError if it is damaged.

    A large result has thousands: the steps to that folder are followed once a trial, not once a session,
    and names of files are text, as `Path` takes longer to put one together than the system to look at it.
    """
    session = f"{sessions}{os.sep}{n:03}"
    if os.path.islink(session):  # noqa: PTH114
        inside(Path(session), folder)
    path = f"{session}{os.sep}{SESSION_FILE}"
    data = read_bounded(path, folder)
    if data is None:
        raise _damaged(path, "the file is missing")
    record = parse(data, path, SessionRecord)
    if record.trial != key or record.n != n:
        raise _damaged(path, f"it is the record of session {record.n} of trial {record.trial[:32]!r}")
    return record


def read_sessions(folder: Path, key: str) -> tuple[list[SessionRecord], list[str]]:
    """The sound sessions of a trial in order, and one line for each that is not."""
    records: list[SessionRecord] = []
    warnings: list[str] = []
    try:
        sessions = str(inside(sessions_folder(folder, key), folder))
        numbers = numbers_in(sessions)
    except (StoredResultError, OSError) as error:
        words = error.one_line if isinstance(error, StoredResultError) else str(error)
        return [], [f"trial {key} is left out: {words}"]
    for n in numbers:
        try:
            records.append(_read_session(sessions, folder, key, n))
        except StoredResultError as error:
            warnings.append(f"session {n} of trial {key} is left out: {error.one_line}")
    return records, warnings


def read_bounded(path: Path | str, root: Path) -> bytes | None:
    """A file's bytes, None when there is none; StoredResultError when it is too large or not a plain file."""
    size = regular_file(path, root)
    if size is None:
        return None
    if size > MAX_JSON_BYTES:
        raise _damaged(path, f"it has {size} bytes, more than the {MAX_JSON_BYTES} that are read")
    try:
        return read_regular(path, MAX_JSON_BYTES)
    except OSError as error:
        raise StoredResultError(
            f"{path} cannot be read", why=error.strerror or str(error), fix="check its permissions"
        ) from error


def parse(data: bytes, path: Path | str, model: type[_Model]) -> _Model:
    """The record in a JSON text; StoredResultError naming the file and the first thing that is wrong."""
    try:
        value: Any = from_json(data, allow_inf_nan=False)
    except ValueError as error:
        raise _damaged(path, f"it is not JSON, or ends too early: {error}") from error
    version = value.get("schema_version") if isinstance(value, dict) else None
    if not isinstance(version, int) or isinstance(version, bool):
        raise StoredResultError(
            f"{path} was not written by EdgeBench",
            why="it has no schema_version",
            fix="name the folder of an experiment, or 'latest'",
        )
    if version != SCHEMA_VERSION and version > 0:
        raise OtherVersionError(path, version)
    try:
        remove_checksum(value, data)
        return model.model_validate(value)
    except ValidationError as error:
        raise _damaged(path, refusal(error, value, model).sentence()[:400]) from error
    except ValueError as error:
        raise _damaged(path, str(error)) from error


def _no_experiment(folder: Path) -> StoredResultError:
    if _glob(folder, f"{TRIALS_FOLDER}/*/{SESSIONS_FOLDER}/*"):
        return StoredResultError(
            f"{folder} has sessions and no {EXPERIMENT_FILE}, which describes them",
            fix=f"copy {EXPERIMENT_FILE} from a backup of the result",
        )
    begun = (folder / LOCK_FILE).exists()
    # A run that was stopped before it had the lock leaves its folder empty.
    if begun or not _glob(folder, "*"):
        return StoredResultError(
            f"nothing was measured yet in {folder}",
            why="the run that began it was stopped before its plan was written" if begun else "it is empty",
            fix="run again, or remove the folder",
        )
    results = [entry.parent.name for entry in _glob(folder, f"*/{EXPERIMENT_FILE}")]
    if results:
        return StoredResultError(
            f"{folder} holds results, and is not one itself",
            fix=f"name one of them, such as {folder / max(results)}",
        )
    return StoredResultError(
        f"{folder} is not an EdgeBench result",
        why=f"it has no {EXPERIMENT_FILE}",
        fix="name the folder of an experiment, or 'latest'",
    )


def _glob(folder: Path, pattern: str) -> list[Path]:
    try:
        return list(folder.glob(pattern))
    except OSError:
        return []


def _damaged(file: Path | str, why: str) -> StoredResultError:
    path = Path(file)
    fixes = {
        SESSION_FILE: f"remove {path.parent}, then run again with --resume to measure it again",
        RUN_FILE: "remove it: it only says how the last run ended",
        IMAGES_FILE: "remove it: it only says which file each image was",
    }
    fix = fixes.get(path.name, "take it from a backup, or run again with another --name")
    return StoredResultError(f"{path} is damaged", why=why, fix=fix)


# Which file each image was: what a run writes of it, without the names of users.


MAX_CHARACTERS = 16 * 2**20
"""Most characters of all paths; the sets with more are left out, so that a result can always be read."""


def image_paths(image_sets: Iterable[ImageSet], names: PrivateNames) -> ImagePathsRecord | None:
    """The paths of the sets that are files, each set once; None without any."""
    by_sha256: dict[str, tuple[str, ...]] = {}
    left = MAX_CHARACTERS
    for images in image_sets:
        length = sum(map(len, images.paths))
        if images.paths and images.sha256 not in by_sha256 and length <= left:
            by_sha256[images.sha256] = tuple(names.path(path) for path in images.paths)
            left -= length
    return ImagePathsRecord(sets=by_sha256) if by_sha256 else None
