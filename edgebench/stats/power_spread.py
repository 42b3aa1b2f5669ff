"""How far a mean of power may be off, by the spread of its own samples.

Two questions differ: how far the mean of a window is from that of all time, for which every change of the
load within the window counts, and how far samples of moments are from the mean of the window itself, for
which only what happens from one sample to the next does.

Neighbouring samples resemble each other, so that the standard error of independent ones, s / sqrt(n), is too
small. Batch means count that: the samples, in time order, are cut into b batches of equal length, and the
mean has the standard error s_b / sqrt(b), where s_b is the standard deviation of the batches' means. It is
taken for b = 10 and b = 20, and of the two half-widths t(b - 1) s_b / sqrt(b) the wider counts: long batches
see slow changes, many batches know their own spread better.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from edgebench.stats.intervals import CONFIDENCE, MIN_SESSIONS, mean_interval, t_quantile

BATCHES = (10, 20)

MIN_SAMPLES = 20
"""Below it no batch has two samples, and nothing is said."""


def half_width(values: NDArray[np.float64], confidence: float = CONFIDENCE) -> float | None:
    """By how much the mean of samples in time order may be off, in their unit; None below MIN_SAMPLES."""
    if len(values) < MIN_SAMPLES:
        return None
    return max(_half_width(values, batches, confidence) for batches in BATCHES)


def sampling_half_width(values: NDArray[np.float64], confidence: float = CONFIDENCE) -> float:
    """By how much the mean of samples may be off the mean of the time that they were taken in, in their unit.

    t(n - 1) sqrt(g / n), where g is half the mean square of the differences between neighbours (von Neumann):
    the variance of samples that resemble none of the others, and less the slower the load moves.

    Args:
        values: moments in time order, at least two.
        confidence: of the two-sided interval.
    """
    variance = float(np.square(np.diff(values)).mean()) / 2
    return t_quantile(confidence, len(values) - 1) * math.sqrt(variance / len(values))


def _half_width(values: NDArray[np.float64], batches: int, confidence: float) -> float:
    length = len(values) // batches
    means = values[: batches * length].reshape(batches, length).mean(axis=1)
    return t_quantile(confidence, batches - 1) * float(means.std(ddof=1)) / math.sqrt(batches)


def widened_interval(
    values: Sequence[float], half_widths: Sequence[float | None], confidence: float = CONFIDENCE
) -> tuple[float | None, float | None]:
    """The interval of the mean of values, one a session, each with a half-width by its own samples.

    The wider, on each side, of two: Student's t over the sessions (`mean_interval`, from MIN_SESSIONS on), in
    which the samples' spread has its part as far as sessions differ by it; and the half-width of a mean of
    independent values, sqrt(sum h^2) / n. Below MIN_SESSIONS the samples alone are known: the interval then
    speaks for those sessions and for no other. (None, None) where neither is known.
    """
    if not values:
        return None, None
    mean = math.fsum(values) / len(values)
    lows, highs = [], []
    if len(values) >= MIN_SESSIONS:
        bounds = mean_interval(np.array(values), confidence)
        lows.append(float(bounds.low))
        highs.append(float(bounds.high))
    known = [half for half in half_widths if half is not None]
    if len(known) == len(values):
        half = math.hypot(*known) / len(values)
        lows.append(mean - half)
        highs.append(mean + half)
    low, high = min(lows, default=None), max(highs, default=None)
    # Sessions that differ by too much bound nothing.
    return low, high if high is not None and math.isfinite(high) else None
