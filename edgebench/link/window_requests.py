"""Requests to a board of windows: which patch it holds, how long an inference takes, how its clock stands."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgebench.agent.frames import ProtocolError
from edgebench.errors import SessionError
from edgebench.link.clock_trips import ROUND_TRIPS, ClockTrips
from edgebench.link.timeouts import Timeouts
from edgebench.link.window_board import BoardFault, TimedInferences, WindowBoard
from edgebench.vocabulary.values import Scores

FIRST_INFERENCE_S = 20.0
"""What the first inference of a board of silicon is expected to take at most; the largest model takes 2 s."""


class WindowRequests:
    """BoardFault, from each of its methods, as the board has it; ImpossibleTimes where its clock is none.

    Args:
        board: that infers.
        has_real_time: whether its clock runs with time, and is held against the host's.

    Attributes:
        clock: the round trips so far.
        first_inference_s: what the first inference took; None before it.
        inference_s: what one takes on the board's clock; None before the first.
        host_inference_s: the same on the host's clock.
        is_amid_answer: whether an answer was begun and not ended, so that nobody may ask for more.
    """

    def __init__(self, board: WindowBoard, has_real_time: bool) -> None:
        self.clock = ClockTrips()
        self.first_inference_s: float | None = None
        self.inference_s: float | None = None
        self.host_inference_s: float | None = None
        self.is_amid_answer = False
        self._board = board
        self._has_real_time = has_real_time
        self._resident: NDArray[np.uint8] | None = None

    def resynchronise(self) -> None:
        """Before each phase."""
        self._ask(self._board.resynchronise)

    def load(self, patch: NDArray[np.uint8]) -> None:
        """Make a patch uint8 [height, width, 3] resident that is not."""
        if self._resident is not None and np.array_equal(self._resident, patch):
            return
        self._resident = None
        sent = np.ascontiguousarray(patch)
        self._ask(lambda: self._board.load(sent))
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
        timed = self._ask(lambda: self._board.infer(inferences, warm_ups, expected_s))
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
        if self._has_real_time and self.inference_s is not None:
            # A single answer's time has all that an answer takes beside its inferences.
            expected_s = min(expected_s, known_s + self.inference_s * inferences)
        return expected_s

    def _first_expected_s(self) -> float:
        """Of an inference of which nothing is known: emulators may take minutes."""
        limit_s = Timeouts.from_environment().golden / 3
        return min(limit_s, FIRST_INFERENCE_S) if self._has_real_time else limit_s

    def edge(self, name: str) -> None:
        """How the clocks stand at the `start` or `end` of the session."""
        self.trips(ROUND_TRIPS)
        if self._has_real_time:
            self.clock.note_edge(name, self.clock.trips[-ROUND_TRIPS:])

    def trips(self, count: int) -> int:
        """Round trips while the board does nothing else; what its clock said last, in ns."""
        device_ns = 0
        for _ in range(count):
            trip = self._ask(self._board.round_trip)
            device_ns = trip.device_ns
            if self._has_real_time:
                self.clock.add(trip)
        return device_ns

    def _ask(self, request: Callable[[], Any]) -> Any:
        self.is_amid_answer = True
        answer = request()
        self.is_amid_answer = False
        return answer


@contextmanager
def as_session_error(stage: str) -> Iterator[None]:
    """What the board did, or its clock, as what ends the session at this stage."""
    try:
        yield
    except BoardFault as fault:
        raise fault.as_session_error(stage) from fault
    except ProtocolError as error:
        raise SessionError(
            "the board's times cannot be right",
            status="protocol_error",
            stage=stage,
            why=str(error),
            fix=getattr(error, "fix", ""),
        ) from error
