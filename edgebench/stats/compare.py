"""Is B different from A? Session medians against session medians.

Different takes two things: that chance alone does not do it (Welch's test, since two devices need not scatter
alike) and that it is large enough to matter.

Power and energy are compared where meters of one scope took both sides, and declared power is never.

Times, watts and bytes are above zero, and so are their ratios: test and interval are taken on the logarithm
of the ratio, as the interval of each side is (see `edgebench.stats.intervals`). Its standard error is that of
the two means as shares of them (delta method), with Welch's degrees of freedom of those shares, and the
interval excludes 1 exactly where the test says so. Where sessions differ by a few per cent this is Welch's
test of the values themselves. The error of a side whose sessions resemble the one before them is as much
larger as its interval is wider (`edgebench.stats.intervals.widening`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special

from edgebench.stats.intervals import CONFIDENCE, MIN_SESSIONS, t_interval, widening

ALPHA = 0.05
MINIMUM_EFFECT = 0.03

MOST_SESSIONS = 1_000
"""More sessions a side than this are no advice."""

GATE_SESSIONS = 5
"""Fewer sessions a side decide no gate. Where 30 % of all sessions are in a second mode far off the first,
one side falls into one mode and the other side into the other in 1.9 % of comparisons of like results with
3 sessions a side, 0.4 % with 4 and 0.08 % with 5. No p shows it, and 20 comparisons of a call multiply it."""

Word = Literal["same", "better", "worse", "undecided"]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Comparison:
    """B against A."""

    word: Word
    """better or worse where the difference is significant and at least the minimum effect; same where the
    ratio's whole interval is nearer to 1 than that; else undecided. Source: fit."""
    ratio: float
    """Mean of B's session medians over A's. Source: fit."""
    low: float | None
    """Lower end of the ratio's interval at 1 - alpha; null without one. Source: fit."""
    high: float | None
    """Upper end of the ratio's interval at 1 - alpha; null without one. Source: fit."""
    p: float | None
    """p of Welch's test, two-sided; null below three sessions a side. Source: fit."""
    reason: str = ""
    """Why a figure is missing; empty where none is. Source: fit."""


class Ratios(NamedTuple):
    """B over A for many pairs at once, each float64 [...]."""

    ratio: Floats
    low: Floats
    high: Floats
    p: Floats


def compare(
    a_medians: Sequence[float],
    b_medians: Sequence[float],
    *,
    lower_is_better: bool,
    minimum_effect: float = MINIMUM_EFFECT,
    alpha: float = ALPHA,
    ticks: float = 0.0,
) -> Comparison:
    """B against A.

    Args:
        a_medians: one number a session, above 0 and finite.
        b_medians: the same of B, in the same unit.
        lower_is_better: as for times and watts; False as for images a second.
        minimum_effect: the smallest ratio that counts, as a share: 0.03 is 3 % more or less.
        alpha: in this many comparisons of like with like the test may be wrong.
        ticks: one tick of each side's clock as a share of its value, added up: what is less far from 1 is no
            difference, and the interval is no narrower.

    Raises ValueError for an effect below 0 or an alpha that is no share.
    """
    if minimum_effect < 0 or not 0 < alpha < 1:
        raise ValueError("the minimum effect is at least 0 and alpha between 0 and 1")
    a, b = (np.asarray(side, dtype=np.float64) for side in (a_medians, b_medians))
    fewest = min(a.size, b.size)
    if fewest < MIN_SESSIONS:
        reason = f"a comparison takes {MIN_SESSIONS} sessions a side and there are {fewest}"
        return Comparison("undecided", float(b.mean() / a.mean()), None, None, None, reason=reason)
    b_over_a = ratios(a, b, alpha)
    if ticks:
        near = np.abs(np.log(b_over_a.ratio)) <= math.log1p(ticks)
        b_over_a = Ratios(
            b_over_a.ratio,
            np.minimum(b_over_a.low, b_over_a.ratio / (1 + ticks)),
            np.maximum(b_over_a.high, b_over_a.ratio * (1 + ticks)),
            np.where(near, 1.0, b_over_a.p),
        )
    ratio, low, high, p = map(float, b_over_a)
    return Comparison(_word(b_over_a, lower_is_better, minimum_effect, alpha), ratio, low, high, p)


def ratios(a: Floats, b: Floats, alpha: float = ALPHA) -> Ratios:
    """B over A over the last axis, float64 [..., K] each and K at least 2, above 0, with Welch's p."""
    mean_a, mean_b = a.mean(axis=-1), b.mean(axis=-1)
    ratio = mean_b / mean_a
    error_a, error_b = (
        (side / mean[..., None]).var(axis=-1, ddof=1) / side.shape[-1] * widening(side) ** 2
        for side, mean in ((a, mean_a), (b, mean_b))
    )
    error = error_a + error_b
    # Sessions that are all equal leave no error, and nothing that could be due to chance.
    exact = error <= 1e-30
    variance = np.where(exact, 1.0, error)
    parts = error_a**2 / (a.shape[-1] - 1) + error_b**2 / (b.shape[-1] - 1)
    degrees = np.where(exact, 1.0, variance**2 / np.where(exact, 1.0, parts))
    t = np.abs(np.log(ratio)) / np.sqrt(variance)
    p = np.where(exact, np.where(mean_a == mean_b, 1.0, 0.0), 2 * special.stdtr(degrees, -t))
    factor = np.where(exact, 1.0, np.exp(special.stdtrit(degrees, 1 - alpha / 2) * np.sqrt(variance)))
    return Ratios(ratio, ratio / factor, ratio * factor, np.asarray(p))


def slowest(
    alone: Sequence[Floats], together: Sequence[Floats], alpha: float = ALPHA
) -> tuple[NDArray[np.intp], Ratios]:
    """Find the worker with the largest ratio of together to alone, int [...], and that ratio.

    Whoever is the largest of W by chance seems slower than it is. The ends are those of intervals at
    1 - alpha / W each, which hold all W ratios at once (Bonferroni) whatever these have in common: from the
    lower end of the worker that is named to the highest upper end of all. So they hold its own ratio, and
    that of the worker that is truly slowest, which may be another one.

    Args:
        alone: by worker, medians of the sessions of its variant alone, float64 [..., K], K at least 2.
        together: by worker, those of its own sessions, K as it is; all above 0.
        alpha: for the interval of the largest ratio.
    """
    each = [ratios(a, b, alpha / len(alone)) for a, b in zip(alone, together, strict=True)]
    stacked = Ratios(*(np.stack(part, axis=-1) for part in zip(*each, strict=True)))
    at = np.asarray(np.argmax(stacked.ratio, axis=-1))
    named = Ratios(*(np.take_along_axis(part, at[..., None], axis=-1)[..., 0] for part in stacked))
    return at, named._replace(high=stacked.high.max(axis=-1))


def different(
    b_over_a: Ratios, minimum_effect: float = MINIMUM_EFFECT, alpha: float = ALPHA
) -> NDArray[np.bool_]:
    """Flag ratios that are significant and at least the minimum effect, bool [...]."""
    return np.asarray((b_over_a.p < alpha) & (np.abs(b_over_a.ratio - 1) >= minimum_effect))


def sessions_to_decide(
    a_medians: Sequence[float],
    b_medians: Sequence[float],
    *,
    minimum_effect: float = MINIMUM_EFFECT,
    alpha: float = ALPHA,
) -> int | None:
    """Number of sessions per side that would decide an undecided comparison, if ratio and spread stay.

    Decided is what is different, where the ratio is at least the minimum effect away from 1, and what is the
    same else.

    Args:
        a_medians: as of `compare`, at least 2.
        b_medians: the other side's.
        minimum_effect: as of `compare`.
        alpha: as of `compare`; of several comparisons what is left to each.

    Returns:
        At least MIN_SESSIONS, and more than the longer side has; None above MOST_SESSIONS.
    """
    a, b = (np.asarray(side, dtype=np.float64) for side in (a_medians, b_medians))
    ratio = float(b.mean() / a.mean())
    variance = sum(float(np.var(side / side.mean(), ddof=1)) for side in (a, b)) / 2
    if abs(ratio - 1) >= minimum_effect:
        room, certainty = abs(math.log(ratio)), alpha
    else:
        nearest_end = min(
            math.log(1 + minimum_effect) - math.log(ratio), math.log(ratio / (1 - minimum_effect))
        )
        room, certainty = nearest_end, ALPHA
    counts = np.arange(max(MIN_SESSIONS, len(a) + 1, len(b) + 1), MOST_SESSIONS + 1)
    reach = special.stdtrit(2 * counts - 2, 1 - certainty / 2) * np.sqrt(2 * variance / counts)
    enough = np.flatnonzero(reach < room)
    return int(counts[enough[0]]) if enough.size else None


def _word(b_over_a: Ratios, lower_is_better: bool, minimum_effect: float, alpha: float) -> Word:
    if different(b_over_a, minimum_effect, alpha):
        return "better" if (b_over_a.ratio < 1) == lower_is_better else "worse"
    inside = b_over_a.low > 1 - minimum_effect and b_over_a.high < 1 + minimum_effect
    return "same" if inside else "undecided"


# The difference of two shares of the same images: Tango's score interval.
#
# Two classifiers err on much the same images, so that the difference is better known than either share. The
# interval holds the differences that the score test of McNemar's table does not refuse (T. Tango,
# Statistics in
# Medicine 17, 1998, pages 891 to 908). It exists where the two never differ, as the Wilson interval does at
# 0
# and at n, and contains 0 exactly where McNemar's test without continuity correction finds no difference.


def paired_difference(
    only_a: int, only_b: int, n: int, confidence: float = CONFIDENCE
) -> tuple[float, float, float]:
    """The share of a less that of b, as a fraction, with the ends of its interval.

    Args:
        only_a: images that only a got right.
        only_b: images that only b got right.
        n: all images.
        confidence: two-sided.
    """
    z = float(special.ndtri((1 + confidence) / 2))
    low, high = -_upper(only_b, only_a, n, z), _upper(only_a, only_b, n, z)
    return (only_a - only_b) / n, low, high


_HALVINGS = 54  # of an interval no longer than 2: to the last digit of a double


def _upper(only_a: int, only_b: int, n: int, z: float) -> float:
    """The greatest difference whose score is not below -z."""
    low, high = (only_a - only_b) / n, 1.0
    for _ in range(_HALVINGS):  # scipy.optimize takes longer to import than this takes
        middle = (low + high) / 2
        low, high = (middle, high) if score(only_a, only_b, n, middle) >= -z else (low, middle)
    return high


def score(only_a: int, only_b: int, n: int, difference: float) -> float:
    """Standard errors by which the measured difference exceeds a supposed one, in (-1, 1].

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


# Shares of a count: the Wilson interval, McNemar's exact test for two classifiers on one set, and the
# difference of two shares of different things.


def wilson(k: int, n: int, confidence: float = CONFIDENCE) -> tuple[float, float]:
    """The Wilson score interval of k of n, as fractions, always around k / n.

    E. B. Wilson, Journal of the American Statistical Association 22, 1927, pages 209 to 212.
    """
    share, z = k / n, float(special.ndtri(0.5 + 0.5 * confidence))
    scale = 2 * (n + z**2)
    center = (2 * n * share + z**2) / scale
    half = z / scale * math.sqrt(4 * n * share * (1 - share) + z**2)
    low, high = 0.0 if k == 0 else center - half, 1.0 if k == n else center + half
    # At k = 0 and k = n rounding can leave the share a hair outside.
    return min(low, share), max(high, share)


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

    1.0 where the two never differ.
    """
    fewer, n = min(only_a, only_b), only_a + only_b
    # The tail up to the lesser count, twice: with both alike the tails overlap.
    return 1.0 if only_a == only_b else min(1.0, 2 * float(special.bdtr(fewer, n, 0.5)))


def share_difference(a: tuple[int, int], b: tuple[int, int]) -> tuple[float, float, float]:
    """The share b less the share a, of different things, with the ends of Newcombe's interval.

    It joins the two Wilson intervals (R. G. Newcombe, Statistics in Medicine 17, 1998, pages 873 to 890,
    method 10) and stays within -1 and 1.

    Args:
        a: k and n of the one side, n above 0.
        b: those of the other.
    """
    (low_a, high_a), (low_b, high_b) = wilson(*a), wilson(*b)
    share_a, share_b = a[0] / a[1], b[0] / b[1]
    difference = share_b - share_a
    low = difference - math.hypot(share_b - low_b, high_a - share_a)
    high = difference + math.hypot(high_b - share_b, share_a - low_a)
    return difference, low, high


def fisher(a: tuple[int, int], b: tuple[int, int]) -> float:
    """Two-sided p of Fisher's exact test of two shares, k and n each."""
    table = [[k, n - k] for k, n in (a, b)]
    from scipy import stats  # here: it takes long to import

    return float(stats.fisher_exact(table).pvalue)
