"""Tail percentiles, given only where there are enough values to speak of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from edgebench.stats.intervals import CONFIDENCE


@dataclass(frozen=True)
class PercentileFigure:
    """A percentile with its bounds, in the values' unit; all None where n is too small, with the reason.

    Each bound holds at 95 % by itself (one-sided), which is what a verdict asks of it.
    """

    value: float | None
    low: float | None
    high: float | None
    n: int
    reason: str = ""


def least_n(p: float, confidence: float = CONFIDENCE) -> int:
    """The fewest values whose maximum is an upper bound of percentile `p` at that confidence.

    All of n values lie below the percentile with probability p^n, so it is the least n with
    1 - p^n >= confidence: 29, 59, 299 and 2995 for 0.9, 0.95, 0.99 and 0.999 at 0.95.
    """
    if not (0 < p < 1 and 0 < confidence < 1):
        raise ValueError("p and the confidence lie between 0 and 1")
    n = max(1, math.floor(math.log(1 - confidence) / math.log(p)) - 1)
    while 1 - p**n < confidence:
        n += 1
    return n


def percentile_interval(
    values: Sequence[float] | NDArray[np.float64], p: float, confidence: float = CONFIDENCE
) -> PercentileFigure:
    """Percentile `p` (0.9 for p90) with exact bounds from order statistics (scipy's quantile test).

    Exact for independent values; values that share a session make it narrower than it should be, which
    is why a verdict also asks for enough sessions. Raises ValueError for a value that is not finite.
    """
    array = np.asarray(values, dtype=np.float64)
    if not np.isfinite(array).all():
        raise ValueError("a value is not finite")
    n = int(array.size)
    needed = least_n(p, confidence)
    if n < needed:
        sure = f"{100 * confidence:.3g} % confidence"
        reason = f"n too small: p{100 * p:g} takes {needed} values at {sure} and there are {n}"
        return PercentileFigure(None, None, None, n, reason)
    below = stats.quantile_test(array, p=p, alternative="greater").confidence_interval(confidence)
    above = stats.quantile_test(array, p=p, alternative="less").confidence_interval(confidence)
    return PercentileFigure(float(np.quantile(array, p)), float(below.low), float(above.high), n)
