"""What the chain has to know of a model, whoever's it is: input, scores, golden patches, calibration."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from edgebench.contract import PrepareRequest
from edgebench.data.draws import SHIPPED_COUNTS
from edgebench.data.landcover import CLASS_NAMES
from edgebench.data.shipped import images_identity, shipped_images
from edgebench.errors import UnsupportedError
from edgebench.models.artifact import InputSpec
from edgebench.models.cache import Cache
from edgebench.models.golden import CHOSEN, golden_patches
from edgebench.models.keep import Kept
from edgebench.models.own import fixed_batch, input_spec
from edgebench.models.source import ModelSource
from edgebench.models.weights import shipped_weights

SHIPPED_GOLDEN = "one of each class, from the shipped calibration images"


@dataclass(frozen=True)
class Images:
    """Calibration images: uint8 [n, height, width, 3], had when they are needed."""

    name: str
    n: int
    identity: str
    images: Callable[[Cache], Any]  # something with a `path`


@dataclass(frozen=True)
class Subject:
    """A model on its way to ONNX.

    Attributes:
        identity: what decides its fp32 file, for a key.
        job: what `edgebench.models.onnx.steps` begins from.
        spec: the input of the fp32 file; its layout is the model's own.
        ours: whether the chain begins with Keras, and not with a user's .onnx.
    """

    identity: dict[str, Any]
    job: dict[str, Any]
    spec: InputSpec
    ours: bool
    weights_sha256: str | None
    class_names: tuple[str, ...]
    outputs: int | None
    accuracy_reason: str
    golden: Callable[[Cache], Kept]
    golden_identity: Any
    golden_origin: str
    calibration: Images | None


def subject_of(request: PrepareRequest) -> Subject:
    """What is known of the request's model; UnsupportedError where the chain cannot begin with it."""
    kind = request.source.kind
    if kind == "tflite":
        raise UnsupportedError(
            f"{request.variant.name} cannot be made as ONNX",
            why="a .tflite file is taken as it is, by TFLite's runtimes only",
            fix="give the .keras, SavedModel or .onnx that it was made from, or take the device cpu",
        )
    return _family(request) if kind in ("family", "weights") else _own(request, request.source)


def _family(request: PrepareRequest) -> Subject:
    variant = request.variant
    weights = shipped_weights(variant.depth_multiplier, variant.family)
    return Subject(
        identity={"model": variant.model, "weights_sha256": weights.sha256},
        job={
            "kind": "family",
            "family": variant.family,
            "depth_multiplier": variant.depth_multiplier,
            "classes": len(CLASS_NAMES),
            "size": InputSpec(dtype="float32").height,
            "weights": str(weights.path),
        },
        spec=InputSpec(dtype="float32"),
        ours=True,
        weights_sha256=weights.sha256,
        class_names=CLASS_NAMES,
        outputs=None,
        accuracy_reason="",
        golden=golden_patches,
        golden_identity=list(CHOSEN),
        golden_origin=SHIPPED_GOLDEN,
        calibration=Images(
            "landcover-calibration",
            SHIPPED_COUNTS["calibration"],
            images_identity("calibration"),
            lambda cache: shipped_images(cache, "calibration"),
        ),
    )


def _own(request: PrepareRequest, source: ModelSource) -> Subject:
    variant, model, golden = request.variant, source.model, source.golden
    if model is None or source.path is None:
        raise ValueError(f"{source.name} has not been read")
    if model.picture is None:
        raise UnsupportedError(
            f"{variant.name} cannot be made as ONNX",
            why=model.accuracy_reason,
            fix="give a model of pictures",
        )
    fixed = fixed_batch(model)
    if source.kind == "onnx" and fixed not in (None, request.batch):
        raise UnsupportedError(
            f"{variant.name} cannot be made at a batch of {request.batch}",
            why=f"the file fixes a batch of {fixed}",
            fix=f"use --batch {fixed}, or export it with a dynamic batch",
        )
    taken = model.inputs[0]
    dtype = taken.dtype if source.kind == "onnx" else "float32"
    scale, zero_point = taken.scale, taken.zero_point
    if dtype in ("int8", "uint8") and scale is None:
        scale, zero_point = 1.0, 0  # an integer input that is not quantised holds the pixels themselves
    spec = input_spec(source, dtype, scale=scale, zero_point=zero_point)
    calibration = source.calibration
    own_names = source.class_names or ()
    return Subject(
        identity={"sha256": source.sha256, "kind": source.kind, "input": spec.model_dump(mode="json")},
        job={"kind": source.kind, "path": str(source.path)},
        spec=spec,
        ours=source.kind != "onnx",
        weights_sha256=source.sha256,
        class_names=own_names,
        outputs=None if own_names else model.scores,
        accuracy_reason=model.accuracy_reason or ("" if own_names else "nobody named its classes (--labels)"),
        golden=golden_patches if golden is None else lambda cache: _as_kept(golden.path, golden.sha256),
        golden_identity=list(CHOSEN) if golden is None else golden.sha256,
        golden_origin=SHIPPED_GOLDEN if golden is None else golden.origin,
        calibration=None
        if calibration is None
        else Images(calibration.name, calibration.n, calibration.sha256, lambda cache: calibration),
    )


def _as_kept(path: Path, digest: str) -> Kept:
    return Kept(path, digest, path.stat().st_size, {})
