"""Weights that a training left, as a model's source: which family they are of, what they tell apart."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic_core import from_json

from edgebench.cache.objects import Cache, sha256_file
from edgebench.data.calibration import load_calibration
from edgebench.data.shipped import shipped_images
from edgebench.errors import EdgeBenchError, InputError
from edgebench.models.families import catalogue
from edgebench.models.families.weights import MAX_FILE_BYTES
from edgebench.models.user.model import plain_stem
from edgebench.refusals import refusal
from edgebench.regular_files import read_regular, reason, require_regular
from edgebench.vocabulary.model_source import ModelSource

RECORD_SUFFIX = ".json"
VALIDATION_SUFFIX = ".validation.csv"
CALIBRATION_SUFFIX = ".calibration.csv"
SHIPPED_CALIBRATION = "landcover-calibration"
_MAX_RECORD_BYTES = 4 * 1024 * 1024
_Name = Annotated[str, Field(min_length=1, max_length=200)]


class TrainedRecord(BaseModel):
    """What the record beside the weights says; further fields are for people."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    schema_version: Literal[1]
    family: str
    depth_multiplier: float | None
    weights_sha256: str
    class_names: Annotated[tuple[_Name, ...], Field(min_length=2, max_length=10_000)]
    data: dict[str, dict[str, Any]]


def read_record(weights: Path) -> TrainedRecord:
    """The record beside a weights file; InputError where there is none, or it is of other weights."""
    path = weights.with_suffix(RECORD_SUFFIX)
    try:
        record = _record(read_regular(path, _MAX_RECORD_BYTES))
        catalogue.spec(record.family).width(record.depth_multiplier)
        if len(set(record.class_names)) < len(record.class_names):
            raise ValueError("two classes have the same name")
        if not all(name.isprintable() for name in record.class_names):
            raise ValueError("a class has a name that cannot be shown")
    except (OSError, ValueError, EdgeBenchError) as error:
        raise InputError(
            f"the record {path} cannot be read",
            why=_reason(error),
            fix="keep the .json that `edgebench models train` wrote beside the weights",
        ) from error
    if record.weights_sha256 != sha256_file(weights):
        raise InputError(
            f"{path} is the record of other weights",
            why=f"the hash in it is not that of {weights.name}",
            fix="keep each .npz with the .json that was written with it",
        )
    return record


def _record(data: bytes) -> TrainedRecord:
    """ValueError, in words, for what is no record."""
    document = from_json(data)
    try:
        return TrainedRecord.model_validate(document)
    except ValidationError as error:
        raise ValueError(refusal(error, document, TrainedRecord).sentence()) from error


def source_from_weights(path: Path, cache: Cache, *, calibration: Path | None = None) -> ModelSource:
    """Trained weights (.npz) as a model's source, with the classes that the record beside them names.

    Calibration images are those of `calibration` (a folder or CSV), else those that the training set apart:
    the list beside the weights, or the shipped ones; None where there are none. InputError for weights
    without their record, and for images that cannot be read.
    """
    try:
        require_regular(path, MAX_FILE_BYTES)
    except OSError as error:
        raise InputError(
            f"the weights {path} cannot be read",
            why=reason(error),
            fix="name weights that `edgebench models train` wrote",
        ) from error
    record = read_record(path)
    digest = record.weights_sha256
    source = ModelSource(
        name=f"{plain_stem(path)}-{digest[:8]}",
        kind="weights",
        path=path.absolute(),
        sha256=digest,
        class_names=record.class_names,
        family=record.family,
        width=record.depth_multiplier,
    )
    companion = path.with_suffix(CALIBRATION_SUFFIX)
    if calibration is None and companion.is_file():
        calibration = companion
    if calibration is not None:
        return replace(source, calibration=load_calibration(calibration, cache))
    noted = record.data.get("calibration", {})
    if noted.get("name") == SHIPPED_CALIBRATION:
        shipped = shipped_images(cache, "calibration")
        if shipped.sha256 == noted.get("sha256"):
            return replace(source, calibration=shipped)
    return source


def _reason(error: Exception) -> str:
    return error.what if isinstance(error, EdgeBenchError) else reason(error)
