"""The host's clock against the device's, from round trips at a session's edges."""

from __future__ import annotations

import time

from edgebench.contract import ClockMatch
from edgebench.link.connection import Connection
from edgebench.link.replies import Clock, checked

ROUND_TRIPS = 8


def match_clocks(connection: Connection, timeout_s: float, round_trips: int = ROUND_TRIPS) -> ClockMatch:
    """Offset in ns from the quickest of several round trips; the bound is half its duration.

    The device read its clock somewhere between sending and receiving, so the offset against the middle
    is wrong by half the round trip at most.
    """
    best: ClockMatch | None = None
    for _ in range(round_trips):
        sent = time.monotonic_ns()
        frame = connection.request({"op": "clock"}, timeout_s)
        received = time.monotonic_ns()
        device = checked(Clock, frame.message).now_ns
        bound = (received - sent + 1) // 2
        if best is None or bound < best.bound_ns:
            best = ClockMatch(device - (sent + received) // 2, bound)
    assert best is not None
    return best
