"""What a model file is: inputs, outputs, operations, multiply-accumulates, parameters, precision.

The file comes from outside. It is read in a process of its own with bounds on memory and time, because a
protobuf or flatbuffer with false sizes may make its reader crash, loop or take all memory.
"""

from __future__ import annotations

import hashlib
import importlib.util
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from edgebench.errors import InputError, not_installed
from edgebench.files import reason, require_regular
from edgebench.prepare.cache import sha256_file
from edgebench.prepare.formats import Reader, format_of, model_entry, not_read
from edgebench.prepare.workers.onnx_file import MOST_BYTES, external_file
from edgebench.prepare.workers.processes import (
    HelperEndedError,
    HelperError,
    HelperTimeoutError,
    results_of,
    run_jobs,
)
from edgebench.prepare.workers.tflite_file import Malformed
from edgebench.records.model import ModelFacts
from edgebench.this_machine import available_bytes

# A SavedModel's folder as a model file: its files, its hash.


_MAX_FILES = 10_000


def folder_files(folder: Path) -> list[Path]:
    """All files below it in order; InputError where there are more than a model has, or a pipe or device."""
    entries = sorted(folder.rglob("*"))
    files = [path for path in entries if path.is_file()]
    others = [path for path in entries if path.exists() and not (path.is_file() or path.is_dir())]
    if others:
        raise InputError(
            f"{folder} holds {others[0].name}, which is no file",
            why="reading a pipe, a socket or a device may never end",
            fix="remove it, or export the model again",
        )
    if len(files) > _MAX_FILES:
        raise InputError(
            f"{folder} holds {len(files)} files", why="a SavedModel has a few", fix="name its folder alone"
        )
    return files


def folder_sha256(folder: Path) -> str:
    """The hex SHA-256 of a folder's files by relative name and content."""
    total = hashlib.sha256()
    for file in folder_files(folder):
        total.update(f"{file.relative_to(folder).as_posix()}\0{sha256_file(file)}\0".encode())
    return total.hexdigest()


def model_sha256(path: Path, external_files: Sequence[str] = ()) -> str:
    """The hex SHA-256 of a model: of its file, its folder, or its file and those with its weights.

    InputError where one of these cannot be read or is outside of the model's folder.
    """
    if path.is_dir():
        return folder_sha256(path)
    digest = sha256_file(path)
    if not external_files:
        return digest
    total = hashlib.sha256(f"{digest}\0".encode())
    for name in external_files:
        try:
            total.update(f"{name}\0{sha256_file(external_file(path, name))}\0".encode())
        except (Malformed, OSError) as error:
            raise InputError(
                f"{path} cannot be read as a model",
                why=reason(error),
                fix="keep the files with its weights in its folder",
            ) from error
    return total.hexdigest()


_MIB = 1024 * 1024


def inspect_model(path: Path) -> ModelFacts:
    """Read a file, or a folder, of a format that has a reader.

    InputError for another or a damaged file, or one that does not fit into memory; UnavailableError where
    the package that reads the format is not installed.
    """
    path = model_entry(path)
    row = format_of(path)
    if row.reader is None:
        raise not_read(path, row)
    try:
        files = folder_files(path) if path.is_dir() else [path]
        states = [require_regular(file) for file in files]
    except (OSError, ValueError) as error:
        raise InputError(
            f"{path} cannot be read as a model", why=reason(error), fix="check the file and its rights"
        ) from error
    size_bytes = sum(state.st_size for state in states)
    facts = _inspect(path.absolute(), row.reader, size_bytes, max(state.st_mtime_ns for state in states))
    digest = model_sha256(path, facts.external_files)
    beside = sum((path.parent / name).stat().st_size for name in facts.external_files)
    return replace(facts, size_bytes=size_bytes + beside, sha256=digest)


@lru_cache(maxsize=64)
def _inspect(path: Path, reader: Reader, size_bytes: int, mtime_ns: int) -> ModelFacts:
    """`inspect_model` without size and hash; size and time of change are for the cache."""
    if importlib.util.find_spec(reader.package) is None:
        raise not_installed(
            f"{path} cannot be read", reader.package, f"pip install 'edgebench[{reader.extra}]'"
        )
    _check_size(path, reader, size_bytes)
    job = {
        "what": f"reading {path.name}",
        "path": str(path),
        "format": reader.name,
        # The address space of the process: libraries reserve far more than they use.
        "limit_bytes": _needed(reader, size_bytes) + reader.reserved_gib * 1024 * _MIB,
    }
    try:
        with tempfile.TemporaryDirectory(prefix="edgebench-") as scratch:
            outcomes = run_jobs("edgebench.prepare.workers.inspecting", [job], Path(scratch), lambda _: None)
            (facts,) = results_of(outcomes)
    except HelperError as error:
        ended = isinstance(error, HelperEndedError) and not isinstance(error, HelperTimeoutError)
        raise InputError(
            f"{path} cannot be read as {'a SavedModel' if path.is_dir() else 'a model'}",
            why=error.why if ended else "; ".join(part for part in (error.what, error.why) if part),
            fix=("" if ended else error.fix) or "check that the file is whole, or export the model again",
        ) from error
    try:
        return TypeAdapter(ModelFacts).validate_python({**facts, "format": reader.name})
    except ValidationError as error:
        raise InputError(
            f"{path} cannot be read as a model", why=str(error).splitlines()[-1], fix="export it again"
        ) from error


def _check_size(path: Path, reader: Reader, size_bytes: int) -> None:
    if size_bytes == 0:
        raise InputError(f"{path} is empty", fix="export the model again")
    if reader.name == "onnx" and size_bytes > MOST_BYTES:
        raise InputError(
            f"{path} is too large",
            why=f"it has {size_bytes / 1e9:.1f} GB and one .onnx file holds 2 GB at most",
            fix="use a smaller model",
        )
    needed, free = _needed(reader, size_bytes), available_bytes()
    # Where the system does not tell, the reading process has its own bound.
    if free is not None and needed > free:
        raise InputError(
            f"{path} does not fit into memory",
            why=f"reading it takes {needed / _MIB:,.0f} MiB and {free / _MIB:,.0f} MiB are free",
            fix="use a smaller model, or a machine with more memory",
        )


def _needed(reader: Reader, size_bytes: int) -> int:
    return reader.copies * size_bytes + reader.room_mib * _MIB


def as_record(facts: ModelFacts) -> dict[str, Any]:
    """The facts as plain data for JSON."""
    record: dict[str, Any] = TypeAdapter(ModelFacts).dump_python(facts, mode="json")
    return record
