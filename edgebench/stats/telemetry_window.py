"""What telemetry says of one window of a session: throttled, slowed down, or interrupted by others."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

CLOCK_DROP_LIMIT = 0.05
"""A clock that is lower by more than this share at the window's end than at its start has dropped."""

INVOLUNTARY_LIMIT_PER_S = 50.0
"""Of involuntary context switches: a lone worker has a few; one that shares its core, one a time slice."""

WAITING_LIMIT = 0.05
"""Share of its time that a worker waits for a core; where it is known, switches alone are no interference."""

STEAL_LIMIT = 0.05
"""Share of the time in which the worker's cores had work that a hypervisor gave to others."""

OTHERS_LIMIT = 0.5
"""Cores that other processes kept busy: at half of one, somebody else is at work."""

MIN_VALUES = 8
MIN_RATE_S = 1.0

FIRMWARE_BITS = {0: "under-voltage", 1: "clock capped", 2: "throttled", 3: "soft temperature limit"}
"""`get_throttled` of the Raspberry Pi's firmware: now; 16 bits higher: at some time since it started."""

Stamps = NDArray[np.int64]
Values = NDArray[np.float64]


def within(t_ns: Stamps, values: Values, start_ns: int, end_ns: int) -> tuple[Stamps, Values]:
    """The finite samples in [start_ns, end_ns], in the order of time."""
    inside = (t_ns >= start_ns) & (t_ns <= end_ns) & np.isfinite(values)
    order = np.argsort(t_ns[inside], kind="stable")
    return t_ns[inside][order], values[inside][order]


def around(t_ns: Stamps, counts: Values, start_ns: int, end_ns: int) -> tuple[Stamps, Values]:
    """A counter's finite samples over [start_ns, end_ns] and the nearest one on either side of it.

    A window shorter than a few sample periods has hardly a sample inside; a counter covers it from outside.
    """
    finite = np.isfinite(counts)
    order = np.argsort(t_ns[finite], kind="stable")
    stamps, values = t_ns[finite][order], counts[finite][order]
    first = max(0, int(np.searchsorted(stamps, start_ns, "right")) - 1)
    last = int(np.searchsorted(stamps, end_ns, "left")) + 1
    return stamps[first:last], values[first:last]


def clock_drop(mhz: Values) -> float | None:
    """By which share the median clock of the last quarter is below that of the first; None below 8 samples.

    Args:
        mhz: samples in the order of time, any unit; negative results are clocks that rose.
    """
    if mhz.size < MIN_VALUES:
        return None
    quarter = mhz.size // 4
    first, last = float(np.median(mhz[:quarter])), float(np.median(mhz[-quarter:]))
    return 1.0 - last / first if first > 0 else None


def throttle_flags(values: Values) -> tuple[str, ...]:
    """What the firmware's bits say happened in the window, in words; empty for nothing.

    A bit that says that something happened since the board started counts where it appears in the window.
    """
    if not values.size:
        return ()
    flags = [int(value) for value in values if 0 <= value < 2**32]
    if not flags:
        return ()
    now = int(np.bitwise_or.reduce(np.array(flags, np.int64)))
    appeared = (flags[-1] & ~flags[0]) >> 16
    return tuple(words for bit, words in FIRMWARE_BITS.items() if (now | appeared) >> bit & 1)


def throttle_events(counts: Values) -> int:
    """By how much a counter of throttle events rose in the window."""
    return max(0, int(counts[-1] - counts[0])) if counts.size > 1 else 0


def rate_per_s(t_ns: Stamps, counts: Values) -> float | None:
    """How fast a counter rose, events a second; None over less than a second."""
    if counts.size < 2:
        return None
    window_s = float(t_ns[-1] - t_ns[0]) / 1e9
    return max(0.0, float(counts[-1] - counts[0])) / window_s if window_s >= MIN_RATE_S else None


def stolen_share(t_ns: Stamps, busy_ns: Values, stolen_ns: Values) -> float | None:
    """The share of the time in which cores had work that was stolen from them; None over less than a second.

    Both count in the kernel's clock ticks, usually 10 ms: over a second they are good to about 1 %.
    """
    if min(busy_ns.size, stolen_ns.size) < 2 or float(t_ns[-1] - t_ns[0]) / 1e9 < MIN_RATE_S:
        return None
    busy, stolen = (max(0.0, float(counter[-1] - counter[0])) for counter in (busy_ns, stolen_ns))
    return stolen / (busy + stolen) if busy + stolen > 0 else None


def others_cores(t_ns: Stamps, busy_ns: Values, running_ns: Values) -> float | None:
    """How many cores' worth of other work went on beside the worker's; None over less than a second.

    Args:
        t_ns: of both counters.
        busy_ns: how long the cores that the worker may use worked, for whomever.
        running_ns: how long the worker's threads ran.
    """
    if min(busy_ns.size, running_ns.size) < 2:
        return None
    window_ns = float(t_ns[-1] - t_ns[0])
    if window_ns / 1e9 < MIN_RATE_S:
        return None
    busy, ran = (max(0.0, float(counter[-1] - counter[0])) for counter in (busy_ns, running_ns))
    return max(0.0, busy - ran) / window_ns


def waiting_share(running_ns: Values, waiting_ns: Values) -> float | None:
    """The share of its time that the worker waited for a core, from two counters that rose together."""
    if min(running_ns.size, waiting_ns.size) < 2:
        return None
    ran, waited = (max(0.0, float(counter[-1] - counter[0])) for counter in (running_ns, waiting_ns))
    return waited / (ran + waited) if ran + waited > 0 else None
