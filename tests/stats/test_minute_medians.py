"""A median a minute."""

import pytest

from edgebench.stats.percentiles import by_minute, minute_medians


def test_a_value_belongs_to_the_minute_in_which_it_began():
    assert by_minute([0.0, 59.999, 60.0, 185.0], [1, 2, 3, 4]) == {0: [1, 2], 1: [3], 3: [4]}


def test_medians_and_counts():
    assert minute_medians([0, 10, 20, 70], [1.0, 9.0, 2.0, 5.0]) == {0: (2.0, 3), 1: (5.0, 1)}
    assert minute_medians([], []) == {}


def test_every_value_needs_its_time():
    with pytest.raises(ValueError, match="time"):
        by_minute([0.0], [])
