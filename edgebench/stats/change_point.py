"""Changes of the level of a series: one number per experiment, in order of time.

The likelihood-ratio statistic of one shift in the mean of a normal series is, over all cuts in two, the
greatest share of the squared deviations that the cut takes away (Worsley, "On the likelihood ratio test for
a shift in location of normal populations", Journal of the American Statistical Association 74, 1979). How
large it gets by chance is asked of the series itself, in random orders: without a change every order is as
likely, whatever the experiments' distribution, so that the test is wrong in at most alpha of such series
(Antoch and Huskova, "Permutation tests in change point analysis", Statistics and Probability Letters 53,
2001). Several changes are found by binary segmentation: each part is tested again on its own (Vostrikova,
"Detecting disorder in multidimensional random processes", Soviet Mathematics Doklady 24, 1981).

Values are above zero and are compared as ratios, so the test is on their logarithms. As two results are
only called different from a minimum effect on (see `edgebench.stats.compare`), so are the levels beside a
change.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from edgebench.stats.compare import ALPHA, MINIMUM_EFFECT, ratios

LEAST_EXPERIMENTS = 8
"""Of fewer values there are too few orders for any of them to be unlikely: 3 of 8 that differ from the others
stand together at one end in 2 of 56 orders, 3 of 7 in 2 of 35."""

LEAST_SIDE = 2
"""A change has at least this many experiments on each side: one that stands alone may be an outlier."""

DRAWS = 4999

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class ChangePoint:
    """A change of the level."""

    at: int = field(repr=False)
    """Internal: index of the first value after it."""
    before: float
    """Level before, in the values' unit: the mean as far as the next change. Source: fit."""
    after: float
    """Level after. Source: fit."""
    ratio: float
    """After over before. Source: fit."""
    low: float
    """Lower end of the ratio's interval at 1 - alpha. Source: fit."""
    high: float
    """Upper end of the ratio's interval at 1 - alpha. Source: fit."""
    p: float
    """Share of the orders of the tested part that look as much like a change. Source: fit."""


def change_points(
    values: Sequence[float], *, minimum_effect: float = MINIMUM_EFFECT, alpha: float = ALPHA
) -> tuple[ChangePoint, ...]:
    """The changes in a series, in its order; none where there are too few values (see `change_reason`).

    Args:
        values: one an experiment, in order of time, above 0 and finite.
        minimum_effect: the smallest change of level that counts, as a share: 0.03 is 3 % more or less.
        alpha: in at most this many series without a change, one is found all the same.
    """
    series = np.asarray(values, dtype=np.float64)
    p_by_cut: dict[int, float] = {}
    parts = [(0, len(series))]
    while parts:
        first, end = parts.pop()
        cut, p = _change(series[first:end], minimum_effect, alpha)
        if cut:
            p_by_cut[first + cut] = p
            parts += [(first, first + cut), (first + cut, end)]
    return _without_slight_ones(series, p_by_cut, minimum_effect, alpha)


def change_reason(experiments: int) -> str:
    """Reason that no change can be found among this many experiments; empty where one can."""
    if experiments >= LEAST_EXPERIMENTS:
        return ""
    verb = "is" if experiments == 1 else "are"
    return f"a change point takes at least {LEAST_EXPERIMENTS} results, and there {verb} {experiments}"


def best_cut(logs: Floats) -> tuple[NDArray[np.intp], Floats]:
    """For each series, the cut that takes most of the squared deviations away, and its share of them.

    Args:
        logs: float64 [..., n], n at least 2 * LEAST_SIDE.

    Returns:
        Index of the first value after the cut, and the share in 0..1, 0 for equal values; each [...].
    """
    n = logs.shape[-1]
    deviations = logs - logs.mean(axis=-1, keepdims=True)
    sums = np.cumsum(deviations, axis=-1)[..., LEAST_SIDE - 1 : n - LEAST_SIDE]
    before = np.arange(LEAST_SIDE, n - LEAST_SIDE + 1)
    between = np.square(sums) * n / (before * (n - before))
    total = np.square(deviations).sum(axis=-1)
    best = between.argmax(axis=-1)
    taken = np.take_along_axis(between, best[..., None], axis=-1)[..., 0]
    # Equal values leave nothing but what rounding of their logarithms leaves.
    equal = total <= n * np.square(1e-12 * (1 + np.abs(logs).max(axis=-1)))
    share = np.where(equal, 0.0, taken / np.where(equal, 1.0, total))
    return best + LEAST_SIDE, share


def _change(series: Floats, minimum_effect: float, alpha: float) -> tuple[int, float]:
    """The cut of a part in two, 0 for none, and its p."""
    if len(series) < LEAST_EXPERIMENTS:
        return 0, 1.0
    logs = np.log(series)
    best, taken = best_cut(logs)
    cut, share = int(best), float(taken)
    ratio = series[cut:].mean() / series[:cut].mean()
    # What is too slight to count need not be tested.
    if share == 0 or abs(ratio - 1) < minimum_effect:
        return 0, 1.0
    orders = np.random.default_rng(0).permuted(np.tile(logs, (DRAWS, 1)), axis=1)
    as_large = best_cut(orders)[1] >= share * (1 - 1e-9)
    # The order that was measured is one of them (Phipson and Smyth, 2010).
    p = (1 + int(as_large.sum())) / (1 + DRAWS)
    return (cut, p) if p <= alpha else (0, p)


def _without_slight_ones(
    series: Floats, p_by_cut: dict[int, float], minimum_effect: float, alpha: float
) -> tuple[ChangePoint, ...]:
    """The changes whose levels, as far as the next change, still differ by the minimum effect."""
    kept = dict(sorted(p_by_cut.items()))
    while True:
        edges = [0, *kept, len(series)]
        points = [
            _point(series, edges[at - 1], edges[at], edges[at + 1], kept[edges[at]], alpha)
            for at in range(1, len(edges) - 1)
        ]
        slight = [point for point in points if abs(point.ratio - 1) < minimum_effect]
        if not slight:
            return tuple(points)
        del kept[min(slight, key=lambda point: abs(np.log(point.ratio))).at]


def _point(series: Floats, first: int, cut: int, end: int, p: float, alpha: float) -> ChangePoint:
    before, after = series[first:cut], series[cut:end]
    ratio, low, high, _ = map(float, ratios(before, after, alpha))
    return ChangePoint(cut, float(before.mean()), float(after.mean()), ratio, low, high, p)
