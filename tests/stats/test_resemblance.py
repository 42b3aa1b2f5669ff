"""Sessions that resemble the one before them: when they are taken for such, and what intervals make of it."""

import math

import numpy as np
import pytest
from scipy import integrate, signal

from edgebench.stats.compare import compare
from edgebench.stats.forecast import forecast
from edgebench.stats.intervals import (
    RESEMBLANCE_SHARE,
    least_ratio,
    resemblance,
    session_interval,
    t_interval,
    t_quantile,
    widening,
)
from edgebench.stats.percentiles import percentile_over_sessions
from edgebench.stats.power import Margin, widened_interval

DRIFT = np.array([1.0, 1.03, 1.02, 1.05, 1.06, 1.03, 1.04, 1.0, 0.99, 1.01])
SHUFFLED = DRIFT[[0, 9, 2, 7, 4, 5, 6, 3, 8, 1]]


def share_below(sessions, ratio):
    """The exact share of sets of independent normal sessions below a ratio (Imhof, Biometrika 48, 1961)."""
    weights = 4 * np.sin(np.pi * np.arange(1, sessions) / (2 * sessions)) ** 2 - ratio

    def density(u):
        return math.sin(np.arctan(weights * u).sum() / 2) / (u * np.prod((1 + (weights * u) ** 2) ** 0.25))

    parts = (integrate.quad(density, *span, limit=500)[0] for span in ((0, 1), (1, np.inf)))
    return 0.5 - sum(parts) / math.pi


@pytest.mark.parametrize("sessions", [8, 9, 10, 12, 20, 30, 100])
def test_the_limit_is_that_of_the_exact_distribution(sessions):
    assert share_below(sessions, least_ratio(sessions)) == pytest.approx(RESEMBLANCE_SHARE, abs=1.2e-4)


def test_the_factor_is_that_of_the_correlation_and_its_bias():
    deviations = DRIFT - DRIFT.mean()
    squares = (deviations**2).sum()
    assert ((DRIFT[1:] - DRIFT[:-1]) ** 2).sum() / squares < least_ratio(10)
    correlation = (deviations[1:] * deviations[:-1]).sum() / squares
    r = correlation + (1 + 3 * correlation) / 10
    assert 0 < r < 0.9
    assert float(widening(DRIFT)) == pytest.approx(math.sqrt((1 + r) / (1 - r)))
    mean, half = t_interval(DRIFT)
    plain = t_quantile(0.95, 9) * DRIFT.std(ddof=1) / math.sqrt(10)
    assert (mean, half) == pytest.approx((DRIFT.mean(), plain * widening(DRIFT)))


def test_a_correlation_near_one_counts_as_that_of_nine_tenths():
    assert float(widening(np.linspace(1, 2, 40))) == pytest.approx(math.sqrt(1.9 / 0.1))


@pytest.mark.parametrize("medians", [DRIFT[:7], np.full(12, 1.0), SHUFFLED, np.empty(0)])
def test_few_sessions_equal_ones_and_independent_ones_are_not_widened(medians):
    assert float(widening(medians)) == 1.0
    assert resemblance(medians.tolist()) == ""


def test_many_at_once_are_the_same():
    several = np.stack([DRIFT, SHUFFLED, DRIFT[::-1]])
    assert widening(several).tolist() == [float(widening(medians)) for medians in several]


@pytest.mark.parametrize(
    ("r", "sessions", "covered", "alone"),
    [(0.6, 10, 0.77, 0.68), (0.6, 20, 0.86, 0.67), (0.6, 40, 0.91, 0.67), (0.0, 20, 0.95, 0.95)],
)
def test_so_many_are_covered_as_is_stated(r, sessions, covered, alone):
    series = np.random.default_rng(1).standard_normal((10_000, sessions))
    series[:, 1:] *= math.sqrt(1 - r**2)
    series = signal.lfilter([1.0], [1.0, -r], series, axis=-1)
    mean, half = t_interval(series)
    assert np.mean(np.abs(mean) <= half) == pytest.approx(covered, abs=0.012)
    assert np.mean(np.abs(mean) <= half / widening(series)) == pytest.approx(alone, abs=0.012)
    if not r:
        assert np.mean(widening(series) > 1) == pytest.approx(0.05, abs=0.006)


def wider(drifting, shuffled):
    """By how much the one interval is wider than the other, of its logarithm."""
    return math.log(drifting[1] / drifting[0]) / math.log(shuffled[1] / shuffled[0])


def test_every_interval_over_sessions_is_widened():
    factor = float(widening(DRIFT))
    sides = [session_interval([[value] for value in medians]) for medians in (DRIFT, SHUFFLED)]
    assert wider(*((side.low, side.high) for side in sides)) == pytest.approx(factor)
    none = [Margin(0.0, 0.0)] * 10
    assert wider(*(widened_interval(medians.tolist(), none) for medians in (DRIFT, SHUFFLED))) == (
        pytest.approx(factor)
    )


def test_a_comparison_is_less_sure_of_sessions_that_resemble_each_other():
    steady = (1.03 * SHUFFLED).tolist()
    sure, unsure = (
        compare(side.tolist(), steady, lower_is_better=True, minimum_effect=0.0) for side in (SHUFFLED, DRIFT)
    )
    assert (sure.word, unsure.word) == ("worse", "undecided")
    assert sure.p is not None and unsure.p is not None and sure.p < unsure.p
    assert unsure.low is not None and unsure.low < 1


def test_the_bounds_of_a_percentile_are_widened():
    noise = np.random.default_rng(2).normal(0, 0.001, (10, 60))
    drifting, shuffled = (
        percentile_over_sessions(list(medians[:, None] + noise), 0.9) for medians in (DRIFT, SHUFFLED)
    )
    assert drifting.low is not None and shuffled.low is not None and drifting.low < shuffled.low
    assert drifting.high is not None and shuffled.high is not None and drifting.high > shuffled.high


def test_a_forecast_takes_more_sessions_where_they_resemble_each_other():
    needed = [
        forecast(medians.tolist(), 20, target_half_width=0.02).sessions_needed
        for medians in (DRIFT, SHUFFLED)
    ]
    assert needed[0] is not None and needed[1] is not None
    assert needed[0] > 2 * needed[1]
