"""The device's monotonic clock in whole nanoseconds, on every Python from 3.6.

Agent, worker and probes all take their time from here. For tests `EDGEBENCH_TEST_CLOCK=OFFSET_NS,DRIFT_PPM`
shifts and drifts it: the clock then says `now + OFFSET_NS + DRIFT_PPM * 1e-6 * now`. It must stay above 0.
"""

import os
import time
from typing import Callable, Optional, Tuple

Clock = Callable[[], int]
OnClock = Callable[[int], int]

ENVIRONMENT = "EDGEBENCH_TEST_CLOCK"


def _from_seconds() -> int:
    # Python 3.6 has no monotonic_ns; a float of seconds keeps 0.2 microseconds for a month of uptime.
    return int(time.monotonic() * 1e9)


def monotonic_clock() -> Clock:
    """The cheapest function that reads CLOCK_MONOTONIC as int nanoseconds."""
    plain: Clock = getattr(time, "monotonic_ns", _from_seconds)
    on_clock = injected()
    if on_clock is None:
        return plain
    moved = on_clock
    return lambda: moved(plain())


def injected() -> Optional[OnClock]:
    """From the system's clock to the one that a test asked for, in ns; None where none was asked for."""
    asked = asked_for()
    if asked is None:
        return None
    offset_ns, drift_ppm = asked
    drift_ppb = round(drift_ppm * 1000)
    return lambda now_ns: now_ns + offset_ns + now_ns * drift_ppb // 1000000000


def asked_for() -> Optional[Tuple[int, float]]:
    """Offset in ns and drift in ppm that a test asked for; None where none was asked for."""
    asked = os.environ.get(ENVIRONMENT)
    if not asked:
        return None
    offset_text, _, drift_text = asked.partition(",")
    return int(offset_text), float(drift_text or "0")


def resolution_ns() -> float:
    """What the system says a step of that clock is, in nanoseconds."""
    return time.get_clock_info("monotonic").resolution * 1e9


TICKS = 100
"""Steps of a clock that are looked at, as far as they come within TICKS_NS."""

TICKS_NS = 50000000
MOST_READINGS = 2000000
"""After which a clock stands still."""


def tick_ns(clock: Clock) -> Optional[int]:
    """The smallest step that readings of a clock show, in ns; None for a clock that stands still.

    A clock that counts the kernel's ticks moves every 1 to 16 ms, whatever `resolution_ns` says. If the clock
    is finer than a reading takes, the step is the time of a reading.
    """
    began_ns = last_ns = clock()
    steps_ns = []
    for _ in range(MOST_READINGS):
        now_ns = clock()
        if now_ns > last_ns:
            steps_ns.append(now_ns - last_ns)
            last_ns = now_ns
            if len(steps_ns) >= TICKS or (len(steps_ns) > 1 and now_ns - began_ns > TICKS_NS):
                break
    return min(steps_ns) if steps_ns else None


# When a worker's process was started: its agent tells it, on the clock that both read.


SPAWNED_NS = "EDGEBENCH_SPAWNED_NS"
"""The environment variable with the clock's reading just before the process was started."""


def ns_since_spawn(clock: Clock) -> Optional[int]:
    """The time since then; None without that variable, or on a clock that contradicts it."""
    text = os.environ.get(SPAWNED_NS, "")
    taken_ns = clock() - int(text) if text.isdigit() else 0
    return taken_ns if taken_ns > 0 else None


# When paced passes are due: one every period, on a schedule that no lateness shifts.


class Pace:
    """The schedule of one worker: each pass is due a period after the last; without a period at once.

    Due times are counted up from the first, so that neither a late start nor a long pass moves them. The
    device keeps the schedule alone: nothing that happens on the way to the host is in a pass's lateness.

    Args:
        clock: nanoseconds, monotonic; the one that stamps the passes.
        sleep: for about that number of seconds.
        over: whether no further pass is wanted.

    Attributes:
        next_ns: when the next pass is due; None where that is at once.
    """

    def __init__(
        self,
        clock: Clock,
        sleep: Callable[[float], None] = time.sleep,
        over: Callable[[], bool] = lambda: False,
    ) -> None:
        self._clock = clock
        self._sleep = sleep
        self._over = over
        self.next_ns: Optional[int] = None

    def wait(self, period_ns: int) -> int:
        """Sleep until the next pass is due and return when that is; at once where it is late, or over."""
        due_ns = self._clock() if self.next_ns is None else self.next_ns
        self.next_ns = due_ns + period_ns
        while True:
            left_ns = due_ns - self._clock()
            if left_ns <= 0 or self._over():
                return due_ns
            self._sleep(left_ns / 1e9)
