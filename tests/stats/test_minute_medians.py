"""A median a minute."""

from edgebench.stats.percentiles import minute_medians


def test_medians_and_counts():
    assert minute_medians([0, 10, 20, 70], [1.0, 9.0, 2.0, 5.0]) == {0: (2.0, 3), 1: (5.0, 1)}
    assert minute_medians([], []) == {}
