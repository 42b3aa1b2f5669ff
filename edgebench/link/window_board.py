"""A device that infers one resident patch again and again: what a session of windows asks of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from edgebench.stats.clock import RoundTrip
from edgebench.vocabulary.values import Scores


@dataclass(frozen=True)
class TimedInferences:
    """Inferences on the resident patch between two stamps of the device's monotonic clock.

    Attributes:
        start_ns, end_ns: before the first, after the last; no warm-up in between.
        scores: of the last one, float32 [classes].
        instructions: that all of them executed, where an emulator counts them.
    """

    start_ns: int
    end_ns: int
    scores: Scores
    instructions: int | None = None


class WindowBoard(Protocol):
    """BoardFault, from each of its methods, where the board does something else."""

    def resynchronise(self) -> None:
        """Before each phase: whatever was under way is over, and the next answer is the next command's."""

    def load(self, patch: NDArray[np.uint8]) -> None:
        """Make a patch uint8 [height, width, 3] the resident one."""

    def infer(self, inferences: int, warm_ups: int, expected_s: float) -> TimedInferences:
        """Infer the resident patch; `expected_s` is how long all of it should take on the host's clock."""

    def round_trip(self) -> RoundTrip:
        """The host's clock around a reading of the device's."""
