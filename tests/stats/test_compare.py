import numpy as np
import pytest
from scipy import stats

from edgebench.stats.compare import compare, different, ratios, sessions_to_decide

A = [1.00, 1.01, 0.99, 1.005, 0.995]


def slower(factor):
    return [factor * value for value in A]


def test_p_is_welchs_and_the_interval_excludes_1_exactly_where_it_says_so():
    rng = np.random.default_rng(2)
    a, b = rng.normal(1, 0.02, (500, 4)), rng.normal(1.03, 0.04, (500, 6))
    b_over_a = ratios(a, b)
    # On the logarithm of the ratio: as good as Welch's test of values that differ by a few per cent.
    assert b_over_a.p == pytest.approx(stats.ttest_ind(a, b, axis=1, equal_var=False).pvalue, abs=0.02)
    assert (((b_over_a.low > 1) | (b_over_a.high < 1)) == (b_over_a.p < 0.05)).all()
    assert 0.1 < (b_over_a.p < 0.05).mean() < 0.9


def test_the_interval_holds_the_ratio_in_95_percent():
    rng = np.random.default_rng(3)
    b_over_a = ratios(rng.normal(1, 0.02, (4000, 5)), rng.normal(1.05, 0.03, (4000, 5)))
    assert 0.94 <= ((b_over_a.low <= 1.05) & (b_over_a.high >= 1.05)).mean() <= 0.97


@pytest.mark.parametrize(("lower_is_better", "word"), [(True, "worse"), (False, "better")])
def test_a_clear_difference_goes_by_the_better_direction(lower_is_better, word):
    assert compare(A, slower(1.1), lower_is_better=lower_is_better).word == word
    other = {"worse": "better", "better": "worse"}[word]
    assert compare(slower(1.1), A, lower_is_better=lower_is_better).word == other


def test_figures_of_a_clear_difference():
    comparison = compare(A, slower(1.1), lower_is_better=True)
    assert comparison.ratio == pytest.approx(1.1)
    assert comparison.low is not None and comparison.high is not None
    assert 1.05 < comparison.low < 1.1 < comparison.high < 1.15
    assert comparison.p is not None and comparison.p < 0.001


def test_a_significant_difference_below_the_minimum_effect_is_the_same():
    comparison = compare(A, slower(1.015), lower_is_better=True)
    assert comparison.p is not None and comparison.p < 0.05
    assert comparison.word == "same"
    assert compare(A, slower(1.015), lower_is_better=True, minimum_effect=0.01).word == "worse"


def test_wide_intervals_leave_it_undecided():
    assert compare([1.0, 1.2, 0.8], [1.05, 1.3, 0.9], lower_is_better=True).word == "undecided"


def test_fewer_than_three_sessions_say_why():
    comparison = compare(A[:2], A, lower_is_better=True)
    assert (comparison.word, comparison.p, comparison.low, comparison.high) == ("undecided", None, None, None)
    assert comparison.reason == "a comparison takes 3 sessions a side and there are 2"


@pytest.mark.parametrize(("b", "word", "p"), [(1.0, "same", 1.0), (1.1, "worse", 0.0), (1.01, "same", 0.0)])
def test_sessions_without_any_spread(b, word, p):
    comparison = compare([1.0] * 3, [b] * 3, lower_is_better=True)
    assert (comparison.word, comparison.p, comparison.low, comparison.high) == (word, p, b, b)


@pytest.mark.parametrize(
    "sides", [([1.0, 100.0, 1.0], [1.1, 1.2, 3.0]), ([1.0, 1.1, 1.2], [0.01, 3.0, 0.01])]
)
def test_a_side_all_over_the_place_leaves_a_wide_interval_above_zero(sides):
    comparison = compare(*sides, lower_is_better=True)
    assert (comparison.word, comparison.reason) == ("undecided", "")
    assert comparison.low is not None and comparison.high is not None
    assert 0 < comparison.low < comparison.ratio < comparison.high


def test_no_unit_moves_a_comparison():
    a, b = [1.0, 1.02, 1.05], [1.04, 1.1, 1.02]
    plain = compare(a, b, lower_is_better=True)
    for unit in (1e-200, 1e-9, 1e150):
        other = compare([value * unit for value in a], [value * unit for value in b], lower_is_better=True)
        assert (other.low, other.high, other.p) == pytest.approx((plain.low, plain.high, plain.p))


@pytest.mark.parametrize(("effect", "alpha"), [(-0.1, 0.05), (0.03, 0.0), (0.03, 1.0)])
def test_a_rule_that_is_none_is_refused(effect, alpha):
    with pytest.raises(ValueError):
        compare(A, A, lower_is_better=True, minimum_effect=effect, alpha=alpha)


def test_many_at_once_are_judged_as_each_by_itself():
    rng = np.random.default_rng(6)
    a, b = rng.normal(1, 0.02, (300, 5)), rng.normal(1.04, 0.02, (300, 5))
    words = [compare(x.tolist(), y.tolist(), lower_is_better=True).word for x, y in zip(a, b, strict=True)]
    assert [word in {"better", "worse"} for word in words] == different(ratios(a, b)).tolist()
    assert "worse" in words and "undecided" in words


def test_the_sessions_that_would_decide_do_where_ratio_and_spread_stay():
    a, b = [1.0, 1.04, 0.96], [1.05, 1.09, 1.01]
    assert compare(a, b, lower_is_better=True).word == "undecided"
    needed = sessions_to_decide(a, b)
    assert needed is not None and 3 < needed < 30
    for sessions, word in ((needed, "worse"), (needed - 1, "undecided")):
        steps = np.linspace(-0.04, 0.04, sessions)
        deviations = 0.04 * steps / steps.std(ddof=1)
        assert compare(1 + deviations, 1.05 + deviations, lower_is_better=True).word == word


def test_likes_need_enough_sessions_to_be_called_the_same_and_wild_ones_none_that_is_worth_it():
    needed = sessions_to_decide([1.0, 1.02, 0.98], [1.0, 1.02, 0.98])
    assert needed is not None and 5 <= needed <= 12
    assert sessions_to_decide([1.0, 2.0, 0.1], [1.0, 2.0, 0.1]) is None
    assert sessions_to_decide([1.0, 1.0], [1.1, 1.1]) == 3


def test_more_sessions_are_proposed_than_there_are():
    assert sessions_to_decide([1.0] * 4, [1.1] * 6) == 7
