"""The host's clock against the device's, from round trips at a session's edges and between its passes."""

from __future__ import annotations

import time
from dataclasses import asdict

from edgebench.contract import ClockMatch, Json
from edgebench.link.connection import Connection
from edgebench.link.replies import Clock, checked
from edgebench.stats.clock import RoundTrip, fit_clocks

ROUND_TRIPS = 8
"""At an edge."""

BETWEEN_TRIPS = 2
"""Between two passes: the first wakes the way there and back, the second is usually the quicker."""


class SessionClock:
    """All round trips of one session, and what they say of the device's clock."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._trips: list[RoundTrip] = []
        self._edges: dict[str, ClockMatch] = {}
        self._fitted: tuple[int, dict[str, int | float | None]] | None = None

    def edge(self, name: str, timeout_s: float) -> None:
        """Round trips at the `start` or `end` of the session."""
        self._edges[name] = match(self._ask(ROUND_TRIPS, timeout_s))

    def between(self, timeout_s: float) -> None:
        """Round trips while the device does nothing else; never during a pass."""
        self._ask(BETWEEN_TRIPS, timeout_s)

    def device_now_ns(self) -> int:
        """What the device's clock says now, as far as the latest round trip tells."""
        latest = self._trips[-1]
        middle = (latest.sent_ns + latest.received_ns) // 2
        return time.monotonic_ns() + latest.device_ns - middle

    def device_ns(self) -> int:
        """What the device's clock says now, by the round trips of the session's start."""
        return time.monotonic_ns() + self._edges["start"].offset_ns

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
        self._trips += made
        return made


def match(trips: list[RoundTrip]) -> ClockMatch:
    """Offset in ns from the quickest of one or more round trips; the bound is half its duration.

    The device read its clock somewhere between sending and receiving, so the offset against the middle
    is wrong by half the round trip at most.
    """
    best = min(trips, key=lambda trip: trip.received_ns - trip.sent_ns)
    middle = (best.sent_ns + best.received_ns) // 2
    return ClockMatch(best.device_ns - middle, (best.received_ns - best.sent_ns + 1) // 2)
