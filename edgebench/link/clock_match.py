"""The host's clock against the device's, from round trips at a session's edges and between its passes."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from itertools import pairwise
from typing import ClassVar

from edgebench.agent.clock import ENVIRONMENT
from edgebench.agent.frames import ProtocolError
from edgebench.errors import EdgeBenchError, SessionError
from edgebench.link.connection import Connection
from edgebench.link.failures import session_error
from edgebench.link.replies import ClockReading, ImpossibleTimes, InjectedClock, Span, checked
from edgebench.records.session import ClockMatch
from edgebench.records.values import Json
from edgebench.stats.clock import (
    MAX_DRIFT,
    MAX_SLEW,
    ClockFit,
    ClockRate,
    Disagreement,
    RoundTrip,
    fit_clocks,
    strayed,
)

# The round trips of one session between the host's clock and a device's, and what follows from them.


ROUND_TRIPS = 8
"""At an edge of a session."""

BETWEEN_TRIPS = 2
"""Between two passes: the first wakes the way there and back, the second is usually the quicker."""


class ClockTrips:
    """The round trips to a device; each trip is compared with all before it.

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

    @property
    def tick_ns(self) -> int | None:
        """The largest step that all readings of the device's clock are whole multiples of apart, in ns.

        None below two different readings. It is the clock's tick where that is a whole number of ns.
        """
        readings_ns = [trip.device_ns for trip in self.trips]
        return math.gcd(*(reading_ns - readings_ns[0] for reading_ns in readings_ns)) or None

    def note_edge(self, name: str, trips: Sequence[RoundTrip]) -> None:
        """How the clocks stood at the `start` or `end` of the session, by trips that were added."""
        self._edges[name] = match(trips)

    def require_agreement(self) -> None:
        """ImpossibleTimes where the clocks have disagreed, if only after the last pass."""
        if self._disagreement is not None:
            raise ImpossibleTimes(str(self._disagreement))

    def warnings(self, step_ns: int = 0) -> list[str]:
        """That the device's clock cannot be measured with; `step_ns` are its steps where they are coarse."""
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


LINK_CUT_S = 5.0
"""A round trip, the way of a reply, or a stall of what is sent that takes longer: a link that was cut."""


class SessionClock(ClockTrips):
    """All round trips of one session, and what they say of the device's clock.

    A request to the worker and its reply are a round trip too, by what the agent's clock said when it passed
    the reply on; its work is within. ImpossibleTimes, from whatever takes in a trip, where the two clocks
    cannot both be right (see edgebench.stats.clock).

    Attributes:
        injected: by how much a test has the device's clock moved.
    """

    def __init__(self, connection: Connection) -> None:
        super().__init__()
        self.injected: InjectedClock | None = None
        self._asked: dict[int, tuple[int, int]] = {}  # by worker: host and device
        self._spans: dict[int, Span] = {}
        self._connection = connection
        connection.pipes.longest_stall_s = 0.0
        self._stall_ns = 0

    def edge(self, name: str, timeout_s: float) -> None:
        """Round trips at the `start` or `end` of the session."""
        self.note_edge(name, self._ask(ROUND_TRIPS, timeout_s))

    def between(self, timeout_s: float) -> None:
        """Round trips while the device does nothing else; never during a pass."""
        self._ask(BETWEEN_TRIPS, timeout_s)

    def device_ns(self) -> int:
        """What the device's clock says now: by the latest round trips and the drift since the first."""
        trips = self.trips
        return device_at(time.monotonic_ns(), trips[:ROUND_TRIPS], trips[-BETWEEN_TRIPS:])

    @property
    def latest_trip_s(self) -> float:
        """How long the latest round trips to the agent took, the longest of them."""
        return max(trip.received_ns - trip.sent_ns for trip in self.trips[-BETWEEN_TRIPS:]) / 1e9

    def asked(self, worker: int = 0) -> None:
        """A worker is about to be asked for something, which one `note_reply` or several answer."""
        self._asked[worker] = (time.monotonic_ns(), self.latest_ns)

    def span_of(self, worker: int = 0) -> Span:
        """The latest reading of the device's clock before a worker was asked, and that of its reply."""
        return self._spans.get(worker, Span(0))

    def note_reply(self, sent_ns: int, worker: int = 0) -> None:
        """What the device sent at `sent_ns` of its clock has just arrived."""
        self._stall_ns = max(self._stall_ns, self.device_ns() - sent_ns)
        asked_ns, before_ns = self._asked[worker]
        self._spans[worker] = Span(before_ns, sent_ns)
        # One of several replies may wait here while the clock is read: the later readings are judged.
        if not before_ns <= sent_ns < self.latest_ns:
            self.judge(RoundTrip(asked_ns, sent_ns, time.monotonic_ns()))

    def warnings(self, step_ns: int = 0, timed: bool = True) -> list[str]:
        """That the session outlived a cut of its connection, and that its clock cannot be measured with.

        `timed` is whether the stamps are of that clock, `step_ns` its steps where they are coarse.
        """
        warnings = []
        stall_s = max(self._stall_ns / 1e9, self._connection.pipes.longest_stall_s)
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
            warnings += super().warnings(step_ns)
        return warnings

    def facts(self) -> dict[str, Json]:
        """`start` and `end` where they were reached, `fit`, the line through all trips, and `test_clock`."""
        known = super().facts()
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
            self.add(trips[-1])
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


# What a board without an agent did instead of what it was asked for, and how that ends a session.


class BoardFault(EdgeBenchError):
    """What a board did instead of what it was asked for; a device's kinds of it derive from this.

    Attributes:
        status: of the SessionError that ends a session by it.
    """

    status: ClassVar[str] = "protocol_error"

    def as_session_error(self, stage: str) -> SessionError:
        """What ends a session that was at this stage."""
        return session_error(self, stage)


@contextmanager
def as_session_error(stage: str) -> Iterator[None]:
    """What the board did, or its clock, as what ends the session at this stage."""
    try:
        yield
    except (BoardFault, ProtocolError) as error:
        raise session_error(error, stage) from error


# A board's clock, of which 32 bits of microseconds come over the line: they wrap every 71.6 minutes.
#
# Between two answers that are further apart than that, the host's clock decides how often it wrapped; it
# can,
# while the two clocks differ by less than half of a turn.


TURN_US = 2**32
"""Microseconds after which the clock starts again from 0."""

MOST_DRIFT = 0.02
"""No board's clock is assumed to run faster by more, as a share: an RC oscillator is within 1 %."""
_SLACK_US = 1000


class WrappingClock:
    """Unwraps stamps, in the order in which they came.

    Args:
        follows_host: False of an emulated board, whose clock counts instructions: it only goes on, and a
            stamp is the next one with its 32 bits.
    """

    def __init__(self, follows_host: bool = True) -> None:
        self._follows_host = follows_host
        self._last_us: int | None = None
        self._last_host_ns = 0

    def unwrap(self, stamp_us: int, host_ns: int) -> int:
        """The board's clock in us since the turn in which its first stamp fell.

        Args:
            stamp_us: modulo 2^32.
            host_ns: the host's clock at about the same time, within half an hour.
        """
        if self._last_us is None:
            unwrapped_us = stamp_us % TURN_US
        else:
            unwrapped_us = self._last_us + (stamp_us - self._last_us) % TURN_US
            if self._follows_host:
                elapsed_us = (host_ns - self._last_host_ns) // 1000
                behind_us = self._last_us + elapsed_us - unwrapped_us
                unwrapped_us += round(behind_us / TURN_US) * TURN_US
        self._last_us, self._last_host_ns = unwrapped_us, host_ns
        return unwrapped_us

    def round_trip(self, sent_ns: int, stamp_us: int, received_ns: int) -> RoundTrip:
        """A stamp (modulo 2^32) as a round trip for stats.clock.fit_clocks, its board's clock unwrapped."""
        unwrapped_us = self.unwrap(stamp_us, (sent_ns + received_ns) // 2)
        return RoundTrip(sent_ns, unwrapped_us * 1000, received_ns)

    def stamps_us(self, sent_ns: int, stamps_us: Sequence[int], received_ns: int) -> list[int]:
        """All stamps of one answer, unwrapped.

        BoardFault where they are further apart than the answer took on the host's clock, which no clock that
        runs evenly can show; so are stamps that fall, because they seem a turn apart.

        Args:
            sent_ns: the host's clock before the answer was asked for.
            stamps_us: one or more, modulo 2^32, in the order in which they were taken.
            received_ns: the host's clock when the answer was there.
        """
        steps_us = [(after - before) % TURN_US for before, after in pairwise(stamps_us)]
        host_us = (received_ns - sent_ns) // 1000
        if self._follows_host and sum(steps_us) > host_us * (1 + MOST_DRIFT) + _SLACK_US:
            raise BoardFault(
                "the board's stamps are further apart than its answer took",
                why=f"at most {host_us} us are between the first and the last; came: "
                f"{stamps_us[0] % TURN_US} to {stamps_us[-1] % TURN_US} us, {sum(steps_us)} us in all",
                fix="see that the firmware's clock counts microseconds",
            )
        unwrapped_us = [self.unwrap(stamps_us[0], (sent_ns + received_ns) // 2)]
        for step_us in steps_us:
            unwrapped_us.append(unwrapped_us[-1] + step_us)
        self._last_us, self._last_host_ns = unwrapped_us[-1], received_ns
        return unwrapped_us
