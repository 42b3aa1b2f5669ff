"""A scenario's session of windows, drawn on the host: the same draws as a worker's passes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgebench.vocabulary.passes import Phase, Window
from edgebench.vocabulary.pictures import Scene
from edgebench.vocabulary.session import MeasurePlan
from edgebench.vocabulary.values import Scores

from .device.play_base import Tape
from .device.play_drawn import Drawn

STATUSES = {"hang": "timeout", "out_of_memory": "out_of_memory", "golden_mismatch": "golden_mismatch"}
"""How a session ends by the kind of its crash; any other kind is a crash, or an error that was raised."""


class DrawnWindows:
    """One session: `script` is that of the artifact, `number` the session's.

    Raises Canned where the scenario lists fewer sessions.
    """

    def __init__(self, script: dict[str, Any], number: int) -> None:
        self._tape = Tape()
        # Its probes' samples lie in a file of the worker's, which is not here.
        self._drawn = Drawn(self._tape, {**script, "infos": {}}, number)
        self._inferences: int = script["play"]["windows"]["inferences"]
        self._infer_share: float = 1.0 - script["edges"][1]

    def recorded(self) -> dict[str, Any]:
        """What a stored session would have beside its windows."""
        drawn = self._drawn
        cold = {"load_s": drawn.load_ns / 1e9 or None, "first_inference_s": None}
        parts: dict[str, Any] = {
            "stages": [],
            "passes": [],
            "windows": [],
            "windows_ns": {},
            "fault": self._fault(),
        }
        facts = {"measured_patches": None, "emulated": False, "warmup": {"batches": 0, "steady": True}}
        return {"cold": cold, "memory": drawn.memory, **parts, **facts}

    def _fault(self) -> dict[str, Any] | None:
        fault = self._drawn.fault
        if fault is None:
            return None
        status = STATUSES.get(fault["kind"], "error" if fault["kind"] == "raise" else "crash")
        return {**fault, "status": status, "words": f"{fault['kind']} was to come here"}

    def scores(self, stage: str, patches: NDArray[np.uint8]) -> Scores:
        """Scores float32 [n, classes] of golden patches or images."""
        self._drawn.begin(stage)
        return self._drawn.scores(0, patches)

    def windows(self, plan: MeasurePlan) -> Iterator[Window]:
        """The first window, then the steady ones until the scenario ends the session."""
        patches = patches_of(plan.scene)
        self._drawn.scene(len(patches))
        phases: list[Phase] = ["first", *(["steady"] * plan.passes)]  # type: ignore[list-item]
        for index, phase in enumerate(phases):
            self._drawn.begin("measure")
            if index == 1:
                self._drawn.begin("measure")  # the warm-up, which windows do without
            if self._drawn.due():
                return
            patch = index % len(patches)
            start_ns, end_ns = self._drawn.window(self._inferences, self._infer_share)
            scores = self._drawn.scores(patch, patches[patch : patch + 1])[0]
            yield Window(index, phase, patch, self._inferences, start_ns, end_ns, scores)


def patches_of(scene: Scene) -> NDArray[np.uint8]:
    """The scene's patches, row by row, uint8 [n, height, width, 3]."""
    pixels: NDArray[np.uint8] = np.load(scene.path, mmap_mode="r")
    side, step = scene.patch, scene.stride or scene.patch
    across, step_across = scene.patch_width or side, scene.stride or scene.patch_width or side
    rows = [pixels[at * step : at * step + side] for at in range(scene.rows)]
    lefts = [column * step_across for column in range(scene.columns)]
    return np.stack([row[:, left : left + across] for row in rows for left in lefts])
