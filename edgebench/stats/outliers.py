"""Values far from the rest: flagged and shown, never deleted."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

THRESHOLD = 14.826
"""hyperfine's rule: ten standard deviations of a normal sample, whose deviation is 1.4826 MAD."""

MIN_VALUES = 8
"""Of fewer values, ordinary ones lie this far out too often for the rule to mean anything."""


def modified_z(values: Sequence[float] | NDArray[np.float64]) -> NDArray[np.float64]:
    """(value - median) / MAD of each value, float64 [n] (Iglewicz and Hoaglin, 1993, without 0.6745).

    Where more than half of the values are equal the MAD is 0 and says nothing of the spread: the mean
    absolute deviation takes its place, scaled to agree with it for a normal sample. All equal gives 0.
    Raises ValueError for a value that is not finite.
    """
    array = np.asarray(values, dtype=np.float64)
    if not np.isfinite(array).all():
        raise ValueError("a value is not finite")
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
    """Which values are outliers, bool [n] in the order given; none below MIN_VALUES values."""
    z = modified_z(values)
    if z.size < MIN_VALUES:
        return np.zeros(z.size, dtype=np.bool_)
    return np.abs(z) > THRESHOLD
