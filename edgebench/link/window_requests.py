"""Requests to a board of windows: which patch it holds, and how long an inference takes."""

from __future__ import annotations

import time

import numpy as np
from numpy.typing import NDArray

from edgebench.link.board_calls import BoardCalls
from edgebench.link.timeouts import Timeouts
from edgebench.link.window_board import TimedInferences, WindowBoard
from edgebench.vocabulary.values import Scores

FIRST_INFERENCE_S = 20.0
"""What the first inference of a board of silicon is expected to take at most; the largest model takes 2 s."""


class WindowRequests:
    """BoardFault, from each of its methods, as the board has it.

    Args:
        board: that infers.
        calls: to it.

    Attributes:
        first_inference_s: what the first inference took; None before it.
        inference_s: what one takes on the board's clock; None before the first.
        host_inference_s: the same on the host's clock.
    """

    def __init__(self, board: WindowBoard, calls: BoardCalls) -> None:
        self.first_inference_s: float | None = None
        self.inference_s: float | None = None
        self.host_inference_s: float | None = None
        self._board = board
        self._calls = calls
        self._resident: NDArray[np.uint8] | None = None

    def resynchronise(self) -> None:
        """Before each phase."""
        self._calls.ask(self._board.resynchronise)

    def load(self, patch: NDArray[np.uint8]) -> None:
        """Make a patch uint8 [height, width, 3] resident that is not."""
        if self._resident is not None and np.array_equal(self._resident, patch):
            return
        self._resident = None
        sent = np.ascontiguousarray(patch)
        self._calls.ask(lambda: self._board.load(sent))
        self._resident = sent

    def infer_once(self) -> Scores:
        """Scores float32 [classes] of the resident patch."""
        timed, inference_s = self.infer(1, 0)
        # The least of single inferences: the first of a session finds its caches empty.
        self.inference_s = min(self.inference_s or inference_s, inference_s)
        return timed.scores

    def infer(self, inferences: int, warm_ups: int) -> tuple[TimedInferences, float]:
        """What the board gives, and the seconds of one inference on its clock.

        The latest window says how many inferences the next one has.
        """
        expected_s = self._expected_s(inferences + warm_ups)
        began_s = time.monotonic()
        timed = self._calls.ask(lambda: self._board.infer(inferences, warm_ups, expected_s))
        self.host_inference_s = (time.monotonic() - began_s) / (inferences + warm_ups)
        inference_s = max(timed.end_ns - timed.start_ns, 1) / inferences / 1e9
        if self.first_inference_s is None:
            self.first_inference_s = inference_s
        if inferences > 1:
            self.inference_s = inference_s
        return timed, inference_s

    def _expected_s(self, inferences: int) -> float:
        """On this machine's clock, bounded: a board whose laps are too short is asked for far too many."""
        known_s = self.host_inference_s
        if known_s is None:
            return self._first_expected_s()
        expected_s = min(known_s * inferences, Timeouts.from_environment().measure / 3)
        if self._calls.has_real_time and self.inference_s is not None:
            # A single answer's time has all that an answer takes beside its inferences.
            expected_s = min(expected_s, known_s + self.inference_s * inferences)
        return expected_s

    def _first_expected_s(self) -> float:
        """Of an inference of which nothing is known: emulators may take minutes."""
        limit_s = Timeouts.from_environment().golden / 3
        return min(limit_s, FIRST_INFERENCE_S) if self._calls.has_real_time else limit_s
