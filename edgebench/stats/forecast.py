"""Will this many sessions resolve that? Asked before they are paid for, or while they are measured.

The spread between sessions is itself only estimated from a few of them, so a forecast is a probability: of k
sessions whose squared deviations sum to Q, the sum over K sessions is Q * (1 + F * (K - k) / (k - 1)), where
F follows Fisher's distribution with (K - k, k - 1) degrees of freedom (the posterior predictive under
Jeffreys' prior, exact for normal sessions: Geisser, "Predictive Inference", 1993).

The interval is a factor on the value (edgebench.stats.intervals), so spreads are shares of the value, and
what is asked for is compared with the interval's reach: the logarithm of that factor.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy import special

from edgebench.stats.intervals import CONFIDENCE, MIN_SESSIONS, t_quantile, widening

MOST_SESSIONS = 10_000
SURE = 0.9
"""A forecast says yes or no where it is right in at least that share; between, it is unclear."""

DRAWS = 4000

Resolves = Literal["yes", "no", "unclear"]


@dataclass(frozen=True)
class Forecast:
    """Forecast for a number of sessions.

    Attributes:
        resolves: yes or no where that is at least 90 % sure.
        sessions_needed: how many will do if the spread is what it seems to be; None above MOST_SESSIONS, or
            where the spread is not known.
        probability: that the planned sessions resolve it; None where the spread is not known.
    """

    resolves: Resolves
    sessions_needed: int | None
    probability: float | None


def _reach(spread: float, sessions: int, confidence: float) -> float:
    """The logarithm of the factor by which the interval extends on either side."""
    return t_quantile(confidence, sessions - 1) * spread / math.sqrt(sessions)


def spread_between(medians: Sequence[float]) -> float:
    """Standard deviation between sessions as a share of their mean, wider where neighbours resemble.

    Args:
        medians: one number a session in the order in which they were measured; at least 2.
    """
    values = np.asarray(medians, dtype=np.float64)
    return float(values.std(ddof=1) * widening(values) / values.mean())


def sessions_for(spread: float, target: float, confidence: float = CONFIDENCE) -> int | None:
    """The fewest sessions whose interval has a half-width of at most `target`.

    Args:
        spread: standard deviation between sessions, as a share of the value.
        target: the interval's longer side, as a share of the value.
        confidence: of the two-sided interval.

    Returns:
        At least MIN_SESSIONS; None above MOST_SESSIONS.
    """
    return _sessions_to_reach(spread, math.log1p(target), confidence)


def _sessions_to_reach(spread: float, reach: float, confidence: float) -> int | None:
    counts = range(MIN_SESSIONS, MOST_SESSIONS + 1)
    # The reach falls with every session.
    at = bisect_left(counts, -reach, key=lambda sessions: -_reach(spread, sessions, confidence))
    return counts[at] if at < len(counts) else None


def forecast(
    medians_so_far: Sequence[float],
    sessions_planned: int,
    *,
    target_half_width: float | None = None,
    limit: float | None = None,
    confidence: float = CONFIDENCE,
) -> Forecast:
    """Forecast if `sessions_planned` sessions, the measured ones included, will resolve a target or a limit.

    Args:
        medians_so_far: one number a session in the order in which they were measured, above 0, in any unit.
            Where each resembles the one before it, so will those to come.
        sessions_planned: how many there will be in all, at least MIN_SESSIONS.
        target_half_width: resolved when the interval's longer side is at most this share of the value.
        limit: resolved when the interval is wholly on one side of it; in the medians' unit.
        confidence: of the interval.
    """
    values = np.asarray(medians_so_far, dtype=np.float64)
    if values.size < 2:
        return Forecast("unclear", None, None)
    centre, spread = float(values.mean()), spread_between(medians_so_far)
    if limit is None:
        reach = math.log1p(target_half_width or 0.0)
        probability = _narrow(spread, values.size, sessions_planned, reach, confidence)
    else:
        away = math.log(centre / limit)
        reach = abs(away)
        probability = _decided(away, spread, values.size, sessions_planned, confidence)
    needed = _sessions_to_reach(spread, reach, confidence) if reach > 0 else None
    return Forecast(_word(probability), needed, probability)


def _word(probability: float) -> Resolves:
    return "yes" if probability >= SURE else "no" if probability <= 1 - SURE else "unclear"


def _narrow(spread: float, sessions: int, planned: int, reach: float, confidence: float) -> float:
    """The probability that the interval over `planned` sessions extends by no more than `reach`."""
    widest = reach / _reach(1.0, max(sessions, planned), confidence)
    if sessions >= planned or spread == 0:
        return float(spread <= widest)
    growth = (widest / spread) ** 2 * (planned - 1) / (sessions - 1) - 1
    if growth <= 0:
        return 0.0
    more = planned - sessions
    return float(special.fdtr(more, sessions - 1, growth * (sessions - 1) / more))


def _decided(away: float, spread: float, sessions: int, planned: int, confidence: float) -> float:
    """The probability that the interval over `planned` sessions excludes a limit.

    Args:
        away: the logarithm of the mean over the limit.
        spread: standard deviation between sessions, as a share of the value.
        sessions: so far.
        planned: in all.
        confidence: of the interval.
    """
    if sessions >= planned or spread == 0:
        return float(abs(away) > _reach(spread, max(sessions, planned), confidence))
    normal, chi_pilot, chi_more = _draws(sessions, planned - sessions)
    more = planned - sessions
    deviations = spread**2 * (sessions - 1)
    sigma = np.sqrt(deviations / chi_pilot)
    # The mean of the sessions to come, as the pilot foretells it, and what joining the two adds.
    step = normal * sigma * math.sqrt(1 / sessions + 1 / more)
    mean = away + step * more / planned
    total = deviations + sigma**2 * chi_more + step**2 * sessions * more / planned
    spreads = np.sqrt(total / (planned - 1))
    decided = np.abs(mean) > _reach(1.0, planned, confidence) * spreads
    return float(np.mean(decided))


@lru_cache(maxsize=64)
def _draws(sessions: int, more: int) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """The same draws for every forecast of these counts, so that equal medians give equal forecasts."""
    generator = np.random.default_rng((sessions, more))
    chi_more = generator.chisquare(more - 1, DRAWS) if more > 1 else np.zeros(DRAWS)
    return generator.standard_normal(DRAWS), generator.chisquare(sessions - 1, DRAWS), chi_more
