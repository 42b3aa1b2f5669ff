import numpy as np
import pytest
from scipy import stats

from edgebench.stats.percentiles import (
    least_n,
    percentile_interval,
    percentile_over_sessions,
    tolerance_factor,
)


@pytest.mark.parametrize(("p", "n"), [(0.9, 29), (0.95, 59), (0.99, 299), (0.999, 2995)])
def test_least_n_is_the_first_that_reaches_the_confidence(p, n):
    assert least_n(p) == n
    assert 1 - p**n >= 0.95 > 1 - p ** (n - 1)


def test_least_n_at_another_confidence():
    assert least_n(0.5, 0.5) == 1
    assert least_n(0.9, 0.99) == 44  # as in MLPerf LoadGen's table for no slow query at all


def test_one_value_too_few_gives_the_reason_and_nothing_else():
    figure = percentile_interval(list(range(28)), 0.9)
    assert (figure.value, figure.low, figure.high, figure.n) == (None, None, None, 28)
    assert figure.reason == "n too small: p90 takes 29 values at 95 % confidence and there are 28"


def test_at_the_least_n_the_maximum_is_the_upper_bound():
    figure = percentile_interval([float(value) for value in range(29)], 0.9)
    assert figure.high == 28.0
    assert figure.low is not None and figure.value is not None
    assert figure.low < figure.value < figure.high
    assert figure.reason == ""


def test_each_bound_holds_at_its_confidence():
    rng = np.random.default_rng(1)
    draws = [percentile_interval(rng.uniform(size=120), 0.9) for _ in range(400)]
    # Each bound holds at 95 % or a little more; 400 draws have a standard deviation of 1.1 points.
    assert 0.91 <= np.mean([figure.high is not None and figure.high >= 0.9 for figure in draws]) < 0.995
    assert 0.91 <= np.mean([figure.low is not None and figure.low <= 0.9 for figure in draws]) < 0.995


@pytest.mark.parametrize(("p", "table"), [(0.9, (44, 64, 81)), (0.99, (459, 662, 838))])
def test_least_n_is_loadgens_table(p, table):
    assert tuple(least_n(p, 0.99, beyond) for beyond in range(3)) == table


def test_bounds_and_least_n_are_one_rule():
    # Two of 64 or of 81 values lie beyond 10: enough for p90 at 99 % with the larger n only.
    for n, meets in ((80, False), (81, True)):
        values = [float(value) for value in np.linspace(1, 10, n - 2)] + [11.0, 12.0]
        high = percentile_interval(values, 0.9, 0.99).high
        assert high is not None
        assert (high <= 10) is meets


def test_one_that_takes_too_many_values_is_refused():
    with pytest.raises(ValueError):
        least_n(1 - 1e-9)


@pytest.mark.parametrize("p", [0.5, 0.9, 0.95])
@pytest.mark.parametrize("confidence", [0.9, 0.95, 0.995])
def test_bounds_are_those_of_scipys_quantile_test(p, confidence):
    values = np.random.default_rng(5).standard_normal(200)
    figure = percentile_interval(values, p, confidence)
    below = stats.quantile_test(values, p=p, alternative="greater").confidence_interval(confidence)
    above = stats.quantile_test(values, p=p, alternative="less").confidence_interval(confidence)
    assert (figure.low, figure.high) == (below.low, above.high)


def test_a_low_percentile_of_few_values_has_no_lower_bound():
    assert percentile_interval(np.arange(5.0), 0.1).low is None


def test_one_session_or_equal_ones_are_as_all_at_once():
    values = np.random.default_rng(7).uniform(size=100)
    assert percentile_over_sessions([values], 0.9) == percentile_interval(values, 0.9)
    assert percentile_over_sessions([values, [], values], 0.9) == percentile_interval(np.tile(values, 2), 0.9)


def test_sessions_that_differ_widen_both_bounds():
    rng = np.random.default_rng(9)
    sessions = [level + 0.01 * rng.standard_normal(100) for level in (1.0, 1.02, 0.98, 1.03, 0.99)]
    wide = percentile_over_sessions(sessions, 0.9)
    narrow = percentile_interval(np.concatenate(sessions), 0.9)
    assert wide.low is not None and wide.high is not None
    assert narrow.low is not None and narrow.high is not None
    assert wide.low < narrow.low < narrow.high < wide.high
    assert (wide.value, wide.n) == (narrow.value, narrow.n)


def test_below_its_n_sessions_do_not_help():
    figure = percentile_over_sessions([[1.0] * 14, [2.0] * 14], 0.9)
    assert (figure.value, figure.high) == (None, None)
    assert "n too small" in figure.reason


def test_the_tolerance_factor_is_the_published_one():
    # Hahn and Meeker, "Statistical Intervals", table of one-sided normal tolerance bounds.
    assert tolerance_factor(0.9, 0.95, 5) == pytest.approx(3.407, abs=1e-3)
    assert tolerance_factor(0.99, 0.95, 10) == pytest.approx(3.981, abs=1e-3)
