import math

import numpy as np
import pytest
from scipy import stats

from edgebench.stats.intervals import (
    interval_reason,
    mean_interval,
    session_interval,
    session_medians,
    t_interval,
    trial_median,
)


def test_centre_is_the_mean_of_the_session_medians():
    interval = session_interval([[1.0, 2.0, 90.0], [4.0], [6.0, 6.0]])
    assert interval.median == pytest.approx(4.0)
    assert (interval.sessions, interval.n) == (3, 6)


@pytest.mark.parametrize("confidence", [0.8, 0.95, 0.99])
def test_bounds_are_students_t_as_a_factor_on_the_mean(confidence):
    medians = [1.0, 1.1, 1.3, 0.9, 1.2]
    interval = session_interval([[value] for value in medians], confidence)
    mean = np.mean(medians)
    low, high = stats.t.interval(confidence, 4, loc=np.log(mean), scale=stats.sem(medians) / mean)
    assert (interval.low, interval.high) == pytest.approx((np.exp(low), np.exp(high)))


def test_where_sessions_differ_by_little_it_is_students_t_on_the_values():
    medians = [1.0, 1.001, 1.003, 0.999, 1.002]
    interval = session_interval([[value] for value in medians])
    low, high = stats.t.interval(0.95, 4, loc=np.mean(medians), scale=stats.sem(medians))
    assert (interval.low, interval.high) == pytest.approx((low, high), abs=(high - low) ** 2)


def test_where_they_differ_by_much_it_stays_above_zero():
    medians = [0.3, 0.6, 1.86]
    mean, half = t_interval(np.array(medians))
    assert mean - half < -1.0
    interval = session_interval([[value] for value in medians])
    assert interval.low is not None and interval.high is not None
    assert 0 < interval.low < interval.median < interval.high
    assert interval.high / interval.median == pytest.approx(interval.median / interval.low)
    assert interval.longer_side == interval.high - interval.median
    assert interval.half_width == pytest.approx(interval.high / interval.median - 1)


def test_what_can_lie_below_zero_keeps_students_t():
    bounds = mean_interval(np.array([[-1.0, 0.5, 1.0], [0.0, 0.0, 0.0], [1.0, 1.0, 1.0]]))
    mean, half = t_interval(np.array([-1.0, 0.5, 1.0]))
    assert bounds.low.tolist() == [mean - half, 0.0, 1.0]
    assert bounds.high.tolist() == [mean + half, 0.0, 1.0]


def test_a_factor_beyond_all_numbers_bounds_nothing():
    bounds = mean_interval(np.array([1.0, 2.0, 3.0]), 1 - 1e-12)
    assert (float(bounds.low), float(bounds.high)) == (0.0, math.inf)


def test_many_at_once_are_the_same_intervals():
    values = np.random.default_rng(3).normal(1, 0.02, (50, 5, 7))
    value, low, high = mean_interval(np.median(values, axis=-1))
    for number, experiment in enumerate(values):
        interval = session_interval(experiment.tolist())
        assert (interval.median, interval.low, interval.high) == (value[number], low[number], high[number])


def test_sessions_of_different_length_have_the_same_medians():
    assert session_medians([[1.0, 2.0, 4.0], [3.0, 1.0], [], [5.0]]) == [2.0, 2.0, 5.0]
    assert session_medians([np.array([1.0, 2.0]), np.array([3.0, 4.0])]) == [1.5, 3.5]


def test_a_trials_median_is_the_mean_over_its_sessions_whatever_they_hold():
    assert (
        trial_median([[1.0, 2.0, 90.0], [], [4.0]])
        == session_interval([[1.0, 2.0, 90.0], [4.0]]).median
        == 3.0
    )
    assert trial_median([[0.1]] * 7) == 0.1
    with pytest.raises(ValueError):
        trial_median([[], []])


def test_equal_sessions_give_no_width():
    interval = session_interval([[0.1, 0.1, 0.1]] * 3)
    assert interval.low == interval.median == interval.high


@pytest.mark.parametrize("sessions", [1, 2])
def test_fewer_than_three_sessions_give_no_bounds_and_a_reason(sessions):
    interval = session_interval([[1.0, 2.0]] * sessions)
    assert (interval.low, interval.high, interval.sessions) == (None, None, sessions)
    assert interval_reason(sessions).startswith(f"{sessions} session")
    assert interval_reason(3) == ""


def test_a_session_without_values_does_not_count():
    assert session_interval([[1.0], [], [1.2]]).sessions == 2


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_a_value_that_is_not_finite_is_refused(value):
    with pytest.raises(ValueError):
        session_interval([[1.0], [1.0, value], [1.0]])


def test_nothing_at_all_is_refused():
    assert session_medians([[], []]) == []
    with pytest.raises(ValueError):
        session_interval([[], []])


def coverage_of(sessions, passes, *, shift, correlation, seed, repeats=600):
    """How often the interval holds the truth, 1, for sessions that shift and passes that cling together."""
    rng = np.random.default_rng(seed)
    hits = 0
    for _ in range(repeats):
        noise = rng.normal(0.0, 0.01, (sessions, passes))
        for i in range(1, passes):
            noise[:, i] = correlation * noise[:, i - 1] + math.sqrt(1 - correlation**2) * noise[:, i]
        values = 1.0 + rng.normal(0.0, shift, (sessions, 1)) + noise
        interval = session_interval(values.tolist())
        assert interval.low is not None and interval.high is not None
        hits += interval.low <= 1.0 <= interval.high
    return hits / repeats


@pytest.mark.parametrize(
    ("sessions", "passes", "shift", "correlation"),
    [(5, 20, 0.0, 0.0), (5, 40, 0.02, 0.6), (3, 20, 0.02, 0.6), (3, 3, 0.01, 0.0)],
)
def test_coverage_is_what_it_claims(sessions, passes, shift, correlation):
    # 600 repeats at 95 %: one standard deviation is 0.9 points, so the band is four of them. An interval
    # over all passes at once covers about 20 % of the correlated cases.
    assert 0.915 <= coverage_of(sessions, passes, shift=shift, correlation=correlation, seed=20) <= 0.985


def test_an_interval_over_all_passes_would_miss_the_band():
    rng = np.random.default_rng(3)
    hits = 0
    for _ in range(200):
        values = 1.0 + rng.normal(0.0, 0.02, (5, 1)) + rng.normal(0.0, 0.01, (5, 40))
        wrong = session_interval([[value] for value in rng.permutation(values.ravel())])
        assert wrong.low is not None and wrong.high is not None
        hits += wrong.low <= 1.0 <= wrong.high
    assert hits / 200 < 0.5
