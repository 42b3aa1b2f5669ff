"""The device's monotonic clock in whole nanoseconds, on every Python from 3.6."""

import time
from typing import Callable

Clock = Callable[[], int]


def _from_seconds() -> int:
    # Python 3.6 has no monotonic_ns; a float of seconds keeps 0.2 microseconds for a month of uptime.
    return int(time.monotonic() * 1e9)


def monotonic_clock() -> Clock:
    """The cheapest function that reads CLOCK_MONOTONIC as int nanoseconds."""
    return getattr(time, "monotonic_ns", _from_seconds)


def resolution_ns() -> float:
    """What the system says a step of that clock is, in nanoseconds."""
    return time.get_clock_info("monotonic").resolution * 1e9
