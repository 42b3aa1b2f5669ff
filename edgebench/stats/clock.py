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
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

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
    """The device's clock as a line over the host's, known to within `bound_ns` over the span of the trips.

    Attributes:
        reference_ns: host clock at which `offset_ns` holds: the middle of the span.
        offset_ns: device minus host at the reference.
        drift_ppm: how much faster the device's clock runs; None where the trips do not narrow it (a single
            trip, or all of them close together). The line is flat then, and the bound covers it.
        drift_bound_ppm: the true drift lies within that of `drift_ppm`.
        bound_ns: the true line lies within that everywhere from `from_ns` to `to_ns`.
        from_ns, to_ns: host clock at the first sending and the last receiving.
        misfit_ns: 0 where the device's clock can have run evenly; else how far the best line stays off the
            worst trip. The bound then holds at the moment of every trip, whatever the clock did.
        n: round trips.
    """

    reference_ns: int
    offset_ns: int
    drift_ppm: float | None
    drift_bound_ppm: float | None
    bound_ns: int
    from_ns: int
    to_ns: int
    misfit_ns: int
    n: int

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
    """The line in the middle of all that the trips allow; None without a trip.

    ValueError where a trip was received before it was sent.
    """
    if not trips:
        return None
    if any(trip.received_ns < trip.sent_ns for trip in trips):
        raise ValueError("a round trip ended before it began")
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
    (x0, y0), (x1, y1) = (_middle(trip) for trip in (early, late))
    slope = (y1 - y0) / (x1 - x0) if x1 != x0 else 0.0
    slope = min(MAX_DRIFT, max(-MAX_DRIFT, slope))
    return y0 + round(slope * (reference - x0)), slope


def _middle(trip: RoundTrip) -> tuple[int, int]:
    host = (trip.sent_ns + trip.received_ns) // 2
    return host, trip.device_ns - host


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
