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


def test_p_is_nearly_delongs():
    rng = np.random.default_rng(2)
    a = rng.normal(size=300), rng.normal(1, size=300)
    b = a[0] + rng.normal(0, 0.4, size=300), a[1] + rng.normal(-0.02, 0.4, size=300)
    delta, p = difference(a, b, paired=True)
    # DeLong's: each sample's placement among those of the other kind, their covariance over the counts.
    above = np.array([[(anomalous > one).mean() for one in normal] for normal, anomalous in (a, b)])
    below = np.array([[(normal < one).mean() for one in anomalous] for normal, anomalous in (a, b)])
    spread = np.cov(above) / 300 + np.cov(below) / 300
    z = delta.area / np.sqrt(spread[0, 0] + spread[1, 1] - 2 * spread[0, 1])
    from scipy.stats import norm

    assert delta.area == pytest.approx(below[1].mean() - below[0].mean())
    assert norm.isf(p / 2) == pytest.approx(abs(z), rel=0.1) and abs(z) > 1


@pytest.mark.parametrize("sizes", [(1, 1), (1, 5), (5, 1), (2, 2), (3, 40)])
@pytest.mark.parametrize("shift", [0.0, 3.0])
def test_p_is_that_of_the_interval(sizes: tuple[int, int], shift: float):
    rng = np.random.default_rng(1)
    a, b = [(rng.normal(size=sizes[0]), rng.normal(side, size=sizes[1])) for side in (0.0, shift)]
    for paired in (True, False):
        delta, p = difference(a, b, paired=paired)
        assert delta.low <= delta.area <= delta.high and 0 < p <= 1
        assert (p < 0.05) == (not delta.low <= 0 <= delta.high)


@pytest.mark.parametrize("anomalous", [1, 2, 5, 40])
def test_few_anomalous_samples_seldom_tell_equal_detectors_apart(anomalous: int):
    rng = np.random.default_rng(3)
    found = 0
    for _ in range(400):
        truth = rng.normal(size=100), rng.normal(1, size=anomalous)
        a, b = ([side + rng.normal(0, 0.5, len(side)) for side in truth] for _ in range(2))
        found += difference((a[0], a[1]), (b[0], b[1]), paired=True)[1] < 0.05
    assert found <= 0.08 * 400
