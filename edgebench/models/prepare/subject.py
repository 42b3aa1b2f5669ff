"""What the chain has to know of a model, whosever it is: input, scores, golden patches, calibration."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from edgebench.cache.objects import Cache
from edgebench.cache.recipes import Kept
from edgebench.data.draws import SHIPPED_COUNTS
from edgebench.data.landcover import CLASS_NAMES
from edgebench.data.shipped import images_identity, shipped_images
from edgebench.errors import UnsupportedError, UsageError
from edgebench.models.families import catalogue
from edgebench.models.families.golden import CHOSEN, golden_patches
from edgebench.models.families.weights import has_shipped, random_identity, shipped_weights
from edgebench.models.user.model import fixed_batch, input_spec
from edgebench.vocabulary.artifact import InputSpec, TensorInput
from edgebench.vocabulary.model_source import ModelSource
from edgebench.vocabulary.pictures import ImageSet
from edgebench.vocabulary.preparation import PrepareRequest
from edgebench.vocabulary.user_model import OwnModel


@dataclass(frozen=True)
class Images:
    """Calibration images: uint8 [n, height, width, 3], had when they are needed."""

    name: str
    n: int
    identity: str
    images: Callable[[Cache], ImageSet]


@dataclass(frozen=True)
class GoldenPatches:
    """What the outputs are checked with: `n` patches or samples, had when they are needed."""

    n: int
    identity: Any
    origin: str
    file: Callable[[Cache], Kept]


SHIPPED_GOLDEN = GoldenPatches(
    len(CHOSEN), list(CHOSEN), "one of each class, from the shipped calibration images", golden_patches
)


@dataclass(frozen=True)
class Subject:
    """A model on its way to ONNX.

    Attributes:
        identity: what decides its fp32 file, for a key.
        job: what `edgebench.models.workers.onnx.steps` begins from.
        spec: the input of the fp32 file, in the model's own layout; None where it takes no picture.
        shapes: of the inputs, the batch included, in the model's own layout.
        precision: of the file that the chain begins with, fp32 where that is made by it.
        ours: whether the chain begins with TensorFlow, and not with a user's .onnx.
        tensors: the inputs of a model that takes no picture.
        assumed: of the inputs, because neither the file nor the user says it.
        calibration: None where there is nothing to calibrate int8 with, for the reason in `uncalibrated`.
    """

    identity: dict[str, Any]
    job: dict[str, Any]
    spec: InputSpec | None
    shapes: tuple[tuple[int, ...], ...]
    precision: str
    ours: bool
    weights_sha256: str | None
    class_names: tuple[str, ...]
    accuracy_reason: str
    golden: GoldenPatches
    calibration: Images | None
    uncalibrated: str = ""
    assumed: tuple[str, ...] = ()
    tensors: tuple[TensorInput, ...] = ()


def subject_of(request: PrepareRequest) -> Subject:
    """What is known of the request's model; UnsupportedError where the chain cannot begin with it."""
    kind = request.source.kind
    if kind == "tflite":
        raise UnsupportedError(
            f"{request.variant.name} cannot be made as ONNX",
            why="a .tflite file is taken as it is, by TFLite's runtimes only",
            fix="give the .keras, SavedModel or .onnx that it was made from, or take the device cpu",
        )
    return _network(request) if kind in ("family", "weights") else _file(request)


def _network(request: PrepareRequest) -> Subject:
    """A family's network: with the shipped weights, with random ones, or with those of a training."""
    source, variant = request.source, request.variant
    family, width, classes = variant.family, variant.depth_multiplier, catalogue.CLASSES
    if source.kind == "weights":
        family, width = source.family or family, source.width
        classes = len(source.class_names or ()) or classes
    try:
        known = catalogue.spec(family)
        width = known.width(width)
    except UsageError as error:
        raise UnsupportedError(error.what, why=error.why, fix=error.fix) from error
    path, names = source.path, source.class_names or ()
    digest = source.sha256
    if source.kind == "family":
        published = has_shipped(family, width)
        shipped = shipped_weights(width, family) if published else None
        path = shipped.path if shipped else None
        digest = shipped.sha256 if shipped else random_identity(family, width, classes)
        names = CLASS_NAMES if published else names
    spec = InputSpec(
        dtype="float32",
        height=catalogue.SIZE,
        width=catalogue.SIZE,
        divisor=known.divisor,
        offset=known.offset,
    )
    return Subject(
        identity={"family": family, "width": width, "classes": classes, "weights_sha256": digest},
        job={
            "kind": "family",
            "family": family,
            "depth_multiplier": width,
            "classes": classes,
            "size": catalogue.SIZE,
            "weights": None if path is None else str(path),
        },
        spec=spec,
        shapes=((request.batch, catalogue.SIZE, catalogue.SIZE, 3),),
        precision="fp32",
        ours=True,
        weights_sha256=digest,
        class_names=names,
        accuracy_reason="" if path else catalogue.RANDOM_REASON,
        golden=_golden(source),
        calibration=_calibration(source) or (_shipped_calibration() if source.kind == "family" else None),
    )


def _file(request: PrepareRequest) -> Subject:
    """A user's .onnx, .keras or SavedModel."""
    source, variant, model = request.source, request.variant, request.source.model
    if model is None or source.path is None:
        raise ValueError(f"{source.name} has not been read")
    as_is = source.kind == "onnx"
    fixed = fixed_batch(model)
    if model.picture is None and request.batch != 1:
        raise UnsupportedError(
            f"{variant.name} is not measured at a batch of {request.batch}",
            why=model.accuracy_reason,
            fix="leave --batch out: a sample is what the model takes at once",
        )
    if as_is and model.picture is not None and fixed not in (None, request.batch):
        raise UnsupportedError(
            f"{variant.name} is not measured at a batch of {request.batch}",
            why=f"the file fixes a batch of {fixed}",
            fix=f"use --batch {fixed}, or export it with an open batch",
        )
    spec = None if model.picture is None else _file_spec(source, model)
    return Subject(
        identity={
            "sha256": source.sha256,
            "kind": source.kind,
            "input": spec and spec.model_dump(mode="json"),
            "shapes": [list(shape) for shape in model.shapes(request.batch)],
        },
        job={"kind": source.kind, "path": str(source.path), "precision": model.precision},
        spec=spec,
        shapes=model.shapes(request.batch),
        precision=model.precision if as_is else "fp32",
        ours=not as_is,
        weights_sha256=source.sha256,
        class_names=source.class_names or (),
        accuracy_reason=model.accuracy_reason,
        assumed=model.assumed,
        golden=_golden(source),
        calibration=None if spec is None else _calibration(source),
        uncalibrated="" if spec else model.accuracy_reason,
        tensors=()
        if spec
        else tuple(
            TensorInput(name=one.name, dtype=one.dtype, shape=tuple(shape))
            for one, shape in zip(model.inputs, model.shapes(1), strict=True)
        ),
    )


def _file_spec(source: ModelSource, model: OwnModel) -> InputSpec:
    taken = model.inputs[0]
    if source.kind != "onnx":
        return input_spec(source, "float32")
    scale, zero_point = taken.scale, taken.zero_point
    if taken.dtype in ("int8", "uint8") and scale is None:
        scale, zero_point = 1.0, 0  # an integer input that is not quantised holds the pixels themselves
    return input_spec(source, taken.dtype, scale=scale, zero_point=zero_point)


def _golden(source: ModelSource) -> GoldenPatches:
    own = source.golden
    if own is None:
        return SHIPPED_GOLDEN
    return GoldenPatches(
        own.n, own.sha256, own.origin, lambda _: Kept(own.path, own.sha256, own.path.stat().st_size, {})
    )


def _calibration(source: ModelSource) -> Images | None:
    own = source.calibration
    return None if own is None else Images(own.name, own.n, own.sha256, lambda _: own)


def _shipped_calibration() -> Images:
    return Images(
        "landcover-calibration",
        SHIPPED_COUNTS["calibration"],
        images_identity("calibration"),
        lambda cache: shipped_images(cache, "calibration"),
    )
