"""Do the sessions look like draws from one symmetric bell, as the interval over them takes for granted?

Two tests, each compared with what normal sessions of the same number give:

- skew: how far the mean is from the lowest session, in mean absolute deviations, or from the highest. With
  the standard deviation in their place it is the most powerful test of normal against exponential values by
  their shape (Uthoff, "An optimum test property of two well-known statistics", 1970); the absolute deviation
  costs little of that, and symmetric heavy tails are mistaken for skew half as often.
- two modes: the share of the squared deviations that splitting the sessions into two groups takes away, at
  the best cut (Engelman and Hartigan, "Percentage points of a test for clusters", 1969).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from edgebench.stats.intervals import MIN_SESSIONS, t_interval

TAIL_ABOVE_SHARE = 0.07
TAIL_BELOW_SHARE = 0.005
MODES_SHARE = 0.02
"""So many of all sets of normal sessions are flagged by each, 9 % in all. Most of it goes where sessions have
their tail: a process can be slowed down by much and sped up by little."""

MATERIAL = 0.001
"""Sessions that differ by less than this share of their value are called neither: a clock's steps and the
last digit fall into groups too, and no limit is missed by them."""

MOST_SESSIONS = 100
"""More are thinned to evenly spaced order statistics: what is to be seen is seen in these."""

DRAWS = 20_000

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Shape:
    """Shape of the session medians.

    Attributes:
        skewed: whether they have a tail on one side; `tail` says which.
        multimodal: whether they fall into groups.
        tail: `above` or `below`, or nothing.
        skew: from the mean to the end without a tail, in mean absolute deviations; below `skew_limit` is
            skewed. None where nothing was tested.
        split: share of the squared deviations that two groups take away; above `split_limit` is multimodal.
        groups: the medians, ascending, in the groups found: one group unless multimodal.
        sessions: how many there are.
    """

    skewed: bool
    multimodal: bool
    tail: Literal["above", "below", ""]
    skew: float | None
    skew_limit: float | None
    split: float | None
    split_limit: float | None
    groups: tuple[tuple[float, ...], ...]
    sessions: int


class ShapeLimits(NamedTuple):
    """Limits that the statistics of normal sessions exceed in the shares above."""

    tail_above: float
    tail_below: float
    split: float


class Statistics(NamedTuple):
    """The statistics of ordered sessions, each [...], and the index of the last one below the best cut."""

    tail_above: Floats
    tail_below: Floats
    split: Floats
    cut: NDArray[np.intp]


def shape_of(medians: Sequence[float]) -> Shape:
    """The shape of one number a session, in any unit and order.

    Below MIN_SESSIONS sessions, and where they differ by less than MATERIAL, nothing is flagged.
    """
    values = np.sort(np.asarray(medians, dtype=np.float64))
    groups: tuple[tuple[float, ...], ...] = (tuple(values.tolist()),)
    if values.size < MIN_SESSIONS or values[-1] - values[0] <= MATERIAL * abs(float(values.mean())):
        return Shape(False, False, "", None, None, None, None, groups, values.size)
    thinned = values
    if values.size > MOST_SESSIONS:
        thinned = values[np.linspace(0, values.size - 1, MOST_SESSIONS).round().astype(np.intp)]
    limits = limits_of(thinned.size)
    statistics = statistics_of(thinned)
    above = bool(statistics.tail_above < limits.tail_above)
    below = bool(statistics.tail_below < limits.tail_below)
    multimodal = bool(statistics.split > limits.split)
    if multimodal:
        edge = thinned[int(statistics.cut)]
        groups = (tuple(values[values <= edge].tolist()), tuple(values[values > edge].tolist()))
    return Shape(
        skewed=above or below,
        multimodal=multimodal,
        tail="above" if above else "below" if below else "",
        skew=float(statistics.tail_below if below and not above else statistics.tail_above),
        skew_limit=limits.tail_below if below and not above else limits.tail_above,
        split=float(statistics.split),
        split_limit=limits.split,
        groups=groups,
        sessions=values.size,
    )


def flags_of(ordered: Floats) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Flag sets of sessions as skewed and as multimodal: the test of `shape_of` itself.

    Args:
        ordered: float64 [..., K], ascending along the last axis, not all equal, K up to MOST_SESSIONS.

    Returns:
        Two arrays bool [...].
    """
    limits = limits_of(ordered.shape[-1])
    statistics = statistics_of(ordered)
    skewed = (statistics.tail_above < limits.tail_above) | (statistics.tail_below < limits.tail_below)
    return np.asarray(skewed), np.asarray(statistics.split > limits.split)


def statistics_of(ordered: Floats) -> Statistics:
    """The statistics of ordered sessions, float64 [..., K], ascending along the last axis, not all equal."""
    count = ordered.shape[-1]
    centred = ordered - ordered.mean(axis=-1, keepdims=True)
    deviation = np.abs(centred).mean(axis=-1)
    below = np.cumsum(centred, axis=-1)[..., :-1]
    n = np.arange(1, count)
    # With the mean at 0 the sums on both sides of a cut are equal but for their sign.
    between = below**2 * count / (n * (count - n))
    return Statistics(
        tail_above=np.asarray(-centred[..., 0] / deviation),
        tail_below=np.asarray(centred[..., -1] / deviation),
        split=np.asarray(between.max(axis=-1) / np.square(centred).sum(axis=-1)),
        cut=np.asarray(between.argmax(axis=-1)),
    )


@lru_cache(maxsize=256)
def limits_of(sessions: int) -> ShapeLimits:
    """Simulate the limits from 20,000 sets of normal sessions of that number, the same ones every time."""
    normal = np.sort(np.random.default_rng(sessions).standard_normal((DRAWS, sessions)), axis=-1)
    statistics = statistics_of(normal)
    return ShapeLimits(
        float(np.quantile(statistics.tail_above, TAIL_ABOVE_SHARE)),
        float(np.quantile(statistics.tail_below, TAIL_BELOW_SHARE)),
        float(np.quantile(statistics.split, 1 - MODES_SHARE)),
    )


def unseen_mode_share(sessions: int, share: float = 0.3) -> float:
    """Probability that all sessions fall into one of two modes, so that the other leaves no trace.

    share^K + (1 - share)^K: 37 % of experiments with 3 sessions and a mode that holds 30 %, 17 % with 5 and
    3 % with 10.
    """
    return float(share**sessions + (1 - share) ** sessions)


# Does a device slow down as it works? Latency against time within one session.


RATIO_LIMIT = 1.05
MIN_VALUES = 8
"""Below it a quarter is a single value, and noise alone reaches the ratio."""

MAX_POINTS = 500
"""The slope compares every pair: longer sessions are thinned to this many block medians first."""

Series = Sequence[float] | NDArray[np.float64]


@dataclass(frozen=True)
class Heat:
    """Drift of latency over a session.

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
        """Return True if the last quarter took more than 1.05 times the first."""
        return self.ratio > RATIO_LIMIT

    @property
    def suspected(self) -> bool:
        """Return True if either of the two says so."""
        return self.slower or self.rising


def heat(at_s: Series, values: Series) -> Heat | None:
    """Fit the drift of `values` (any unit, positive) over `at_s` (seconds, rising); None below MIN_VALUES."""
    times = np.asarray(at_s, dtype=np.float64)
    array = np.asarray(values, dtype=np.float64)
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
"""With three passes the middle one alone says whether the first and the last are more than noise."""


def rise_together(at_s: Sequence[Series], values: Sequence[Series]) -> float | None:
    """Share by which passes became slower over sessions that are too short for `heat`, judged together.

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
        # As of `np.array_split`: the first blocks are one longer where they cannot all be of one length.
        length, longer = divmod(values.size, MAX_POINTS)
        edge = longer * (length + 1)
        times, values = (
            np.concatenate(
                [
                    np.median(series[:edge].reshape(longer, length + 1), axis=1),
                    np.median(series[edge:].reshape(-1, length), axis=1),
                ]
            )
            for series in (times, values)
        )
    with np.errstate(invalid="ignore"):  # of passes that all began at once; their lower slope is no number
        from scipy import stats  # here: it takes long to import

        result = stats.theilslopes(values, times, alpha=0.95)
    return float(result.slope), float(result.low_slope)
