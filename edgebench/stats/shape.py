"""Do the sessions look like draws from one symmetric bell, as the interval over them takes for granted?

Two tests, each held against what normal sessions of the same number give:

- skew: how far the mean lies from the nearest end, in standard deviations. It is the most powerful test of
  normal against exponential values that looks at their shape alone (Uthoff, "An optimum test property of two
  well-known statistics", 1970).
- two modes: the share of the squared deviations that splitting the sessions into two groups takes away, at
  the best cut (Engelman and Hartigan, "Percentage points of a test for clusters", 1969).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from edgebench.stats.intervals import MIN_SESSIONS

SKEW_SHARE = 0.05
"""So many of all sets of normal sessions are called skewed."""

MODES_SHARE = 0.05
"""So many of all sets of normal sessions are called multimodal."""

MOST_SESSIONS = 200
"""More are thinned to evenly spaced order statistics: what is to be seen is seen in these."""

DRAWS = 20_000


@dataclass(frozen=True)
class Shape:
    """What the session medians look like.

    Attributes:
        skewed: whether they have a tail on one side.
        multimodal: whether they fall into groups.
        skew: distance from the mean to the nearest end, in standard deviations; below `skew_limit` is skewed.
        split: share of the squared deviations that two groups take away; above `split_limit` is multimodal.
        groups: the sessions' medians, ascending, in the groups found; one group unless multimodal.
        sessions: how many there are; below MIN_SESSIONS nothing is said.
    """

    skewed: bool
    multimodal: bool
    skew: float | None
    skew_limit: float | None
    split: float | None
    split_limit: float | None
    groups: tuple[tuple[float, ...], ...]
    sessions: int


def shape_of(medians: Sequence[float]) -> Shape:
    """The shape of one number a session, in any unit and order.

    Below MIN_SESSIONS sessions, and where all are equal, nothing is flagged. Raises ValueError for a value
    that is not finite.
    """
    values = np.sort(np.asarray(medians, dtype=np.float64))
    if not np.isfinite(values).all():
        raise ValueError("a median is not finite")
    whole: tuple[tuple[float, ...], ...] = (tuple(values.tolist()),)
    if values.size < MIN_SESSIONS or values[0] == values[-1]:
        return Shape(False, False, None, None, None, None, whole if values.size else (), values.size)
    kept = _thinned(values)
    skew_limit, split_limit = limits(kept.size)
    skew = float(skew_statistic(kept))
    share, cut = split_statistic(kept)
    multimodal = bool(share > split_limit)
    groups = whole
    if multimodal:
        edge = kept[int(cut)]
        groups = (tuple(values[values <= edge].tolist()), tuple(values[values > edge].tolist()))
    return Shape(
        skewed=skew < skew_limit,
        multimodal=multimodal,
        skew=skew,
        skew_limit=skew_limit,
        split=float(share),
        split_limit=split_limit,
        groups=groups,
        sessions=values.size,
    )


def skew_statistic(ordered: NDArray[np.float64]) -> NDArray[np.float64]:
    """Distance from the mean to the nearest end, in standard deviations.

    Args:
        ordered: float64 [..., K], ascending along the last axis and not all equal.
    """
    mean = ordered.mean(axis=-1)
    spread = ordered.std(axis=-1, ddof=1)
    nearest = np.minimum(mean - ordered[..., 0], ordered[..., -1] - mean)
    return np.asarray(nearest / spread)


def split_statistic(ordered: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    """The best cut into two groups: the share of squared deviations between them, and the last index below.

    Args:
        ordered: float64 [..., K], ascending along the last axis and not all equal.
    """
    count = ordered.shape[-1]
    centred = ordered - ordered.mean(axis=-1, keepdims=True)
    below = np.cumsum(centred, axis=-1)[..., :-1]
    n = np.arange(1, count)
    # With the mean at 0 the sums of both sides are equal but for their sign.
    between = below**2 * count / (n * (count - n))
    cut = between.argmax(axis=-1)
    share = between.max(axis=-1) / np.square(centred).sum(axis=-1)
    return np.asarray(share), np.asarray(cut)


@lru_cache(maxsize=256)
def limits(sessions: int) -> tuple[float, float]:
    """What normal sessions of that number go beyond in SKEW_SHARE and MODES_SHARE of cases."""
    normal = np.sort(np.random.default_rng(sessions).standard_normal((DRAWS, sessions)), axis=-1)
    return (
        float(np.quantile(skew_statistic(normal), SKEW_SHARE)),
        float(np.quantile(split_statistic(normal)[0], 1 - MODES_SHARE)),
    )


def unseen_mode_share(sessions: int, share: float = 0.3) -> float:
    """How often a mode that holds `share` of the sessions, or its counterpart, is missing from all of them.

    All of K sessions fall into the one or into the other: share^K + (1 - share)^K, 37 % of experiments with 3
    sessions and a mode of 30 %. Nothing in their figures shows it then.
    """
    if sessions < 1 or not 0 < share < 1:
        raise ValueError("there is a session, and the share lies between 0 and 1")
    return float(share**sessions + (1 - share) ** sessions)


def _thinned(ordered: NDArray[np.float64]) -> NDArray[np.float64]:
    if ordered.size <= MOST_SESSIONS:
        return ordered
    return ordered[np.linspace(0, ordered.size - 1, MOST_SESSIONS).round().astype(np.intp)]
