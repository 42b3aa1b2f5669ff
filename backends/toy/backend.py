"""The toy device: a classifier by mean colour in numpy, for tests and for trying the harness out."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from edgebench.contract import BackendOptions
from edgebench.errors import UnsupportedError
from edgebench.link.agent_backend import AgentBackend
from edgebench.prepare.cache import Cache, canonical_hash
from edgebench.records.model import SHIPPED, Artifact, Companion, Golden, InputSpec, PrepareRequest
from edgebench.records.target import Target
from edgebench.records.values import DEPTH_MULTIPLIERS, Finding, Json, Progress

RECIPE = "toy-1"
SIDE = 224
SHARPNESS = 8.0
CENTROIDS = {
    "water": (30, 60, 110),
    "ice": (225, 230, 235),
    "vegetation": (60, 85, 40),
    "bare": (150, 125, 90),
    "cloud": (190, 195, 200),
}
INT8_SCALE = 1 / 127.5
INT8_ZERO_POINT = -1
TOLERANCES = {"fp32": 1e-3, "fp16": 2e-2, "int8": 12 / 256}


class ToyOptions(BackendOptions):
    """`--set` of the toy device."""

    work: Literal["model", "none"] = "model"
    queue: int = Field(default=0, ge=0, le=64)
    delay_us: int = Field(default=0, ge=0, le=10_000_000)
    build: bool = False  # the board builds what is loaded from the prepared source
    fault: Literal[
        "", "abort", "segfault", "exit", "hang", "garbage", "stderr_flood", "raise", "out_of_memory"
    ] = ""
    fault_stage: Literal["build", "load", "golden", "measure", "burst", "predict"] = "measure"


class ToyBackend(AgentBackend):
    """Needs no vendor runtime and no TensorFlow; takes every variant, at any batch."""

    name = "toy"
    description = "a classifier by mean colour in numpy, for tests"
    precisions = ("fp32", "fp16", "int8")
    options_model = ToyOptions
    shares_device = True
    for_tests = True

    def concurrency(self, options: Mapping[str, Json]) -> int:
        """As many as its queue is deep; one where it has none."""
        return max(1, int(options.get("queue", 0)))

    def prepare_inputs(self, request: PrepareRequest) -> dict[str, Json]:
        """The recipe, the variant, the batch and the centroids."""
        return {
            "recipe": RECIPE,
            "variant": request.variant.name,
            "batch": request.batch,
            "centroids": {name: list(colour) for name, colour in CENTROIDS.items()},
            **({"build": True} if self.builds(request.options) else {}),
        }

    def builds(self, options: Mapping[str, Json]) -> bool:
        """With `--set build=true`."""
        return bool(options.get("build"))

    def prepare(
        self, requests: Sequence[PrepareRequest], cache: Cache, progress: Progress
    ) -> list[Artifact | UnsupportedError]:
        """Write each variant's centroids at its precision; the depth multiplier is the share of rows seen."""
        outcomes: list[Artifact | UnsupportedError] = []
        for request in requests:
            variant = request.variant
            known = request.source == SHIPPED and variant.depth_multiplier in DEPTH_MULTIPLIERS
            if variant.precision not in self.precisions or not known:
                outcomes.append(UnsupportedError(f"the toy device does not take {variant.name}"))
                continue
            progress(f"preparing {variant.name} for the toy device")
            outcomes.append(self._artifact(request, cache))
        return outcomes

    def _artifact(self, request: PrepareRequest, cache: Cache) -> Artifact:
        precision = request.variant.precision
        inputs = self.prepare_inputs(request)
        spec = _input_spec(precision)
        step = round(1 / (request.variant.depth_multiplier or 1.0))
        content = {
            "precision": precision,
            "step": step,
            "sharpness": SHARPNESS,
            "input": {"dtype": spec.dtype, "scale": spec.scale},
            "input_shape": [request.batch, SIDE, SIDE, 3],
            "centroids": _stored_centroids(precision).tolist(),
            "centroid_dtype": {"fp32": "float32", "fp16": "float16", "int8": "int8"}[precision],
        }
        patches = golden_patches()
        held = io.BytesIO()
        np.save(held, patches)
        patches_path, patches_sha256 = cache.add_bytes(held.getvalue(), ".npy")
        companions = {}
        if self.builds(request.options):
            content["to_build"] = True
            companions["calibration.npy"] = Companion(path=patches_path, sha256=patches_sha256)
        data = json.dumps(content, sort_keys=True).encode()
        path, digest = cache.add_bytes(data, ".json")
        return Artifact(
            variant=request.variant.name,
            batch=request.batch,
            format="toy",
            path=path,
            sha256=digest,
            size_bytes=len(data),
            input=spec,
            class_names=tuple(CENTROIDS),
            golden=Golden(
                patches=patches_path,
                patches_sha256=patches_sha256,
                scores=tuple(tuple(row) for row in reference_scores(patches, step).tolist()),
                reference="the same classifier in float64",
                tolerance=TOLERANCES[precision],
            ),
            provenance={
                "recipe": RECIPE,
                "recipe_key": canonical_hash(inputs),
                "tools": {"numpy": np.__version__},
            },
            companions=companions,
        )

    def check(self, target: Target) -> list[Finding]:
        """There is nothing that the toy could lack."""
        return [Finding("ok", "toy", "needs numpy only")]


def _input_spec(precision: str) -> InputSpec:
    if precision == "int8":
        return InputSpec(dtype="int8", scale=INT8_SCALE, zero_point=INT8_ZERO_POINT)
    return InputSpec(dtype="float32")


def _stored_centroids(precision: str) -> NDArray[np.float64]:
    real = np.array(list(CENTROIDS.values()), np.float64) / 127.5 - 1.0
    if precision == "int8":
        return np.rint(real / INT8_SCALE) + INT8_ZERO_POINT
    return real


def golden_patches() -> NDArray[np.uint8]:
    """Synthetic patches uint8 [10, 224, 224, 3]: every class, then mixtures of neighbours."""
    colours = np.array(list(CENTROIDS.values()), np.float64)
    between = 0.55 * colours + 0.45 * np.roll(colours, 1, axis=0)
    noise = np.random.default_rng(5).normal(0.0, 12.0, (10, SIDE, SIDE, 3))
    patches = np.concatenate([colours, between])[:, None, None, :] + noise
    return np.clip(np.rint(patches), 0, 255).astype(np.uint8)


def reference_scores(patches: NDArray[np.uint8], step: int) -> NDArray[np.float64]:
    """Scores float64 [n, classes], written without a thought of the runner's own arithmetic."""
    rows = []
    for patch in patches:
        red, green, blue = (patch[::step, :, channel].astype(np.float64).mean() for channel in range(3))
        logits = []
        for centroid in CENTROIDS.values():
            squares = [
                ((value - level) / 127.5) ** 2
                for value, level in zip((red, green, blue), centroid, strict=True)
            ]
            logits.append(-SHARPNESS * sum(squares))
        powers = np.exp(np.array(logits) - max(logits))
        rows.append(powers / powers.sum())
    return np.array(rows)
