"""The headline statistic and its interval: Student's t over session medians, as a factor on the value.

Values within a session share its process, its placement and its heat, so they are not independent: a
bootstrap over all of them claims 95 % and covers far less. Sessions are the independent unit, hence one
number a session.

Seconds, watts, joules and bytes are above zero, and so is their interval: it reaches from value / f to
value * f, with ln f Student's t times the standard error as a share of the value. That is the t interval of
the mean's logarithm (delta method: its standard error is that of the mean over the mean). Where sessions
differ by a few per cent it is the t interval of the values to within the square of its width; where they
differ by much it reaches farther up than down, as what is bounded by zero scatters.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from edgebench.stats.interval import Interval

CONFIDENCE = 0.95
MIN_SESSIONS = 3
"""Two sessions have one degree of freedom (t = 12.7): their interval says nothing, so none is given."""


def session_medians(values_by_session: Sequence[Sequence[float] | NDArray[np.float64]]) -> list[float]:
    """The median of each session that has values, in order.

    Raises ValueError for a value that is not finite: a missing figure is left out, never a NaN.
    """
    arrays = [np.asarray(values, dtype=np.float64) for values in values_by_session]
    arrays = [array for array in arrays if array.size]
    if not arrays:
        return []
    # Sessions of one length, as nearly all are, take one call.
    alike = len({array.size for array in arrays}) == 1
    medians = [medians_of(block) for block in ([np.stack(arrays)] if alike else arrays)]
    return [float(median) for block in medians for median in np.atleast_1d(block)]


def medians_of(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """The median of every session over the last axis: float64 [..., n] to [...], n at least 1."""
    if not np.isfinite(values).all():
        raise ValueError("a session holds a value that is not finite")
    ordered, n = np.sort(values, axis=-1), values.shape[-1]
    return np.asarray((ordered[..., (n - 1) // 2] + ordered[..., n // 2]) / 2)


def mean_over_sessions(medians: NDArray[np.float64]) -> NDArray[np.float64]:
    """The mean over the last axis, float64 [..., K] to [...]; of equal sessions exactly their value."""
    # Taken from the first, so that nothing is lost to rounding where nothing differs.
    first = medians[..., :1]
    return np.asarray(first[..., 0] + (medians - first).sum(axis=-1) / medians.shape[-1])


def trial_median(values_by_session: Sequence[Sequence[float] | NDArray[np.float64]]) -> float:
    """Median of a trial: the mean over its sessions of each session's own median.

    Of what is taken once a session, such as the time to load, it is the mean over the sessions.

    Raises ValueError when no session has a value, or one is not finite.
    """
    medians = session_medians(values_by_session)
    if not medians:
        raise ValueError("no session has a value")
    return float(mean_over_sessions(np.array(medians)))


@lru_cache(maxsize=4096)
def t_quantile(confidence: float, degrees: int) -> float:
    """Standard errors that a two-sided interval at that confidence reaches (Student's t)."""
    return float(special.stdtrit(degrees, (1 + confidence) / 2))


def t_interval(
    medians: NDArray[np.float64], confidence: float = CONFIDENCE
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Centre and half-width of Student's t interval over the last axis.

    Args:
        medians: float64 [..., K], one number a session; K at least 2.
        confidence: of the two-sided interval.

    Returns:
        Two arrays [...], in the medians' unit.
    """
    sessions = medians.shape[-1]
    centre = mean_over_sessions(medians)
    squares = np.square(medians - centre[..., None]).sum(axis=-1)
    scale = t_quantile(confidence, sessions - 1) / math.sqrt(sessions * (sessions - 1))
    return centre, scale * np.sqrt(squares) * widening(medians)


# Sessions that resemble the one before them, as those of a machine that warms up: the interval takes them for
# independent, and would cover less than it claims.


RESEMBLANCE_SESSIONS = 8
"""With fewer sessions nothing is tested."""

RESEMBLANCE_SHARE = 0.05
"""So many of all sets of independent normal sessions are taken for ones that resemble each other."""

MOST_CORRELATION = 0.9


@lru_cache(maxsize=1024)
def least_ratio(sessions: int) -> float:
    """The von Neumann ratio that RESEMBLANCE_SHARE of sets of independent normal sessions stay below.

    The ratio is the sum of the squared steps from each session to the next over that of the squared
    deviations from the mean. Its mean is 2 and its variance 4 (K - 2) / (K^2 - 1) (J. von Neumann,
    "Distribution of the ratio of the mean square successive difference to the variance", Annals of
    Mathematical Statistics 12, 1941). A quarter of it is taken for beta distributed with these moments: from
    8 sessions on, its exact share (Imhof, Biometrika 48, 1961) is between 4.99 and 5.01 %.

    Args:
        sessions: K, at least RESEMBLANCE_SESSIONS.
    """
    shape = ((sessions**2 - 1) / (sessions - 2) - 1) / 2
    return 4 * float(special.betaincinv(shape, shape, RESEMBLANCE_SHARE))


def widening(medians: NDArray[np.float64]) -> NDArray[np.float64]:
    """Factor by which the interval widens where sessions resemble the one before them, at least 1.

    Where the von Neumann ratio is below `least_ratio` it is sqrt((1 + r) / (1 - r)): by so much the standard
    error of the mean of a first-order autoregressive series is above that of independent values. r is the
    correlation of neighbours plus its bias, (1 + 3 r) / K (Kendall, "Note on bias in the estimation of
    autocorrelation", Biometrika 41, 1954), from 0 to MOST_CORRELATION.

    Args:
        medians: float64 [..., K], one number a session in the order in which they were measured.

    Returns:
        An array [...]; 1 below RESEMBLANCE_SESSIONS sessions, and where all are equal.
    """
    sessions = medians.shape[-1]
    if sessions < RESEMBLANCE_SESSIONS:
        return np.ones(medians.shape[:-1])
    deviations = medians - mean_over_sessions(medians)[..., None]
    squares = np.square(deviations).sum(axis=-1)
    steps = np.square(np.diff(deviations, axis=-1)).sum(axis=-1)
    products = (deviations[..., 1:] * deviations[..., :-1]).sum(axis=-1)
    correlation = products / np.where(squares > 0, squares, 1.0)
    r = np.clip(correlation + (1 + 3 * correlation) / sessions, 0.0, MOST_CORRELATION)
    return np.where(steps < least_ratio(sessions) * squares, np.sqrt((1 + r) / (1 - r)), 1.0)


def resemblance(medians: Sequence[float]) -> str:
    """Sentence on how much resembling sessions widen the interval; "" where they do not."""
    wider = float(widening(np.asarray(medians, dtype=np.float64)))
    if wider == 1:
        return ""
    return f"each session resembles the one before it: the interval is {wider:.2g} times as wide for that"


class Bounds(NamedTuple):
    """A value with the ends of its interval, each float64 [...]."""

    value: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]


def mean_interval(medians: NDArray[np.float64], confidence: float = CONFIDENCE) -> Bounds:
    """The mean over the last axis with its interval, which does not reach below zero.

    Sessions of which one is below zero, as a meter's may that counts what flows back, have no such floor:
    their interval is Student's t on the values.

    Args:
        medians: float64 [..., K], one number a session; K at least 2.
        confidence: of the two-sided interval.

    Returns:
        Three arrays [...], in the medians' unit; of equal sessions three times exactly their value.
    """
    mean, half = t_interval(medians, confidence)
    signed = (medians < 0).any(axis=-1)
    # An infinite factor bounds nothing, which is what it then has to say.
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        factor = np.where(half > 0, np.exp(half / mean), 1.0)
        return Bounds(
            mean, np.where(signed, mean - half, mean / factor), np.where(signed, mean + half, mean * factor)
        )


def session_interval(
    values_by_session: Sequence[Sequence[float] | NDArray[np.float64]], confidence: float = CONFIDENCE
) -> Interval:
    """Mean of the session medians with the interval of `mean_interval`, K - 1 degrees of freedom.

    Args:
        values_by_session: one sequence a session, any unit; sessions without a value do not count.
        confidence: of the two-sided interval.

    Returns:
        The interval in the values' unit; low and high may be None below MIN_SESSIONS sessions
        (see `interval_reason`).

    Raises ValueError when no session has a value, or one is not finite.
    """
    medians = session_medians(values_by_session)
    if not medians:
        raise ValueError("no session has a value")
    sessions = len(medians)
    count = sum(len(values) for values in values_by_session)
    if sessions < MIN_SESSIONS:
        return Interval(float(mean_over_sessions(np.array(medians))), None, None, sessions, count)
    value, low, high = (float(end) for end in mean_interval(np.array(medians), confidence))
    return Interval(value, low, high, sessions, count)


def interval_reason(sessions: int) -> str:
    """Reason that an interval over that many sessions has no bounds; empty when it has."""
    if sessions >= MIN_SESSIONS:
        return ""
    counted = "1 session is" if sessions == 1 else f"{sessions} sessions are"
    return f"{counted} too few for an interval, which takes at least {MIN_SESSIONS}"


# How much error each look may spend when a trial is judged after every session and stops once decided.
#
# Looking several times at 95 % is wrong far more often than in 5 %. The total error is therefore divided
# over
# the looks: Lan and DeMets' spending with Pocock's function, alpha(t) = alpha * ln(1 + (e - 1) t), where t
# is
# the share of the sessions that are there (Lan and DeMets, "Discrete sequential boundaries for clinical
# trials", 1983). Each look may be wrong by its own increment, tested with the interval of that many
# sessions, so that the sum (the union bound) holds whatever the looks share and however few they are.


SPENDING_NAME = "Lan-DeMets, Pocock-type"
ALPHA = 0.005
"""At most this share of trials is decided wrongly, over all looks, where sessions scatter normally.

By simulation it is 2 % where they fall into two modes, or are exponential.
"""

STOPPING_CONFIDENCE = 0.975
"""At what confidence the interval of a trial is taken that ends by what its sessions show.

It ends at a moment when they happen to be close together, or far from a limit, so an interval at 95 % covers
only 90 to 95 % then. Taken at 97.5 %, to end a trial by its width and to show, it covers at least 94 %: found
by simulation of normal sessions whose spread is half to five times the target, with up to 30 sessions.
"""


SHAPE_SESSIONS = 12
"""Sessions that show how they scatter well enough to end a trial by a narrow interval, or a near verdict.

All of fewer fall too often into one of two modes, or miss a tail, with nothing to be seen of it. If 30 % of
all sessions are in a second mode, all of 3 are in one mode in 37 % of trials, and all of 12 in 1.4 %.
"""

EARLY_MARGIN = 0.1
"""With fewer than SHAPE_SESSIONS sessions a verdict is settled only with a margin above this share of its
limit."""


def spent(share: float, alpha: float = ALPHA) -> float:
    """The error that may have been spent once that share of the sessions is there; 0 at 0, alpha at 1."""
    return alpha * math.log1p((math.e - 1) * share)


def look_confidence(look: int, looks: int, alpha: float = ALPHA) -> float:
    """The two-sided confidence that the interval of one look must have.

    A decision is wrong on one side only (a limit that is met cannot be met by mistake), so an increment d of
    the error is the two-sided interval at 1 - 2 d.

    Args:
        look: 1 for the first, which is at MIN_SESSIONS sessions; one more session a look.
        looks: how many there are when no decision falls: the most sessions less MIN_SESSIONS, plus 1.
        alpha: the share of trials that may be decided wrongly.
    """
    before = MIN_SESSIONS - 1
    most = looks + before
    earlier = spent((look - 1 + before) / most, alpha) if look > 1 else 0.0
    return 1.0 - 2.0 * (spent((look + before) / most, alpha) - earlier)


# Values far from the rest: flagged and shown, never deleted.


THRESHOLD = 14.826
"""hyperfine's rule: ten standard deviations of a normal sample, whose deviation is 1.4826 MAD."""

MIN_VALUES = 8
"""With fewer values, ordinary ones are this far out too often for the rule to mean anything."""


def modified_z(values: Sequence[float] | NDArray[np.float64]) -> NDArray[np.float64]:
    """(value - median) / MAD of each value, float64 [n] (Iglewicz and Hoaglin, 1993, without 0.6745).

    Where more than half of the values are equal the MAD is 0 and says nothing of the spread: the mean
    absolute deviation takes its place, scaled to agree with it for a normal sample. All equal gives 0.
    """
    array = np.asarray(values, dtype=np.float64)
    if not array.size:
        return array
    deviation = array - np.median(array)
    scale = float(np.median(np.abs(deviation)))
    if scale == 0:
        # sigma = 1.4826 MAD = 1.2533 mean absolute deviation.
        scale = float(np.mean(np.abs(deviation))) * 1.2533 / 1.4826
    # Of values that differ by less than a float can scale, none is far out.
    return deviation / scale if scale > 1e-300 else np.zeros_like(array)


def outliers(values: Sequence[float] | NDArray[np.float64]) -> NDArray[np.bool_]:
    """Flag outliers, bool [n] in the order given; none below MIN_VALUES values."""
    z = modified_z(values)
    if z.size < MIN_VALUES:
        return np.zeros(z.size, dtype=np.bool_)
    return np.abs(z) > THRESHOLD


# Many comparisons at once: Holm's adjusted p, so that they are wrong together no more often than one is.
#
# Twenty comparisons of like with like at 5 % each find a difference in 64 % of cases. Holm's step-down (S.
# Holm, Scandinavian Journal of Statistics 6, 1979, pages 65 to 70) keeps that at 5 % whatever the
# comparisons
# have in common, such as the machine that all of them ran on, and finds more than dividing alpha by their
# number would.


def holm(p: ArrayLike) -> NDArray[np.float64]:
    """Adjusted p over the last axis, float64 [..., M]: at most alpha where Holm's test at alpha rejects.

    Args:
        p: of each comparison, [..., M], in 0 to 1.
    """
    values = np.asarray(p, dtype=np.float64)
    order = np.argsort(values, axis=-1, kind="stable")
    remaining = values.shape[-1] - np.arange(values.shape[-1])
    stepped = np.maximum.accumulate(np.take_along_axis(values, order, axis=-1) * remaining, axis=-1)
    adjusted = np.empty_like(values)
    np.put_along_axis(adjusted, order, np.minimum(stepped, 1.0), axis=-1)
    return adjusted
