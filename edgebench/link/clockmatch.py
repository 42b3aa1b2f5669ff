"""The host's clock against the device's, from round trips at a session's edges and between its passes."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict

from edgebench.agent.clock import ENVIRONMENT
from edgebench.link.connection import Connection
from edgebench.link.replies import ClockReading, InjectedClock, checked
from edgebench.link.stamp_checks import ImpossibleTimes, Span
from edgebench.stats.clock import MAX_DRIFT, ClockFit, RoundTrip, fit_clocks
from edgebench.stats.clock_rate import MAX_SLEW, ClockRate, Disagreement, strayed
from edgebench.vocabulary.session_facts import ClockMatch
from edgebench.vocabulary.values import Json

ROUND_TRIPS = 8
"""At an edge."""

BETWEEN_TRIPS = 2
"""Between two passes: the first wakes the way there and back, the second is usually the quicker."""

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
        self._rate = ClockRate()
        self._disagreement: Disagreement | None = None
        self._asked: dict[int, tuple[int, int]] = {}  # by worker: host and device
        self._spans: dict[int, Span] = {}
        self._latest_ns = 0
        self._connection = connection
        connection.forget_stalls()
        self._trips: list[RoundTrip] = []
        self._edges: dict[str, ClockMatch] = {}
        self._stall_ns = 0
        self._fitted: tuple[int, ClockFit | None] | None = None

    def edge(self, name: str, timeout_s: float) -> None:
        """Round trips at the `start` or `end` of the session."""
        self._edges[name] = match(self._ask(ROUND_TRIPS, timeout_s))

    def between(self, timeout_s: float) -> None:
        """Round trips while the device does nothing else; never during a pass."""
        self._ask(BETWEEN_TRIPS, timeout_s)

    def device_ns(self) -> int:
        """What the device's clock says now: by the latest round trips and the drift since the first."""
        return device_at(time.monotonic_ns(), self._trips[:ROUND_TRIPS], self._trips[-BETWEEN_TRIPS:])

    def asked(self, worker: int = 0) -> None:
        """A worker is about to be asked for something, which one `note_reply` or several answer."""
        self._asked[worker] = (time.monotonic_ns(), self._latest_ns)

    def span_of(self, worker: int = 0) -> Span:
        """The latest reading of the device's clock before a worker was asked, and that of its reply."""
        return self._spans.get(worker, Span(0))

    def note_reply(self, sent_ns: int, worker: int = 0) -> None:
        """What the device sent at `sent_ns` of its clock has just arrived."""
        self._stall_ns = max(self._stall_ns, self.device_ns() - sent_ns)
        asked_ns, before_ns = self._asked[worker]
        self._spans[worker] = Span(before_ns, sent_ns)
        # One of several replies may wait here while the clock is read: the later readings are judged.
        if not before_ns <= sent_ns < self._latest_ns:
            self._judge(RoundTrip(asked_ns, sent_ns, time.monotonic_ns()))

    def require_agreement(self) -> None:
        """ImpossibleTimes where the clocks have disagreed, if only after the last pass."""
        if self._disagreement is not None:
            raise ImpossibleTimes(str(self._disagreement))

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
        if timed and (fit := self._fit()) is not None and (share := strayed(fit, step_ns)) > MAX_SLEW:
            warnings.append(
                f"the device's clock and this machine's differ by {share:.2%} of the time: one of the two is "
                "being set, and the times may be wrong by as much"
            )
        return warnings

    def facts(self) -> dict[str, Json]:
        """`start` and `end` where they were reached, `fit`, the line through all trips, and `test_clock`."""
        known: dict[str, Json] = {name: asdict(edge) for name, edge in self._edges.items()}
        if self.injected is not None:
            known["test_clock"] = self.injected.model_dump()
        if (fit := self._fit()) is not None:
            known["fit"] = asdict(fit)
        return known

    def _fit(self) -> ClockFit | None:
        if self._fitted is None or self._fitted[0] != len(self._trips):
            self._fitted = (len(self._trips), fit_clocks(self._trips))
        return self._fitted[1]

    def _ask(self, round_trips: int, timeout_s: float) -> list[RoundTrip]:
        trips = []
        for _ in range(round_trips):
            sent = time.monotonic_ns()
            frame = self._connection.request({"op": "clock"}, timeout_s)
            received = time.monotonic_ns()
            trips.append(RoundTrip(sent, checked(ClockReading, frame.message).now_ns, received))
            self._stall_ns = max(self._stall_ns, received - sent)
            self._judge(trips[-1])
        self._trips += trips
        return trips

    def _judge(self, trip: RoundTrip) -> None:
        if trip.device_ns < self._latest_ns:
            raise ImpossibleTimes(f"its clock fell from {self._latest_ns} to {trip.device_ns} ns")
        self._latest_ns = trip.device_ns
        self._disagreement = self._disagreement or self._rate.take_in(trip)
        self.require_agreement()


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
