"""Lag of a meter's readings, by bursts of load at known times that show in its power.

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
from edgebench.stats.power_curve import PowerCurve, power_curve

# A device's load over time as a pattern of bursts, and a meter's readings as a regression on it.
#
# A reading is the mean over a time before its stamp, and its stamp may be late; power follows the load
# linearly, on a level that drifts linearly.


SHORTEST_S = 1e-6
"""A moment, as the time that a reading is a mean over."""

MOST_RESEMBLANCE = 0.99


class LoadPattern:
    """The load in bursts and in the pauses before them: 1 within a burst, else 0.

    Args:
        bursts_s: float64 [n, 2], start and end of each in s, in order.
        from_s: since when nothing ran before the first.

    Attributes:
        from_s, to_s: from the first pause's start to the last burst's end; the load is known between them.
        burst_s: what a burst lasts.
    """

    def __init__(self, bursts_s: NDArray[np.float64], from_s: float) -> None:
        lengths_s = bursts_s[:, 1] - bursts_s[:, 0]
        self.from_s, self.to_s = from_s, float(bursts_s[-1, 1])
        self.burst_s = float(np.median(lengths_s))
        self._edges_s = np.concatenate(([from_s], bursts_s.ravel()))
        self._loaded_s = np.zeros(len(self._edges_s))
        self._loaded_s[2::2] = np.cumsum(lengths_s)
        self._loaded_s[3::2] = self._loaded_s[2:-1:2]

    def mean(self, end_s: NDArray[np.float64], over_s: NDArray[np.float64]) -> NDArray[np.float64]:
        """The mean load over each time `over_s` [n] that ends at `end_s` [..., n]."""
        start_s = end_s - over_s
        loaded_s = np.interp(end_s, self._edges_s, self._loaded_s)
        loaded_s -= np.interp(start_s, self._edges_s, self._loaded_s)
        return np.asarray(loaded_s / over_s)


class Readings:
    """A meter's readings in order of time, float64 [n] each.

    Attributes:
        t_s: their stamps.
        watts: what they say.
        over_s: the time before its stamp that each is a mean over.
    """

    def __init__(
        self, t_s: NDArray[np.float64], watts: NDArray[np.float64], over_s: NDArray[np.float64]
    ) -> None:
        self.t_s, self.watts, self.over_s = t_s, watts, np.maximum(over_s, SHORTEST_S)

    def averaged(self, most: int) -> Readings:
        """Reduce the readings to at most this many, each the mean of neighbours."""
        group = -(-len(self.t_s) // most)
        if group <= 1:
            return self
        whole = len(self.t_s) // group * group
        t_s, watts = self.t_s[:whole].reshape(-1, group), self.watts[:whole].reshape(-1, group)
        over_s = self.over_s[:whole:group] + t_s[:, -1] - t_s[:, 0]
        return Readings(t_s[:, -1], watts.mean(axis=1), over_s)

    def within(self, pattern: LoadPattern, least_s: float, most_s: float) -> Readings:
        """Keep the readings of known load alone, for every lag from the least to the most."""
        known = (self.t_s - self.over_s - most_s >= pattern.from_s) & (self.t_s - least_s <= pattern.to_s)
        return Readings(self.t_s[known], self.watts[known], self.over_s[known])


class LoadRegression:
    """Readings on load, what a level and its drift explain taken out of both.

    Args:
        readings: at least three.
    """

    def __init__(self, readings: Readings, pattern: LoadPattern) -> None:
        self._readings, self._pattern = readings, pattern
        t_s = readings.t_s - readings.t_s.mean()
        self._drift, _ = np.linalg.qr(np.stack([np.ones(len(t_s)), t_s], axis=1))
        self._watts = self._without_drift(readings.watts)
        self.squares = float(self._watts @ self._watts)

    def correlations(self, lags_s: NDArray[np.float64]) -> NDArray[np.float64]:
        """The correlation of readings and load at each lag; 0 where one of them is level."""
        expected = self._expected(lags_s)
        sizes = np.sqrt(np.square(expected).sum(axis=1) * self.squares)
        products = expected @ self._watts
        return np.asarray(np.divide(products, sizes, out=np.zeros(len(lags_s)), where=sizes > 0))

    def unexplained(self, lags_s: NDArray[np.float64]) -> NDArray[np.float64]:
        """The squares that each lag leaves, W2: all of them where power falls as the load rises."""
        return np.asarray(self.squares * (1 - np.maximum(self.correlations(lags_s), 0.0) ** 2))

    def independent_readings(self, lag_s: float) -> float:
        """Count the independent readings that the residuals at a lag are worth; neighbours may be alike."""
        [expected] = self._expected(np.array([lag_s]))
        residuals = self._watts - float(expected @ self._watts) / float(expected @ expected) * expected
        squares = float(residuals @ residuals)
        resemblance = float(residuals[1:] @ residuals[:-1]) / squares if squares > 0 else 0.0
        resemblance = min(max(resemblance, 0.0), MOST_RESEMBLANCE)
        return len(residuals) * (1 - resemblance) / (1 + resemblance)

    def _expected(self, lags_s: NDArray[np.float64]) -> NDArray[np.float64]:
        readings = self._readings
        return self._without_drift(self._pattern.mean(readings.t_s - lags_s[:, None], readings.over_s))

    def _without_drift(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(values - (values @ self._drift) @ self._drift.T)


SEARCH_S, SEARCH_PERIODS = 2.0, 2.0
"""Lags are searched up to both together, in either direction."""

BY_CHANCE = 0.7
"""Noise and the load of another program come up to this correlation; below it readings follow no burst."""

MIN_CORRELATION = 0.92
"""A power that swings evenly comes up to 0.9."""

MOST_SECOND = 0.85
"""The share of the highest correlation that another lag may have; the bursts' own pattern has none."""

MIN_READINGS = 12
"""Two in each burst and in each pause."""

MOST_GAP = 0.6
"""The longest time without a reading during the bursts, in bursts."""

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
    """Delay of a meter's stamps behind the load that its readings are of.

    Attributes:
        lag_ns: None where it is unknown, with the reason.
        half_width_ns: by how much it may be off, at 95 %.
        correlation: of the readings with the load at that lag, negative where a falling power explains the
            bursts better than a rising one; None where too few came.
        reason: why there is no lag.
    """

    lag_ns: int | None = None
    half_width_ns: int | None = None
    correlation: float | None = None
    reason: str = ""


@dataclass(frozen=True)
class _Peak:
    """The highest correlation, at which lag, the highest at any other, and the lowest."""

    lag_s: float
    correlation: float
    second_lag_s: float
    second: float
    lowest: float


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
    lowest = min(each.lowest for each in peaks)
    if -lowest > peak.correlation:
        return BurstLag(
            correlation=lowest,
            reason="the load bursts are not in its readings: a falling power explains them better "
            f"(correlation {lowest:.2f}) than a rising one ({peak.correlation:.2f})",
        )
    if reason := _objection(peak, search_s) or _gap(curve, from_ns, pattern, peak.lag_s):
        return BurstLag(correlation=peak.correlation, reason=reason)
    lag_s, half_s = _narrowed(candidates, pattern, peak)
    # By how much stamps are off an even rhythm, robustly: a standard deviation.
    steps_s = np.diff(amid.t_ns) / 1e9
    half_s += 1.4826 * float(np.median(abs(steps_s - np.median(steps_s)))) / math.sqrt(2)
    half_s += UNKNOWN_AVERAGING * period_s if averaging_s is None else 0.0
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
    values = (lags_s[best], correlations[best], lags_s[second], others[second], correlations.min())
    return _Peak(*map(float, values))


def _correlation(readings: Readings, pattern: LoadPattern, lag_s: float) -> float:
    known = readings.within(pattern, lag_s, lag_s)
    if len(known.t_s) < MIN_READINGS:
        return 0.0
    return float(LoadRegression(known, pattern).correlations(np.array([lag_s]))[0])


def _objection(peak: _Peak, search_s: float) -> str:
    """Reason not to believe a peak; "" for a good one."""
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
    """Reason that readings of the bursts are too few; "" where there are enough."""
    start_s, end_s = pattern.from_s + lag_s, pattern.to_s + lag_s
    at_s = curve.seconds_from(from_ns)
    at_s = at_s[(at_s > start_s) & (at_s < end_s)]
    gap_s = float(np.diff(np.concatenate(([start_s], at_s, [end_s]))).max())
    if gap_s <= MOST_GAP * pattern.burst_s:
        return ""
    return f"its readings have a hole of {gap_s:.3g} s amid the load bursts"


def _narrowed(candidates: list[Readings], pattern: LoadPattern, peak: _Peak) -> tuple[float, float]:
    """The middle of the lags near a peak that chance does not tell from the best, and half their width, in s.

    A lag differs from the best where it leaves more squares by the F test of one parameter. Readings of
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


# How long load stays in a meter's readings: a meter averages, and holds a reading until the next is ready.
#
# Readings around bursts of load at known times are fitted by least squares as means over a time that ends
# some
# lag before their stamp, or, of a meter that holds them, before the first of those that are equal.


RESPONSE_STEPS = 40
"""Times that are tried, from half a sample period to the longest."""

EARLIEST = 0.25
"""By how much stamps may be early, in bursts."""

ROUNDING = 1e-9
"""As a share of the squares: sums of equal readings differ by less."""

RESPONSE_PARAMETERS = 5  # of the regression: level, drift, the load's power, lag, averaging time

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class BurstResponse:
    """Load that a meter's readings are of.

    Attributes:
        reach_s: the longest time before its stamp that load still is in a reading; None with the reason.
        ahead_s: likewise after its stamp, where stamps are early; never negative.
        reason: why neither is known.
    """

    reach_s: float | None = None
    ahead_s: float = 0.0
    reason: str = ""


def burst_response(
    t_ns: NDArray[np.int64],
    watts: NDArray[np.float64],
    bursts_ns: Sequence[tuple[int, int]],
    pause_ns: int,
) -> BurstResponse:
    """The response of a meter, by its readings around bursts of load.

    Args:
        t_ns: stamps int64 [n], in any order; of equal stamps the first counts.
        watts: float64 [n] in W; readings that are not finite are left out.
        bursts_ns: start and end of each burst on the stamps' clock, in order, with pauses between them.
        pause_ns: how long nothing ran before the first.
    """
    from_ns = bursts_ns[0][0] - pause_ns
    pattern = LoadPattern((np.array(bursts_ns, np.int64) - np.int64(from_ns)) / 1e9, 0.0)
    curve = power_curve(t_ns, watts).within(from_ns, bursts_ns[-1][1])
    if len(curve.t_ns) < MIN_READINGS:
        return BurstResponse(
            reason=f"{len(curve.t_ns)} readings came during the load bursts, {MIN_READINGS} are needed"
        )
    t_s = curve.seconds_from(from_ns)
    period_s = float(np.median(np.diff(t_s)))
    most_s = SEARCH_S + SEARCH_PERIODS * period_s
    begins_s, hold_s = _updates_s(t_s, curve.watts)
    every = -(-len(t_s) // COARSE_READINGS)
    # All fits are compared by the same readings: those whose load is known even if it reaches that far.
    known = (t_s > most_s) & (t_s < pattern.to_s - pattern.burst_s * EARLIEST)
    live = Readings(t_s, curve.watts, np.zeros(len(t_s)))
    live = live.averaged(COARSE_READINGS) if every > 1 else live
    live = live.within(pattern, -pattern.burst_s * EARLIEST, most_s)
    held = Readings(*(column[known][::every] for column in (begins_s, curve.watts, np.zeros(len(t_s)))))
    if min(len(live.t_s), len(held.t_s)) < MIN_READINGS:
        return BurstResponse(reason=f"{int(known.sum())} of its readings are of known load alone")
    fit, after_s = _Fit(live, pattern, period_s, most_s), 0.0
    if hold_s < most_s / 2:  # else they hardly change at all
        held_fit = _Fit(held, pattern, period_s, most_s - hold_s)
        if held_fit.unexplained * held_fit.chance < fit.unexplained - ROUNDING:
            fit, after_s = held_fit, hold_s
    if fit.correlation < MIN_CORRELATION:
        return BurstResponse(
            reason=f"the load bursts are not in its readings: their correlation is {fit.correlation:.2f} at "
            f"most, {MIN_CORRELATION:g} is needed"
        )
    if fit.reach_s + after_s >= most_s:
        return BurstResponse(reason=f"load stays in its readings for {most_s:.3g} s or longer")
    return BurstResponse(max(fit.reach_s + after_s, period_s), fit.ahead_s)


def _updates_s(t_s: Floats, watts: Floats) -> tuple[Floats, float]:
    """Since when each reading has been the same, float64 [n] in s, and for how long one usually is, in s."""
    first = np.flatnonzero(np.concatenate(([True], watts[1:] != watts[:-1])))
    runs = np.diff(np.append(first, len(t_s)))
    ends_s = t_s[first + runs - 1]
    return np.repeat(t_s[first], runs), float(np.median(ends_s - t_s[first]))


class _Fit:
    """Readings as means over the time that fits best, at the lag that does.

    Attributes:
        unexplained: the share of their squares that it leaves.
        chance: how many times as much other times and lags may leave by chance.
        correlation: of the readings with the load then.
        reach_s, ahead_s: as of BurstResponse, the longest of all that may as well be.
    """

    def __init__(self, readings: Readings, pattern: LoadPattern, period_s: float, most_s: float) -> None:
        over_s = np.concatenate(([0.0], np.geomspace(period_s / 2, most_s, RESPONSE_STEPS)))
        lags_s = np.concatenate((-over_s[over_s <= EARLIEST * pattern.burst_s][:0:-1], over_s))
        left = np.full((len(over_s), len(lags_s)), np.inf)  # [averaging time, lag]
        regressions = []
        for place, each_s in enumerate(over_s.tolist()):
            means = Readings(readings.t_s, readings.watts, readings.over_s + each_s)
            regressions.append(LoadRegression(means, pattern))
            within = lags_s + each_s <= most_s
            left[place, within] = regressions[-1].unexplained(lags_s[within])
        which, best = np.unravel_index(int(left.argmin()), left.shape)
        squares = max(regressions[which].squares, np.finfo(float).tiny)
        self.unexplained = float(left.min()) / squares
        self.correlation = float(np.sqrt(max(0.0, 1 - self.unexplained)))
        free = max(regressions[which].independent_readings(float(lags_s[best])) - RESPONSE_PARAMETERS, 2.0)
        self.chance = 1 + t_quantile(CONFIDENCE, free) ** 2 / free
        averaging, lag = np.nonzero(left <= left.min() * self.chance + ROUNDING * squares)
        self.reach_s = float((over_s[averaging] + lags_s[lag]).max())
        self.ahead_s = max(0.0, -float(lags_s[lag].min()))
