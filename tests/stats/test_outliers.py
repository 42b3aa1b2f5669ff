import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgebench.stats.intervals import modified_z, outliers


def test_the_far_value_is_flagged_where_it_stands():
    values = [1.0, 1.01, 0.99, 1.02, 5.0, 0.98, 1.0, 1.01, 0.99]
    assert outliers(values).nonzero()[0].tolist() == [4]


def test_ordinary_noise_is_not_flagged():
    assert not outliers(np.random.default_rng(0).normal(1.0, 0.05, 500)).any()


def test_the_threshold_is_ten_standard_deviations_of_a_normal_sample():
    values = np.random.default_rng(2).normal(0.0, 1.0, 4001)
    assert modified_z(np.append(values, 10.0))[-1] == pytest.approx(14.826, rel=0.06)


def test_a_mad_of_zero_falls_back_on_the_mean_deviation():
    values = [1.0] * 30 + [1.5]
    assert outliers(values).nonzero()[0].tolist() == [30]
    # Two levels of a coarse clock are no outliers.
    assert not outliers([1.0] * 12 + [1.001] * 8).any()


def test_equal_values_have_no_outlier():
    assert modified_z([2.0] * 9).tolist() == [0.0] * 9


def test_too_few_values_are_not_judged():
    assert not outliers([1.0, 1.0001, 50.0]).any()
    assert outliers([]).size == 0


@settings(deadline=None)
@given(st.lists(st.floats(-1e6, 1e6), min_size=8, max_size=60))
def test_never_as_many_as_half_are_outliers(values):
    assert outliers(values).sum() <= len(values) / 2
