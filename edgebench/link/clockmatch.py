"""The host's clock against the device's, from round trips at a session's edges and between its passes."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict

from edgebench.contract import ClockMatch, Json
from edgebench.link.connection import Connection
from edgebench.link.replies import Clock, checked
from edgebench.stats.clock import MAX_DRIFT, RoundTrip, fit_clocks

ROUND_TRIPS = 8
"""At an edge."""

BETWEEN_TRIPS = 2
"""Between two passes: the first wakes the way there and back, the second is usually the quicker."""

STALL_S = 5.0
"""A round trip, the way of a reply, or a stall of what is sent that takes longer: a link that was cut."""


class SessionClock:
    """All round trips of one session, and what they say of the device's clock."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        connection.forget_stalls()
        self._trips: list[RoundTrip] = []
        self._edges: dict[str, ClockMatch] = {}
        self._stall_ns = 0
        self._fitted: tuple[int, dict[str, int | float | None]] | None = None

    def edge(self, name: str, timeout_s: float) -> None:
        """Round trips at the `start` or `end` of the session."""
        self._edges[name] = match(self._ask(ROUND_TRIPS, timeout_s))

    def between(self, timeout_s: float) -> None:
        """Round trips while the device does nothing else; never during a pass."""
        self._ask(BETWEEN_TRIPS, timeout_s)

    def device_ns(self) -> int:
        """What the device's clock says now: by the latest round trips and the drift since the first."""
        return device_at(time.monotonic_ns(), self._trips[:ROUND_TRIPS], self._trips[-BETWEEN_TRIPS:])

    def note_reply(self, sent_ns: int) -> None:
        """What the device sent at `sent_ns` of its clock has just arrived."""
        self._stall_ns = max(self._stall_ns, self.device_ns() - sent_ns)

    def warnings(self) -> list[str]:
        """That the session outlived a cut of its connection, where it did."""
        stall_s = max(self._stall_ns / 1e9, self._connection.longest_stall_s)
        if stall_s < STALL_S:
            return []
        return [
            f"the connection to the device stood still for {stall_s:.0f} s and came back: the "
            "session went on, and its times, which are the device's, have nothing of it"
        ]

    def facts(self) -> dict[str, Json]:
        """`start` and `end` where they were reached, and `fit`, the line through all trips."""
        if self._fitted is None or self._fitted[0] != len(self._trips):
            fit = fit_clocks(self._trips)
            self._fitted = (len(self._trips), {} if fit is None else asdict(fit))
        edges = {name: asdict(edge) for name, edge in self._edges.items()}
        return {**edges, "fit": dict(self._fitted[1])} if self._fitted[1] else edges

    def _ask(self, round_trips: int, timeout_s: float) -> list[RoundTrip]:
        made = []
        for _ in range(round_trips):
            sent = time.monotonic_ns()
            frame = self._connection.request({"op": "clock"}, timeout_s)
            received = time.monotonic_ns()
            made.append(RoundTrip(sent, checked(Clock, frame.message).now_ns, received))
            self._stall_ns = max(self._stall_ns, received - sent)
        self._trips += made
        return made


def match(trips: Sequence[RoundTrip]) -> ClockMatch:
    """Offset in ns from the quickest of one or more round trips; the bound is half its duration.

    The device read its clock somewhere between sending and receiving, so the offset against the middle
    is wrong by half the round trip at most.
    """
    best = _quickest(trips)
    return ClockMatch(best.device_ns - _middle_ns(best), _bound_ns(best))


def device_at(host_ns: int, first: Sequence[RoundTrip], latest: Sequence[RoundTrip]) -> int:
    """The device's clock at a moment of the host's, in ns, from a session's first and latest round trips.

    The drift between them is carried on beyond the latest, where it is more than the round trips' own
    uncertainty; a smaller one is taken as none, because noise over a short span would be carried on as well.
    """
    early, late = _quickest(first), _quickest(latest)
    span_ns = _middle_ns(late) - _middle_ns(early)
    offset_ns = late.device_ns - _middle_ns(late)
    gained_ns = offset_ns - (early.device_ns - _middle_ns(early))
    since_ns = host_ns - _middle_ns(late)
    if span_ns > 0 and abs(gained_ns) > _bound_ns(early) + _bound_ns(late):
        offset_ns += round(min(MAX_DRIFT, max(-MAX_DRIFT, gained_ns / span_ns)) * since_ns)
    return host_ns + offset_ns


def _quickest(trips: Sequence[RoundTrip]) -> RoundTrip:
    return min(trips, key=lambda trip: trip.received_ns - trip.sent_ns)


def _middle_ns(trip: RoundTrip) -> int:
    return (trip.sent_ns + trip.received_ns) // 2


def _bound_ns(trip: RoundTrip) -> int:
    return (trip.received_ns - trip.sent_ns + 1) // 2
