"""Does a device slow down as it works? Latency against time within one session."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats

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
        suspected: whether either is above 5 %; the slope counts where its 95 % interval is above 0.
    """

    ratio: float
    rise: float
    suspected: bool


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
    quarter = array.size // 4
    first = float(np.median(array[:quarter]))
    ratio = float(np.median(array[-quarter:])) / first if first > 0 else 1.0
    slope, slope_low = _slope(times, array)
    rise = slope * float(times[-1] - times[0]) / median
    suspected = ratio > RATIO_LIMIT or (slope_low > 0 and rise > RATIO_LIMIT - 1)
    return Heat(ratio, rise, suspected)


def _slope(times: NDArray[np.float64], values: NDArray[np.float64]) -> tuple[float, float]:
    if values.size > MAX_POINTS:
        times, values = (
            np.array([np.median(block) for block in np.array_split(series, MAX_POINTS)])
            for series in (times, values)
        )
    result = stats.theilslopes(values, times, alpha=0.95)
    return float(result.slope), float(result.low_slope)
