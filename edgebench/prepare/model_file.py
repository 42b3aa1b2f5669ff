"""What a model file is: inputs, outputs, operations, multiply-accumulates, parameters, precision.

The file comes from outside. It is read in a process of its own with bounds on memory and time, because a
protobuf or flatbuffer with false sizes may make its reader crash, loop or take all memory.
"""

from __future__ import annotations

import hashlib
import importlib.util
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from edgebench.errors import InputError, not_installed
from edgebench.files import reason, require_regular
from edgebench.prepare.cache import sha256_file
from edgebench.prepare.workers.onnx_file import MOST_BYTES, external_file
from edgebench.prepare.workers.processes import (
    HelperEndedError,
    HelperError,
    HelperTimeoutError,
    results_of,
    run_jobs,
)
from edgebench.prepare.workers.tflite_file import Malformed
from edgebench.records.model import ModelFacts, SourceKind
from edgebench.this_machine import available_bytes

# A SavedModel's folder as a model file: whether it is one, its files, its hash.


_MAX_FILES = 10_000


def is_saved_model(path: Path) -> bool:
    """Whether it is a folder as TensorFlow and Keras export it."""
    return (path / "saved_model.pb").is_file()


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


SUFFIXES: Mapping[str, SourceKind] = {".tflite": "tflite", ".onnx": "onnx", ".keras": "keras"}
_READERS: Mapping[str, tuple[str, str]] = {  # the package that reads a format, and the extra that installs it
    "tflite": ("ai_edge_litert", "cpu"),
    "onnx": ("onnx", "onnx"),
    "keras": ("tensorflow", "prepare"),
    "saved_model": ("tensorflow", "prepare"),
}
_MIB = 1024 * 1024
_ROOM_BYTES = 256 * _MIB  # what the reading process takes beside the model
_ROOM_TENSORFLOW_BYTES = 1536 * _MIB
_BY_TENSORFLOW = ("keras", "saved_model")
# Of the file, in the memory of the process that reads it.
_COPIES = {"tflite": 1, "onnx": 3, "keras": 3, "saved_model": 3}


def inspect_model(path: Path) -> ModelFacts:
    """Read a .tflite, .onnx or .keras file, or a SavedModel's folder.

    InputError for another or a damaged file, or one that does not fit into memory; UnavailableError where
    the package that reads the format is not installed.
    """
    try:
        files = folder_files(path) if is_saved_model(path) else [path]
        states = [file.stat() if file.is_dir() else require_regular(file) for file in files]
    except (OSError, ValueError) as error:
        raise InputError(
            f"there is no model file {path}",
            why=reason(error),
            fix="name a .tflite, .onnx or .keras file, or a SavedModel's folder",
        ) from error
    size_bytes = sum(state.st_size for state in states)
    facts = _inspect(path.absolute(), size_bytes, max(state.st_mtime_ns for state in states))
    digest = model_sha256(path, facts.external_files)
    beside = sum((path.parent / name).stat().st_size for name in facts.external_files)
    return replace(facts, size_bytes=size_bytes + beside, sha256=digest)


@lru_cache(maxsize=64)
def _inspect(path: Path, size_bytes: int, mtime_ns: int) -> ModelFacts:
    """`inspect_model` without size and hash; size and time of change are for the cache."""
    format_ = format_of(path)
    package, extra = _READERS[format_]
    if importlib.util.find_spec(package) is None:
        raise not_installed(f"{path} cannot be read", package, f"pip install 'edgebench[{extra}]'")
    _check_size(path, format_, size_bytes)
    job = {
        "what": f"reading {path.name}",
        "path": str(path),
        "format": format_,
        # The address space of the process: libraries reserve far more than they use.
        "limit_bytes": _needed(format_, size_bytes) + (64 if format_ in _BY_TENSORFLOW else 4) * 1024 * _MIB,
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
        return TypeAdapter(ModelFacts).validate_python({**facts, "format": format_})
    except ValidationError as error:
        raise InputError(
            f"{path} cannot be read as a model", why=str(error).splitlines()[-1], fix="export it again"
        ) from error


def format_of(path: Path) -> SourceKind:
    """The format of a model file by its name, or of a SavedModel's folder; InputError for another file."""
    if is_saved_model(path):
        return "saved_model"
    if path.suffix.lower() in (".h5", ".hdf5"):
        raise InputError(
            f"{path} is in Keras's older format",
            why="such a file may bring code of its own, and Keras 3 reads few of Keras 2",
            fix="convert it, if you trust it, with these two commands, and name the folder: "
            "pip install tf-keras; "
            f'python -c "import tf_keras; tf_keras.models.load_model({path.name!r}, compile=False)'
            f'.export({path.stem!r})"',
        )
    if path.is_dir() or path.suffix.lower() not in SUFFIXES:
        raise InputError(
            f"{path} is {'no SavedModel' if path.is_dir() else 'no model file that is known'}",
            why="the folder has no saved_model.pb"
            if path.is_dir()
            else f"its name ends in {path.suffix or 'nothing'!r}",
            fix=f"name a {', '.join(SUFFIXES)} file, a SavedModel's folder, or weights (.npz)",
        )
    return SUFFIXES[path.suffix.lower()]


def _check_size(path: Path, format_: str, size_bytes: int) -> None:
    if size_bytes == 0:
        raise InputError(f"{path} is empty", fix="export the model again")
    if format_ == "onnx" and size_bytes > MOST_BYTES:
        raise InputError(
            f"{path} is too large",
            why=f"it has {size_bytes / 1e9:.1f} GB and one .onnx file holds 2 GB at most",
            fix="use a smaller model",
        )
    needed, free = _needed(format_, size_bytes), available_bytes()
    # Where the system does not tell, the reading process has its own bound.
    if free is not None and needed > free:
        raise InputError(
            f"{path} does not fit into memory",
            why=f"reading it takes {needed / _MIB:,.0f} MiB and {free / _MIB:,.0f} MiB are free",
            fix="use a smaller model, or a machine with more memory",
        )


def _needed(format_: str, size_bytes: int) -> int:
    return _COPIES[format_] * size_bytes + (
        _ROOM_TENSORFLOW_BYTES if format_ in _BY_TENSORFLOW else _ROOM_BYTES
    )


def as_record(facts: ModelFacts) -> dict[str, Any]:
    """The facts as plain data for JSON."""
    record: dict[str, Any] = TypeAdapter(ModelFacts).dump_python(facts, mode="json")
    return record
