"""Offset and drift between two clocks from round trips, with a bound that holds for any split of the delays.

A round trip says that the device read its clock somewhere between sending and receiving, and no more. For
a device clock that runs evenly, device = host + offset + drift * (host - reference), that is two linear
inequalities: the line lies at or below (sent, device - sent) and at or above (received, device - received).
All lines that satisfy every trip form a convex polygon; its extent, found by linear programs, is the bound.
Source: Moon, Skelly, Towsley, "Estimation and removal of clock skew from network delay measurements" (1999),
with both directions as constraints.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

import numpy as np
from annotated_types import Ge
from numpy.typing import NDArray

from edgebench.stats.interval import Count, Positive

MAX_DRIFT = 0.01
"""No clock is assumed to drift by more, as a share; crystals stay below 1e-4, a slewed clock at 5e-4."""

STEP_NS = 2
"""What reading a clock in whole nanoseconds can shift a trip's ends."""


class RoundTrip(NamedTuple):
    """Host clock before and after, and what the device's clock said in between, in ns."""

    sent_ns: int
    device_ns: int
    received_ns: int


@dataclass(frozen=True)
class ClockFit:
    """The device's clock as a line over the host's, known to within `bound_ns` over the span of the trips."""

    reference_ns: int
    """Host clock at which offset_ns holds. Unit: ns. Source: host's monotonic clock."""
    offset_ns: int
    """Device clock minus host clock at reference_ns. Unit: ns. Source: round trips."""
    drift_ppm: float | None
    """By how much the device clock runs faster than the host's; null where the round trips do not show it.
    Unit: ppm. Source: round trips."""
    drift_bound_ppm: Annotated[float, Ge(0)] | None
    """By how much the drift is known. Unit: ppm. Source: round trips."""
    bound_ns: Count
    """By how much the line is known anywhere between from_ns and to_ns, however the delays were split between
    the two ways. Unit: ns. Source: round trips."""
    from_ns: int
    """Host clock at the first round trip. Unit: ns. Source: host's monotonic clock."""
    to_ns: int
    """Host clock at the end of the last round trip. Unit: ns. Source: host's monotonic clock."""
    misfit_ns: Count
    """By how much no straight line reaches the round trip that is farthest off; 0 where the clock ran evenly.
    It is within bound_ns. Unit: ns. Source: round trips."""
    n: Positive
    """Round trips. Source: round trips."""

    def stamps_to_device(self, host_ns: NDArray[np.int64]) -> NDArray[np.int64]:
        """Stamps int64 [n] of the host's clock on the device's."""
        drift = (self.drift_ppm or 0.0) * 1e-6
        gained_ns = np.rint(drift * (host_ns - self.reference_ns)).astype(np.int64)
        stamps: NDArray[np.int64] = host_ns + self.offset_ns + gained_ns
        return stamps

    def to_host(self, device_ns: int) -> int:
        """A moment of the device's clock on the host's, in ns."""
        drift = (self.drift_ppm or 0.0) * 1e-6
        since_ns = device_ns - self.offset_ns - self.reference_ns
        return self.reference_ns + round(since_ns / (1 + drift))


def fit_clocks(trips: Sequence[RoundTrip]) -> ClockFit | None:
    """The line in the middle of all that the trips allow; None without a trip."""
    if not trips:
        return None
    start = min(trip.sent_ns for trip in trips)
    end = max(max(trip.received_ns for trip in trips), start + 2)
    reference = (start + end) // 2
    half_ns = max(end - reference, reference - start)
    base, slope = _rough(trips, reference)

    # Python's integers take the large part away exactly; what remains is as small as the delays.
    def residual_ns(host_ns: int, device_ns: int) -> float:
        return float(device_ns - host_ns - base) - slope * (host_ns - reference)

    polygon = _Polygon(
        np.array([(trip.sent_ns - reference) / half_ns for trip in trips]),
        np.array([residual_ns(trip.sent_ns, trip.device_ns) + STEP_NS for trip in trips]),
        np.array([(trip.received_ns - reference) / half_ns for trip in trips]),
        np.array([residual_ns(trip.received_ns, trip.device_ns) - STEP_NS for trip in trips]),
        ((-MAX_DRIFT - slope) * half_ns, (MAX_DRIFT - slope) * half_ns),
    )
    at_start, at_end = ((host_ns - reference) / half_ns for host_ns in (start, end))
    first, last = polygon.extent(1.0, at_start), polygon.extent(1.0, at_end)
    slowest, fastest = (slope + rise / half_ns for rise in polygon.extent(0.0, 1.0))
    is_drift_known = slowest > -MAX_DRIFT * 0.999 and fastest < MAX_DRIFT * 0.999
    middle_first, middle_last = sum(first) / 2, sum(last) / 2
    drift = slope + (middle_last - middle_first) / (at_end - at_start) / half_ns if is_drift_known else 0.0
    middle = round(middle_first + (middle_last - middle_first) * -at_start / (at_end - at_start))
    # The line that is given, rounding and all, against the extremes: between the ends it is no farther off.
    bound = max(
        abs(side - (middle + (drift - slope) * half_ns * at))
        for at, sides in ((at_start, first), (at_end, last))
        for side in sides
    )
    if polygon.misfit > 0.5:
        bound = max(bound, polygon.farthest(float(middle), (drift - slope) * half_ns))
    return ClockFit(
        reference_ns=reference,
        offset_ns=base + middle,
        drift_ppm=drift * 1e6 if is_drift_known else None,
        drift_bound_ppm=max(fastest - drift, drift - slowest) * 1e6 if is_drift_known else None,
        bound_ns=math.ceil(bound) + 1,
        from_ns=start,
        to_ns=end,
        misfit_ns=math.ceil(polygon.misfit) if polygon.misfit > 0.5 else 0,
        n=len(trips),
    )


def _rough(trips: Sequence[RoundTrip], reference: int) -> tuple[int, float]:
    """A line near the true one: through the quickest trips of the first and of the last third."""
    ordered = sorted(trips)
    third = max(1, len(ordered) // 3)
    early, late = (
        min(part, key=lambda trip: trip.received_ns - trip.sent_ns)
        for part in (ordered[:third], ordered[-third:])
    )
    x0, x1 = ((trip.sent_ns + trip.received_ns) // 2 for trip in (early, late))
    y0, y1 = early.device_ns - x0, late.device_ns - x1
    slope = (y1 - y0) / (x1 - x0) if x1 != x0 else 0.0
    slope = min(MAX_DRIFT, max(-MAX_DRIFT, slope))
    return y0 + round(slope * (reference - x0)), slope


class _Polygon:
    """Lines a + b x, with x from -1 to 1 over the span, at or below one set of points and above another."""

    def __init__(
        self,
        x_above: NDArray[np.float64],
        above: NDArray[np.float64],
        x_below: NDArray[np.float64],
        below: NDArray[np.float64],
        rise: tuple[float, float],
    ) -> None:
        self._rise = rise
        self._sides = np.concatenate(
            [
                np.stack([np.ones_like(x_above), x_above], axis=1),
                -np.stack([np.ones_like(x_below), x_below], 1),
            ]
        )
        self._limits = self._strict_limits = np.concatenate([above, -below])
        relaxed = np.concatenate([self._sides, -np.ones((len(self._sides), 1))], axis=1)
        best = _linear_program(
            [0, 0, 1], A_ub=relaxed, b_ub=self._limits, bounds=[(None, None), rise, (0, None)]
        )
        self.misfit = float(best.fun)
        self._limits = self._limits + (self.misfit + 0.1 if self.misfit > 0 else 0.0)

    def farthest(self, a: float, b: float) -> float:
        """The largest distance of one line from either end of any trip's interval."""
        return float(np.abs(self._sides @ np.array([a, b]) - self._strict_limits).max())

    def extent(self, a: float, b: float) -> tuple[float, float]:
        """The least and the largest a * intercept + b * rise over all lines."""
        extremes = [
            _linear_program(
                [sign * a, sign * b], self._sides, self._limits, bounds=[(None, None), self._rise]
            )
            for sign in (1, -1)
        ]
        return float(extremes[0].fun), -float(extremes[1].fun)


def _linear_program(*arguments: Any, **settings: Any) -> Any:
    # Imported when a session ends: it takes as long as everything else that finding an artifact imports.
    from scipy.optimize import linprog

    return linprog(*arguments, **settings)


# Whether two clocks can both be right about the time between their round trips.
#
# The device read its clock somewhere between a trip's sending and receiving, so between two trips the
# host's
# clock went at least from the first's receiving to the second's sending, and at most from the first's
# sending
# to the second's receiving, whatever the delays were. A device whose clock went more or less than that, by
# more
# than MAX_DRIFT of it, has another second than the host.
#
# That share is generous on purpose: crystals stay below 100 ppm, NTP slews a clock by 500 ppm (adjtime adds
# as
# much again), so that no clock that is only being corrected comes near it. chrony may slew a clock that was
# set
# wrong at its start by 8 %; durations are then wrong by as much. Above MAX_DRIFT (1 %) the session fails;
# between MAX_SLEW (0.1 %) and MAX_DRIFT it has a warning.
#
# Neither monotonic clock counts the time in which its machine was suspended: where one of the two was, they
# disagree by that time.


TICK_NS = 20_000_000
"""How far a reading may lag behind: a clock that counts a kernel's ticks moves 50 times a second at least."""

MAX_SLEW = 1e-3
"""What NTP does to a clock, as a share: 500 ppm and adjtime's 500. Beyond it figures come with a warning."""


LEAST_ACCOUNTED = 0.75
"""The share of a pass's wait that its stamps account for at least. An honest device spends its time within
its stamps, however long the work is; where they say half of the time, half of the wait is missing."""

REQUEST_NS = 250_000_000
"""What a request takes besides its work at most: the worker collects garbage, an answer comes at 9600 baud.
It does not grow with the work: only what is missing beyond it counts."""


def falls_short(stamped_ns: float, waited_ns: float) -> bool:
    """Return True if a pass's stamps account for much less time than the device alone had it in hand."""
    return 0 <= stamped_ns < LEAST_ACCOUNTED * waited_ns and waited_ns - stamped_ns > REQUEST_NS


@dataclass(frozen=True)
class Disagreement:
    """Between two readings, in ns: what went by on the device's clock, and what on the host's."""

    device_ns: int
    host_least_ns: int
    host_most_ns: int

    def __str__(self) -> str:
        least, most = (f"{host_ns / 1e9:.4g}" for host_ns in (self.host_least_ns, self.host_most_ns))
        host = least if least == most else f"{least} to {most}"
        return (
            f"its clock went {self.device_ns / 1e9:.4g} s while this machine's went {host} s: one of the two "
            "runs wrong, is being set, or its machine was suspended"
        )


class ClockRate:
    """Takes in the round trips of one session in order; each is compared with all before it."""

    def __init__(self) -> None:
        self._first: RoundTrip | None = None
        # A later reading may not lie above the line of the fastest clock, nor below that of the slowest: each
        # by its device time, in ns, when the first trip was sent, and the trip that it goes through.
        self._upper_bound: tuple[float, RoundTrip] = (float("inf"), RoundTrip(0, 0, 0))
        self._lower_bound: tuple[float, RoundTrip] = (float("-inf"), RoundTrip(0, 0, 0))

    def take_in(self, trip: RoundTrip) -> Disagreement | None:
        """Take a trip; return its disagreement with an earlier one, None where both clocks can be right."""
        first = self._first = self._first or trip
        # Counted from the first, so that floats keep every nanosecond.
        device = trip.device_ns - first.device_ns
        sent, received = trip.sent_ns - first.sent_ns, trip.received_ns - first.sent_ns
        fast, slow = 1 + MAX_DRIFT, 1 - MAX_DRIFT
        earlier = None
        if device - fast * received > self._upper_bound[0] + TICK_NS:
            earlier = self._upper_bound[1]
        elif device - slow * sent < self._lower_bound[0] - TICK_NS:
            earlier = self._lower_bound[1]
        self._upper_bound = min(self._upper_bound, (device - fast * sent, trip))
        self._lower_bound = max(self._lower_bound, (device - slow * received, trip))
        if earlier is None:
            return None
        return Disagreement(
            trip.device_ns - earlier.device_ns,
            max(0, trip.sent_ns - earlier.received_ns),
            trip.received_ns - earlier.sent_ns,
        )


def strayed(fit: ClockFit, step_ns: int = 0) -> float:
    """Share of the time by which the device's clock certainly differed from the host's.

    By its drift, less what the round trips leave open of it, or by what no even clock can have done. A clock
    that moves in steps of `step_ns` lags by up to one at each reading: a line through them is off by 1.5
    steps over their span at most.
    """
    span_ns = fit.to_ns - fit.from_ns
    open_share = (fit.drift_bound_ppm or 0.0) * 1e-6 + 1.5 * step_ns / span_ns
    drift = max(0.0, abs(fit.drift_ppm or 0.0) * 1e-6 - open_share)
    return max(drift, (fit.misfit_ns - TICK_NS) / span_ns)
