"""Energy of many windows over a long recording, against one trapezoid rule over all of it; fast meters."""

from __future__ import annotations

import time

import numpy as np

from benchmarks import fast_sampling, metered_records
from benchmarks.row import Row
from edgebench.prepare.cache import Cache
from edgebench.stats.power_curve import Integral, power_curve

SAMPLES = 10_000_000
WINDOWS = 1_000
RATE_HZ = 100_000
BAR = 3.0
REPEATS = 5


def rows(cache: Cache, pairs: int) -> list[Row]:
    """Energy of windows, the judging of fast meters, and one of 100 kHz into a session's file."""
    return [_windows_row(), metered_records.judging_row(), *fast_sampling.rows()]


def _windows_row() -> Row:
    """The least of a few repeats each, both in turn, because what else runs only adds."""
    drawn = np.random.default_rng(1)
    t_ns = 3_456_789_012_345_678 + np.arange(SAMPLES, dtype=np.int64) * (10**9 // RATE_HZ)
    watts = drawn.uniform(1.0, 5.0, SAMPLES)
    at_s = (t_ns - t_ns[0]) / 1e9
    edges_ns = np.sort(drawn.choice(t_ns, 2 * WINDOWS, replace=False)) + 1234
    spans_ns = edges_ns.reshape(WINDOWS, 2)
    energies_s, trapezoid_s = [], []
    for _ in range(REPEATS):
        start_s = time.perf_counter()
        np.trapezoid(watts, at_s)
        middle_s = time.perf_counter()
        energies_j = Integral(power_curve(t_ns, watts)).energies_j(spans_ns)
        energies_s.append(time.perf_counter() - middle_s)
        trapezoid_s.append(middle_s - start_s)
    first, last = np.searchsorted(t_ns, spans_ns[0])
    within = np.interp(
        spans_ns[0] - t_ns[0], t_ns[first - 1 : last + 1] - t_ns[0], watts[first - 1 : last + 1]
    )
    grid_s = np.concatenate(
        ([spans_ns[0, 0] - t_ns[0]], t_ns[first:last] - t_ns[0], [spans_ns[0, 1] - t_ns[0]])
    )
    curve = np.concatenate((within[:1], watts[first:last], within[1:]))
    assert np.isclose(energies_j[0], np.trapezoid(curve, grid_s / 1e9))
    name = f"energy of {WINDOWS:,} windows over {SAMPLES:,} samples / one numpy.trapezoid over them"
    details = {"energies_s": energies_s, "trapezoid_s": trapezoid_s}
    return Row(name, min(energies_s) / min(trapezoid_s), "times", BAR, None, details)
