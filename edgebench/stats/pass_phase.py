"""Whether passes come in step with a meter's readings, which then are of the same moments of every pass.

Where one pass, or a few, last a whole number of sample periods, each is read at the same few places: the mean
of such readings may be far off, their own spread is small, and nothing in them says so. The moments at which
passes begin do: their phases within the sample period cling together (the mean resultant length of Rayleigh's
test; Mardia and Jupp, "Directional Statistics", 2000).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

MIN_PASSES = 20
"""So many passes at random phases look in step once in a million times."""

FEW_READINGS = 10
"""Read at so many places or more, a pass is followed by its meter, in step or not."""

CLOSE = 0.9
"""Mean resultant length from which on phases are one: they scatter by 7 % of a period."""


def passes_in_step(t_ns: NDArray[np.int64], starts_ns: NDArray[np.int64]) -> float | None:
    """The sample periods from a pass's start to the next one's, where the two are in step; else None.

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
        if passes * cycle < FEW_READINGS and abs(np.exp(1j * passes * phases).mean()) > CLOSE:
            return cycle
    return None
