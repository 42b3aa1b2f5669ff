"""Artifacts of OpenVINO IR: a user's .xml as it is, with its .bin as a companion."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

from edgebench.errors import UnsupportedError
from edgebench.prepare.cache import Cache, CachedFile
from edgebench.prepare.chain import Recipe, Refusals, require_batch, subject_of
from edgebench.prepare.onnx import OnnxChain, OnnxForm
from edgebench.records.model import Artifact, Companion, PrepareRequest
from edgebench.records.values import Progress

WEIGHTS = "weights.bin"


class IrChain(OnnxChain):
    """To IR, from IR alone: by the steps of an .onnx that is taken as it is."""

    name = "openvino-ir"
    title = "OpenVINO"
    extras = "openvino"
    formats = ("openvino",)
    suffix = ".xml"
    steps = "edgebench.prepare.workers.openvino_ir"
    step_tools = ("openvino",)

    def __init__(self) -> None:
        super().__init__(lambda _: OnnxForm())

    def recipe(self, request: PrepareRequest) -> Recipe:
        """UnsupportedError for another precision or batch than the file's."""
        subject = subject_of(request)
        require_batch(request)
        if request.variant.precision != subject.precision:
            raise UnsupportedError(
                f"{request.variant.name} cannot be made",
                why=f"an OpenVINO IR is taken as it is, and this one is {subject.precision}",
                fix="leave --precision out, or give the .onnx that it was made from",
            )
        return self.base(request, subject)

    def packages(self, request: PrepareRequest, cache: Cache | None) -> tuple[str, ...]:
        """OpenVINO here, whose processor plug-in computes the reference."""
        return self.step_tools

    def make(
        self, requests: Sequence[PrepareRequest], cache: Cache, scratch: Path, progress: Progress
    ) -> Refusals:
        """Keep each .bin, then check and keep each .xml."""
        for request in requests:
            weights = _weights(request)
            if request.source.path is not None and weights.find(cache) is None:
                copy = scratch / f"{weights.key}.bin"
                shutil.copyfile(request.source.path.with_suffix(".bin"), copy)
                weights.store(cache, copy, {})
        return super().make(requests, cache, scratch, progress)

    def artifact(
        self, request: PrepareRequest, recipe: Recipe, file: CachedFile, cache: Cache
    ) -> Artifact | None:
        """With its .bin; None where the cache has lost that."""
        artifact, weights = super().artifact(request, recipe, file, cache), _weights(request).find(cache)
        model = request.source.model
        if artifact is None or weights is None or model is None:
            return None
        companion = Companion(path=weights.path, sha256=weights.sha256)
        shapes = model.shapes(request.batch) if model.open_axes else ()
        return artifact.model_copy(update={"companions": {WEIGHTS: companion}, "input_shapes": shapes})


def _weights(request: PrepareRequest) -> Recipe:
    return Recipe(IrChain.name, {"format": IrChain.name, "weights_of": request.source.sha256}, ".bin")
