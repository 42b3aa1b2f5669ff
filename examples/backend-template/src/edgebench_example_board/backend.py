"""example-board on the host: what it takes, how its artifacts are made, and what can be wrong with it."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from edgebench.contract import BackendOptions
from edgebench.errors import UnsupportedError
from edgebench.link.agent_backend import AgentBackend
from edgebench.prepare.cache import Cache, canonical_hash
from edgebench.records.model import SHIPPED, Artifact, Golden, InputSpec, PrepareRequest
from edgebench.records.target import Target
from edgebench.records.values import DEPTH_MULTIPLIERS, Finding, Json, Progress

RECIPE = 1  # count up when the same inputs would give another artifact
SIDE = 224
SHARPNESS = 8.0
CENTROIDS = {  # mean colours, RGB; the names are those of the shipped images, so that accuracy can be taken
    "water": (30, 60, 110),
    "ice": (225, 230, 235),
    "vegetation": (60, 85, 40),
    "bare": (150, 125, 90),
    "cloud": (190, 195, 200),
}
INPUTS = {
    "fp32": InputSpec(dtype="float32"),  # pixel / 127.5 - 1
    "int8": InputSpec(dtype="int8", scale=1 / 127.5, zero_point=-1),  # pixel - 128
}
TOLERANCES = {"fp32": 1e-3, "int8": 12 / 256}  # what the arithmetic explains, and no more


class ExampleBoardOptions(BackendOptions):
    """`--set` of example-board; the runner gets them all."""

    repeat: int = Field(default=1, ge=1, le=100, description="how often each batch is computed")


class ExampleBoardBackend(AgentBackend):
    """The base class brings `open`: the agent, here and over SSH."""

    name = "example-board"
    description = "an example: nearest mean colour in numpy"
    precisions = tuple(INPUTS)
    options_model = ExampleBoardOptions
    board_packages = ()  # what brings the runtime, such as ("tflite-runtime",): one has to be on the board

    def prepare_inputs(self, request: PrepareRequest) -> dict[str, Json]:
        """Everything that decides the artifact; it is hashed, so it holds no time and no path."""
        return {
            "recipe": RECIPE,
            "variant": request.variant.name,
            "batch": request.batch,
            "centroids": {name: list(colour) for name, colour in CENTROIDS.items()},
        }

    def prepare(
        self, requests: Sequence[PrepareRequest], cache: Cache, progress: Progress
    ) -> list[Artifact | UnsupportedError]:
        """One outcome a request, in order; what the device cannot take is an outcome too."""
        outcomes: list[Artifact | UnsupportedError] = []
        for request in requests:
            variant = request.variant
            known = request.source == SHIPPED and variant.depth_multiplier in DEPTH_MULTIPLIERS
            if variant.precision not in INPUTS or not known:
                outcomes.append(UnsupportedError(f"example-board does not take {variant.name}"))
                continue
            progress(f"preparing {variant.name} for example-board")
            outcomes.append(self._artifact(request, cache))
        return outcomes

    def check(self, target: Target) -> list[Finding]:
        """What `edgebench doctor` says; a finding that is not "ok" needs a fix."""
        return [Finding("ok", "example-board", "needs numpy only")]

    def _artifact(self, request: PrepareRequest, cache: Cache) -> Artifact:
        # The depth multiplier stands for the share of a patch's rows that is looked at.
        spec, step = INPUTS[request.variant.precision], round(1 / (request.variant.depth_multiplier or 1.0))
        model = {
            "input_shape": [request.batch, SIDE, SIDE, 3],
            "input_dtype": spec.dtype,
            "step": step,
            "sharpness": SHARPNESS,
            "centroids": [[level / 127.5 - 1 for level in colour] for colour in CENTROIDS.values()],
            "scale": spec.scale,
            "zero_point": spec.zero_point,
        }
        # By content: the same bytes are the same file, and are written once.
        data = json.dumps(model, sort_keys=True).encode()
        path, digest = cache.add_bytes(data, ".json")
        patches = golden_patches()
        held = io.BytesIO()
        np.save(held, patches)
        patches_path, patches_sha256 = cache.add_bytes(held.getvalue(), ".npy")
        return Artifact(
            variant=request.variant.name,
            batch=request.batch,
            format="example-board",
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
                tolerance=TOLERANCES[request.variant.precision],
            ),
            provenance={"recipe_key": canonical_hash(self.prepare_inputs(request))},
        )


def golden_patches() -> NDArray[np.uint8]:
    """Patches uint8 [5, 224, 224, 3] with known scores, computed in every session before it is timed."""
    noise = np.random.default_rng(5).normal(0.0, 12.0, (len(CENTROIDS), SIDE, SIDE, 3))
    colours = np.array(list(CENTROIDS.values()), np.float64)[:, None, None, :]
    return np.clip(np.rint(colours + noise), 0, 255).astype(np.uint8)


def reference_scores(patches: NDArray[np.uint8], step: int) -> NDArray[np.float64]:
    """Scores float64 [n, classes], by other arithmetic than the runner's: or they would prove nothing."""
    seen = patches[:, ::step].astype(np.float64).mean(axis=(1, 2))
    colours = np.array(list(CENTROIDS.values()), np.float64)
    powers = np.exp(-SHARPNESS * (((seen[:, None] - colours[None]) / 127.5) ** 2).sum(axis=2))
    scores: NDArray[np.float64] = powers / powers.sum(axis=1, keepdims=True)
    return scores
