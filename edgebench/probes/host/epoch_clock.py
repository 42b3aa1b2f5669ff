"""Times since 1970 on this machine's monotonic clock.

The system clock and the monotonic one are read together, the tightest of a few pairs counts, and anew at
every use: a system clock that is steered (NTP slews it by 0.05 % at most) is followed, and a row that is a
second old is off by half a millisecond at worst. One that is set, by more than STEP_S, has no match.
"""

import time
from typing import Optional

from ..basics import ProbeMissing, now_ns

PAIRS = 5
STEP_S = 0.1


class EpochClock:
    """The offset from the monotonic clock to the time since 1970, looked at again and again."""

    def __init__(self) -> None:
        self._offset_ns: Optional[int] = None

    def offset_ns(self) -> int:
        """What a monotonic stamp is below the time since 1970, now; ProbeMissing where that was set."""
        offset_ns = epoch_offset_ns()
        before_ns, self._offset_ns = self._offset_ns, offset_ns
        if before_ns is not None and abs(offset_ns - before_ns) > STEP_S * 1e9:
            raise ProbeMissing(
                "this machine's clock was set, by {:+.3g} s".format((offset_ns - before_ns) / 1e9),
                "let it settle (timedatectl, chronyc tracking), and measure again",
            )
        return offset_ns


def epoch_offset_ns() -> int:
    """The time since 1970 less the monotonic clock, of the tightest of a few readings of both."""
    tightest_ns, offset_ns = 1 << 62, 0
    for _ in range(PAIRS):
        before_ns = now_ns()
        exact = getattr(time, "time_ns", None)  # Python 3.7 has it
        epoch_ns = int(exact() if exact else time.time() * 1e9)
        after_ns = now_ns()
        if after_ns - before_ns < tightest_ns:
            tightest_ns, offset_ns = after_ns - before_ns, epoch_ns - (before_ns + after_ns) // 2
    return offset_ns
