"""A statistic with its interval; without what computes it, which takes long to import."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from annotated_types import Ge, Le

Count = Annotated[int, Ge(0)]
Positive = Annotated[int, Ge(1)]
NotNegative = Annotated[float, Ge(0)]
Share = Annotated[float, Ge(0), Le(1)]
"""Ranges of figures; schemas have them as minimum and maximum."""


def tick_bounds(
    value: float, low: float | None, high: float | None, tick: float
) -> tuple[float | None, float | None]:
    """Bounds of a value above 0 that are at least one tick of its clock away; None stays None."""
    return (
        None if low is None else min(low, max(value - tick, 0.0)),
        None if high is None else max(high, value + tick),
    )


@dataclass(frozen=True)
class Interval:
    """A statistic with its interval over sessions; low and high may be None where n forbids one.

    `median` is the mean over sessions of each session's median; the interval is Student's t over those
    session medians, as a factor on the value, so that it stays above zero; wider where each session resembles
    the one before it.
    """

    median: float
    """Mean over sessions of each session's median. Unit: s. Source: passes.parquet."""
    low: float | None
    """Lower end, never below zero: the value over exp(t s / (value sqrt K)), with Student's t of K - 1
    degrees of freedom and the standard deviation s of the session medians; null when the sessions are too
    few. Unit: s. Source: passes.parquet."""
    high: float | None
    """Upper end: the value times that factor; null when the sessions are too few. Unit: s. Source:
    passes.parquet."""
    sessions: Count
    """Sessions that it rests on. Source: passes.parquet."""
    n: Count
    """Values over all of them: steady passes or windows; of what a session has once, the sessions. Source:
    passes.parquet."""

    @property
    def longer_side(self) -> float | None:
        """Distance from the value to the farther end, in its unit; None without an interval."""
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
