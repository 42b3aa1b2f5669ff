"""NVIDIA's TensorRT, by a model as .onnx: `jetson`, and a discrete GPU as `tensorrt`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

from edgebench.contract import BackendOptions, PathText
from edgebench.errors import UnavailableError, UnsupportedError
from edgebench.prepare import cache as recipes
from edgebench.prepare.cache import Cache, canonical_hash
from edgebench.prepare.chain import require_calibration, subject_of
from edgebench.prepare.onnx import OnnxChain, OnnxForm
from edgebench.prepare.workers.checking import picture_feeds
from edgebench.records.model import Artifact, Companion, InputSpec, Prepared, PrepareRequest, SourceKind
from edgebench.records.values import Json, Progress

from .checks import TensorRtChecks

# From a model to what a board builds its engine of: .onnx with its channels first, and what goes with it.
#
# Which file TensorRT takes depends on the release that is on the board. Up to 10 it makes fp16 and int8 of
# the
# fp32 file, by flags and by a calibrator that measures ranges on pictures; 11 takes a file that has its
# precision already. So the files of both ways travel, and the board takes the one for the TensorRT that it
# has:
#
# precision   artifact                  companions
# fp32        fp32
# fp16        fp32                      half.onnx: at 16 bits
# int8        with Q/DQ pairs           float.onnx: fp32; calibration.npy: float32 [n, 3, height, width],
# preprocessed, whatever the batch
#
# A user's file at fp16 or int8 has no fp32 to begin with: it is taken as it is.


RECIPE_VERSION = 1  # counts up when the same inputs would give other files
KIND = "tensorrt-calibration"
HALF, FLOAT, CALIBRATION = "half.onnx", "float.onnx", "calibration.npy"

_ONNX = OnnxChain(lambda _: OnnxForm(layout="NCHW", exclude=("Softmax",), integer_input=False, explicit=True))


def _parts(request: PrepareRequest) -> dict[str, PrepareRequest]:
    """The requests for the files, by their precision; the one that was asked for comes first."""
    precision = request.variant.precision
    parts = {precision: request}
    if subject_of(request).precision == "fp32" and (precision == "fp16" or _calibrates(request)):
        parts["fp32"] = replace(request, variant=replace(request.variant, precision="fp32"))
    return parts


def _calibrates(request: PrepareRequest) -> bool:
    """Whether the board gets what a calibrator of int8 needs.

    UnsupportedError where a calibrator is asked for and the file has its int8 already.
    """
    if request.variant.precision != "int8" or request.options.get("int8") == "qdq":
        return False
    subject = subject_of(request)
    if subject.precision == "fp32" and subject.tensors:
        raise UnsupportedError(
            f"{request.variant.name} cannot be calibrated on the board",
            why="its calibrator takes pictures, and this model takes none",
            fix="add --set int8=qdq: the ranges are then measured here",
        )
    if subject.precision == "fp32":
        return True
    if request.options.get("int8") == "calibrator":
        raise UnsupportedError(
            f"{request.variant.name} cannot be calibrated",
            why="the file is quantised already, and a calibrator measures the ranges of an fp32 model",
            fix="give the fp32 .onnx that it was made from, or leave --set int8=calibrator out",
        )
    return False


def _refusal(request: PrepareRequest) -> UnsupportedError | None:
    try:
        _inputs(request)
    except UnsupportedError as error:
        return error
    return None


def _inputs(request: PrepareRequest) -> dict[str, Json]:
    return {
        "format": "tensorrt",
        "recipe": RECIPE_VERSION,
        "calibrates": _calibrates(request),
        "files": {precision: _ONNX.recipe(part).inputs for precision, part in _parts(request).items()},
    }


def _artifact(request: PrepareRequest, files: Mapping[str, Prepared], cache: Cache) -> Prepared:
    """The artifact of a request with its companions; the first error where one of the files is missing."""
    artifacts = {name: outcome for name, outcome in files.items() if isinstance(outcome, Artifact)}
    if len(artifacts) < len(files):
        return next(outcome for outcome in files.values() if not isinstance(outcome, Artifact))
    artifact = artifacts[request.variant.precision]
    base = artifacts.get("fp32", artifact)
    if request.variant.precision == "fp16":
        source = {"path": base.path, "sha256": base.sha256, "size_bytes": base.size_bytes}
        return artifact.model_copy(update={**source, "companions": {HALF: _companion(artifact)}})
    if _calibrates(request):
        companions = {FLOAT: _companion(base), CALIBRATION: _calibration(request, base.input, cache)}
        return artifact.model_copy(update={"companions": companions})
    return artifact


def _companion(artifact: Artifact) -> Companion:
    return Companion(path=artifact.path, sha256=artifact.sha256)


def _calibration(request: PrepareRequest, spec: InputSpec, cache: Cache) -> Companion:
    """What the quantiser calibrates with, as the fp32 file takes it; one file for all batches."""
    images = require_calibration(request, subject_of(request))
    decides = {
        "format": KIND,
        "recipe": RECIPE_VERSION,
        "images": images.identity,
        "input": spec.model_dump(mode="json"),
    }
    key = canonical_hash(decides)
    file = recipes.find(cache, KIND, key)
    if file is None:
        with recipes.making(cache, f"prepare-{KIND}") as scratch:
            path = scratch / CALIBRATION
            _write_calibration(path, images.images(cache).path, spec)
            file = recipes.store(cache, KIND, key, path, ".npy")
    return Companion(path=file.path, sha256=file.sha256)


def _write_calibration(path: Path, images: Path, spec: InputSpec) -> None:
    """Write float32 [n, 3, height, width] from uint8 [n, height, width, 3]."""
    pixels = np.load(images, mmap_mode="r")
    shape = (1, spec.channels, spec.height, spec.width)
    target = np.lib.format.open_memmap(path, mode="w+", dtype=np.float32, shape=(len(pixels), *shape[1:]))
    for number, (picture,) in enumerate(picture_feeds(pixels, shape, spec.model_dump(mode="json"))):
        target[number] = picture[0]
    target.flush()


class TensorRtOptions(BackendOptions):
    """`--set` of every device that TensorRT drives."""

    double_buffer: bool = Field(
        default=False, description="prepare and copy a batch while another one is computed; false: in turn"
    )
    int8: Literal["auto", "calibrator", "qdq"] = Field(
        default="auto",
        description="how int8 has its ranges: a calibrator on the board, or Q/DQ nodes in the model; "
        "auto: the calibrator where TensorRT has one",
    )
    workspace_mb: int = Field(
        default=0, ge=0, le=1 << 20, description="MiB that building may take; 0: TensorRT's own limit"
    )
    cudart: PathText = Field(
        default="",
        description="the CUDA runtime, as a path or as the loader finds it; default: found by itself",
    )


class JetsonBackend(TensorRtChecks):
    """Takes every variant, at a static batch of 1 to 64; engines are built on the board."""

    name = "jetson"
    description = "NVIDIA's Jetson boards, by TensorRT"
    precisions = ("fp32", "fp16", "int8")
    default_precisions = ("fp16",)
    default_batch = 16  # as in the study that the shipped models are of
    most_batch = 64
    options_model = TensorRtOptions
    shares_device = True
    meters: ClassVar[tuple[str, ...]] = ("ina3221", "tegrastats")

    def builds(self, options: Mapping[str, Json]) -> bool:
        """Always: an engine is of the very TensorRT and GPU that it was built with."""
        return True

    def formats(self, options: Mapping[str, Json]) -> tuple[SourceKind, ...]:
        """Return the formats that .onnx is made of."""
        return _ONNX.formats

    def concurrency(self, options: Mapping[str, Json]) -> int:
        """Two with double buffering."""
        return 2 if options.get("double_buffer") else 1

    def prepare_inputs(self, request: PrepareRequest) -> dict[str, Json]:
        """What decides the files; UnsupportedError where there is no way to one of them."""
        return _inputs(request)

    def missing(self, request: PrepareRequest) -> UnavailableError | None:
        """TensorFlow, for all but .onnx files, and what works on ONNX; nothing for what is refused anyway.

        It is asked before a user's file has been read through, when only its kind is known.
        """
        if request.source.path is not None and request.source.golden is None:
            return _ONNX.missing(request)
        if _refusal(request) is not None:
            return None
        return next((lack for part in _parts(request).values() if (lack := _ONNX.missing(part))), None)

    def prepare(self, requests: Sequence[PrepareRequest], cache: Cache, progress: Progress) -> list[Prepared]:
        """One outcome a request, in order: an artifact with its companions, or why one of its files fails."""
        refusals = [_refusal(request) for request in requests]
        parts = [
            {} if refusal else _parts(request) for request, refusal in zip(requests, refusals, strict=True)
        ]
        files = iter(_ONNX.prepare([part for wanted in parts for part in wanted.values()], cache, progress))
        return [
            refusal or _artifact(request, {precision: next(files) for precision in wanted}, cache)
            for request, refusal, wanted in zip(requests, refusals, parts, strict=True)
        ]


class TensorRtBackend(JetsonBackend):
    """The same on a discrete GPU, whose power no sensor of a Jetson's tells."""

    name = "tensorrt"
    description = "NVIDIA's discrete GPUs, by TensorRT"
    meters = ()
