"""What a chain has to know of a model, whosever it is: input, scores, golden patches, calibration."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from edgebench.cache.objects import Cache
from edgebench.cache.recipes import CachedFile
from edgebench.data.draws import SHIPPED_COUNTS
from edgebench.data.landcover import CLASS_NAMES
from edgebench.data.shipped import images_identity, shipped_images
from edgebench.errors import UnsupportedError, UsageError
from edgebench.models.families import catalogue
from edgebench.models.families.golden import CHOSEN, golden_patches
from edgebench.models.families.weights import has_shipped, random_identity, shipped_weights
from edgebench.models.user.model import fixed_batch, input_spec
from edgebench.vocabulary.artifact import InputSpec, TensorInput
from edgebench.vocabulary.model_source import ModelSource, SourceKind
from edgebench.vocabulary.pictures import ImageSet
from edgebench.vocabulary.preparation import PrepareRequest
from edgebench.vocabulary.user_model import UserModel

_TAKEN_AS_IT_IS = ("tflite", "onnx")


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
    file: Callable[[Cache], CachedFile]


SHIPPED_GOLDEN = GoldenPatches(
    len(CHOSEN), list(CHOSEN), "one of each class, from the shipped calibration images", golden_patches
)


@dataclass(frozen=True)
class Subject:
    """A model on its way to an artifact, whatever the format.

    Attributes:
        kind: of its source.
        identity: what decides its fp32 file, for a key.
        job: what a worker begins from (see `edgebench.models.workers.keras_source.build_keras`).
        spec: the input of the file that the steps begin with, in the model's own layout; None where it takes
            no picture.
        shapes: of the inputs, the batch included, in the model's own layout.
        precision: of a file that is taken as it is; fp32 where TensorFlow makes it.
        macs: multiply-accumulates of one call at a batch of 1; None where they are not known.
        weights_sha256: of the file, or what stands for random weights.
        tensors: the inputs of a model that takes no picture.
        assumed: of the inputs, because neither the file nor the user says it.
        calibration: None where there is nothing to calibrate int8 with, for the reason in `uncalibrated`.
        is_shipped: whether it is the shipped family with its trained weights.
    """

    kind: SourceKind
    identity: dict[str, Any]
    job: dict[str, Any]
    spec: InputSpec | None
    shapes: tuple[tuple[int, ...], ...]
    precision: str
    macs: int | None
    weights_sha256: str | None
    class_names: tuple[str, ...]
    accuracy_reason: str
    golden: GoldenPatches
    calibration: Images | None
    uncalibrated: str = ""
    assumed: tuple[str, ...] = ()
    tensors: tuple[TensorInput, ...] = ()
    is_shipped: bool = False

    @property
    def is_network(self) -> bool:
        """Whether it is a family's network, and not a user's file."""
        return self.kind in ("family", "weights")

    @property
    def by_tensorflow(self) -> bool:
        """Whether the steps begin with TensorFlow, and not with a file that is taken as it is."""
        return self.kind not in _TAKEN_AS_IT_IS


def subject_of(request: PrepareRequest) -> Subject:
    """What is known of the request's model.

    UsageError for a batch below 1, UnsupportedError for a family or width that there is not.
    """
    if request.batch < 1:
        raise UsageError(f"a batch of {request.batch} patches is not possible", fix="use 1 or more")
    return _network(request) if request.source.kind in ("family", "weights") else _file(request)


def require_batch(request: PrepareRequest) -> None:
    """UnsupportedError where a user's model cannot be measured at the batch."""
    source, model = request.source, request.source.model
    if model is None:
        return
    fixed = fixed_batch(model)
    if model.picture is None and request.batch != 1:
        raise UnsupportedError(
            f"{request.variant.name} is not measured at a batch of {request.batch}",
            why=model.accuracy_reason,
            fix="leave --batch out: a sample is what the model takes at once",
        )
    if model.picture is not None and source.kind in _TAKEN_AS_IT_IS and fixed not in (None, request.batch):
        raise UnsupportedError(
            f"{request.variant.name} is not measured at a batch of {request.batch}",
            why=f"the file fixes a batch of {fixed}",
            fix=f"use --batch {fixed}, or export it with an open batch",
        )


def require_calibration(request: PrepareRequest, subject: Subject, method: str, file: str) -> Images:
    """What int8 is calibrated with; UnsupportedError where there is nothing.

    Args:
        request: of int8.
        subject: of that request.
        method: what is calibrated.
        file: what there could be instead that is quantised already.
    """
    if subject.calibration is not None:
        return subject.calibration
    if subject.uncalibrated:
        raise UnsupportedError(
            f"{request.variant.name} cannot be made",
            why=f"{method} is calibrated with pictures, and {subject.uncalibrated}",
            fix=f"give a {file} that is quantised already",
        )
    raise UnsupportedError(
        f"{request.variant.name} cannot be made without calibration images",
        why="int8 takes its ranges from pictures like those that the model will see",
        fix="give a folder of them: --calibration DIR",
    )


def _network(request: PrepareRequest) -> Subject:
    """A family's network: with the shipped weights, with random ones, or with those of a training."""
    source, variant = request.source, request.variant
    name, width, classes = variant.family, variant.depth_multiplier, catalogue.CLASSES
    if source.kind == "weights":
        name, width = source.family or name, source.width
        classes = len(source.class_names or ()) or classes
    try:
        family = catalogue.spec(name)
        width = family.width(width)
    except UsageError as error:
        raise UnsupportedError(error.what, why=error.why, fix=error.fix) from error
    path, digest, names = source.path, source.sha256, source.class_names or ()
    is_shipped = source.kind == "family" and has_shipped(name, width)
    if is_shipped:
        weights = shipped_weights(width, name)
        path, digest, names = weights.path, weights.sha256, CLASS_NAMES
    elif source.kind == "family":
        path, digest = None, random_identity(name, width, classes)
    return Subject(
        kind=source.kind,
        identity={"family": name, "width": width, "classes": classes, "weights_sha256": digest},
        job={
            "kind": "family",
            "family": name,
            "depth_multiplier": width,
            "classes": classes,
            "size": catalogue.SIZE,
            "weights": None if path is None else str(path),
        },
        spec=InputSpec(
            dtype="float32",
            height=catalogue.SIZE,
            width=catalogue.SIZE,
            divisor=family.divisor,
            offset=family.offset,
        ),
        shapes=((request.batch, catalogue.SIZE, catalogue.SIZE, 3),),
        precision="fp32",
        macs=catalogue.macs_of(name, width),
        weights_sha256=digest,
        class_names=names,
        accuracy_reason="" if path else catalogue.RANDOM_REASON,
        golden=_golden(source),
        calibration=_calibration(source) or (_shipped_calibration() if source.kind == "family" else None),
        is_shipped=is_shipped,
    )


def _file(request: PrepareRequest) -> Subject:
    """A user's .tflite, .onnx, .keras or SavedModel."""
    source, model = request.source, request.source.model
    if model is None or source.path is None or source.golden is None:
        raise ValueError(f"{source.name} has not been read")
    spec = None if model.picture is None else _file_spec(source, model)
    shapes = model.shapes(request.batch)
    return Subject(
        kind=source.kind,
        identity={
            "sha256": source.sha256,
            "kind": source.kind,
            "input": spec and spec.model_dump(mode="json"),
            "shapes": [list(shape) for shape in shapes],
        },
        job={"kind": source.kind, "path": str(source.path), "precision": model.precision},
        spec=spec,
        shapes=shapes,
        precision=model.precision if source.kind in _TAKEN_AS_IT_IS else "fp32",
        macs=model.macs,
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
            TensorInput(name=tensor.name, dtype=tensor.dtype, shape=tuple(shape))
            for tensor, shape in zip(model.inputs, model.shapes(1), strict=True)
        ),
    )


def _file_spec(source: ModelSource, model: UserModel) -> InputSpec:
    """The input of the file as it is; float32 where TensorFlow makes the file."""
    if source.kind not in _TAKEN_AS_IT_IS:
        return input_spec(source, "float32")
    picture = model.inputs[0]
    scale, zero_point = picture.scale, picture.zero_point
    if picture.dtype in ("int8", "uint8") and scale is None:
        scale, zero_point = 1.0, 0  # an integer input that is not quantised holds the pixels themselves
    return input_spec(source, picture.dtype, scale=scale, zero_point=zero_point)


def _golden(source: ModelSource) -> GoldenPatches:
    samples = source.golden
    if samples is None:
        return SHIPPED_GOLDEN
    return GoldenPatches(
        samples.n,
        samples.sha256,
        samples.origin,
        lambda _: CachedFile(samples.path, samples.sha256, samples.path.stat().st_size, {}),
    )


def _calibration(source: ModelSource) -> Images | None:
    images = source.calibration
    return None if images is None else Images(images.name, images.n, images.sha256, lambda _: images)


def _shipped_calibration() -> Images:
    return Images(
        "landcover-calibration",
        SHIPPED_COUNTS["calibration"],
        images_identity("calibration"),
        lambda cache: shipped_images(cache, "calibration"),
    )
