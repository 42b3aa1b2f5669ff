"""A median a minute: how a long session's latency moved, in figures that a reader can follow."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

MINUTE_S = 60.0


def by_minute(at_s: Sequence[float], values: Sequence[float]) -> dict[int, list[float]]:
    """The values by the minute in which they began, counted from 0; minutes without any are left out.

    Args:
        at_s: when each began, seconds since the session's first; none below 0.
        values: one a time, any unit.
    """
    if len(at_s) != len(values):
        raise ValueError("every value needs its time")
    minutes: dict[int, list[float]] = {}
    for at, value in zip(at_s, values, strict=True):
        minutes.setdefault(int(at // MINUTE_S), []).append(value)
    return dict(sorted(minutes.items()))


def minute_medians(at_s: Sequence[float], values: Sequence[float]) -> dict[int, tuple[float, int]]:
    """By minute: the median of its values, and how many there are."""
    return {
        minute: (float(np.median(minute_values)), len(minute_values))
        for minute, minute_values in by_minute(at_s, values).items()
    }
