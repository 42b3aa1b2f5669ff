"""Idle power of two windows as one, and how far they differ."""

import numpy as np
import pytest

from edgebench.stats.power import IdleDrift, idle_drift, idle_power, idle_window, window_power
from edgebench.stats.power_curve import power_curve

S = 1_000_000_000
AT_NS = np.arange(0, 40 * S, S // 20, dtype=np.int64)


def noisy(level_w, seed=3):
    return level_w + 0.02 * np.random.default_rng(seed).standard_normal(len(AT_NS))


def window(level_w, start_s, end_s):
    return idle_window(power_curve(AT_NS, noisy(level_w)), (start_s * S, end_s * S))


def test_the_mean_is_weighted_with_the_windows_lengths():
    idle = idle_power([window(1.0, 0, 10), window(1.3, 30, 35)])
    assert idle is not None and idle.mean_w == pytest.approx(1.1, abs=0.01)
    assert (idle.window_s, idle.samples) == (15.0, 302)


def test_a_drift_from_one_window_to_the_other_widens_the_interval():
    before = window(1.0, 0, 10)
    steady, drifted = idle_power([before, window(1.0, 30, 40)]), idle_power([before, window(1.5, 30, 40)])
    assert steady is not None and steady.mean_margin_w is not None
    assert drifted is not None and drifted.mean_margin_w is not None
    assert min(drifted.mean_margin_w) > 0.1 > 10 * max(steady.mean_margin_w)


def test_where_one_window_was_sampled_it_is_that_one():
    sampled, unsampled = window(1.0, 0, 10), window(1.0, 60, 70)
    assert idle_power([sampled, unsampled]) == sampled
    assert idle_power([unsampled, sampled]) == sampled
    assert idle_power([unsampled]) == unsampled and unsampled.reason
    assert idle_power([]) is None
    assert idle_drift(sampled, unsampled) is None and idle_drift(None, sampled) is None


def test_a_drift_is_told_from_the_samples_own_spread():
    before = window(1.0, 0, 10)
    drift = idle_drift(before, window(1.1, 30, 40))
    assert drift is not None and drift.unexplained
    assert drift.drift_w == pytest.approx(0.1, abs=0.01)
    within = idle_drift(before, window(1.0, 30, 40))
    assert within is not None and not within.unexplained
    surer = idle_drift(before, window(1.0, 30, 40), 0.99)
    assert surer is not None and within.half_width_w is not None and surer.half_width_w is not None
    assert surer.half_width_w > within.half_width_w
    level = [
        idle_window(power_curve(AT_NS, np.full(len(AT_NS), 0.1 + 0.2)), span)
        for span in ((0, S * 9), (S * 30, S * 39))
    ]
    rounded = idle_drift(level[0], level[1])
    assert rounded is not None and not rounded.unexplained
    assert not IdleDrift(1.0, None).unexplained  # of a few samples nobody knows the spread


@pytest.mark.parametrize("averaging_s", [None, 0.05])
def test_the_load_before_a_window_is_no_part_of_it(averaging_s):
    # The reading at its start is still a mean over the work before it.
    watts = np.where(AT_NS <= 30 * S, 9.0, 1.0)
    assert idle_window(power_curve(AT_NS, watts), (30 * S, 32 * S), averaging_s).mean_w == pytest.approx(1.0)
    assert (window_power(power_curve(AT_NS, watts), 30 * S, 32 * S).mean_w or 0.0) > 1.05
