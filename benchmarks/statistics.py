"""Median and interval of many trials, through the function that a trial's summary uses."""

from __future__ import annotations

import time

import numpy as np

from benchmarks.row import Row
from edgebench.prepare.cache import Cache
from edgebench.stats.intervals import session_interval

TRIALS = 1_000
SESSIONS = 5
PASSES = 2_000
BAR_S = 1.0
REPEATS = 5


def rows(cache: Cache, pairs: int) -> list[Row]:
    """One row, the least of a few repeats: what else runs only adds.

    Passes are tuples of numbers by session, as a summary holds them.
    """
    drawn = np.random.default_rng(1).normal(1.0, 0.01, (TRIALS, SESSIONS, PASSES))
    trials = [tuple(tuple(session) for session in trial) for trial in drawn.tolist()]
    figures = []
    for _ in range(REPEATS):
        start_s = time.perf_counter()
        intervals = [session_interval(trial) for trial in trials]
        figures.append(time.perf_counter() - start_s)
    assert all(interval.n == SESSIONS * PASSES and interval.low is not None for interval in intervals)
    name = f"median and interval of {TRIALS:,} trials x {SESSIONS * PASSES:,} passes"
    return [Row(name, min(figures), "s", BAR_S, None, {"repeats_s": figures})]
