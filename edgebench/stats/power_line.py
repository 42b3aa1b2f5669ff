"""A meter's samples as a line with few points: lowest and highest of each pixel column, broken at gaps."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from edgebench.stats.power import GAP_PERIODS


def power_line(
    t_s: NDArray[np.float64], watts: NDArray[np.float64], columns: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Times in s and power in W of the points to be joined; NaN in W where the line is broken.

    Up to two samples a column are all drawn. Of more, each column gives its lowest and its highest: no
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
