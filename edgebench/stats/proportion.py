"""Shares of a count: the Wilson interval, McNemar's exact test for two classifiers on one set, and the
difference of two shares of different things.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from scipy import stats

from edgebench.stats.intervals import CONFIDENCE, MIN_SESSIONS, t_interval


def wilson(k: int, n: int, confidence: float = CONFIDENCE) -> tuple[float, float]:
    """The Wilson score interval of k of n, as fractions, always around k / n.

    Raises ValueError unless 0 <= k <= n and n > 0.
    """
    if n <= 0 or not 0 <= k <= n:
        raise ValueError(f"{k} of {n} is not a share")
    interval = stats.binomtest(k, n).proportion_ci(confidence, method="wilson")
    # At k = 0 and k = n rounding can leave the share a hair outside.
    return min(float(interval.low), k / n), max(float(interval.high), k / n)


def share_over_sessions(
    counts: Sequence[tuple[int, int]], confidence: float = CONFIDENCE
) -> tuple[float, float] | None:
    """The interval of a share whose cases share their session's luck; None below MIN_SESSIONS sessions.

    The Wilson interval of all cases holds where they are independent; where one session has more of them
    than another, Student's t over the sessions' shares is wider. Each end is the outer one of the two.

    Args:
        counts: k and n of each session, n above 0.
        confidence: two-sided.
    """
    if len(counts) < MIN_SESSIONS:
        return None
    low, high = wilson(sum(k for k, _ in counts), sum(n for _, n in counts), confidence)
    middle, half = t_interval(np.array([k / n for k, n in counts]), confidence)
    return max(0.0, min(low, float(middle - half))), min(1.0, max(high, float(middle + half)))


def mcnemar(only_a: int, only_b: int) -> float:
    """Two-sided p of McNemar's exact test, from the images that only a or only b got right.

    1.0 where the two never differ. Raises ValueError for a negative count.
    """
    if only_a < 0 or only_b < 0:
        raise ValueError("a count is negative")
    if only_a + only_b == 0:
        return 1.0
    return float(stats.binomtest(only_a, only_a + only_b, 0.5).pvalue)


def share_difference(
    a: tuple[int, int], b: tuple[int, int], confidence: float = CONFIDENCE
) -> tuple[float, float, float]:
    """The share b less the share a, of different things, with the ends of Newcombe's interval.

    It joins the two Wilson intervals (R. G. Newcombe, Statistics in Medicine 17, 1998, pages 873 to 890,
    method 10) and stays within -1 and 1.

    Args:
        a: k and n of the one side, n above 0.
        b: those of the other.
        confidence: two-sided.

    Raises ValueError unless 0 <= k <= n and n > 0.
    """
    (low_a, high_a), (low_b, high_b) = wilson(*a, confidence), wilson(*b, confidence)
    share_a, share_b = a[0] / a[1], b[0] / b[1]
    difference = share_b - share_a
    low = difference - math.hypot(share_b - low_b, high_a - share_a)
    high = difference + math.hypot(high_b - share_b, share_a - low_a)
    return difference, low, high


def fisher(a: tuple[int, int], b: tuple[int, int]) -> float:
    """Two-sided p of Fisher's exact test of two shares, k and n each."""
    table = [[k, n - k] for k, n in (a, b)]
    return float(stats.fisher_exact(table).pvalue)
