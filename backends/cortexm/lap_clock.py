"""A board's clock, of which the line carries 32 bits of microseconds: they wrap every 71.6 minutes.

Between two answers that are further apart than that, the host's clock decides how often it wrapped; it can,
while the two clocks differ by less than half of a turn.
"""

from __future__ import annotations

from edgebench.stats.clock import RoundTrip

from .conversation import Stamp
from .faults import BadAnswer
from .infer_answer import Inferences
from .messages import LAP_MODULUS

MOST_DRIFT = 0.02
"""No board's clock is assumed to run faster by more, as a share: an RC oscillator is within 1 %."""
_SLACK_US = 1000


class LapClock:
    """Unwraps laps, in the order in which they came.

    Args:
        follows_host: False of an emulated board, whose clock counts instructions: it only goes on, and a
            lap is the next one with its 32 bits.
    """

    def __init__(self, follows_host: bool = True) -> None:
        self._follows_host = follows_host
        self._last_us: int | None = None
        self._last_host_ns = 0

    def unwrap(self, lap_us: int, host_ns: int) -> int:
        """The board's clock in us since the turn in which its first lap fell.

        Args:
            lap_us: modulo 2^32.
            host_ns: the host's clock at about the same time, within half an hour.
        """
        if self._last_us is None:
            unwrapped_us = lap_us % LAP_MODULUS
        else:
            unwrapped_us = self._last_us + (lap_us - self._last_us) % LAP_MODULUS
            if self._follows_host:
                elapsed_us = (host_ns - self._last_host_ns) // 1000
                behind_us = self._last_us + elapsed_us - unwrapped_us
                unwrapped_us += round(behind_us / LAP_MODULUS) * LAP_MODULUS
        self._last_us, self._last_host_ns = unwrapped_us, host_ns
        return unwrapped_us

    def round_trip(self, stamp: Stamp) -> RoundTrip:
        """A stamp as a round trip for stats.clock.fit_clocks, its board's clock unwrapped."""
        lap_us = self.unwrap(stamp.lap_us, (stamp.sent_ns + stamp.received_ns) // 2)
        return RoundTrip(stamp.sent_ns, lap_us * 1000, stamp.received_ns)

    def interval_us(self, inferences: Inferences) -> tuple[int, int]:
        """Start and end of timed inferences on the unwrapped clock.

        BadAnswer where they take longer than their whole command did on the host's clock, which no clock
        that runs evenly can show.
        """
        elapsed_us = inferences.end_us - inferences.start_us
        host_us = (inferences.received_ns - inferences.sent_ns) // 1000
        if self._follows_host and elapsed_us > host_us * (1 + MOST_DRIFT) + _SLACK_US:
            raise BadAnswer(
                "the board's laps are further apart than its answer took",
                awaited=f"at most {host_us} us between two laps",
                came=[
                    f"m-lap-us-{lap_us % LAP_MODULUS}" for lap_us in (inferences.start_us, inferences.end_us)
                ],
                fix="see that the firmware's clock counts microseconds",
            )
        start_us = self.unwrap(inferences.start_us, (inferences.sent_ns + inferences.received_ns) // 2)
        self._last_us = start_us + elapsed_us
        self._last_host_ns = inferences.received_ns
        return start_us, start_us + elapsed_us
