"""Deadlines of paced passes: how many were missed, and by how much."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def misses(lateness_s: Sequence[float]) -> int:
    """How many passes were not done when the next was due.

    Args:
        lateness_s: of each pass, its end minus its deadline (lateness as in Buttazzo, Hard
            Real-Time Computing Systems); a pass that ends on its deadline is in time.
    """
    return int((np.asarray(lateness_s, dtype=np.float64) > 0).sum())


def worst(lateness_s: Sequence[float]) -> float | None:
    """The greatest lateness in seconds, below 0 when every pass was in time; None without passes."""
    return max(lateness_s, default=None)
