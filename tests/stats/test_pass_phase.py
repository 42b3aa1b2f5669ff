import numpy as np
import pytest

from edgebench.stats.pass_phase import MIN_PASSES, passes_in_step

S = 1_000_000_000
T_NS = 77 * S + np.arange(200, dtype=np.int64) * S // 2  # twice a second


def _starts(period_s, count=60, scatter_s=0.0):
    scatter = np.random.default_rng(1).normal(0.0, scatter_s, count)
    return 78 * S + np.rint((np.arange(count) * period_s + scatter) * 1e9).astype(np.int64)


@pytest.mark.parametrize(
    ("period_s", "cycle"), [(1.0, 2.0), (0.5, 1.0), (0.25, 0.5), (1.25, 2.5), (1.0005, 2.0)]
)
def test_passes_at_a_period_that_fits_the_readings_are_in_step(period_s, cycle):
    assert passes_in_step(T_NS, _starts(period_s)) == pytest.approx(cycle, rel=0.01)


@pytest.mark.parametrize(
    ("period_s", "count", "scatter_s"),
    [
        (1.037, 60, 0.0),  # they run through all phases
        (1.0, 60, 0.2),
        (5.0, 19, 0.0),  # ten readings a pass see the pass
        (1.0, MIN_PASSES - 1, 0.0),
    ],
)
def test_others_are_not(period_s, count, scatter_s):
    assert passes_in_step(T_NS, _starts(period_s, count, scatter_s)) is None


def test_without_readings_nothing_is_in_step():
    assert passes_in_step(T_NS[:1], _starts(1.0)) is None
