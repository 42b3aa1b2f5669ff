"""A pass: one scene through the device, stamped on its clock."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from edgebench.vocabulary.values import Scores


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
    """

    index: int
    phase: Literal["first", "warmup", "steady"]
    start_ns: int
    end_ns: int
    stages: tuple[str, ...]
    stamps_ns: NDArray[np.int64]
    scores: Scores | None
    batch: int
    due_ns: int | None = None
    deadline_ns: int | None = None

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
