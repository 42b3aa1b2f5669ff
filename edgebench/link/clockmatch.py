"""The host's clock against the device's, from round trips at a session's edges and between its passes."""

from __future__ import annotations

import time
from collections.abc import Sequence

from edgebench.agent.clock import ENVIRONMENT
from edgebench.link.clock_trips import (
    BETWEEN_TRIPS,
    ROUND_TRIPS,
    ClockTrips,
    bound_ns,
    middle_ns,
    quickest,
)
from edgebench.link.connection import Connection
from edgebench.link.replies import ClockReading, InjectedClock, checked
from edgebench.link.stamp_checks import Span
from edgebench.stats.clock import MAX_DRIFT, RoundTrip
from edgebench.vocabulary.values import Json

LINK_CUT_S = 5.0
"""A round trip, the way of a reply, or a stall of what is sent that takes longer: a link that was cut."""


class SessionClock:
    """All round trips of one session, and what they say of the device's clock.

    A request to the worker and its reply are a round trip too, by what the agent's clock said when it passed
    the reply on; its work lies within. ImpossibleTimes, from whatever takes in a trip, where the two clocks
    cannot both be right (see edgebench.stats.clock_rate).

    Attributes:
        injected: by how much a test has the device's clock moved.
    """

    def __init__(self, connection: Connection) -> None:
        self.injected: InjectedClock | None = None
        self._clock = ClockTrips()
        self._asked: dict[int, tuple[int, int]] = {}  # by worker: host and device
        self._spans: dict[int, Span] = {}
        self._connection = connection
        connection.forget_stalls()
        self._stall_ns = 0

    def edge(self, name: str, timeout_s: float) -> None:
        """Round trips at the `start` or `end` of the session."""
        self._clock.note_edge(name, self._ask(ROUND_TRIPS, timeout_s))

    def between(self, timeout_s: float) -> None:
        """Round trips while the device does nothing else; never during a pass."""
        self._ask(BETWEEN_TRIPS, timeout_s)

    def device_ns(self) -> int:
        """What the device's clock says now: by the latest round trips and the drift since the first."""
        trips = self._clock.trips
        return device_at(time.monotonic_ns(), trips[:ROUND_TRIPS], trips[-BETWEEN_TRIPS:])

    @property
    def latest_ns(self) -> int:
        """What the device's clock said last."""
        return self._clock.latest_ns

    def asked(self, worker: int = 0) -> None:
        """A worker is about to be asked for something, which one `note_reply` or several answer."""
        self._asked[worker] = (time.monotonic_ns(), self._clock.latest_ns)

    def span_of(self, worker: int = 0) -> Span:
        """The latest reading of the device's clock before a worker was asked, and that of its reply."""
        return self._spans.get(worker, Span(0))

    def note_reply(self, sent_ns: int, worker: int = 0) -> None:
        """What the device sent at `sent_ns` of its clock has just arrived."""
        self._stall_ns = max(self._stall_ns, self.device_ns() - sent_ns)
        asked_ns, before_ns = self._asked[worker]
        self._spans[worker] = Span(before_ns, sent_ns)
        # One of several replies may wait here while the clock is read: the later readings are judged.
        if not before_ns <= sent_ns < self._clock.latest_ns:
            self._clock.judge(RoundTrip(asked_ns, sent_ns, time.monotonic_ns()))

    def require_agreement(self) -> None:
        """ImpossibleTimes where the clocks have disagreed, if only after the last pass."""
        self._clock.require_agreement()

    def warnings(self, timed: bool = True, step_ns: int = 0) -> list[str]:
        """That the session outlived a cut of its connection, and that its clock is none to measure with.

        `timed` is whether the stamps are of that clock, `step_ns` its steps where they are coarse.
        """
        warnings = []
        stall_s = max(self._stall_ns / 1e9, self._connection.longest_stall_s)
        if stall_s >= LINK_CUT_S:
            warnings.append(
                f"the connection to the device stood still for {stall_s:.0f} s and came back: "
                "the session went on, and its times, which are the device's, have nothing of it"
            )
        if self.injected is not None:
            warnings.append(
                f"the device's clock was moved for a test ({ENVIRONMENT}), by "
                f"{self.injected.offset_ns / 1e9:g} s and {self.injected.drift_ppm:g} ppm: "
                "no figure was measured here"
            )
        if timed:
            warnings += self._clock.warnings(step_ns)
        return warnings

    def facts(self) -> dict[str, Json]:
        """`start` and `end` where they were reached, `fit`, the line through all trips, and `test_clock`."""
        known = self._clock.facts()
        if self.injected is not None:
            known["test_clock"] = self.injected.model_dump()
        return known

    def _ask(self, round_trips: int, timeout_s: float) -> list[RoundTrip]:
        trips = []
        for _ in range(round_trips):
            sent = time.monotonic_ns()
            frame = self._connection.request({"op": "clock"}, timeout_s)
            received = time.monotonic_ns()
            trips.append(RoundTrip(sent, checked(ClockReading, frame.message).now_ns, received))
            self._stall_ns = max(self._stall_ns, received - sent)
            self._clock.add(trips[-1])
        return trips


def device_at(host_ns: int, first: Sequence[RoundTrip], latest: Sequence[RoundTrip]) -> int:
    """The device's clock at a moment of the host's, in ns, from a session's first and latest round trips.

    The drift between them is carried on beyond the latest, where it is more than the round trips' own
    uncertainty; a smaller one is taken as none, because noise over a short span would be carried on as well.
    """
    early, late = quickest(first), quickest(latest)
    span_ns = middle_ns(late) - middle_ns(early)
    offset_ns = late.device_ns - middle_ns(late)
    gained_ns = offset_ns - (early.device_ns - middle_ns(early))
    since_ns = host_ns - middle_ns(late)
    if span_ns > 0 and abs(gained_ns) > bound_ns(early) + bound_ns(late):
        offset_ns += round(min(MAX_DRIFT, max(-MAX_DRIFT, gained_ns / span_ns)) * since_ns)
    return host_ns + offset_ns
