import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgebench.stats.compare import fisher, mcnemar, share_difference, share_over_sessions, wilson


def test_wilson_agrees_with_the_published_formula():
    k, n, z = 638, 734, 1.959963984540054
    centre = (k + z * z / 2) / (n + z * z)
    half = z / (n + z * z) * (k * (n - k) / n + z * z / 4) ** 0.5
    assert wilson(k, n) == pytest.approx((centre - half, centre + half))


@settings(deadline=None)
@given(st.integers(1, 5000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_wilson_lies_around_the_share_and_within_0_and_1(share):
    k, n = share
    low, high = wilson(k, n)
    assert 0 <= low <= k / n <= high <= 1


def test_mcnemar_is_the_exact_sign_test():
    assert mcnemar(0, 0) == 1.0
    assert mcnemar(5, 5) == 1.0
    assert mcnemar(0, 6) == pytest.approx(2 / 64)
    assert mcnemar(6, 0) == mcnemar(0, 6)


def test_a_share_whose_cases_share_their_sessions_luck_is_less_sure():
    even, uneven = [(4, 100)] * 3, [(12, 100), (0, 100), (0, 100)]
    spread, none = share_over_sessions(uneven), share_over_sessions([(0, 5)] * 3)
    wide = share_over_sessions(even, 0.99)
    assert share_over_sessions(even) == pytest.approx(wilson(12, 300))
    assert spread is not None and spread[0] == 0.0 and spread[1] > 2 * wilson(12, 300)[1]
    assert none == pytest.approx(wilson(0, 15))
    assert wide is not None and wide[0] < wilson(12, 300)[0] and wide[1] > wilson(12, 300)[1]
    assert share_over_sessions([(5, 5)] * 2) is None


def test_newcombes_interval_is_that_of_his_paper():
    # Method 10 of Newcombe (1998): 56 of 70 against 48 of 80.
    difference, low, high = share_difference((48, 80), (56, 70))
    assert (round(difference, 4), round(low, 4), round(high, 4)) == (0.2, 0.0524, 0.3339)


@pytest.mark.parametrize(("a", "b"), [((0, 10), (10, 10)), ((0, 10), (0, 20)), ((9, 9), (9, 9))])
def test_it_stays_within_what_is_possible_and_around_the_difference(a, b):
    difference, low, high = share_difference(a, b)
    assert -1 <= low <= difference <= high <= 1
    assert [-end for end in share_difference(b, a)] == pytest.approx([difference, high, low])


def test_fishers_test_of_the_lady_who_tasted_tea():
    assert fisher((3, 4), (1, 4)) == pytest.approx(0.4857, abs=1e-4)
    assert fisher((5, 10), (5, 10)) == 1.0
