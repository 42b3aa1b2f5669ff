"""Tail percentiles, given only where there are enough values to speak of them.

One rule serves bounds and early verdicts alike: how many of n values may be beyond a percentile follows the
binomial distribution. It is the rule of MLPerf Inference's LoadGen, whose table is `least_n` at 99 %.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy import special

from edgebench.stats.intervals import CONFIDENCE, mean_interval, widening

MOST_VALUES = 10_000_000

STALL_SHARE = 0.3
"""A stall that hits this share of all sessions has to be seen before a far tail is bounded from above."""

Values = Sequence[float] | NDArray[np.float64]


@dataclass(frozen=True)
class PercentileFigure:
    """A percentile with its bounds, in the values' unit; all None where n is too small, with the reason.

    Each bound holds at its confidence by itself (one-sided), which is what a verdict asks of it.
    """

    value: float | None
    low: float | None
    high: float | None
    n: int
    reason: str = ""


@lru_cache(maxsize=1024)
def least_n(p: float, confidence: float = CONFIDENCE, beyond: int = 0) -> int:
    """The fewest values, `beyond` of which may exceed a limit that percentile `p` still meets.

    Were the percentile above the limit, more than 1 - p of all values would exceed it, and as few as
    `beyond` of n would with probability P[Binomial(n, 1 - p) <= beyond] at most: it is the least n at which
    that is 1 - confidence. At 0.95 and with none beyond it is 29, 59, 299 and 2995 for 0.9, 0.95, 0.99 and
    0.999; at 0.99 LoadGen's 44, 64, 81 for 0, 1 and 2 beyond p90 and 459, 662, 838 beyond p99.

    Raises ValueError where it would take more than MOST_VALUES.
    """
    counts = range(beyond + 1, MOST_VALUES + 1)
    # The more values there are, the less likely so few lie beyond.
    at = bisect_left(counts, confidence - 1, key=lambda n: -special.bdtr(beyond, n, 1 - p))
    if at == len(counts):
        raise ValueError(f"percentile {p} takes more than {MOST_VALUES} values")
    return counts[at]


def percentile_interval(values: Values, p: float, confidence: float = CONFIDENCE) -> PercentileFigure:
    """Percentile `p` (0.9 for p90) with exact bounds from order statistics.

    How many values are below the percentile is binomial, so the bounds are values of known rank (Conover,
    "Practical Nonparametric Statistics", 3.2; scipy's quantile_test, whose search for every call is slow).

    Exact for independent values, as those of one session are thought to be. Values of several sessions share
    their session's luck: `percentile_over_sessions`.

    Args:
        values: in any unit and order.
        p: as a share.
        confidence: of each bound by itself.
    """
    array = np.asarray(values, dtype=np.float64)
    n = int(array.size)
    needed = least_n(p, confidence)
    if n < needed:
        sure = f"{100 * confidence:.4g} % confidence"
        reason = f"n too small: p{100 * p:g} takes {needed} values at {sure} and there are {n}"
        return PercentileFigure(None, None, None, n, reason)
    below, above = _ranks(n, p, confidence)
    ordered = np.sort(array)
    low = float(ordered[below]) if below >= 0 else None
    return PercentileFigure(float(np.quantile(ordered, p)), low, float(ordered[above]), n)


@lru_cache(maxsize=1024)
def _ranks(n: int, p: float, confidence: float) -> tuple[int, int]:
    """Ranks of n ascending values that bound percentile `p`, counted from 0; -1 for no bound from below."""
    from scipy import stats  # here: it takes long to import

    above = int(stats.binom.ppf(confidence, n, p))
    below = int(stats.binom.ppf(1 - confidence, n, p))
    return (below if stats.binom.cdf(below, n, p) <= 1 - confidence else below - 1), above


def percentile_over_sessions(
    values_by_session: Sequence[Values], p: float, confidence: float = CONFIDENCE
) -> PercentileFigure:
    """Percentile `p` of all values, with bounds that hold although sessions differ.

    Bounds from all values at once cover 40 to 70 % instead of 95 % where sessions shift by as much as the
    values within one scatter. Each session's own percentile is one number, so that from these K numbers

    - the percentile over all sessions is at least the lower end of their mean's interval (`mean_interval`);
    - it is at most the value below which the share `p` of such sessions stays: the one-sided tolerance
      limit of a normal sample (Owen, "Factors for one-sided tolerance limits", 1963), widened as an
      interval is where each session resembles the one before it.

    The bounds from all values at once still hold where they are the wider ones.

    Args:
        values_by_session: one sequence a session, any unit; sessions without a value do not count.
        p: as a share, from a half up.
        confidence: of each bound by itself.

    Returns:
        As `percentile_interval`; of one session, exactly that.
    """
    sessions = [np.asarray(values, dtype=np.float64) for values in values_by_session]
    sessions = [values for values in sessions if values.size]
    pooled = np.concatenate(sessions) if sessions else np.empty(0)
    pooled_figure = percentile_interval(pooled, p, confidence)
    if pooled_figure.low is None or pooled_figure.high is None or len(sessions) < 2:
        return pooled_figure
    # The higher of two neighbours: a session's few values reach less far than its percentile.
    own = np.array([np.quantile(values, p, method="higher") for values in sessions])
    bounds = mean_interval(own, 2 * confidence - 1)
    reach = tolerance_factor(p, confidence, own.size) * float(own.std(ddof=1)) * float(widening(own))
    return PercentileFigure(
        pooled_figure.value,
        min(pooled_figure.low, float(bounds.low)),
        max(pooled_figure.high, float(bounds.value) + reach),
        pooled_figure.n,
    )


def unseen_stall(sessions: int) -> str:
    """Reason that so few sessions do not bound a far tail (p99, a maximum) from above; empty where they do.

    A few stalled passes in some sessions alone move the tail over all sessions, and sessions without one tell
    nothing of the others. If STALL_SHARE of all sessions stall, none of K does in (1 - STALL_SHARE)^K of
    trials: 34 % with 3 and 17 % with 5. It takes 9 sessions to see one at 95 % confidence, whatever they
    hold: a look at fewer decides nothing, so that looks share no error.
    """
    needed = stall_sessions()
    if sessions >= needed:
        return ""
    return (
        f"a stall in {100 * STALL_SHARE:.0f} % of sessions leaves no trace in "
        f"{100 * (1 - STALL_SHARE) ** sessions:.0f} % of trials of {sessions} sessions: a tail takes {needed}"
    )


def stall_sessions() -> int:
    """The fewest sessions of which one stalls at 95 % confidence, if STALL_SHARE of all sessions do."""
    return least_n(1 - STALL_SHARE)


@lru_cache(maxsize=1024)
def tolerance_factor(p: float, confidence: float, n: int) -> float:
    """Standard deviations above the mean at which the share `p` of a normal population ends, at most.

    3.41 for p = 0.9 at 0.95 from n = 5 values: noncentral t with n - 1 degrees of freedom over the root of n.
    """
    from scipy import stats  # here: it takes long to import

    shift = float(stats.norm.ppf(p)) * math.sqrt(n)
    return float(stats.nct.ppf(confidence, n - 1, shift)) / math.sqrt(n)


# A median a minute: how a long session's latency moved, in figures that a reader can follow.


MINUTE_S = 60.0


def minute_medians(at_s: Sequence[float], values: Sequence[float]) -> dict[int, tuple[float, int]]:
    """Map each minute, counted from 0, to the median of the values that began in it and their number.

    Args:
        at_s: when each began, seconds since the session's first; none below 0.
        values: one a time, any unit.
    """
    minutes: dict[int, list[float]] = {}
    for at, value in zip(at_s, values, strict=True):
        minutes.setdefault(int(at // MINUTE_S), []).append(value)
    return {minute: (float(np.median(of)), len(of)) for minute, of in sorted(minutes.items())}


# Deadlines of paced passes: how many were missed, and by how much.


def misses(lateness_s: Sequence[float]) -> int:
    """Number of passes that were not done when the next one should begin.

    Args:
        lateness_s: of each pass, its end minus its deadline (lateness as in Buttazzo, Hard
            Real-Time Computing Systems); a pass that ends on its deadline is in time.
    """
    return int((np.asarray(lateness_s, dtype=np.float64) > 0).sum())
