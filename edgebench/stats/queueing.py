"""A device that works through images one after another, in the order in which they come (pure).

The completion c of the k-th image is s(k) + max(a(k), c(k-1)), with its arrival a and its service time s: it
begins when it is there and the one before it is done (Lindley, "The theory of queues with a single server",
1952). Written out, c(k) is the largest over j <= k of a(j) + s(j) + ... + s(k): cumulative sums and a running
maximum, without a loop.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]


def completions_s(arrivals_s: Floats, services_s: Floats, free_at_s: float = 0.0) -> Floats:
    """When each image is done: float64 [images] in s.

    Args:
        arrivals_s: float64 [images], ascending.
        services_s: float64 [images], what each takes, above 0.
        free_at_s: when the device is done with what came before.
    """
    worked_s = np.cumsum(services_s)
    return worked_s + np.maximum.accumulate(np.maximum(arrivals_s, free_at_s) - (worked_s - services_s))


def held(arrivals_s: Floats, done_s: Floats, pending_s: Floats) -> NDArray[np.int64]:
    """How many images there are at each arrival that are not done, itself among them: int64 [images].

    Args:
        arrivals_s: float64 [images], ascending.
        done_s: float64 [images], ascending: when each is done.
        pending_s: float64 [n], ascending: when images that came before the first arrival are done.
    """
    is_done = np.searchsorted(np.concatenate((pending_s, done_s)), arrivals_s, side="right")
    return np.arange(1, arrivals_s.size + 1) + pending_s.size - is_done


def pauses_s(arrivals_s: Floats, done_s: Floats, free_at_s: float = 0.0) -> Floats:
    """How long the device has nothing to do before each image: float64 [images], 0 where it never pauses."""
    before_s = np.concatenate(([free_at_s], done_s[:-1]))
    return np.maximum(arrivals_s - before_s, 0.0)
