"""Area under the ROC curve: how often an anomalous sample scores higher than a normal one.

The area is the Mann-Whitney statistic over all pairs, where a tie counts a half. Its interval is Newcombe's
method 5 (R. G. Newcombe, "Confidence intervals for an effect size measure based on the Mann-Whitney
statistic. Part 2: asymptotic methods and evaluation", Statistics in Medicine 25, 2006, 559-573): all areas t
with |t - area| <= z sqrt(v(t)), where v is the variance of J. A. Hanley and B. J. McNeil (Radiology 143,
1982, 29-36) with the mean of both counts in each term. It stays within 0 and 1, and has a width where all
pairs are in order, which a Wald interval has not.

Two areas over the same samples are compared by the covariance of E. R. DeLong, D. M. DeLong and D. L.
Clarke-Pearson (Biometrics 44, 1988, 837-845); the interval of their difference is made of both intervals
(G. Y. Zou, Psychological Methods 12, 2007, 399-413).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Z = 1.959963984540054
"""Of the normal distribution, for 95 %."""

Floats = NDArray[np.float64]


class Area(NamedTuple):
    """An area with its 95 % interval."""

    area: float
    low: float
    high: float


def area_of(normal: Floats, anomalous: Floats) -> Area:
    """The area of scores [n] and [m], at least one each."""
    area = float(_placements(normal, anomalous)[1].mean())
    low, high = (_end(area, len(normal), len(anomalous), side) for side in (0.0, 1.0))
    return Area(area, low, high)


def difference(a: tuple[Floats, Floats], b: tuple[Floats, Floats], *, paired: bool) -> tuple[Area, float]:
    """The area of b less that of a with its 95 % interval, and p of DeLong's test, two-sided.

    Each is (normal, anomalous) scores; `paired` says that both are of the same samples in one order. p is 1
    where there is no variance to test with: fewer than two of a kind, or all pairs in order on both sides. It
    is at least 0.05 where the interval holds 0: with few of a kind the variance is often estimated too low.
    """
    areas = area_of(*a), area_of(*b)
    delta = areas[1].area - areas[0].area
    placed = _placements(*a), _placements(*b)
    variance = np.zeros((2, 2))
    for values in zip(*placed, strict=True):
        if min(map(len, values)) > 1:
            spread = np.cov(values) if paired else np.diag([np.var(side, ddof=1) for side in values])
            variance += spread / np.array([[len(values[0])], [len(values[1])]])
    error = math.sqrt(max(0.0, variance[0, 0] + variance[1, 1] - 2 * variance[0, 1]))
    alone = math.sqrt(variance[0, 0] * variance[1, 1])
    share = variance[0, 1] / alone if alone > 0 else 0.0
    down, up = (
        math.sqrt(max(0.0, mine**2 - 2 * share * mine * theirs + theirs**2))
        for mine, theirs in (
            (areas[1].area - areas[1].low, areas[0].high - areas[0].area),
            (areas[1].high - areas[1].area, areas[0].area - areas[0].low),
        )
    )
    is_testable = error > 1e-12 and min(map(len, (*a, *b))) > 1
    p = math.erfc(abs(delta) / error / math.sqrt(2)) if is_testable else 1.0
    low, high = delta - down, delta + up
    return Area(delta, low, high), max(p, 0.05) if low <= 0 <= high else p


def _placements(normal: Floats, anomalous: Floats) -> tuple[Floats, Floats]:
    """For each normal sample the share of anomalous ones above it; for each anomalous one the share of normal
    ones below it.
    """
    above, below = (
        np.mean([np.searchsorted(ordered, values, side) for side in ("left", "right")], 0) / len(ordered)
        for ordered, values in ((np.sort(anomalous), normal), (np.sort(normal), anomalous))
    )
    return 1 - above, below


def _end(area: float, normal: int, anomalous: int, end: float) -> float:
    """The farthest area towards `end` that chance explains, by bisection."""
    more, inside, outside = (normal + anomalous) / 2 - 1, area, end
    for _ in range(50):
        middle = (inside + outside) / 2
        terms = 1 + more * ((1 - middle) / (2 - middle) + middle / (1 + middle))
        reach = Z * math.sqrt(middle * (1 - middle) * terms / (normal * anomalous))
        inside, outside = (middle, outside) if abs(middle - area) <= reach else (inside, middle)
    return inside
