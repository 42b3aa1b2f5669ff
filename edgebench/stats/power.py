"""Power and energy over a window of a meter's samples.

The trapezoid rule on the true time stamps. Over one window it interpolates at both edges; a sample from
outside only serves to interpolate its edge and never represents it. Over passes, at whose edges the load
steps, only readings that are within a pass count, with all the time that each is a mean over; what is
between two passes is left out, and the curve is bridged there.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special

from edgebench.stats.intervals import CONFIDENCE, MIN_SESSIONS, mean_interval, t_quantile
from edgebench.stats.power_curve import NO_SAMPLES, Integral, PowerCurve, power_curve

# How far a mean of power may be off, by the spread of its own samples.
#
# Two questions differ: how far the mean of a window is from that of the load itself, had it gone on, for
# which every change of the load within the window counts, and how far samples of moments are from the mean
# of the window, for which only what happens from one sample to the next does.
#
# For the first, neighbouring samples resemble each other, so that the standard error of independent ones,
# s / sqrt(n), is too small for random bursts and too large for regular ones. What counts is how slowly the
# samples vary: the mean square of their B slowest cosine transforms estimates the long-run variance, with B
# degrees of freedom (the "equal-weighted cosine" estimator: Mueller, 2007; Lazarus, Lewis, Stock and
# Watson, "HAR Inference: Recommendations for Practice", 2018). It is taken for two B and the wider counts:
# few cosines see slow changes alone, many know their own size better.
#
# A mean of bursts is lopsided where bursts are rare, and lies between the lowest and the highest sample:
# the interval is taken on the logit of its place between them (delta method, as of a share: Brown, Cai and
# DasGupta, 2001).


COSINES = (8, 14)

MIN_SAMPLES = 20
"""Below it too few samples are left for each cosine, and there is no margin."""

MOST_POINTS = 2048
"""More samples than that are averaged to this many points, which leaves their slowest cosines as they are."""


class Margin(NamedTuple):
    """Possible error of a mean: too high (the truth is `below` it) and too low, both in its unit."""

    below: float
    above: float

    def scaled(self, factor: float) -> Margin:
        """The margin of the mean times a factor that is not negative."""
        return Margin(self.below * factor, self.above * factor)

    def without(self, other: Margin) -> Margin:
        """The margin of the difference to a mean that is independent of this one."""
        return Margin(math.hypot(self.below, other.above), math.hypot(self.above, other.below))

    def plus(self, other: Margin) -> Margin:
        """Both together, where they err alike."""
        return Margin(self.below + other.below, self.above + other.above)


CERTAIN = Margin(0.0, 0.0)


def mean_margin(
    values: NDArray[np.float64], confidence: float = CONFIDENCE, missing: float = 0.0
) -> Margin | None:
    """Possible error of the mean of samples against the load's own mean; None below MIN_SAMPLES.

    Args:
        values: in time order.
        confidence: of the two-sided interval.
        missing: how many samples did not come, in their place the mean of their neighbours.
    """
    if len(values) < MIN_SAMPLES:
        return None
    points = values
    if len(values) > MOST_POINTS:
        edges = np.linspace(0, len(values), MOST_POINTS + 1).astype(np.int64)
        points = np.add.reduceat(values, edges[:-1]) / np.diff(edges)
    mean = float(values.mean())
    from scipy import fft  # here: it takes long to import

    powers = np.square(fft.dct(points - mean, norm="ortho")[1 : max(COSINES) + 1])
    half = max(
        t_quantile(confidence, count) * math.sqrt(float(powers[:count].mean()) / len(points))
        for count in COSINES
    )
    if missing:
        # Of a sample among two that resemble it no more than each other: 1.5 times their variance.
        lost = 1.5 * missing * _variance_of_neighbours(values) / len(values) ** 2
        half = math.hypot(half, t_quantile(confidence, len(values) - 1) * math.sqrt(lost))
    return _within_range(mean, half, float(values.min()), float(values.max()))


def _within_range(mean: float, half: float, lowest: float, highest: float) -> Margin:
    """The margin of a mean whose symmetric one is `half`, on the logit of its share of a range."""
    share = (mean - lowest) / (highest - lowest) if highest > lowest else 0.0
    if not 0 < share < 1:
        return Margin(half, half)
    place, reach = special.logit(share), half / ((highest - lowest) * share * (1 - share))
    low, high = special.expit([place - reach, place + reach])
    return Margin((share - low) * (highest - lowest), (high - share) * (highest - lowest))


def sampling_half_width(values: NDArray[np.float64], confidence: float = CONFIDENCE) -> float:
    """Possible error of the mean of samples against the mean of their time span, in their unit.

    t(n - 1) sqrt(g / n), where g is half the mean square of the differences between neighbours (von Neumann):
    the variance of samples that resemble none of the others, and less the slower the load moves.

    Args:
        values: moments in time order, at least two.
        confidence: of the two-sided interval.
    """
    return t_quantile(confidence, len(values) - 1) * math.sqrt(_variance_of_neighbours(values) / len(values))


def _variance_of_neighbours(values: NDArray[np.float64]) -> float:
    """Half the mean square of the differences between neighbours."""
    steps = values[1:] - values[:-1]
    return float(steps @ steps) / steps.size / 2


def widened_interval(
    values: Sequence[float], margins: Sequence[Margin | None]
) -> tuple[float | None, float | None]:
    """The interval of the mean of values, one a session, each with a margin by its own samples.

    The wider, on each side, of two: Student's t over the sessions (`mean_interval`, from MIN_SESSIONS on), in
    which the samples' spread has its part as far as sessions differ by it; and the margin of a mean of
    independent values, sqrt(sum h^2) / n. Below MIN_SESSIONS the samples alone are known: the interval then
    speaks for the load as it was in those sessions and for no other. (None, None) where neither is known.
    """
    if not values:
        return None, None
    mean = math.fsum(values) / len(values)
    lows, highs = [], []
    if len(values) >= MIN_SESSIONS:
        bounds = mean_interval(np.array(values), CONFIDENCE)
        lows.append(float(bounds.low))
        highs.append(float(bounds.high))
    known = [margin for margin in margins if margin is not None]
    if len(known) == len(values):
        lows.append(mean - math.hypot(*(margin.below for margin in known)) / len(values))
        highs.append(mean + math.hypot(*(margin.above for margin in known)) / len(values))
    low, high = min(lows, default=None), max(highs, default=None)
    # Sessions that differ by too much bound nothing.
    return low, high if high is not None and math.isfinite(high) else None


MIN_PERIODS = 100
"""Sample periods that a window needs for energy."""

EDGE_PERIODS = 2.0
"""How far, in sample periods, the samples may stop short of the window's edge."""

GAP_PERIODS = 10.0
GAP_SHARE = 0.05
"""A hole in the samples is too long above both this many periods and this share of the window."""

EDGE_SHARE = 0.02
"""A reading within this share of a period from a pass's edge may be of its other side: no stamp is exact."""

PASS_READINGS = 2
"""A pass has to be as long as this many readings mean, for one of them to be within it wherever they fall."""

NEGATIVE_SHARE = 0.1
"""From this share of what is above 0 on, what is below it is no noise about 0."""

LEAST_ZEROS = 10
"""Readings of 0 W from which on a meter is not connected."""

CHECK_WIRING = "check the meter's polarity and wiring"

SHIFTS = 401
"""How many times of a lag that is not known are tried."""

MOST_PAUSES = 0.1
"""From this share of pauses on, which no reading tells from the passes, there is no energy of an image."""

NEARLY = 0.9
"""From this share of it on a period, or a rate, counts as kept: no meter keeps its rate exactly."""


@dataclass(frozen=True)
class WindowPower:
    """Power in one window by a meter; mean and peak in W may be None with the reason.

    Attributes:
        window_s: the time that the mean is over: the window's length, or that of the passes in it.
        samples: samples that are within the window.
        periods: `window_s` in sample periods, as the samples really came.
        effective_hz: how many samples a second came within the window; None below two.
        longest_gap_s: the longest time within the window without one, up to its edges; None without any.
        mean_margin_w: by how much the mean may be off by the samples' own spread; None where unknown.
        note: what a reader of the mean should know: that pauses between the passes are in it.
        pauses: the share of the window that these pauses are; 0 where they are not in the mean.
        curve: the samples that are within the window.
        lag_s: how late, or early, the readings may be where that is not known.
        lag_margin_w: by how much that moves the mean at most.
    """

    mean_w: float | None = None
    peak_w: float | None = None
    window_s: float = 0.0
    samples: int = 0
    periods: float = 0.0
    reason: str = ""
    effective_hz: float | None = None
    longest_gap_s: float | None = None
    mean_margin_w: Margin | None = None
    note: str = ""
    pauses: float = 0.0
    curve: PowerCurve = field(default=NO_SAMPLES, repr=False, compare=False)
    lag_s: float = 0.0
    lag_margin_w: Margin = CERTAIN

    @property
    def pauses_margin_w(self) -> Margin:
        """Amount by which the power of the passes may exceed the mean: its pauses may have drawn 0 W."""
        return Margin(0.0, (self.mean_w or 0.0) * self.pauses / (1 - self.pauses))


def passes_power(
    curve: PowerCurve, passes_ns: NDArray[np.int64], averaging_s: float | None = None
) -> WindowPower:
    """Mean power within passes, without what is between them, and peak power from the first to the last.

    A reading counts where the time that it is a mean over is within one pass. Where passes are shorter
    than PASS_READINGS such times no meter of that kind tells them from the pauses: the mean is then that over
    the whole window, the pauses included, as `note` says.

    Args:
        curve: the samples.
        passes_ns: int64 [n, 2], start and end of each, in order and apart; at least one.
        averaging_s: the time before its stamp that load is in a reading, by averaging and holding; None for
            that since the reading before, which is what a counter gives.
    """
    start_ns, end_ns = int(passes_ns[0, 0]), int(passes_ns[-1, 1])
    window = _readings_of(curve, start_ns, end_ns)
    if window.reason or window.effective_hz is None:
        return window
    rate_hz = window.effective_hz
    lengths_s = (passes_ns[:, 1] - passes_ns[:, 0]) / 1e9
    passes_s = float(lengths_s.sum())
    reading_s = 1 / rate_hz if averaging_s is None else averaging_s
    # A reading is held for half of the time that load stays in it, or averages over that: it tells no more.
    independent_hz = 1 / max(1 / rate_hz, reading_s / 2)
    edge_ns = round(EDGE_SHARE / rate_hz * 1e9) if len(passes_ns) > 1 else 0
    chosen = readings_within(curve, passes_ns + np.array([edge_ns, -edge_ns]), averaging_s)
    pass_s = float(np.median(lengths_s))
    if len(passes_ns) > 1 and (pass_s < PASS_READINGS * reading_s or len(chosen.watts) < 2):
        pauses = 1 - passes_s / window.window_s
        held = "mean power holds" if pauses > MOST_PAUSES else "mean and energy hold"
        note = (
            f"passes of {pass_s:.3g} s are too short for readings over {reading_s:.3g} s: {held} the pauses "
            f"between them, {pauses:.1%} of the time"
        )
        if pauses > MOST_PAUSES:
            note += ", and there is no energy of an image"
        window = replace(window, note=note, pauses=pauses)
    elif len(chosen.watts) >= 2:
        missing = _missing(window.curve) * len(chosen.watts) / window.samples
        return replace(
            window,
            mean_w=float(Integral(chosen).energies_j(passes_ns).sum()) / passes_s,
            window_s=passes_s,
            periods=passes_s * independent_hz,
            mean_margin_w=mean_margin(chosen.watts, missing=missing),
        )
    settled = window_power(curve, start_ns + round((averaging_s or 0.0) * 1e9), end_ns)
    if settled.mean_w is None:
        settled = window_power(curve, start_ns, end_ns)
    return replace(
        window,
        mean_w=settled.mean_w,
        mean_margin_w=settled.mean_margin_w,
        periods=window.window_s * independent_hz,
    )


def window_power(curve: PowerCurve, start_ns: int, end_ns: int) -> WindowPower:
    """Mean and peak power over [start_ns, end_ns], on the stamps' clock."""
    window = _readings_of(curve, start_ns, end_ns)
    if window.reason:
        return window
    start, end = max(start_ns, int(curve.t_ns[0])), min(end_ns, int(curve.t_ns[-1]))
    [energy_j] = Integral(_with_neighbours(curve, start_ns, end_ns)).energies_j(np.array([[start, end]]))
    margin = mean_margin(window.curve.watts, missing=_missing(window.curve))
    return replace(window, mean_w=float(energy_j) / ((end - start) / 1e9), mean_margin_w=margin)


def _readings_of(curve: PowerCurve, start_ns: int, end_ns: int) -> WindowPower:
    """The same without the mean, and why it is missing."""
    window_s = (end_ns - start_ns) / 1e9
    if window_s <= 0:
        return WindowPower(reason="the window has no length")
    inside = curve.within(start_ns, end_ns)
    samples = len(inside.watts)
    gap_s = float(np.diff(np.concatenate(([start_ns], inside.t_ns, [end_ns]))).max()) / 1e9
    if samples < 2:
        gap = gap_s if samples else None
        reason = f"{samples} samples are in the window"
        return WindowPower(window_s=window_s, samples=samples, reason=reason, longest_gap_s=gap)
    first_s, last_s = ((inside.t_ns[[0, -1]] - np.int64(start_ns)) / 1e9).tolist()
    effective_hz = (samples - 1) / (last_s - first_s)
    missing_s = max(int(curve.t_ns[0]) - start_ns, end_ns - int(curve.t_ns[-1])) / 1e9
    around = _with_neighbours(curve, start_ns, end_ns)
    hole_s = float(np.diff(around.t_ns).max()) / 1e9
    return WindowPower(
        peak_w=float(inside.watts.max()),
        window_s=window_s,
        samples=samples,
        periods=window_s * effective_hz,
        reason=f"the samples stop {missing_s:.3g} s short of the window's edge"
        if missing_s > EDGE_PERIODS / effective_hz
        else hole_reason(hole_s, 1 / effective_hz, window_s),
        effective_hz=effective_hz,
        longest_gap_s=gap_s,
        curve=inside,
    )


def _missing(curve: PowerCurve) -> float:
    """Number of samples missing between the first and the last, by the usual time between two."""
    steps_ns = np.diff(curve.t_ns)
    if steps_ns.max(initial=0) < 1.5 * steps_ns.min(initial=1 << 62):
        return 0.0
    usual_ns = np.median(steps_ns)
    longer_ns = steps_ns[steps_ns >= 1.5 * usual_ns]  # in shorter ones none is missing
    return float((np.rint(longer_ns / usual_ns) - 1).sum())


def covers_its_period(averaging_s: float | None, effective_hz: float) -> bool:
    """Return True if readings are means over (nearly) all the time from one to the next."""
    return averaging_s is not None and averaging_s * effective_hz >= NEARLY


def _with_neighbours(curve: PowerCurve, start_ns: int, end_ns: int) -> PowerCurve:
    """The samples of a window, and beyond each of its edges the one that the edge is interpolated with."""
    first = max(0, int(curve.t_ns.searchsorted(start_ns)) - 1)
    last = int(curve.t_ns.searchsorted(end_ns, side="right")) + 1
    return PowerCurve(curve.t_ns[first:last], curve.watts[first:last])


def hole_reason(gap_s: float, period_s: float, window_s: float) -> str:
    """Reason that the longest time without a sample is too long for a mean over the window; "" otherwise."""
    if gap_s > max(GAP_PERIODS * period_s, GAP_SHARE * window_s):
        return f"the samples have a hole of {gap_s:.3g} s in a window of {window_s:.3g} s"
    return ""


def readings_within(curve: PowerCurve, passes_ns: NDArray[np.int64], averaging_s: float | None) -> PowerCurve:
    """The readings whose whole averaging time is within one pass."""
    lead_ns = 0 if averaging_s is None else round(averaging_s * 1e9)
    firsts = curve.t_ns.searchsorted(passes_ns[:, 0] + lead_ns)
    if averaging_s is None:
        firsts = firsts + 1  # of the first reading in a pass, the one before lies outside
    lasts = curve.t_ns.searchsorted(passes_ns[:, 1], side="right")
    pieces = [slice(first, last) for first, last in zip(firsts.tolist(), lasts.tolist(), strict=True)]
    if len(pieces) == 1:
        return PowerCurve(curve.t_ns[pieces[0]], curve.watts[pieces[0]])
    return PowerCurve(
        np.concatenate([curve.t_ns[piece] for piece in pieces]),
        np.concatenate([curve.watts[piece] for piece in pieces]),
    )


def short_window_reason(periods: float, figure: str) -> str:
    """Reason that a window holds too few sample periods for a figure of it; "" where it holds enough."""
    if periods < MIN_PERIODS:
        return f"window too short: {periods:.0f} sample periods, {figure} takes {MIN_PERIODS}"
    return ""


def not_connected_reason(watts: NDArray[np.float64]) -> str:
    """Reason if all readings are 0 W, which no working device draws; "" if not, and below LEAST_ZEROS."""
    if len(watts) < LEAST_ZEROS or watts.any():
        return ""
    return f"the meter is not connected: all {len(watts)} readings are 0 W: {CHECK_WIRING}"


def not_positive_reason(watts: NDArray[np.float64]) -> str:
    """Reason if readings are not positive, as those of a load are; "" otherwise."""
    negative_w, positive_w = -float(watts[watts < 0].sum()), float(watts[watts > 0].sum())
    if not len(watts) or negative_w < NEGATIVE_SHARE * positive_w:
        return ""
    share = np.count_nonzero(watts <= 0) / len(watts)
    return (
        f"{share:.0%} of its readings are not above 0 W, their mean is {watts.mean():.3g} W: {CHECK_WIRING}"
    )


def of_unknown_lag(
    window: WindowPower, curve: PowerCurve, spans_ns: NDArray[np.int64], reach_s: float
) -> WindowPower:
    """A window whose readings may be up to so much too late, or too early.

    It is off by the least and the greatest mean that the same spans have when they are moved by up to that,
    in either direction. Beyond its ends the curve is level. Its curve has the readings that may be of it.

    Args:
        window: with a mean.
        curve: all samples of the session.
        spans_ns: int64 [n, 2], of the passes that the mean is over.
        reach_s: the greatest shift.
    """
    start_ns, end_ns = int(spans_ns[0, 0]), int(spans_ns[-1, 1])
    if not np.isclose(float(np.diff(spans_ns).sum()) / 1e9, window.window_s):
        spans_ns = np.array([[start_ns, end_ns]])  # the mean holds the pauses between them
    shifts_ns = np.rint(np.linspace(-reach_s, reach_s, SHIFTS) * 1e9).astype(np.int64)
    integral, mean_w = Integral(curve), window.mean_w or 0.0
    means_w = [float(integral.energies_j(spans_ns + shift).sum()) / window.window_s for shift in shifts_ns]
    margin = Margin(max(mean_w - min(means_w), 0.0), max(max(means_w) - mean_w, 0.0))
    reach_ns = round(reach_s * 1e9)
    around = replace(window.curve, around=curve.within(start_ns - reach_ns, end_ns + reach_ns))
    return replace(window, curve=around, lag_s=reach_s, lag_margin_w=margin)


@dataclass(frozen=True)
class ImageEnergy:
    """Energy of an image in J, gross and net of idle, each with its margin by the samples' spread.

    None where it is not known, with the reason. A doubt is by how much it may be off whatever the spread, in
    every session alike.
    """

    gross_j: float | None = None
    net_j: float | None = None
    reason: str = ""
    gross_margin_j: Margin | None = None
    net_margin_j: Margin | None = None
    gross_doubt_j: Margin = CERTAIN
    net_doubt_j: Margin = CERTAIN


def energy_per_image(window: WindowPower, images: float, idle: WindowPower | None) -> ImageEnergy:
    """Energy of an image by the mean power of a window and of the idle one, where there is one.

    (mean power x window - idle power x window) / images, over at least MIN_PERIODS sample periods. Pauses
    within the mean may have drawn as much as the passes, or nothing: that is its doubt.
    """
    if window.mean_w is None:
        return ImageEnergy(reason=window.reason)
    if images <= 0:
        return ImageEnergy(reason="no image is in the window")
    if short := short_window_reason(window.periods, "energy"):
        return ImageEnergy(reason=short)
    if window.pauses > MOST_PAUSES:
        return ImageEnergy(reason=window.note)
    image_s = window.window_s / images
    margin_w = window.mean_margin_w
    doubt_j = Margin(window.pauses * window.mean_w * image_s, 0.0)
    gross = ImageEnergy(
        window.mean_w * image_s,
        gross_margin_j=None if margin_w is None else margin_w.scaled(image_s),
        gross_doubt_j=doubt_j.plus(window.lag_margin_w.scaled(image_s)),
        net_doubt_j=doubt_j,
    )
    if idle is None:
        return replace(gross, reason="no idle window was sampled")
    if idle.mean_w is None:
        return replace(gross, reason=f"of the idle window: {idle.reason}")
    idle_margin_w = idle.mean_margin_w
    return replace(
        gross,
        net_j=(window.mean_w - idle.mean_w) * image_s,
        net_margin_j=None
        if margin_w is None or idle_margin_w is None
        else margin_w.without(idle_margin_w).scaled(image_s),
    )


# A meter's samples as a line with few points: lowest and highest of each pixel column, broken at gaps.


def power_line(
    t_s: NDArray[np.float64], watts: NDArray[np.float64], columns: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Times in s and power in W of the points to be joined; NaN in W where the line is broken.

    Up to two samples a column are all drawn. For more, each column gives its lowest and its highest: no
    extreme is lost, and there are never more than 5 points a column. The line is broken where a reading is no
    number or none came for GAP_PERIODS of the median period, if that is as wide as a column.

    Args:
        t_s: float64 [n] that rise.
        watts: float64 [n]; NaN for a reading that failed.
        columns: pixel columns of the drawing, at least 1.
    """
    finite = np.flatnonzero(np.isfinite(watts))
    t_s, watts = t_s[finite], watts[finite]
    if len(t_s) < 2:
        return t_s, watts
    steps_s = np.diff(t_s)
    column_s = float(t_s[-1] - t_s[0]) / columns
    missing = (np.diff(finite) > 1) | (steps_s > GAP_PERIODS * float(np.median(steps_s)))
    ends = missing & (steps_s >= column_s)
    stretch = np.concatenate(([0], np.cumsum(ends)))
    if len(t_s) > 2 * columns:
        t_s, watts, stretch = _extremes(t_s, watts, stretch, columns)
    breaks = np.flatnonzero(np.diff(stretch)) + 1
    return np.insert(t_s, breaks, t_s[breaks]), np.insert(watts, breaks, np.nan)


def _extremes(
    t_s: NDArray[np.float64], watts: NDArray[np.float64], stretch: NDArray[np.int64], columns: int
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int64]]:
    """Lowest and highest of each column and unbroken stretch, at the times of its first and last sample."""
    at = (t_s - t_s[0]) * (columns / (t_s[-1] - t_s[0]))
    column = np.minimum(at.astype(np.int64), columns - 1)
    firsts = np.flatnonzero(np.diff(column, prepend=-1) | np.diff(stretch, prepend=-1))
    lasts = np.append(firsts[1:], len(t_s)) - 1
    lowest, highest = np.minimum.reduceat(watts, firsts), np.maximum.reduceat(watts, firsts)
    pairs = np.stack((lowest, highest), axis=1).ravel()
    return np.stack((t_s[firsts], t_s[lasts]), axis=1).ravel(), pairs, np.repeat(stretch[firsts], 2)


# Mean, energy, peak and gaps of power whose samples come piece by piece: none of them is kept.


class PowerTotals:
    """Result of `stats.power.window_power` from the first sample to the last."""

    def __init__(self) -> None:
        self._first_ns = 0
        self._last_ns = 0
        self._last_w = 0.0
        self._samples = 0
        self._energy_j = 0.0
        self._peak_w = -np.inf
        self._longest_gap_s = 0.0

    def add(self, t_ns: NDArray[np.int64], watts: NDArray[np.float64]) -> None:
        """Take in a piece.

        Args:
            t_ns: stamps int64 [n], in any order; one not later than all pieces before is left out.
            watts: float64 [n] in W; what is not finite is left out.
        """
        curve = power_curve(t_ns, watts)
        stamps_ns, power_w = curve.t_ns, curve.watts
        if self._samples:
            new = int(stamps_ns.searchsorted(self._last_ns, side="right"))
            stamps_ns = np.append(np.int64(self._last_ns), stamps_ns[new:])
            power_w = np.append(self._last_w, power_w[new:])
        if len(stamps_ns) <= bool(self._samples):
            return
        steps_s = np.diff(stamps_ns) / 1e9
        self._energy_j += float(np.dot(steps_s, power_w[1:] + power_w[:-1])) / 2
        self._longest_gap_s = max(self._longest_gap_s, float(steps_s.max(initial=0.0)))
        if not self._samples:
            self._first_ns = int(stamps_ns[0])
            self._samples = 1
        self._samples += len(steps_s)
        self._peak_w = max(self._peak_w, float(power_w.max()))
        self._last_ns, self._last_w = int(stamps_ns[-1]), float(power_w[-1])

    def window(self) -> WindowPower:
        """Window from the first sample to the last; no mean below two, or with a hole, with the reason."""
        window_s = (self._last_ns - self._first_ns) / 1e9
        if self._samples < 2:
            return WindowPower(window_s=window_s, samples=self._samples, reason=f"{self._samples} samples")
        effective_hz = (self._samples - 1) / window_s
        reason = hole_reason(self._longest_gap_s, 1 / effective_hz, window_s)
        return WindowPower(
            None if reason else self._energy_j / window_s,
            self._peak_w,
            window_s,
            self._samples,
            window_s * effective_hz,
            reason,
            effective_hz,
            self._longest_gap_s,
        )


# Power of the idle device, by the windows before a session's work and after it.


ROUNDING = 1e-6
"""As a share of idle power: sums of equal readings differ by less."""


@dataclass(frozen=True)
class IdleDrift:
    """Difference of idle power after the work from idle power before it.

    Attributes:
        drift_w: that after less that before, in W.
        half_width_w: by how much it may be too large by the samples' own spread; None where not known.
    """

    drift_w: float
    half_width_w: float | None

    @property
    def unexplained(self) -> bool:
        """Return True if the drift is more than the samples' own spread."""
        return self.half_width_w is not None and abs(self.drift_w) > self.half_width_w


def idle_window(
    curve: PowerCurve,
    window_ns: tuple[int, int],
    averaging_s: float | None = None,
    since_ns: int | None = None,
) -> WindowPower:
    """Power within an idle window, at whose edges the load steps: of its own readings alone.

    Args:
        curve: the samples.
        window_ns: its start and end.
        averaging_s: what a reading is a mean over, as of `passes_power`.
        since_ns: since when the device has been idle; None for since the window's start.
    """
    start_ns, end_ns = window_ns
    if averaging_s is not None:
        # Before that load of the work may be in the readings; from then on none is.
        idle_ns = start_ns if since_ns is None else since_ns
        start_ns = max(start_ns, idle_ns + round(averaging_s * 1e9))
        if start_ns >= end_ns:
            reason = f"load stays in the readings for {averaging_s:.3g} s, which is longer than it"
            return WindowPower(reason=reason)
        averaging_s = 0.0
    span_ns = np.array([(start_ns, end_ns)], np.int64)
    window = passes_power(curve, span_ns, averaging_s)
    return replace(window, curve=readings_within(curve, span_ns, averaging_s))


def unsettled_doubt(window: WindowPower, idle: WindowPower, share: float, window_share: float) -> Margin:
    """Possible error of net power in W where the time that load stays in the readings is not known.

    The readings of an idle window may hold load of the work, those of the work what was before it, and those
    of passes what lay between them.

    Args:
        window: of the work.
        idle: the idle windows as one.
        share: of the idle windows with load in their readings, and that of pauses, together below 1.
        window_share: of the work's window, in which that before it may stay.
    """
    if window.mean_w is None or idle.mean_w is None:
        return CERTAIN
    step_w = max(window.mean_w - idle.mean_w, 0.0)
    unsettled = step_w * min(window_share, 1.0)
    # The step that was seen is the true one without that share of it.
    return Margin(unsettled, step_w * share / (1 - share) + unsettled)


def idle_power(windows: Sequence[WindowPower]) -> WindowPower | None:
    """The idle windows of a session, in time order, as one; None without any.

    The mean of those that were sampled is weighted with their lengths; its margin is that of all their
    readings in a row, so that a drift from one window to the next counts. Where none was sampled it is the
    first, with its reason.
    """
    sampled = [window for window in windows if window.mean_w is not None]
    if len(sampled) < 2:
        return next(iter([*sampled, *windows]), None)
    window_s = math.fsum(window.window_s for window in sampled)
    energy_j = math.fsum((window.mean_w or 0.0) * window.window_s for window in sampled)
    curve = PowerCurve(
        np.concatenate([window.curve.t_ns for window in sampled]),
        np.concatenate([window.curve.watts for window in sampled]),
    )
    return WindowPower(
        mean_w=energy_j / window_s,
        peak_w=max(window.peak_w or 0.0 for window in sampled),
        window_s=window_s,
        samples=sum(window.samples for window in sampled),
        periods=math.fsum(window.periods for window in sampled),
        mean_margin_w=mean_margin(curve.watts),
        curve=curve,
    )


def idle_drift(
    before: WindowPower | None, after: WindowPower | None, confidence: float = CONFIDENCE
) -> IdleDrift | None:
    """Compare the idle windows of a session; None where one of them was not sampled.

    Args:
        before: the window before the work.
        after: that after it.
        confidence: of the drift's half-width, two-sided.
    """
    if before is None or after is None or before.mean_w is None or after.mean_w is None:
        return None
    drift_w = after.mean_w - before.mean_w
    margin, other = (mean_margin(window.curve.watts, confidence) for window in (after, before))
    if margin is None or other is None:
        return IdleDrift(drift_w, None)
    margin = margin.without(other)
    rounding_w = ROUNDING * max(abs(before.mean_w), abs(after.mean_w))
    return IdleDrift(drift_w, math.hypot(margin.below if drift_w > 0 else margin.above, rounding_w))


# Whether passes come in step with a meter's readings, which then are of the same moments of every pass.
#
# Where one pass, or a few, last a whole number of sample periods, each is read at the same few places: the
# mean of such readings may be far off, their own spread is small, and nothing in them says so. The moments
# at which passes begin do: their phases within the sample period cling together (the mean resultant length
# of Rayleigh's test; Mardia and Jupp, "Directional Statistics", 2000).
#
# Where each pass is read at enough places to be followed, these bound what the readings miss: the mean of a
# function over places on a circle is off by at most its total variation times half of Kuiper's statistic of
# the places (Koksma's inequality, on a circle; Kuipers and Niederreiter, "Uniform Distribution of
# Sequences", 1974, ch. 2.5).


MIN_PASSES = 20
"""This many passes at random phases look in step once in a million times."""

FEW_READINGS = 10
"""Read at this many places or more, a pass is followed by its meter: what it does between two of them is
bounded by `phase_half_width`."""

CLOSE = 0.9
"""Mean resultant length from which on phases are one: they scatter by 7 % of a period."""


class InStep(NamedTuple):
    """Relation of passes that are in step with readings.

    Attributes:
        cycle: the sample periods from a pass's start to the next one's.
        places: at how many different places of a pass the readings fall.
    """

    cycle: float
    places: float


def passes_in_step(t_ns: NDArray[np.int64], starts_ns: NDArray[np.int64]) -> InStep | None:
    """Relation of passes to readings if they are in step; None where they are not.

    Args:
        t_ns: stamps int64 [n] that rise.
        starts_ns: int64 [n], when each pass began, in order.
    """
    if len(t_ns) < 2:
        return None
    starts_ns = starts_ns[(starts_ns >= t_ns[0]) & (starts_ns < t_ns[-1])]
    if len(starts_ns) < MIN_PASSES:
        return None
    period_ns = float(np.median(np.diff(t_ns)))
    before_ns = t_ns[t_ns.searchsorted(starts_ns, side="right") - 1]
    phases = 2 * np.pi * (starts_ns - before_ns) / period_ns
    cycle = float(np.median(np.diff(starts_ns))) / period_ns
    for passes in range(1, FEW_READINGS):
        if abs(np.exp(1j * passes * phases).mean()) > CLOSE:
            return InStep(cycle, passes * cycle)
    return None


def phase_half_width(curve: PowerCurve, starts_ns: NDArray[np.int64]) -> float:
    """Possible error in W of a mean of readings, from the places at which they fall in each pass.

    The readings' total variation over a pass times half of Kuiper's statistic of their places. The pass is
    that of the mean over all of them, in as many pieces as readings come in one, since what differs from pass
    to pass is no matter of places: power that rises and falls again within one piece is not seen. 0 below two
    whole cycles.

    Args:
        curve: the readings, of moments.
        starts_ns: int64 [n], when each pass began, in order; each lasts, its pause included, to the next.
    """
    starts_ns = np.unique(starts_ns)
    within = curve.within(int(starts_ns[0]), int(starts_ns[-1]) - 1) if len(starts_ns) > 2 else NO_SAMPLES
    if len(within.t_ns) < FEW_READINGS:
        return 0.0
    passes = starts_ns.searchsorted(within.t_ns, side="right") - 1
    places = (within.t_ns - starts_ns[passes]) / np.diff(starts_ns)[passes]
    pieces = max(round(len(places) / (len(starts_ns) - 1)), 1)
    piece = (places * pieces).astype(np.int64)
    counts = np.bincount(piece, minlength=pieces)
    profile_w = np.bincount(piece, within.watts, pieces)[counts > 0] / counts[counts > 0]
    variation_w = float(np.abs(profile_w - np.roll(profile_w, 1)).sum())
    excess = np.arange(len(places)) / len(places) - np.sort(places)
    kuiper = float(excess.max() - excess.min()) + 1 / len(places)
    return variation_w * kuiper / 2
