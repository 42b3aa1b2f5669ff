"""Artifacts for Rockchip's neural units: a .rknn, or for the simulator the .onnx that it is built from."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import BaseModel

from edgebench.errors import EdgeBenchError, UnavailableError, UnsupportedError
from edgebench.link.inspection import ask_library
from edgebench.prepare.cache import Cache, CachedFile
from edgebench.prepare.chain import Chain, Recipe, Refusals, require_calibration, subject_of
from edgebench.prepare.onnx import OnnxChain, OnnxForm
from edgebench.prepare.workers.processes import Helper
from edgebench.records.model import Artifact, Companion, InputSpec, PrepareRequest
from edgebench.records.values import Progress
from edgebench.session_stages import TIMEOUT, seconds_from

RECIPE_VERSION = 1  # counts up when the same inputs would give another file
PYTHON = "EDGEBENCH_RKNN_PYTHON"
"""Environment variable: the Python that has the toolkit, which takes no numpy 2."""

TOOLKIT = "rknn-toolkit2"
FIX = f"set ${PYTHON} to a Python with {TOOLKIT} and numpy 1: backends/rknn/README.md has the steps"
BUILD = "build.npz"
PIXELS = InputSpec(dtype="uint8", divisor=1, offset=0, scale=1, zero_point=0)
PRECISION_REASONS = {"fp32": "the neural unit computes in fp16 and int8: ask for --precision fp16"}
_PROGRAM = Path(__file__).parent / "device" / "toolkit.py"
_ONNX = OnnxChain(lambda _: OnnxForm(layout="NCHW"))


class Installed(BaseModel):
    """Answer of a Python that has a package."""

    version: str


def installed(
    python: str, package: str, module: str = "sys", env: Mapping[str, str] | None = None
) -> str | UnavailableError:
    """Version of a package for a Python that can import `module`, or why there is none."""
    program = f"import json, {module}; from importlib.metadata import version"
    program += f"; print(json.dumps({{'version': version({package!r})}}))"
    try:
        return ask_library(package, program, Installed, python, env or {}, FIX).version
    except UnavailableError as error:
        return error


@lru_cache(maxsize=8)
def _toolkit(python: str, module: str) -> str | UnavailableError:
    return installed(python, TOOLKIT, module)


def toolkit(module: str = "sys") -> str | UnavailableError:
    """Version of the toolkit that prepares, or why there is none."""
    if python := os.environ.get(PYTHON):
        return _toolkit(python, module)
    return UnavailableError(f"{TOOLKIT} is not found", why=f"${PYTHON} is not set", fix=FIX)


class RknnChain(Chain):
    """To .rknn by rknn-toolkit2, from the fp32 .onnx with its channels first.

    The scores of the golden patches are those of the .onnx at the same precision, by ONNX Runtime.
    """

    name = "rknn"
    title = "Rockchip's neural unit"
    extras = OnnxChain.extras
    formats = OnnxChain.formats

    def recipe(self, request: PrepareRequest) -> Recipe:
        """UnsupportedError for fp32, and for a file that is not fp32 or takes no picture of real numbers."""
        if why := PRECISION_REASONS.get(request.variant.precision):
            raise UnsupportedError(f"{request.variant.name} is not for the neural unit", why=why)
        subject = subject_of(request)
        if subject.precision != "fp32" or subject.spec is None or subject.spec.dtype != "float32":
            raise UnsupportedError(
                f"{request.variant.name} is not taken by rknn",
                why=f"{TOOLKIT} is given fp32 models that take pictures as real numbers",
                fix="give the fp32 .onnx that it was made from, or take --device onnxruntime",
            )
        is_int8 = request.variant.precision == "int8"
        inputs: dict[str, Any] = {
            "format": self.name,
            "recipe": RECIPE_VERSION,
            "onnx": _ONNX.recipe(request).inputs,  # with what it is made from, the fp32 .onnx
            "calibration": require_calibration(request, subject).identity if is_int8 else None,
            "tools": {},
        }
        if request.options.get("simulator"):
            return Recipe(self.name, inputs, ".npz")
        version = toolkit()
        tools = {TOOLKIT: version if isinstance(version, str) else None}
        return Recipe(self.name, {**inputs, "soc": request.options.get("soc"), "tools": tools}, ".rknn")

    def packages(self, request: PrepareRequest, cache: Cache | None) -> tuple[str, ...]:
        """Return what the .onnx takes."""
        return _ONNX.packages(request, cache)

    def missing(self, request: PrepareRequest, cache: Cache | None = None) -> UnavailableError | None:
        """Return the lack of a package, else of the toolkit that converts."""
        lack = super().missing(request, cache)
        version = "" if lack or request.options.get("simulator") else toolkit()
        return version if isinstance(version, UnavailableError) else lack

    def make(
        self, requests: Sequence[PrepareRequest], cache: Cache, scratch: Path, progress: Progress
    ) -> Refusals:
        """Make the .onnx files; convert one after the other, or write what the simulator is built with."""
        pairs = [part for request in requests for part in (_fp32(request), request)]
        files = _ONNX.prepare(pairs, cache, progress)
        python, limit_s = os.environ.get(PYTHON, ""), seconds_from(TIMEOUT)
        refusals: Refusals = {}
        with Helper(_PROGRAM, scratch / "stderr", limit_s=limit_s, python=python) as helper:
            for request, model, reference in zip(requests, files[::2], files[1::2], strict=True):
                recipe = self.recipe(request)
                data, output = scratch / f"{recipe.key}.npz", scratch / f"{recipe.key}{recipe.suffix}"
                try:
                    for file in (model, reference):
                        if isinstance(file, EdgeBenchError):
                            raise file
                    assert isinstance(model, Artifact)
                    _write_build(request, model.input, data, cache)
                    if output != data:
                        helper.ask(_job(request, model, data, output), progress)
                    recipe.store(cache, output, {})
                except EdgeBenchError as error:
                    refusals[recipe.key] = error
        return refusals

    def artifact(
        self, request: PrepareRequest, recipe: Recipe, file: CachedFile, cache: Cache
    ) -> Artifact | None:
        """The artifact of the .onnx at that precision, with another file and the input as pixels."""
        reference = _ONNX.stored_artifact(request, cache)
        model = _ONNX.stored_artifact(_fp32(request), cache)
        if reference is None or model is None:
            return None
        is_simulated = recipe.suffix == ".npz"
        source = model if is_simulated else file
        build = Companion(path=file.path, sha256=file.sha256)
        height, width = model.input.height, model.input.width
        tools = {**reference.provenance["tools"], **recipe.inputs["tools"]}
        return reference.model_copy(
            update={
                "format": model.format if is_simulated else self.name,
                **{name: getattr(source, name) for name in ("path", "sha256", "size_bytes")},
                "companions": {BUILD: build} if is_simulated else {},
                "input": PIXELS.model_copy(update={"height": height, "width": width}),
                "input_shapes": ((1, height, width, 3),),
                "provenance": {**reference.provenance, "recipe": RECIPE_VERSION, "tools": tools},
            }
        )


def _fp32(request: PrepareRequest) -> PrepareRequest:
    return replace(request, variant=replace(request.variant, precision="fp32"))


def _job(request: PrepareRequest, model: Artifact, data: Path, output: Path) -> dict[str, Any]:
    paths = {"path": str(model.path), "data": str(data), "output": str(output)}
    soc, variant = request.options.get("soc"), request.variant
    return {**paths, "what": variant.name, "precision": variant.precision, "soc": soc}


def _write_build(request: PrepareRequest, spec: InputSpec, path: Path, cache: Cache) -> None:
    """Write what device/toolkit.py builds with: (pixel - mean) / std is pixel / divisor + offset."""
    std = np.array(spec.divisors or [spec.divisor] * 3)
    mean = -np.array(spec.offsets or [spec.offset] * 3) * std
    images: Any = ()
    if request.variant.precision == "int8":
        images = np.load(require_calibration(request, subject_of(request)).images(cache).path)
    np.savez(path, mean=mean, std=std, images=images)
