"""Shares of a count: the Wilson interval, and McNemar's exact test for two classifiers on one set."""

from __future__ import annotations

from scipy import stats

from edgebench.stats.intervals import CONFIDENCE


def wilson(k: int, n: int) -> tuple[float, float]:
    """The Wilson score interval of k of n at 95 %, as fractions, always around k / n.

    Raises ValueError unless 0 <= k <= n and n > 0.
    """
    if n <= 0 or not 0 <= k <= n:
        raise ValueError(f"{k} of {n} is not a share")
    interval = stats.binomtest(k, n).proportion_ci(CONFIDENCE, method="wilson")
    # At k = 0 and k = n rounding can leave the share a hair outside.
    return min(float(interval.low), k / n), max(float(interval.high), k / n)


def mcnemar(only_a: int, only_b: int) -> float:
    """Two-sided p of McNemar's exact test, from the images that only a or only b got right.

    1.0 where the two never differ. Raises ValueError for a negative count.
    """
    if only_a < 0 or only_b < 0:
        raise ValueError("a count is negative")
    if only_a + only_b == 0:
        return 1.0
    return float(stats.binomtest(only_a, only_a + only_b, 0.5).pvalue)
