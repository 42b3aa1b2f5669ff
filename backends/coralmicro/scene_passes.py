"""Passes over as many patches of the scene as a board holds: sent once, timed there again and again."""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from edgebench.agent.pixels import windows as cut_patches
from edgebench.agent.steady import steady_after
from edgebench.agent.worker import WARMUP_STEP
from edgebench.vocabulary.passes import Pass, Phase
from edgebench.vocabulary.pictures import Scene
from edgebench.vocabulary.session import MeasurePlan
from edgebench.vocabulary.session_facts import WarmUp

from .stamped_board import StampedBoard, StampedRun

MOST_PATCHES = 100
"""Of a pass: with 64 MB beside a model, an arena and images, firmware has room for about as many."""

_MOST_OVERRUN = 5
"""Times as long as it is asked for, work may go on by this machine's clock: calls take their time, too."""


def patches_held(plan: MeasurePlan, scene_bytes: int, patch_bytes: int) -> int:
    """How many patches of the scene a pass has on a board with such room; 0 where it has none for one."""
    return min(plan.patches or MOST_PATCHES, scene_bytes // patch_bytes, plan.scene.patches)


def first_patches(scene: Scene, count: int) -> list[NDArray[np.uint8]]:
    """Patches uint8 [height, width, 3] of the scene, row by row from its first."""
    pixels = np.load(scene.path, mmap_mode="r")
    return cut_patches(pixels, scene.patch, scene.patch_width, scene.stride)[:count]


class ScenePasses:
    """What is timed on one board in one session.

    Args:
        board: on which the patches lie.
        patches: in a pass.
        plan: of the session.

    Attributes:
        first_inference_s: of the first pass's first patch; None before it.
        warmup: None before it was over.
    """

    def __init__(self, board: StampedBoard, patches: int, plan: MeasurePlan) -> None:
        self.first_inference_s: float | None = None
        self.warmup: WarmUp | None = None
        self._board = board
        self._patches = patches
        self._plan = plan
        self._patch_ns: list[int] = []  # of the first pass and the warm-up, in order

    def take(self, index: int, phase: Phase) -> Pass:
        """One pass over all resident patches."""
        run = self._board.bracketed_run(self._patches)
        if phase == "first":
            self._patch_ns = run.patch_ns
            self.first_inference_s = int(run.stamps_ns[0, -1, 1] - run.stamps_ns[0, -1, 0]) / 1e9
        return self._pass(index, phase, [run])

    def warm_up(self) -> Iterator[Pass]:
        """Patches beyond the first pass until they have become steady, as one pass; none where they had."""
        floor, cap = self._plan.warmup_floor, self._plan.warmup_cap
        runs: list[StampedRun] = []
        steady = steady_after(self._patch_ns, floor, cap)
        while steady is None and len(self._patch_ns) < cap:
            wanted = min(WARMUP_STEP, cap - len(self._patch_ns), self._patches)
            runs.append(self._board.bracketed_run(wanted))
            self._patch_ns += runs[-1].patch_ns
            steady = steady_after(self._patch_ns, floor, cap)
        batches = min(len(self._patch_ns), cap) if steady is None else steady
        self.warmup = WarmUp(batches, steady is not None)
        if runs:
            yield self._pass(1, "warmup", runs)

    def work(self, busy_s: float) -> tuple[int, int]:
        """Keep the board busy for about so long, pass after pass; start and end on its clock, ns."""
        patch_s = max(1e-6, float(np.mean(self._patch_ns)) / 1e9)
        left = max(1, round(busy_s / patch_s))
        runs: list[StampedRun] = []
        # Patches may take far longer than their stamps say.
        over_s = time.monotonic() + _MOST_OVERRUN * busy_s
        while left > 0 and (not runs or time.monotonic() < over_s):
            runs.append(self._board.run(min(left, self._patches)))
            left -= self._patches
        return runs[0].start_ns, runs[-1].end_ns

    def _pass(self, index: int, phase: Phase, runs: list[StampedRun]) -> Pass:
        stamps_ns = np.concatenate([run.stamps_ns for run in runs])
        scores = None if phase == "warmup" else runs[0].scores
        return Pass(
            index, phase, runs[0].start_ns, runs[-1].end_ns, self._board.stages, stamps_ns, scores, batch=1
        )
