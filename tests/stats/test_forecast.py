import math

import numpy as np
import pytest
from scipy.stats import t

from edgebench.stats.forecast import MOST_SESSIONS, forecast, sessions_for
from edgebench.stats.intervals import mean_interval, session_interval

PILOT = [1.0, 1.02, 0.99, 1.01]


def half_width(spread, sessions):
    """Of Student's interval of the mean, on a logarithm, with this standard deviation."""
    return math.expm1(t.ppf(0.975, sessions - 1) * spread / math.sqrt(sessions))


@pytest.mark.parametrize(("spread", "target"), [(0.02, 0.01), (0.02, 0.002), (0.005, 0.01), (0.05, 0.01)])
def test_it_is_the_first_number_whose_interval_is_narrow_enough(spread, target):
    needed = sessions_for(spread, target)
    assert needed is not None
    assert half_width(spread, needed) <= target
    assert needed == 3 or half_width(spread, needed - 1) > target


def test_figures_for_scale():
    assert sessions_for(0.02, 0.01) == 18
    assert sessions_for(0.0, 0.01) == 3
    assert sessions_for(0.02, 0.01, confidence=0.99) == 31
    assert sessions_for(1.0, 0.01) is None


def test_the_most_sessions_are_still_given():
    target = half_width(1.0, MOST_SESSIONS)
    assert sessions_for(1.0, target) == MOST_SESSIONS
    assert sessions_for(1.0, target * (1 - 1e-9)) is None


def test_a_spread_that_is_far_too_wide_says_no_and_how_many_it_takes():
    outlook = forecast(PILOT, 5, target_half_width=0.001)
    assert outlook.resolves == "no"
    assert outlook.probability == 0.0
    spread = float(np.std(PILOT, ddof=1) / np.mean(PILOT))
    assert outlook.sessions_needed == sessions_for(spread, 0.001)


def test_a_spread_that_is_small_enough_says_yes():
    outlook = forecast(PILOT, 20, target_half_width=0.05)
    assert outlook.resolves == "yes"
    assert outlook.sessions_needed == 3


def test_between_the_two_it_is_unclear():
    outlook = forecast(PILOT, 10, target_half_width=0.01)
    assert outlook.resolves == "unclear"
    assert outlook.probability is not None and 0.1 < outlook.probability < 0.9


def test_the_probability_of_a_target_is_the_predictive_one():
    # Simulated from what it states: variance by chi-squared, then the sessions to come.
    rng = np.random.default_rng(8)
    draws, k, planned, target = 40_000, len(PILOT), 9, 0.012
    pilot = np.array(PILOT)
    deviations = pilot.var(ddof=1) * (k - 1)
    sigma = np.sqrt(deviations / rng.chisquare(k - 1, draws))
    mean = pilot.mean() + sigma / math.sqrt(k) * rng.standard_normal(draws)
    more = mean[:, None] + sigma[:, None] * rng.standard_normal((draws, planned - k))
    every = np.concatenate([np.tile(pilot, (draws, 1)), more], axis=1)
    value, low, high = mean_interval(every)
    outlook = forecast(PILOT, planned, target_half_width=target)
    assert outlook.probability == pytest.approx((high <= (1 + target) * value).mean(), abs=0.015)
    limit = 1.03
    decided = ((low > limit) | (high < limit)).mean()
    assert forecast(PILOT, planned, limit=limit).probability == pytest.approx(decided, abs=0.03)


def test_limits_far_and_near():
    assert forecast(PILOT, 6, limit=2.0).resolves == "yes"
    assert forecast(PILOT, 6, limit=2.0).sessions_needed == 3
    near = forecast(PILOT, 6, limit=1.0051)
    assert near.resolves == "no"
    assert near.sessions_needed is None or near.sessions_needed > 100


def test_a_limit_that_is_hit_exactly_is_never_resolved():
    assert forecast([1.0, 1.25, 0.75], 10, limit=1.0).sessions_needed is None


@pytest.mark.parametrize("limit", [1.5, 1.0051])
def test_with_all_sessions_there_it_is_no_forecast_any_more(limit):
    interval = session_interval([[value] for value in PILOT])
    assert interval.low is not None and interval.high is not None
    outside = not interval.low <= limit <= interval.high
    assert forecast(PILOT, len(PILOT), limit=limit).probability == float(outside)
    assert forecast(PILOT, len(PILOT), target_half_width=0.5).resolves == "yes"


@pytest.mark.parametrize("medians", [[], [1.0]])
def test_without_a_spread_nothing_is_foretold(medians):
    outlook = forecast(medians, 5, limit=1.0)
    assert (outlook.resolves, outlook.sessions_needed, outlook.probability) == ("unclear", None, None)


def test_equal_sessions_resolve_whatever_is_asked():
    assert forecast([1.0, 1.0, 1.0], 5, target_half_width=0.01).resolves == "yes"


def test_the_same_question_gets_the_same_answer():
    assert forecast(PILOT, 7, limit=1.03) == forecast(PILOT, 7, limit=1.03)
