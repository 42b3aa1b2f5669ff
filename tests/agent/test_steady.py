"""The end of a warm-up: pyperf's rule on made series."""

import random

import pytest

from edgebench.agent.timed import HALF, is_steady, steady_after


def noisy(level, count=2 * HALF, spread=0.01, seed=1):
    source = random.Random(seed)
    half = [level * (1 + spread * source.uniform(-1, 1)) for _ in range(count // 2)]
    return half + half[::-1]


def test_equal_halves_are_steady():
    assert is_steady(noisy(1e6))
    assert is_steady([5.0] * 2 * HALF)


def test_too_few_values_never_are():
    assert not is_steady([5.0] * (2 * HALF - 1))


def test_only_the_recent_values_count():
    assert is_steady([9e9] * 50 + noisy(1e6))


def test_a_slow_first_value_is_not_steady():
    values = noisy(1e6)
    assert not is_steady([values[0] * 2, *values[1:]])


@pytest.mark.parametrize("factor", [0.85, 1.15])
def test_a_level_that_moves_is_not_steady(factor):
    assert not is_steady(noisy(1e6)[:HALF] + noisy(1e6 * factor)[:HALF])


def test_a_spread_that_shrinks_is_not_steady():
    wide, narrow = noisy(1e6, spread=0.04), noisy(1e6, spread=0.01)
    assert not is_steady(wide[:HALF] + narrow[:HALF])


def test_a_lower_quarter_that_moves_is_not_steady():
    # Equal means and medians, another first quartile: only the quartiles tell.
    older = [100.0] * 20
    newer = [90.0] * 6 + [100.0] * 11 + [120.0] * 3
    assert not is_steady(older + newer)


def test_steady_after_finds_the_first_count_that_is():
    falling = [1e6 * (2 - 0.03 * number) for number in range(30)]
    values = falling + noisy(1e6, count=200)
    steady = steady_after(values, floor=10, cap=300)
    assert steady is not None
    assert 30 < steady <= 100
    assert is_steady(values[:steady])
    assert steady_after(values[:steady], floor=10, cap=300) == steady


def test_steady_after_keeps_to_its_floor_and_its_cap():
    values = [1e6] * 200
    assert steady_after(values, floor=10, cap=300) == 2 * HALF
    assert steady_after(values, floor=60, cap=300) == 60
    assert steady_after(values, floor=10, cap=2 * HALF - 1) is None
    assert steady_after(values[: 2 * HALF - 1], floor=10, cap=300) is None
    rising = [1e6 * 1.05**number for number in range(100)]
    assert steady_after(rising, floor=10, cap=300) is None
