"""Figures of power that comes piece by piece, against those of all of it at once."""

import numpy as np
import pytest

from edgebench.stats.power import PowerTotals, window_power
from edgebench.stats.power_curve import power_curve


@pytest.mark.parametrize("pieces", [1, 7, 400])
def test_they_are_those_of_the_whole_window(pieces):
    drawn = np.random.default_rng(3)
    t_ns = 5_000_000_000 + np.cumsum(drawn.integers(1, 20_000_000, 1000))
    watts = drawn.uniform(1, 5, 1000)
    watts[::13] = np.nan
    totals = PowerTotals()
    for part in np.array_split(np.arange(1000), pieces):
        order = drawn.permutation(part)
        totals.add(t_ns[order], watts[order])
    got = totals.window()
    finite = t_ns[np.isfinite(watts)]
    whole = window_power(power_curve(t_ns, watts), int(finite[0]), int(finite[-1]))
    assert got.reason == whole.reason == ""
    for name in ("mean_w", "peak_w", "window_s", "samples", "periods", "effective_hz", "longest_gap_s"):
        assert getattr(got, name) == pytest.approx(getattr(whole, name), rel=1e-12), name


def test_what_is_not_later_than_all_before_is_left_out():
    totals = PowerTotals()
    totals.add(np.array([0, 10**9]), np.array([1.0, 1.0]))
    totals.add(np.array([0, 10**9]), np.array([9.0, 9.0]))
    totals.add(np.array([5 * 10**8, 2 * 10**9]), np.array([9.0, 3.0]))
    window = totals.window()
    assert (window.samples, window.mean_w, window.peak_w) == (3, 1.5, 3.0)


def test_a_hole_leaves_no_mean():
    totals = PowerTotals()
    totals.add(10**7 * np.arange(100), np.ones(100))
    totals.add(10**9 * 2 + 10**7 * np.arange(100), np.ones(100))
    window = totals.window()
    assert window.mean_w is None
    assert "hole" in window.reason
    assert window.longest_gap_s == pytest.approx(1.01)
