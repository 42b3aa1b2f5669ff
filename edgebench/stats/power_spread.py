"""How far a mean of power may be off, by the spread of its own samples.

Two questions differ: how far the mean of a window is from that of the load itself, had it gone on, for which
every change of the load within the window counts, and how far samples of moments are from the mean of the
window, for which only what happens from one sample to the next does.

For the first, neighbouring samples resemble each other, so that the standard error of independent ones,
s / sqrt(n), is too small for random bursts and too large for regular ones. What counts is how slowly the
samples vary: the mean square of their B slowest cosine transforms estimates the long-run variance, with B
degrees of freedom (the "equal-weighted cosine" estimator: Mueller, 2007; Lazarus, Lewis, Stock and Watson,
"HAR Inference: Recommendations for Practice", 2018). It is taken for two B and the wider counts: few cosines
see slow changes alone, many know their own size better.

A mean of bursts is lopsided where bursts are rare, and lies between the lowest and the highest sample: the
interval is taken on the logit of its place between them (delta method, as of a share: Brown, Cai and
DasGupta, 2001).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import fft, special

from edgebench.stats.intervals import CONFIDENCE, MIN_SESSIONS, mean_interval, t_quantile

COSINES = (8, 14)

MIN_SAMPLES = 20
"""Below it too few samples are left for each cosine, and nothing is said."""

MOST_POINTS = 2048
"""More samples than that are averaged to so many points, which leaves their slowest cosines as they are."""


class Margin(NamedTuple):
    """By how much a mean may be too high (`below` it the truth lies) and too low, both in its unit."""

    below: float
    above: float

    def scaled(self, factor: float) -> Margin:
        """Of the mean times a factor that is not negative."""
        return Margin(self.below * factor, self.above * factor)

    def without(self, other: Margin) -> Margin:
        """Of the difference to a mean that is independent of this one."""
        return Margin(math.hypot(self.below, other.above), math.hypot(self.above, other.below))


def mean_margin(
    values: NDArray[np.float64], confidence: float = CONFIDENCE, missing: float = 0.0
) -> Margin | None:
    """By how much the mean of samples may be off the load's own; None below MIN_SAMPLES.

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
    powers = np.square(fft.dct(points - mean, norm="ortho")[1 : max(COSINES) + 1])
    half = max(
        t_quantile(confidence, count) * math.sqrt(float(powers[:count].mean()) / len(points))
        for count in COSINES
    )
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
    """By how much the mean of samples may be off the mean of the time that they were taken in, in their unit.

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
    values: Sequence[float], margins: Sequence[Margin | None], confidence: float = CONFIDENCE
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
        bounds = mean_interval(np.array(values), confidence)
        lows.append(float(bounds.low))
        highs.append(float(bounds.high))
    known = [margin for margin in margins if margin is not None]
    if len(known) == len(values):
        lows.append(mean - math.hypot(*(margin.below for margin in known)) / len(values))
        highs.append(mean + math.hypot(*(margin.above for margin in known)) / len(values))
    low, high = min(lows, default=None), max(highs, default=None)
    # Sessions that differ by too much bound nothing.
    return low, high if high is not None and math.isfinite(high) else None
