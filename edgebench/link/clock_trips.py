"""The round trips of one session between the host's clock and a device's, and what follows from them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

from edgebench.link.stamp_checks import ImpossibleTimes
from edgebench.stats.clock import ClockFit, RoundTrip, fit_clocks
from edgebench.stats.clock_rate import MAX_SLEW, ClockRate, Disagreement, strayed
from edgebench.vocabulary.session_facts import ClockMatch
from edgebench.vocabulary.values import Json

ROUND_TRIPS = 8
"""At an edge of a session."""

BETWEEN_TRIPS = 2
"""Between two passes: the first wakes the way there and back, the second is usually the quicker."""


class ClockTrips:
    """Of a device with an agent or without one; each trip is held against all before it.

    Attributes:
        trips: all that were added, in order.
        latest_ns: what the device's clock said last.
    """

    def __init__(self) -> None:
        self.trips: list[RoundTrip] = []
        self.latest_ns = 0
        self._rate = ClockRate()
        self._disagreement: Disagreement | None = None
        self._edges: dict[str, ClockMatch] = {}
        self._fitted: tuple[int, ClockFit | None] | None = None

    def add(self, trip: RoundTrip) -> None:
        """One more; ImpossibleTimes where the two clocks cannot both be right."""
        self.judge(trip)
        self.trips.append(trip)

    def judge(self, trip: RoundTrip) -> None:
        """Hold a trip against those before it that the fit takes no notice of; ImpossibleTimes likewise."""
        if trip.device_ns < self.latest_ns:
            raise ImpossibleTimes(f"its clock fell from {self.latest_ns} to {trip.device_ns} ns")
        self.latest_ns = trip.device_ns
        self._disagreement = self._disagreement or self._rate.take_in(trip)
        self.require_agreement()

    def note_edge(self, name: str, trips: Sequence[RoundTrip]) -> None:
        """How the clocks stood at the `start` or `end` of the session, by trips that were added."""
        self._edges[name] = match(trips)

    def require_agreement(self) -> None:
        """ImpossibleTimes where the clocks have disagreed, if only after the last pass."""
        if self._disagreement is not None:
            raise ImpossibleTimes(str(self._disagreement))

    def warnings(self, step_ns: int = 0) -> list[str]:
        """That the device's clock is none to measure with; `step_ns` are its steps where they are coarse."""
        fit = self.fit()
        if fit is None or (share := strayed(fit, step_ns)) <= MAX_SLEW:
            return []
        return [
            f"the device's clock and this machine's differ by {share:.2%} of the time: one of the two is "
            "being set, and the times may be wrong by as much"
        ]

    def facts(self) -> dict[str, Json]:
        """`start` and `end` where they were reached, and `fit`, the line through all trips."""
        known: dict[str, Json] = {name: asdict(edge) for name, edge in self._edges.items()}
        if (fit := self.fit()) is not None:
            known["fit"] = asdict(fit)
        return known

    def fit(self) -> ClockFit | None:
        """The line through all trips; None without one."""
        if self._fitted is None or self._fitted[0] != len(self.trips):
            self._fitted = (len(self.trips), fit_clocks(self.trips))
        return self._fitted[1]


def match(trips: Sequence[RoundTrip]) -> ClockMatch:
    """Offset in ns from the quickest of one or more round trips; the bound is half its duration.

    The device read its clock somewhere between sending and receiving, so the offset against the middle
    is wrong by half the round trip at most.
    """
    best = quickest(trips)
    return ClockMatch(best.device_ns - middle_ns(best), bound_ns(best))


def quickest(trips: Sequence[RoundTrip]) -> RoundTrip:
    """The trip that says most."""
    return min(trips, key=lambda trip: trip.received_ns - trip.sent_ns)


def middle_ns(trip: RoundTrip) -> int:
    """Between sending and receiving, on the host's clock."""
    return (trip.sent_ns + trip.received_ns) // 2


def bound_ns(trip: RoundTrip) -> int:
    """Half of the trip, rounded up."""
    return (trip.received_ns - trip.sent_ns + 1) // 2
