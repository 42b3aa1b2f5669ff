import pytest

from edgebench.stats.intervals import ALPHA, look_confidence, spent


@pytest.mark.parametrize("looks", [1, 2, 8, 28])
def test_the_looks_together_spend_all_and_no_more(looks):
    increments = [(1 - look_confidence(look, looks)) / 2 for look in range(1, looks + 1)]
    assert all(increment > 0 for increment in increments)
    assert sum(increments) == pytest.approx(ALPHA)


def test_a_single_look_spends_it_at_once():
    assert look_confidence(1, 1, alpha=0.025) == pytest.approx(0.95)


def test_the_first_look_spends_for_the_sessions_that_lie_behind_it():
    assert look_confidence(1, 28) == pytest.approx(1 - 2 * spent(0.1))
    assert look_confidence(1, 28) < look_confidence(2, 28)


def test_nothing_is_spent_at_the_start_and_all_at_the_end():
    assert spent(0.0) == 0.0
    assert spent(1.0) == pytest.approx(ALPHA)
