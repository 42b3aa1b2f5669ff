"""Whether two clocks can both be right about the time between their round trips.

The device read its clock somewhere between a trip's sending and receiving, so between two trips the host's
clock went at least from the first's receiving to the second's sending, and at most from the first's sending
to the second's receiving, whatever the delays were. A device whose clock went more or less than that, by more
than MAX_DRIFT of it, has another second than the host.

That share is generous on purpose: crystals stay below 100 ppm, NTP slews a clock by 500 ppm (adjtime adds as
much again), so that no clock that is only being corrected comes near it. chrony may slew a clock that was set
wrong at its start by 8 %; durations are then wrong by as much. Above MAX_DRIFT (1 %) the session fails;
between MAX_SLEW (0.1 %) and MAX_DRIFT it has a warning.

Neither monotonic clock counts the time in which its machine was suspended: where one of the two was, they
disagree by that time.
"""

from __future__ import annotations

from dataclasses import dataclass

from edgebench.stats.clock import MAX_DRIFT, ClockFit, RoundTrip

TICK_NS = 20_000_000
"""How far a reading may lag behind: a clock that counts a kernel's ticks moves 50 times a second at least."""

MAX_SLEW = 1e-3
"""What NTP does to a clock, as a share: 500 ppm and adjtime's 500. Beyond it figures come with a warning."""


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
    """Takes in the round trips of one session in order; each is held against all before it."""

    def __init__(self) -> None:
        self._first: RoundTrip | None = None
        # A later reading may not lie above the line of the fastest clock, nor below that of the slowest: each
        # by its device time, in ns, when the first trip was sent, and the trip that it goes through.
        self._upper_bound: tuple[float, RoundTrip] = (float("inf"), RoundTrip(0, 0, 0))
        self._lower_bound: tuple[float, RoundTrip] = (float("-inf"), RoundTrip(0, 0, 0))

    def take_in(self, trip: RoundTrip) -> Disagreement | None:
        """What this trip disagrees about with an earlier one; None where both clocks can be right."""
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
    """By which share of the time the device's clock differed from the host's for certain.

    By its drift, less what the round trips leave open of it, or by what no even clock can have done. A clock
    that moves in steps of `step_ns` lags by up to one at each reading: a line through them is off by 1.5
    steps over their span at most.
    """
    span_ns = fit.to_ns - fit.from_ns
    open_share = (fit.drift_bound_ppm or 0.0) * 1e-6 + 1.5 * step_ns / span_ns
    drift = max(0.0, abs(fit.drift_ppm or 0.0) * 1e-6 - open_share)
    return max(drift, (fit.misfit_ns - TICK_NS) / span_ns)
