import numpy as np
import pytest

from edgebench.stats.intervals import mean_interval
from edgebench.stats.power import MOST_POINTS, Margin, mean_margin, sampling_half_width, widened_interval


def _bursts(rng, periods, on, off):
    """Samples, one a period, of 5 W and 1 W in turn for random times of these means, in periods."""
    lengths = np.empty(int(4 * periods / (on + off)) * 2 + 100)
    lengths[::2], lengths[1::2] = (rng.exponential(mean, lengths.size // 2) for mean in (on, off))
    edges = np.cumsum(lengths)
    begin = rng.uniform(20 * (on + off), 30 * (on + off))
    stretch = np.searchsorted(edges, begin + np.arange(periods), side="right")
    return np.where(stretch % 2 == 0, 5.0, 1.0)


@pytest.mark.parametrize(
    ("periods", "on", "off"),
    [(100, 0.1, 0.1), (100, 0.1, 0.9), (100, 2, 2), (1000, 0.3, 2.7), (1000, 2, 8), (1000, 10, 10)],
)
def test_bursts_are_covered_by_an_interval_that_is_not_twice_as_wide_as_it_has_to_be(periods, on, off):
    rng = np.random.default_rng(int(1000 * on + periods))
    samples = [_bursts(rng, periods, on, off) for _ in range(500)]
    errors = np.array([values.mean() for values in samples]) - (5 * on + off) / (on + off)
    margins = np.array([mean_margin(values) for values in samples])
    covered = (errors <= margins[:, 0]) & (-errors <= margins[:, 1])
    # 500 cases of a true 95 % fall below 91.5 % once in five thousand times.
    assert covered.mean() >= 0.915
    assert margins.mean() <= 2 * np.quantile(np.abs(errors), 0.95)
    independent = np.mean([1.96 * values.std() / np.sqrt(periods) for values in samples])
    if on >= 2:
        assert independent < 0.75 * np.quantile(np.abs(errors), 0.95)  # which do not count that they resemble


def test_a_mean_lies_between_the_lowest_and_the_highest_sample():
    rare = np.where(np.arange(100) % 33 == 5, 5.0, 1.0)
    margin = mean_margin(rare)
    assert margin is not None
    assert rare.mean() - margin.below > 1.0
    assert margin.above > 1.3 * margin.below


def test_regular_bursts_are_known_better_than_random_ones_of_the_same_spread():
    regular = np.where(np.arange(400) % 4 == 0, 5.0, 1.0)
    shuffled = np.random.default_rng(3).permutation(regular)
    assert 5 * sum(mean_margin(regular) or ()) < sum(mean_margin(shuffled) or ())


def test_many_samples_are_averaged_first():
    values = np.cumsum(np.random.default_rng(4).normal(0.0, 1.0, 50 * MOST_POINTS + 7)) + 1000.0
    few = values[: 50 * MOST_POINTS].reshape(MOST_POINTS, 50).mean(axis=1)
    assert mean_margin(values) == pytest.approx(mean_margin(few), rel=0.02)


def test_too_few_samples_say_nothing():
    assert mean_margin(np.arange(19.0)) is None
    assert mean_margin(np.full(20, 3.0)) == (0.0, 0.0)


def test_the_wider_of_sessions_and_samples_counts():
    sessions = [2.9, 3.0, 3.1]
    bounds = mean_interval(np.array(sessions))
    ends = [float(bounds.low), float(bounds.high)]
    narrow, broad = Margin(0.01, 0.01), Margin(0.3, 0.6)
    assert list(widened_interval(sessions, [narrow] * 3)) == pytest.approx(ends)
    assert list(widened_interval(sessions, [narrow, None, narrow])) == pytest.approx(ends)
    wide = widened_interval([3.0, 3.0, 3.0], [broad] * 3)
    assert wide == pytest.approx((3 - 0.3 / np.sqrt(3), 3 + 0.6 / np.sqrt(3)))
    assert widened_interval([3.0], [Margin(0.2, 0.3)]) == pytest.approx((2.8, 3.3))
    assert widened_interval([3.0, 3.2], [None, narrow]) == (None, None)
    assert widened_interval([], []) == (None, None)


def test_a_difference_errs_on_one_side_where_its_parts_err_on_opposite_ones():
    assert Margin(3.0, 1.0).without(Margin(0.0, 4.0)) == (5.0, 1.0)
    assert Margin(3.0, 1.0).scaled(2.0) == (6.0, 2.0)


def test_what_moves_slowly_is_known_better_than_its_spread_says():
    rng = np.random.default_rng(2)
    noise = rng.normal(3.0, 0.1, 400)
    assert sampling_half_width(noise) == pytest.approx(1.966 * 0.1 / 20, rel=0.1)
    slow = np.repeat([3.0, 6.0], 200)
    assert sampling_half_width(slow) == pytest.approx(1.966 * 3.0 / np.sqrt(2 * 399 * 400), rel=1e-3)
    assert 20 * sampling_half_width(slow) < sum(mean_margin(slow) or ())
