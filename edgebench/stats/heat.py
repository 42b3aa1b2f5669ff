"""Does a device slow down as it works? Latency against time within one session."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from edgebench.stats.intervals import MIN_SESSIONS, t_interval

RATIO_LIMIT = 1.05
MIN_VALUES = 8
"""Below it a quarter is a single value, and noise alone reaches the ratio."""

MAX_POINTS = 500
"""The slope compares every pair: longer sessions are thinned to this many block medians first."""

Series = Sequence[float] | NDArray[np.float64]


@dataclass(frozen=True)
class Heat:
    """How latency moved over a session.

    Attributes:
        ratio: median of the last quarter over median of the first.
        rise: Theil-Sen's slope times the session's length, over the session's median.
        first, last: medians of the first and the last quarter, in the values' unit.
        slope_per_s: Theil-Sen's slope, in the values' unit a second.
        rising: whether the rise is above 5 % and the slope's 95 % interval above 0.
    """

    ratio: float
    rise: float
    first: float
    last: float
    slope_per_s: float
    rising: bool

    @property
    def slower(self) -> bool:
        """Whether the last quarter took more than 1.05 times the first."""
        return self.ratio > RATIO_LIMIT

    @property
    def suspected(self) -> bool:
        """Whether either of the two says so."""
        return self.slower or self.rising


def heat(at_s: Series, values: Series) -> Heat | None:
    """How `values` (any unit, positive) moved with `at_s` (seconds, rising); None below MIN_VALUES.

    Raises ValueError when the two differ in length or a value is not finite.
    """
    times = np.asarray(at_s, dtype=np.float64)
    array = np.asarray(values, dtype=np.float64)
    if times.shape != array.shape:
        raise ValueError("every value needs its time")
    if not (np.isfinite(array).all() and np.isfinite(times).all()):
        raise ValueError("a value is not finite")
    median = float(np.median(array)) if array.size else 0.0
    if array.size < MIN_VALUES or median <= 0 or times[-1] <= times[0]:
        return None
    # Of two values the median is the mean, and one slow pass would look like heat.
    quarter = max(3, array.size // 4)
    first = float(np.median(array[:quarter]))
    last = float(np.median(array[-quarter:]))
    ratio = last / first if first > 0 else 1.0
    slope, slope_low = _slope(times, array)
    rise = slope * float(times[-1] - times[0]) / median
    return Heat(ratio, rise, first, last, slope, slope_low > 0 and rise > RATIO_LIMIT - 1)


MIN_SHORT = 4
"""Of three passes the middle one alone says whether the first and the last are more than noise."""


def rise_together(at_s: Sequence[Series], values: Sequence[Series]) -> float | None:
    """By which share passes became slower over sessions that are too short for `heat`, judged together.

    Each session's rise is one number, so that their mean has Student's t interval over sessions, as a
    headline has.

    Args:
        at_s: of each session, seconds, rising.
        values: of each session, any unit, positive, each with its time.

    Returns:
        The mean rise from a session's first pass to its last, as a share of its median, where it is above
        5 % and its 95 % interval above 0; else None, as with fewer than MIN_SESSIONS sessions of at least
        MIN_SHORT passes.
    """
    rises = [
        rise
        for times, session in zip(at_s, values, strict=True)
        if MIN_SHORT <= len(session) < MIN_VALUES
        and (rise := _rise(np.asarray(times, np.float64), np.asarray(session, np.float64))) is not None
    ]
    if len(rises) < max(MIN_SESSIONS, len(values)):
        return None
    mean, half = t_interval(np.array(rises))
    return float(mean) if mean > RATIO_LIMIT - 1 and mean - half > 0 else None


def _rise(times: NDArray[np.float64], values: NDArray[np.float64]) -> float | None:
    median = float(np.median(values))
    if median <= 0 or times[-1] <= times[0]:
        return None
    return _slope(times, values)[0] * float(times[-1] - times[0]) / median


def _slope(times: NDArray[np.float64], values: NDArray[np.float64]) -> tuple[float, float]:
    if values.size > MAX_POINTS:
        times, values = (
            np.array([np.median(block) for block in np.array_split(series, MAX_POINTS)])
            for series in (times, values)
        )
    with np.errstate(invalid="ignore"):  # of passes that all began at once; their lower slope is no number
        result = stats.theilslopes(values, times, alpha=0.95)
    return float(result.slope), float(result.low_slope)
