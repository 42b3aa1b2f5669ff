"""Deadlines."""

from edgebench.stats import percentiles as deadlines


def test_a_pass_that_ends_on_its_deadline_is_in_time():
    assert deadlines.misses([0.0, -0.1, 1e-9, 0.5]) == 2
    assert deadlines.misses([]) == 0
