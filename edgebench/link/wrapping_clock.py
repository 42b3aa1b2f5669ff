"""A board's clock, of which 32 bits of microseconds come over the line: they wrap every 71.6 minutes.

Between two answers that are further apart than that, the host's clock decides how often it wrapped; it can,
while the two clocks differ by less than half of a turn.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from edgebench.link.board_fault import BoardFault
from edgebench.stats.clock import RoundTrip

TURN_US = 2**32
"""After so many microseconds the clock begins anew."""

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
                why=f"at most {host_us} us lie between the first and the last; came: "
                f"{stamps_us[0] % TURN_US} to {stamps_us[-1] % TURN_US} us, {sum(steps_us)} us in all",
                fix="see that the firmware's clock counts microseconds",
            )
        unwrapped_us = [self.unwrap(stamps_us[0], (sent_ns + received_ns) // 2)]
        for step_us in steps_us:
            unwrapped_us.append(unwrapped_us[-1] + step_us)
        self._last_us, self._last_host_ns = unwrapped_us[-1], received_ns
        return unwrapped_us
