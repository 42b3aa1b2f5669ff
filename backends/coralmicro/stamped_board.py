"""A board as its session asks it: answers in ns of the board's own clock, waits as long as a patch takes."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from edgebench.link.board_calls import BoardCalls
from edgebench.link.clock_trips import BETWEEN_TRIPS
from edgebench.link.stamp_checks import Span, TooShortForTheClock, require_within
from edgebench.link.timeouts import Timeouts
from edgebench.link.wrapping_clock import WrappingClock
from edgebench.stats.clock import RoundTrip
from edgebench.vocabulary.values import Scores

from .answers import BoardDescription
from .micro_board import MicroBoard

FIRST_PATCH_S = 20.0
"""What the first patch is expected to take at most: the Cortex-M7 alone, by kernels that are not fast."""

STAGES = {"pass": ("preprocess", "infer"), "inference": ("infer",)}
"""Of a patch, by what the firmware times."""


@dataclass(frozen=True)
class StampedRun:
    """A pass over resident patches.

    Attributes:
        start_ns, end_ns: before the first patch and after the last score, on the board's clock.
        stamps_ns: int64 [n, stages, 2].
        scores: float32 [n, classes].
    """

    start_ns: int
    end_ns: int
    stamps_ns: NDArray[np.int64]
    scores: Scores

    @property
    def patch_ns(self) -> list[int]:
        """What each patch took, from its first stage to its scores."""
        return [int(taken_ns) for taken_ns in self.stamps_ns[:, -1, 1] - self.stamps_ns[:, 0, 0]]


class StampedBoard:
    """MicroFault, from each of its methods, as the board has it; ImpossibleTimes where its clock is none.

    Args:
        board: that is asked.
        timeouts: by which waiting is bounded.

    Attributes:
        calls: to it, with the round trips so far.
        description: what it said of itself last.
        host_patch_s: what a patch took lately with all that a call costs; None before the first.
    """

    def __init__(self, board: MicroBoard, timeouts: Timeouts) -> None:
        self._board = board
        self._timeouts = timeouts
        self._clock = WrappingClock()
        self.calls = BoardCalls(self._round_trip)
        self.description: BoardDescription = board.describe().board
        self.host_patch_s: float | None = None

    def _round_trip(self) -> RoundTrip:
        described = self._board.describe()
        self.description = described.board
        return self._clock.round_trip(*described.stamp)

    @property
    def stages(self) -> tuple[str, ...]:
        """Of a patch, in order."""
        return STAGES[self.description.times]

    def run(self, patches: int) -> StampedRun:
        """A pass over the first patches of the resident scene, at least 1."""
        expected_s = self._expected_s(patches, self._timeouts.measure)
        run = self.calls.ask(lambda: self._board.run(patches, expected_s))
        flat_us = [run.start_us, *run.stamps.ravel().tolist(), run.end_us]
        start_us, *stamps_us, end_us = self._clock.stamps_us(run.sent_ns, flat_us, run.received_ns)
        edges_ns = np.array(stamps_us, np.int64).reshape(patches, -1) * 1000
        stamps_ns = np.stack([edges_ns[:, :-1], edges_ns[:, 1:]], axis=2)
        if not (stamps_ns[:, -1, 1] > stamps_ns[:, -1, 0]).any():
            raise TooShortForTheClock("a pass without any time of inference by its clock")
        self._note(patches, (run.received_ns - run.sent_ns) / 1e9)
        return StampedRun(start_us * 1000, end_us * 1000, stamps_ns, run.scores)

    def bracketed_run(self, patches: int) -> StampedRun:
        """The same between readings of the board's clock, which it cannot have run outside of."""
        before_ns = self.calls.trips(BETWEEN_TRIPS)
        run = self.run(patches)
        require_within("a pass", run.start_ns, run.end_ns, Span(before_ns, self.calls.trips(1)))
        return run

    def predict(self, images: int, limit_s: float) -> Scores:
        """Scores float32 [images, classes] of the first images beside the scene."""
        expected_s = self._expected_s(images, limit_s)
        began_s = time.monotonic()
        predicted = self.calls.ask(lambda: self._board.predict(images, expected_s))
        self._note(images, time.monotonic() - began_s)
        return predicted.scores

    def _expected_s(self, patches: int, limit_s: float) -> float:
        """On this machine's clock; a call is given three times as long."""
        patch_s = FIRST_PATCH_S if self.host_patch_s is None else self.host_patch_s
        return min(patches * patch_s, limit_s / 3)

    def _note(self, patches: int, taken_s: float) -> None:
        self.host_patch_s = taken_s / patches
