"""Areas under ROC curves: the statistic, its interval, and two of them compared."""

import numpy as np
import pytest
from scipy.stats import mannwhitneyu

from edgebench.stats.auc import area_of, difference


@pytest.mark.parametrize("digits", [0, 1, 6])
def test_the_area_is_the_share_of_pairs_in_order_and_a_tie_is_a_half(digits: int):
    rng = np.random.default_rng(digits)
    normal, anomalous = rng.normal(size=40).round(digits), rng.normal(0.7, size=25).round(digits)
    area = area_of(normal, anomalous)
    assert area.area == pytest.approx(mannwhitneyu(anomalous, normal).statistic / (40 * 25))
    assert 0 < area.low < area.area < area.high < 1
    turned = area_of(-normal, -anomalous)
    assert [turned.area, turned.low, turned.high] == pytest.approx(
        [1 - area.area, 1 - area.high, 1 - area.low]
    )


def test_the_ends_are_where_hanley_and_mcneils_variance_reaches_the_area():
    rng = np.random.default_rng(5)
    area = area_of(rng.normal(size=30), rng.normal(1, size=20))
    for end in (area.low, area.high):
        terms = 1 + 24 * ((1 - end) / (2 - end) + end / (1 + end))
        assert abs(end - area.area) == pytest.approx(1.959964 * np.sqrt(end * (1 - end) * terms / 600))


def test_all_pairs_in_order_are_no_certainty():
    few, many = (area_of(np.zeros(n), np.ones(n)) for n in (5, 500))
    assert few.area == few.high == many.area == 1.0
    assert few.low < 0.75 < 0.99 < many.low < 1.0
    assert area_of(np.zeros(1), np.ones(1)).low < 0.3


def test_the_same_samples_tell_detectors_apart_that_other_samples_do_not():
    rng = np.random.default_rng(8)
    a = rng.normal(size=80), rng.normal(1, size=80)
    b = a[0] + rng.normal(0, 0.3, size=80), a[1] + rng.normal(0, 0.3, size=80)
    shuffled = rng.permutation(b[0]), rng.permutation(b[1])
    (paired, p), (apart, alone) = difference(a, b, paired=True), difference(a, shuffled, paired=False)
    assert paired.area == pytest.approx(apart.area) == area_of(*b).area - area_of(*a).area
    assert paired.high - paired.low < 0.6 * (apart.high - apart.low)
    assert p < alone
    same, p = difference(a, a, paired=True)
    assert (same.area, p) == (0.0, 1.0) and same.low < 0 < same.high


def test_p_is_delongs():
    # By hand: 3 normal and 3 anomalous samples, placements of each side, their covariance over the counts.
    a, b = (np.array([1.0, 2, 3]), np.array([2.5, 4, 5])), (np.array([1.0, 4, 3]), np.array([2.0, 3.5, 5]))
    delta, p = difference(a, b, paired=True)
    above = np.array([[1, 1, 2 / 3], [1, 1 / 3, 2 / 3]])
    below = np.array([[2 / 3, 1, 1], [1 / 3, 2 / 3, 1]])
    spread = np.cov(above) / 3 + np.cov(below) / 3
    z = (below[1].mean() - below[0].mean()) / np.sqrt(spread[0, 0] + spread[1, 1] - 2 * spread[0, 1])
    from scipy.stats import norm

    assert delta.area == pytest.approx(-2 / 9)
    assert p == pytest.approx(2 * norm.sf(abs(z)))


@pytest.mark.parametrize("sizes", [(1, 1), (1, 5), (5, 1)])
def test_too_few_of_a_kind_give_no_p(sizes: tuple[int, int]):
    rng = np.random.default_rng(1)
    sides = [(rng.normal(size=sizes[0]), rng.normal(size=sizes[1])) for _ in range(2)]
    delta, p = difference(*sides, paired=True)
    assert p == 1 and delta.low <= delta.area <= delta.high


@pytest.mark.parametrize("anomalous", [1, 2, 5])
def test_few_anomalous_samples_seldom_tell_equal_detectors_apart(anomalous: int):
    rng = np.random.default_rng(3)
    found = 0
    for _ in range(400):
        truth = rng.normal(size=100), rng.normal(1, size=anomalous)
        a, b = ([side + rng.normal(0, 0.5, len(side)) for side in truth] for _ in range(2))
        delta, p = difference((a[0], a[1]), (b[0], b[1]), paired=True)
        assert p >= 0.05 or not delta.low <= 0 <= delta.high
        found += p < 0.05
    assert found <= 0.08 * 400
