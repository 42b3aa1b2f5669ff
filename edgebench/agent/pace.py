"""When paced passes are due: one every period, on a schedule that no lateness shifts."""

import time
from typing import Callable, Optional

from .clock import Clock


class Pace:
    """The schedule of one session: the first pass is due at once, each further one a period after the last.

    Due times are counted up from the first, so that neither a late start nor a long pass moves them. The
    device keeps the schedule alone: nothing that happens on the way to the host is in a pass's lateness.

    Args:
        clock: nanoseconds, monotonic; the one that stamps the passes.
        sleep: for so many seconds, give or take.
    """

    def __init__(self, clock: Clock, sleep: Callable[[float], None] = time.sleep) -> None:
        self._clock = clock
        self._sleep = sleep
        self._due_ns: Optional[int] = None

    def wait(self, period_ns: int) -> int:
        """Sleep until the next pass is due and return when that was; returns at once where it is late."""
        due_ns = self._clock() if self._due_ns is None else self._due_ns + period_ns
        self._due_ns = due_ns
        while True:
            left_ns = due_ns - self._clock()
            if left_ns <= 0:
                return due_ns
            self._sleep(left_ns / 1e9)
