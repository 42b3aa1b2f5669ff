"""Reading a user's model from disk: its format, its hash, and what it holds; each read once and kept."""

from __future__ import annotations

import hashlib
from pathlib import Path

import psutil
from pydantic import TypeAdapter, ValidationError

from edgebench.contract import Progress
from edgebench.errors import InputError, UnavailableError
from edgebench.models.cache import Cache, canonical_hash, sha256_file
from edgebench.models.inspect import ModelFacts, TensorFacts, inspect_model
from edgebench.models.keep import making
from edgebench.models.own import plain_stem, understand
from edgebench.models.processes import HelperEndedError, HelperError, run_jobs
from edgebench.models.source import InputChoice, ModelSource, SourceKind

_SUFFIXES: dict[str, SourceKind] = {".tflite": "tflite", ".onnx": "onnx", ".keras": "keras"}
_MAX_FILES = 10_000
_FACTS = "model-facts"
_READING = 1  # counts up when the same file would be understood otherwise


def read_source(path: Path, choice: InputChoice, cache: Cache, progress: Progress) -> ModelSource:
    """A user's model file (or a SavedModel's folder) as a source, inspected.

    InputError for what is no model, is damaged, does not fit into memory or has no usable signature;
    UsageError for a choice that does not fit its inputs.
    """
    kind = kind_of(path)
    digest = folder_sha256(path) if kind == "saved_model" else sha256_file(path)
    facts = _facts(path, kind, digest, cache, progress)
    return ModelSource(
        name=f"{plain_stem(path)}-{digest[:8]}",
        kind=kind,
        path=path.absolute(),
        sha256=digest,
        input=choice,
        model=understand(facts, choice, path.name),
    )


def _facts(path: Path, kind: SourceKind, digest: str, cache: Cache, progress: Progress) -> ModelFacts:
    """What the file holds; Keras takes seconds to tell, so what it told is kept."""
    key = canonical_hash({"kind": kind, "sha256": digest, "reading": _READING})
    stored = cache.recipe(_FACTS, key)
    if stored is not None:
        try:
            return TypeAdapter(ModelFacts).validate_python(stored)
        except ValidationError:  # damaged: it is read again
            pass
    facts = _saved_model(path, cache, progress) if kind == "saved_model" else inspect_model(path)
    cache.note_recipe(_FACTS, key, TypeAdapter(ModelFacts).dump_python(facts, mode="json"))
    return facts


def kind_of(path: Path) -> SourceKind:
    """The format of a model file by its name, or of a SavedModel's folder; InputError when it is none."""
    if path.is_dir():
        if (path / "saved_model.pb").is_file():
            return "saved_model"
        raise InputError(
            f"{path} is no SavedModel",
            why="there is no saved_model.pb in the folder",
            fix="name the folder that `model.export()` or `tf.saved_model.save()` wrote",
        )
    kind = _SUFFIXES.get(path.suffix.lower())
    if kind is None:
        raise InputError(
            f"{path} is no model file that is known",
            why=f"its name ends in {path.suffix or 'nothing'!r}",
            fix="name a .tflite, .onnx or .keras file, a SavedModel's folder, or weights (.npz)",
        )
    if not path.is_file():
        raise InputError(f"there is no file {path}", fix="check the path")
    return kind


def folder_sha256(folder: Path) -> str:
    """The hex SHA-256 of a folder's files by relative name and content."""
    total = hashlib.sha256()
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    if len(files) > _MAX_FILES:
        raise InputError(
            f"{folder} holds {len(files)} files", why="a SavedModel has a few", fix="name its folder alone"
        )
    for file in files:
        total.update(f"{file.relative_to(folder).as_posix()}\0{sha256_file(file)}\0".encode())
    return total.hexdigest()


def _saved_model(folder: Path, cache: Cache, progress: Progress) -> ModelFacts:
    size = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
    free = psutil.virtual_memory().available
    if size > free:
        raise InputError(
            f"{folder} does not fit into memory",
            why=f"it has {size / 1e6:,.0f} MB and {free / 1e6:,.0f} MB are free",
            fix="use a smaller model, or a machine with more memory",
        )
    from edgebench.models.prepare import tool_versions

    if tool_versions()["tensorflow"] is None:
        raise UnavailableError(
            f"{folder} cannot be read",
            why="tensorflow is not installed",
            fix="pip install 'edgebench[prepare]'",
        )
    digest = hashlib.sha256(str(folder.absolute()).encode()).hexdigest()
    job = {"what": f"reading {folder.name}", "inspect": str(folder)}
    try:
        with making(cache, f"inspect-{digest[:16]}") as scratch:
            (told,) = run_jobs("edgebench.models.own_keras", [job], scratch, progress)
    except HelperError as error:
        raise InputError(
            f"{folder} cannot be read as a SavedModel",
            why=error.why if isinstance(error, HelperEndedError) else error.what,
            fix=error.fix or "export the model again",
        ) from error
    return ModelFacts(
        format="saved_model",
        inputs=_tensors(told["inputs"]),
        outputs=_tensors(told["outputs"]),
        operations={},
        macs=None,
        parameters=None,
        precision="fp32",
        size_bytes=size,
    )


def _tensors(told: list[dict[str, object]]) -> tuple[TensorFacts, ...]:
    return tuple(
        TensorFacts(
            name=str(one["name"]),
            dtype=str(one["dtype"]),
            shape=tuple(None if length is None else int(str(length)) for length in _list(one["shape"])),
        )
        for one in told
    )


def _list(value: object) -> list[object]:
    return list(value) if isinstance(value, list) else []
