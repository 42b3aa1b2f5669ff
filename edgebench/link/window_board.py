"""A device that infers one resident patch again and again: what a session of windows asks of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from edgebench.errors import EdgeBenchError, SessionError
from edgebench.stats.clock import RoundTrip
from edgebench.vocabulary.values import Scores


class BoardFault(EdgeBenchError):
    """What a board did instead of what it was asked for; a device's kinds of it derive from this.

    Attributes:
        status: of the SessionError that ends a session by it.
    """

    status: ClassVar[str] = "protocol_error"

    def as_session_error(self, stage: str) -> SessionError:
        """What ends a session that was at this stage."""
        return SessionError(self.what, status=self.status, stage=stage, why=self.why, fix=self.fix)


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
