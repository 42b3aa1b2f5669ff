import numpy as np
import pytest

from edgebench.stats.shape import MAX_POINTS, MIN_VALUES, heat, rise_together


def test_a_device_that_slows_down_is_suspected():
    at_s = np.arange(40.0)
    slowdown = heat(at_s, 1.0 + 0.004 * at_s)
    assert slowdown is not None and slowdown.suspected
    assert slowdown.ratio == pytest.approx((1 + 0.004 * 34.5) / (1 + 0.004 * 4.5))
    assert slowdown.rise == pytest.approx(0.004 * 39 / (1 + 0.004 * 19.5))


def test_steady_noise_is_not_suspected():
    values = np.random.default_rng(4).normal(1.0, 0.01, 80)
    slowdown = heat(np.arange(80.0), values)
    assert slowdown is not None and not slowdown.suspected


def test_one_that_speeds_up_is_not_suspected():
    slowdown = heat(np.arange(20.0), np.linspace(1.2, 1.0, 20))
    assert slowdown is not None and not slowdown.suspected
    assert slowdown.rise < 0


def test_a_step_at_the_end_is_seen_by_the_quarters():
    slowdown = heat(np.arange(20.0), [1.0] * 15 + [1.1] * 5)
    assert slowdown is not None and slowdown.suspected and slowdown.ratio == pytest.approx(1.1)


def test_a_rise_of_the_slope_alone_is_seen():
    # Uneven passes: the quarters by count see 4 %, the slope over the whole session more than 5 %.
    at_s = np.concatenate((np.linspace(0, 1, 10), np.linspace(5, 6, 10)))
    slowdown = heat(at_s, 1.0 + 0.0095 * at_s)
    assert slowdown is not None and slowdown.suspected


def test_too_few_values_say_nothing():
    assert heat(range(MIN_VALUES - 1), [1.0] * (MIN_VALUES - 1)) is None
    assert heat([], []) is None
    assert heat([3.0] * 10, [1.0] * 10) is None


def test_a_long_session_is_thinned_and_still_seen():
    at_s = np.arange(20 * MAX_POINTS, dtype=float)
    slowdown = heat(at_s, 1.0 + 0.1 * at_s / at_s[-1])
    assert slowdown is not None and slowdown.suspected
    assert slowdown.rise == pytest.approx(0.1 / 1.05, rel=0.02)


def test_the_quarters_the_slope_and_which_test_spoke():
    at_s = np.arange(100.0)
    slowdown = heat(at_s, np.where(at_s < 75, 1.0, 1.1))
    assert slowdown is not None
    assert (slowdown.first, slowdown.last, slowdown.ratio) == pytest.approx((1.0, 1.1, 1.1))
    assert slowdown.slower and slowdown.suspected
    rising = heat(at_s, 2.0 + 0.01 * at_s)
    assert rising is not None
    assert rising.slope_per_s == pytest.approx(0.01)
    assert rising.rising


def short(rise, noise=0.0, passes=5, sessions=3, seed=1):
    """Sessions of a few passes that become slower by that share, as times and values."""
    rng = np.random.default_rng(seed)
    at_s = [np.arange(float(passes))] * sessions
    return at_s, [
        (1 + rise * times / times[-1]) * (1 + noise * rng.standard_normal(passes)) for times in at_s
    ]


def test_short_sessions_show_heat_together():
    assert rise_together(*short(0.2)) == pytest.approx(0.2 / 1.1)
    assert rise_together(*short(0.2, noise=0.01)) is not None
    assert rise_together(*short(0.03)) is None
    assert rise_together(*short(-0.2)) is None
    at_s, values = short(0.2)
    assert rise_together(at_s, [values[0], values[1] * 0 + 1.0, values[2][::-1]]) is None  # not alike


@pytest.mark.parametrize(("passes", "sessions"), [(3, 5), (5, 2), (MIN_VALUES, 5), (5, 0)])
def test_three_passes_or_two_sessions_cannot_show_it(passes, sessions):
    assert rise_together(*short(0.2, passes=passes, sessions=sessions)) is None


def test_noise_is_seldom_taken_for_heat():
    rises = [rise_together(*short(0.0, noise=0.05, passes=4, seed=seed)) for seed in range(300)]
    assert sum(rise is not None for rise in rises) <= 15
