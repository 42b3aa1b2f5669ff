"""Deadlines."""

from edgebench.stats import deadlines


def test_a_pass_that_ends_on_its_deadline_is_in_time():
    assert deadlines.misses([0.0, -0.1, 1e-9, 0.5]) == 2
    assert deadlines.misses([]) == 0


def test_the_worst_is_the_latest_even_where_all_were_in_time():
    assert deadlines.worst([-0.3, -0.1, -0.2]) == -0.1
    assert deadlines.worst([-0.3, 0.4]) == 0.4
    assert deadlines.worst([]) is None
