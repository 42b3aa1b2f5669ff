"""Area under the ROC curve: how often an anomalous sample scores higher than a normal one.

The area is the Mann-Whitney statistic over all pairs, where a tie counts a half. Its interval is Newcombe's
method 5 (R. G. Newcombe, "Confidence intervals for an effect size measure based on the Mann-Whitney
statistic. Part 2: asymptotic methods and evaluation", Statistics in Medicine 25, 2006, 559-573): all areas t
with |t - area| <= z sqrt(v(t)), where v is the variance of J. A. Hanley and B. J. McNeil (Radiology 143,
1982, 29-36) with the mean of both counts in each term. It stays within 0 and 1, and has a width where all
pairs are in order, which a Wald interval has not.

The interval of a difference is made of both intervals and, over the same samples, of their correlation
(G. Y. Zou, Psychological Methods 12, 2007, 399-413), which is estimated as by E. R. DeLong, D. M. DeLong and
D. L. Clarke-Pearson (Biometrics 44, 1988, 837-845).
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
    """The area of b less that of a with its 95 % interval, and its two-sided p, below 0.05 outside 0 alone.

    Each is (normal, anomalous) scores; `paired` says that both are of the same samples in one order. p is of
    a normal distribution with the interval's side that faces 0.
    """
    one, other = area_of(*a), area_of(*b)
    fewest, share = min(map(len, (*a, *b))), 0.0
    if paired and fewest > 2:
        kinds = zip(_placements(*a), _placements(*b), strict=True)
        spread = np.sum([np.cov(values) / len(values[0]) for values in kinds], 0)
        share = spread[0, 1] / (math.sqrt(spread[0, 0] * spread[1, 1]) or math.inf)
        share = max(0.0, share) * (1 - 2 / fewest)  # a correlation of few is often estimated too high
    delta = other.area - one.area
    down, up = (
        math.sqrt(max(0.0, mine**2 - 2 * share * mine * theirs + theirs**2))
        for mine, theirs in (
            (other.area - other.low, one.high - one.area),
            (other.high - other.area, one.area - one.low),
        )
    )
    facing = down if delta > 0 else up
    p = math.erfc(Z * abs(delta) / facing / math.sqrt(2)) if delta else 1.0
    return Area(delta, delta - down, delta + up), p


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
