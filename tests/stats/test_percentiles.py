import numpy as np
import pytest

from edgebench.stats.percentiles import least_n, percentile_interval


@pytest.mark.parametrize(("p", "n"), [(0.9, 29), (0.95, 59), (0.99, 299), (0.999, 2995)])
def test_least_n_is_the_first_that_reaches_the_confidence(p, n):
    assert least_n(p) == n
    assert 1 - p**n >= 0.95 > 1 - p ** (n - 1)


def test_least_n_at_another_confidence():
    assert least_n(0.5, 0.5) == 1
    assert least_n(0.9, 0.99) == 44  # as in MLPerf LoadGen's table for no slow query at all


@pytest.mark.parametrize("p", [0.0, 1.0, -0.1, 1.5])
def test_least_n_refuses_what_is_no_percentile(p):
    with pytest.raises(ValueError, match="between 0 and 1"):
        least_n(p)


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


def test_nan_is_refused():
    with pytest.raises(ValueError, match="not finite"):
        percentile_interval([float("nan")] * 40, 0.9)
