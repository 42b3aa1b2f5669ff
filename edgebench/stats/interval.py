"""A statistic with its interval; without what computes it, which takes long to import."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Interval:
    """A statistic with its interval over sessions; low and high are None where n forbids one.

    `median` is the mean over sessions of each session's median; the interval is Student's t over those
    session medians, as a factor on the value, so that it stays above zero.
    """

    median: float
    low: float | None
    high: float | None
    sessions: int
    n: int  # values over all sessions

    @property
    def longer_side(self) -> float | None:
        """From the value to the farther end, in its unit; None without an interval."""
        if self.low is None or self.high is None:
            return None
        return max(self.high - self.median, self.median - self.low)

    @property
    def half_width(self) -> float | None:
        """The longer side as a share of the value: what is asked for, foretold and shown as ± %.

        None without an interval, or where the value is not above zero.
        """
        side = self.longer_side
        return None if side is None or self.median <= 0 else side / self.median
