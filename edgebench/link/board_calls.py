"""Questions to a board without an agent: whether it is amid an answer, and how its clock stands."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from edgebench.link.clock_trips import ROUND_TRIPS, ClockTrips
from edgebench.stats.clock import RoundTrip

Answer = TypeVar("Answer")


class BoardCalls:
    """BoardFault as the board has it, from each method; ImpossibleTimes where its clock is none.

    Args:
        round_trip: the host's clock around a reading of the board's.
        has_real_time: whether the board's clock runs with time, and is held against the host's.

    Attributes:
        clock: the round trips so far.
        has_real_time: as given.
        is_amid_answer: whether an answer was begun and not ended, so that nobody may ask for more.
    """

    def __init__(self, round_trip: Callable[[], RoundTrip], has_real_time: bool = True) -> None:
        self.clock = ClockTrips()
        self.has_real_time = has_real_time
        self.is_amid_answer = False
        self._round_trip = round_trip

    def ask(self, request: Callable[[], Answer]) -> Answer:
        """What the request gives; one that fails leaves the board amid its answer."""
        self.is_amid_answer = True
        answer = request()
        self.is_amid_answer = False
        return answer

    def trips(self, count: int) -> int:
        """Round trips while the board does nothing else; what its clock said last, in ns."""
        device_ns = 0
        for _ in range(count):
            trip = self.ask(self._round_trip)
            device_ns = trip.device_ns
            if self.has_real_time:
                self.clock.add(trip)
        return device_ns

    def edge(self, name: str) -> None:
        """How the clocks stand at the `start` or `end` of the session."""
        self.trips(ROUND_TRIPS)
        if self.has_real_time:
            self.clock.note_edge(name, self.clock.trips[-ROUND_TRIPS:])
