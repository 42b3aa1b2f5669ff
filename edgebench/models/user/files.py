"""Reading a user's model from disk: its format, its hash, and what it holds; each read once and kept."""

from __future__ import annotations

from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from edgebench.cache.objects import Cache, canonical_hash, sha256_file
from edgebench.errors import InputError
from edgebench.models.inspect.model_file import inspect_model
from edgebench.models.inspect.saved_model_folder import folder_sha256, is_saved_model
from edgebench.models.user.model import plain_stem, understand
from edgebench.regular_files import reason, require_regular
from edgebench.vocabulary.model_facts import ModelFacts
from edgebench.vocabulary.model_source import InputChoice, ModelSource, SourceKind

MAX_MODEL_BYTES = 64 * 2**30
"""The largest model file that is looked at; whether it fits into memory is judged afterwards."""

_SUFFIXES: dict[str, SourceKind] = {".tflite": "tflite", ".onnx": "onnx", ".keras": "keras"}
_FACTS = "model-facts"
_READING = 2  # counts up when the same file would be understood otherwise


def read_source(path: Path, choice: InputChoice, cache: Cache) -> ModelSource:
    """A user's model file (or a SavedModel's folder) as a source, inspected.

    InputError for what is no model, is damaged, does not fit into memory or has no usable signature;
    UsageError for a choice that does not fit its inputs.
    """
    kind = kind_of(path)
    digest = folder_sha256(path) if kind == "saved_model" else sha256_file(path)
    facts = _facts(path, kind, digest, cache)
    return ModelSource(
        name=f"{plain_stem(path)}-{digest[:8]}",
        kind=kind,
        path=path.absolute(),
        sha256=digest,
        input=choice,
        model=understand(facts, choice, path.name),
    )


def _facts(path: Path, kind: SourceKind, digest: str, cache: Cache) -> ModelFacts:
    """What the file holds; Keras takes seconds to tell, so what it told is kept."""
    key = canonical_hash({"kind": kind, "sha256": digest, "reading": _READING})
    stored = cache.recipe(_FACTS, key)
    if stored is not None:
        try:
            return TypeAdapter(ModelFacts).validate_python(stored)
        except ValidationError:  # damaged: it is read again
            pass
    facts = inspect_model(path)
    cache.remember(_FACTS, key, TypeAdapter(ModelFacts).dump_python(facts, mode="json"))
    return facts


def kind_of(path: Path) -> SourceKind:
    """The format of a model file by its name, or of a SavedModel's folder; InputError when it is none."""
    if path.is_dir():
        if is_saved_model(path):
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
    try:
        require_regular(path, MAX_MODEL_BYTES)
    except OSError as error:
        raise InputError(
            f"{path} cannot be read as a model", why=reason(error), fix="check the path"
        ) from error
    return kind
