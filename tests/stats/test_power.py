import numpy as np
import pytest

from edgebench.stats.power import energy_per_image, window_power

S = 1_000_000_000
BOOT = 3_456_789_012_345_678  # a monotonic clock's stamps, far from 0


def _samples(rate_hz, seconds, watts):
    at_s = np.arange(0, seconds, 1 / rate_hz)
    return BOOT + (at_s * 1e9).astype(np.int64), watts(at_s)


def test_constant_power():
    t_ns, watts = _samples(50, 10, lambda at_s: np.full(at_s.size, 4.0))
    window = window_power(t_ns, watts, BOOT + 2 * S, BOOT + 6 * S, 50)
    assert window.mean_w == pytest.approx(4.0)
    assert window.peak_w == 4.0
    assert window.window_s == 4.0
    assert window.periods == pytest.approx(200)
    gross, net, reason = energy_per_image(window, 8, 1.0)
    assert (gross, net) == pytest.approx((2.0, 1.5))
    assert reason == ""


def test_a_ramp_is_integrated_exactly_with_its_edges_between_samples():
    t_ns, watts = _samples(3, 10, lambda at_s: 2 * at_s)
    window = window_power(t_ns, watts, BOOT + int(1.1 * S), BOOT + int(5.3 * S), 3)
    assert window.mean_w == pytest.approx(1.1 + 5.3)


def test_uneven_stamps_weigh_by_their_time():
    t_ns = BOOT + (np.array([0.0, 1.0, 1.1, 1.2, 2.2]) * 1e9).astype(np.int64)
    watts = np.array([1.0, 1.0, 9.0, 1.0, 1.0])
    window = window_power(t_ns, watts, BOOT, BOOT + int(2.2 * S), 5)
    assert window.mean_w == pytest.approx((2.2 + 0.5 * 0.2 * 8) / 2.2)
    assert window.mean_w != pytest.approx(watts.mean())


def test_order_and_doubles_do_not_matter():
    t_ns, watts = _samples(20, 5, lambda at_s: 1 + at_s)
    order = np.random.default_rng(0).permutation(t_ns.size)
    doubled = np.concatenate((t_ns[order], t_ns[:7])), np.concatenate((watts[order], watts[:7]))
    plain = window_power(t_ns, watts, BOOT + S, BOOT + 4 * S, 20)
    assert window_power(*doubled, BOOT + S, BOOT + 4 * S, 20) == plain


def test_a_sample_from_before_the_window_never_stands_for_it():
    t_ns = BOOT + np.array([0, 1, 2]) * S
    window = window_power(t_ns, np.array([9.0, 9.0, 9.0]), BOOT + 3 * S, BOOT + 5 * S, 1)
    assert (window.mean_w, window.peak_w, window.samples) == (None, None, 0)
    assert window.reason == "0 samples lie in the window"


def test_the_peak_is_that_of_the_window():
    t_ns, watts = _samples(10, 10, lambda at_s: np.where(at_s < 1, 50.0, 2.0))
    assert window_power(t_ns, watts, BOOT + 2 * S, BOOT + 9 * S, 10).peak_w == 2.0


def test_samples_that_stop_early_give_no_mean():
    t_ns, watts = _samples(10, 5, lambda at_s: np.ones(at_s.size))
    window = window_power(t_ns, watts, BOOT + S, BOOT + 9 * S, 10)
    assert window.mean_w is None
    assert "short of the window's edge" in window.reason
    assert window.peak_w == 1.0


def test_a_hole_in_the_samples_gives_no_mean():
    t_ns, watts = _samples(100, 10, lambda at_s: np.ones(at_s.size))
    keep = (t_ns < BOOT + 4 * S - 1000) | (t_ns > BOOT + 6 * S + 1000)
    window = window_power(t_ns[keep], watts[keep], BOOT + S, BOOT + 9 * S, 100)
    assert window.mean_w is None
    assert window.reason == "the samples have a hole of 2.02 s in a window of 8 s"


def test_a_short_window_has_a_mean_and_no_energy():
    t_ns, watts = _samples(50, 10, lambda at_s: np.full(at_s.size, 4.0))
    window = window_power(t_ns, watts, BOOT + S, BOOT + 2 * S, 50)
    assert window.mean_w == pytest.approx(4.0)
    gross, net, reason = energy_per_image(window, 3, 1.0)
    assert (gross, net) == (None, None)
    assert reason == "window too short: 50 sample periods, energy takes 100"


def test_the_periods_are_those_that_came_not_those_promised():
    t_ns, watts = _samples(10, 10, lambda at_s: np.ones(at_s.size))
    window = window_power(t_ns, watts, BOOT + S, BOOT + 9 * S, 1000)
    assert window.periods == pytest.approx(80)


def test_without_an_idle_window_there_is_no_net_energy():
    t_ns, watts = _samples(50, 10, lambda at_s: np.full(at_s.size, 4.0))
    window = window_power(t_ns, watts, BOOT + S, BOOT + 9 * S)
    gross, net, reason = energy_per_image(window, 4, None)
    assert gross == pytest.approx(8.0)
    assert (net, reason) == (None, "no idle window was sampled")
    assert energy_per_image(window, 0, 1.0)[2] == "no image lies in the window"


def test_samples_that_are_not_finite_are_left_out():
    t_ns, watts = _samples(50, 10, lambda at_s: np.full(at_s.size, 4.0))
    watts[::17] = np.nan
    assert window_power(t_ns, watts, BOOT + S, BOOT + 9 * S, 50).mean_w == pytest.approx(4.0)


def test_a_window_without_length():
    t_ns, watts = _samples(50, 10, lambda at_s: np.ones(at_s.size))
    window = window_power(t_ns, watts, BOOT + S, BOOT + S)
    assert (window.mean_w, window.reason) == (None, "the window has no length")
    assert energy_per_image(window, 1, 1.0)[2] == "the window has no length"
