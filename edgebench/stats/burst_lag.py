"""How late a meter's readings are, by bursts of load at known times that show in its power.

The lag is where the readings correlate best with the load that they should show. How well it is known is told
by the squares that other lags leave: those that leave no more than chance would are as likely.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from edgebench.stats.intervals import CONFIDENCE, t_quantile
from edgebench.stats.load_pattern import LoadPattern, LoadRegression, Readings
from edgebench.stats.power_curve import PowerCurve, power_curve

SEARCH_S, SEARCH_PERIODS = 2.0, 2.0
"""Lags are searched up to both together, in either direction."""

MIN_CORRELATION = 0.92
"""Noise and the load of another program come up to 0.7 by chance, a power that swings evenly up to 0.9."""

MOST_SECOND = 0.85
"""Of the highest correlation, how much there may be at another lag; the bursts' own pattern has none."""

MIN_READINGS = 12
"""Two in each burst and in each pause."""

MOST_GAP = 0.6
"""The longest time without a reading amid the bursts, in bursts."""

STEPS = 25
"""Lags that are tried in a burst's length."""

COARSE_READINGS, FINE_READINGS = 400, 6000
"""To how many readings a fast meter's are averaged for the search, and for its result."""

GRID, ZOOMS, RESOLUTION_S = 41, 12, 1e-6
PARAMETERS = 4  # of the regression: level, drift, the load's power, lag

UNKNOWN_AVERAGING = 0.5
"""In periods, from a moment to the middle of the time since the reading before: either may be meant."""


@dataclass(frozen=True)
class BurstLag:
    """How much later a meter's stamps are than the load that its readings are of.

    Attributes:
        lag_ns: None where it cannot be told, with the reason.
        half_width_ns: by how much it may be off, at 95 %.
        correlation: of the readings with the load at that lag; None where too few came.
        reason: why there is no lag.
    """

    lag_ns: int | None = None
    half_width_ns: int | None = None
    correlation: float | None = None
    reason: str = ""


@dataclass(frozen=True)
class _Peak:
    """The highest correlation, at which lag, and the highest at any other."""

    lag_s: float
    correlation: float
    second_lag_s: float
    second: float


def burst_lag(
    t_ns: NDArray[np.int64],
    watts: NDArray[np.float64],
    bursts_ns: Sequence[tuple[int, int]],
    pause_ns: int,
    averaging_s: float | None = None,
) -> BurstLag:
    """The lag of a meter, by its readings around bursts of load.

    Args:
        t_ns: stamps int64 [n], in any order; of equal stamps the first counts.
        watts: float64 [n] in W; readings that are not finite are left out.
        bursts_ns: start and end of each burst on the stamps' clock, in order, with pauses between them.
        pause_ns: how long nothing ran before the first.
        averaging_s: the time before its stamp that a reading is a mean over, which is no part of the lag.
            None where it is not known: it is then a moment or the time since the reading before, whichever
            fits.
    """
    from_ns = bursts_ns[0][0] - pause_ns
    pattern = LoadPattern((np.array(bursts_ns, np.int64) - np.int64(from_ns)) / 1e9, 0.0)
    curve = power_curve(t_ns, watts)
    amid = curve.within(from_ns, bursts_ns[-1][1])
    if len(amid.t_ns) < MIN_READINGS:
        return BurstLag(
            reason=f"{len(amid.t_ns)} readings came amid the load bursts, {MIN_READINGS} are needed"
        )
    period_s = float(np.median(np.diff(amid.t_ns))) / 1e9
    search_s = SEARCH_S + SEARCH_PERIODS * period_s
    reach_ns = round((search_s + pattern.burst_s) * 1e9)
    curve = curve.within(from_ns - reach_ns, bursts_ns[-1][1] + reach_ns)
    candidates = _candidates(curve, from_ns, period_s, averaging_s)
    peaks = [_peak(readings.averaged(COARSE_READINGS), pattern, search_s) for readings in candidates]
    peak = max(peaks, key=lambda each: each.correlation)
    if reason := _objection(peak, search_s) or _gap(curve, from_ns, pattern, peak.lag_s):
        return BurstLag(correlation=peak.correlation, reason=reason)
    lag_s, half_s = _narrowed(candidates, pattern, peak)
    half_s += _jitter_s(amid) + (UNKNOWN_AVERAGING * period_s if averaging_s is None else 0.0)
    return BurstLag(round(lag_s * 1e9), math.ceil(half_s * 1e9), peak.correlation)


def _candidates(
    curve: PowerCurve, from_ns: int, period_s: float, averaging_s: float | None
) -> list[Readings]:
    """The readings, by each time that they may be means over."""
    t_s = curve.seconds_from(from_ns)
    if averaging_s is not None:
        return [Readings(t_s, curve.watts, np.full(len(t_s), averaging_s))]
    # After a gap a reading is not the mean of all of it.
    since_last_s = np.minimum(np.diff(t_s, prepend=t_s[0] - period_s), 2 * period_s)
    return [Readings(t_s, curve.watts, over_s) for over_s in (np.zeros(len(t_s)), since_last_s)]


def _peak(readings: Readings, pattern: LoadPattern, search_s: float) -> _Peak:
    steps = math.ceil(search_s / pattern.burst_s * STEPS)
    lags_s = np.linspace(-search_s, search_s, 2 * steps + 1)
    correlations = np.array([_correlation(readings, pattern, lag_s) for lag_s in lags_s.tolist()])
    best = int(correlations.argmax())
    # A flank of the highest peak is no second one.
    edges = np.pad(correlations, 1, constant_values=-1.0)
    is_peak = (correlations >= edges[:-2]) & (correlations >= edges[2:])
    others = np.where(is_peak & (abs(lags_s - lags_s[best]) > pattern.burst_s / 2), correlations, 0.0)
    second = int(others.argmax())
    return _Peak(float(lags_s[best]), float(correlations[best]), float(lags_s[second]), float(others[second]))


def _correlation(readings: Readings, pattern: LoadPattern, lag_s: float) -> float:
    known = readings.within(pattern, lag_s, lag_s)
    if len(known.t_s) < MIN_READINGS:
        return 0.0
    return float(LoadRegression(known, pattern).correlations(np.array([lag_s]))[0])


def _objection(peak: _Peak, search_s: float) -> str:
    """Why a peak is not to be believed; "" where it is."""
    if peak.correlation < MIN_CORRELATION:
        return (
            f"the load bursts are not in its readings: their correlation is {peak.correlation:.2f} at most, "
            f"{MIN_CORRELATION:g} is needed"
        )
    if peak.second > MOST_SECOND * peak.correlation:
        return (
            f"its readings match the load bursts at a lag of {peak.lag_s:.3g} s (correlation "
            f"{peak.correlation:.2f}) and at {peak.second_lag_s:.3g} s ({peak.second:.2f})"
        )
    if abs(peak.lag_s) >= search_s:
        return f"its lag is {search_s:.3g} s or more"
    return ""


def _gap(curve: PowerCurve, from_ns: int, pattern: LoadPattern, lag_s: float) -> str:
    """That readings of the bursts are missing; "" where there are enough."""
    start_s, end_s = pattern.from_s + lag_s, pattern.to_s + lag_s
    at_s = curve.seconds_from(from_ns)
    at_s = at_s[(at_s > start_s) & (at_s < end_s)]
    gap_s = float(np.diff(np.concatenate(([start_s], at_s, [end_s]))).max())
    if gap_s <= MOST_GAP * pattern.burst_s:
        return ""
    return f"its readings have a hole of {gap_s:.3g} s amid the load bursts"


def _narrowed(candidates: list[Readings], pattern: LoadPattern, peak: _Peak) -> tuple[float, float]:
    """The middle of the lags near a peak that chance does not tell from the best, and half their width, in s.

    A lag is told from the best where it leaves more squares by the F test of one parameter. Readings of
    moments do not tell lags between two of them: the lags that all edges of the bursts allow are left.
    """
    reach_s = pattern.burst_s / 4
    known = [readings.within(pattern, peak.lag_s - reach_s, peak.lag_s + reach_s) for readings in candidates]
    regressions = [LoadRegression(readings.averaged(FINE_READINGS), pattern) for readings in known]
    low_s, high_s = peak.lag_s - 2 * pattern.burst_s / STEPS, peak.lag_s + 2 * pattern.burst_s / STEPS
    for _ in range(ZOOMS):
        lags_s = np.linspace(low_s, high_s, GRID)
        step_s = float(lags_s[1] - lags_s[0])
        left = np.array([each.unexplained(lags_s) for each in regressions])
        which, best = np.unravel_index(int(left.argmin()), left.shape)
        free = regressions[which].independent_readings(float(lags_s[best])) - PARAMETERS
        free = max(free, 2.0)
        share = t_quantile(CONFIDENCE, free) ** 2 / free
        rounding = 1e-12 * regressions[which].squares
        alike = np.flatnonzero((left <= left.min() * (1 + share) + rounding).any(axis=0))
        first_s, last_s = float(lags_s[alike[0]]), float(lags_s[alike[-1]])
        if (alike[0] == 0 or alike[-1] == GRID - 1) and high_s - low_s < 2 * reach_s:
            low_s, high_s = low_s - 10 * step_s, high_s + 10 * step_s
        elif last_s - first_s < 8 * step_s and step_s > RESOLUTION_S:
            low_s, high_s = first_s - 2 * step_s, last_s + 2 * step_s
        else:
            break
    return (first_s + last_s) / 2, (last_s - first_s) / 2 + step_s


def _jitter_s(curve: PowerCurve) -> float:
    """By how much stamps are off an even rhythm, robustly: a standard deviation in s."""
    steps_s = np.diff(curve.t_ns) / 1e9
    return 1.4826 * float(np.median(abs(steps_s - np.median(steps_s)))) / math.sqrt(2)
