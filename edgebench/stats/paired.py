"""The difference of two shares of the same images: Tango's score interval.

Two classifiers err on much the same images, so that the difference is better known than either share. The
interval holds the differences that the score test of McNemar's table does not refuse (T. Tango, Statistics in
Medicine 17, 1998, pages 891 to 908). It exists where the two never differ, as the Wilson interval does at 0
and at n, and contains 0 exactly where McNemar's test without continuity correction finds no difference.
"""

from __future__ import annotations

import math

from scipy import optimize, special

from edgebench.stats.intervals import CONFIDENCE


def paired_difference(
    only_a: int, only_b: int, n: int, confidence: float = CONFIDENCE
) -> tuple[float, float, float]:
    """The share of a less that of b, as a fraction, with the ends of its interval.

    Args:
        only_a: images that only a got right.
        only_b: images that only b got right.
        n: all images.
        confidence: two-sided.

    Raises ValueError unless n > 0 and the counts are at least 0 and together at most n.
    """
    if n <= 0 or min(only_a, only_b) < 0 or only_a + only_b > n:
        raise ValueError(f"{only_a} and {only_b} of {n} are no shares")
    z = float(special.ndtri((1 + confidence) / 2))
    low, high = -_upper(only_b, only_a, n, z), _upper(only_a, only_b, n, z)
    return (only_a - only_b) / n, low, high


def _upper(only_a: int, only_b: int, n: int, z: float) -> float:
    """The greatest difference of which the score is not below -z."""
    measured = (only_a - only_b) / n
    if measured == 1:
        return 1.0
    end = optimize.brentq(lambda difference: score(only_a, only_b, n, difference) + z, measured, 1.0)
    return float(end)


def score(only_a: int, only_b: int, n: int, difference: float) -> float:
    """How many standard errors the measured difference lies above one that is supposed, in (-1, 1].

    The error is that of the likeliest table with that difference: q is its share of images that only b gets
    right.
    """
    excess = only_a - only_b - n * difference
    if excess == 0:
        return 0.0
    linear = (2 * n - only_a + only_b) * difference - only_a - only_b
    constant = -only_b * difference * (1 - difference)
    q = (math.sqrt(max(0.0, linear**2 - 8 * n * constant)) - linear) / (4 * n)
    variance = n * (2 * q + difference * (1 - difference))
    # At an end of what is possible nothing is left to chance.
    return excess / math.sqrt(variance) if variance > 0 else math.copysign(1e9, excess)
