"""What a session times: passes over the scene, or windows over a patch that stays; on the device's clock."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from edgebench.vocabulary.values import Scores

Phase: TypeAlias = Literal["first", "warmup", "steady"]


@dataclass(frozen=True)
class Pass:
    """One scene through the device, stamped on the device's monotonic clock.

    Attributes:
        index: 0 for the first (cold) pass, then counted on; steady passes follow it.
        phase: `first`, `warmup` (batches, not a whole pass) or `steady`.
        start_ns, end_ns: before the first batch's patchify, after the last score.
        stages: the stages' names in order, such as patchify, preprocess, infer.
        stamps_ns: int64 [batches, stages, 2], start and end of each stage of each batch.
        scores: float32 [patches, classes], row by row over the scene; None in warm-up.
        batch: patches in a batch; the last may be padded and its padding is not in `scores`.
        due_ns: when a paced pass should have started; the wait for it lies before `start_ns`.
        deadline_ns: when the next paced pass is due, by which this one should have ended.
        worker: which of a session's workers ran it.
    """

    index: int
    phase: Phase
    start_ns: int
    end_ns: int
    stages: tuple[str, ...]
    stamps_ns: NDArray[np.int64]
    scores: Scores | None
    batch: int
    due_ns: int | None = None
    deadline_ns: int | None = None
    worker: int = 0

    @property
    def lateness_ns(self) -> int | None:
        """End against deadline: above 0 for a deadline miss, below when done in time; None when not paced.

        A device that paces itself has no lateness of the harness's or the link's in it.
        """
        return None if self.deadline_ns is None else self.end_ns - self.deadline_ns

    @property
    def image_ns(self) -> int:
        """The whole pass: patchify, preprocess, infer, and what lies between."""
        return self.end_ns - self.start_ns


@dataclass(frozen=True)
class Window:
    """Many inferences of one resident patch between two stamps, where a pass is out of reach.

    A microcontroller behind a serial line has room for one patch, and to send it takes longer than to infer:
    it infers the same patch again and again, and its window is stamped before the first inference and after
    the last, on the device's monotonic clock.

    Attributes:
        index: 0 for the first (cold) window, then counted on.
        phase: `first`, `warmup` or `steady`.
        patch: which patch of the scene is resident, row by row from 0.
        inferences: how often it was inferred in the window, at least 1.
        start_ns, end_ns: before the first inference, after the last.
        scores: float32 [classes] of the patch; None where the device gives none in a window.
        instructions: that all of its inferences executed, where an emulator counts them; at least 1.
    """

    index: int
    phase: Phase
    patch: int
    inferences: int
    start_ns: int
    end_ns: int
    scores: Scores | None = None
    instructions: int | None = None

    @property
    def duration_ns(self) -> int:
        """All of its inferences."""
        return self.end_ns - self.start_ns

    def scene_ns(self, patches: int) -> float:
        """What the runtime needs for a scene of so many patches, by this window."""
        return self.duration_ns / self.inferences * patches
