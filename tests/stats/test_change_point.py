"""Changes of a level: found at the right place, few where there are none, and none of too few values."""

import numpy as np
import pytest

from edgebench.stats import change_point
from edgebench.stats.change_point import LEAST_EXPERIMENTS, best_cut, change_points, change_reason


def series(*levels, spread=0.005, seed=1):
    values = np.array([level for level, count in levels for _ in range(count)], dtype=float)
    return (values * np.exp(np.random.default_rng(seed).normal(0, spread, len(values)))).tolist()


@pytest.mark.parametrize("before", [3, 4, 5])
def test_a_step_of_10_percent_is_found_at_its_place_with_8_values(before):
    values = series((0.3, before), (0.33, 8 - before))
    [point] = change_points(values)
    assert point.at == before
    assert point.before == pytest.approx(np.mean(values[:before]))
    assert point.after == pytest.approx(np.mean(values[before:]))
    assert point.ratio == pytest.approx(point.after / point.before)
    assert 1.05 < point.low < point.ratio < point.high < 1.15
    assert point.p <= 0.05


def test_two_results_after_a_change_show_it_from_10_on():
    assert [point.at for point in change_points(series((1, 8), (1.1, 2)))] == [8]
    # Of 8 values, 2 of 56 other orders would look the same for a cut of 3, and 2 of 28 for one of 2.
    assert change_points(series((1, 6), (1.1, 2))) == ()


def test_one_value_that_stands_alone_is_no_change():
    assert change_points(series((1, 30), (1.5, 1))) == ()
    assert change_points(series((1, 10), (1.5, 1), (1, 10))) == ()


def test_several_changes_and_their_levels():
    points = change_points(series((1, 12), (1.1, 10), (0.9, 14)))
    assert [point.at for point in points] == [12, 22]
    assert [round(point.ratio, 2) for point in points] == [1.1, 0.82]
    assert points[0].after == pytest.approx(points[1].before)


def test_a_change_below_the_minimum_effect_is_none():
    values = series((1, 10), (1.02, 10), spread=0.001)
    assert change_points(values) == ()
    assert [point.at for point in change_points(values, minimum_effect=0.01)] == [10]


def test_equal_values_have_no_change_and_an_exact_step_has_one():
    assert change_points([0.3] * 20) == ()
    [point] = change_points([0.3] * 5 + [0.4] * 5)
    assert (point.at, point.low, point.high) == (5, point.ratio, point.ratio)


def test_at_most_alpha_of_series_without_a_change_have_one():
    rng = np.random.default_rng(3)
    worlds = [rng.normal(0, 0.02, (150, 12)), 0.02 * rng.standard_t(3, (150, 12))]
    for logs in worlds:
        found = sum(bool(change_points(np.exp(row).tolist(), minimum_effect=0)) for row in logs)
        assert found <= 150 * 0.05 + 2 * (150 * 0.05 * 0.95) ** 0.5


def test_the_same_series_gives_the_same_p():
    values = series((1, 6), (1.05, 6), spread=0.02)
    assert change_points(values, alpha=0.5) == change_points(values, alpha=0.5)


def test_the_best_cut_is_that_of_the_two_groups_it_leaves():
    logs = np.random.default_rng(4).normal(0, 1, (5, 9))
    cuts, shares = best_cut(logs)
    for row, cut, share in zip(logs, cuts, shares, strict=True):
        left = {at: row[:at].var() * at + row[at:].var() * (9 - at) for at in range(2, 8)}
        assert cut == min(left, key=lambda at: left[at])
        assert share == pytest.approx(1 - left[cut] / (row.var() * 9))


def test_too_few_values_say_so():
    few = series((1, 3), (2, 4))
    assert len(few) == LEAST_EXPERIMENTS - 1
    assert change_points(few) == ()
    assert change_points([]) == ()
    assert change_reason(7) == "a change point takes at least 8 results, and there are 7"
    assert change_reason(1).endswith("there is 1")
    assert change_reason(8) == ""


def test_no_part_below_the_least_number_is_tested(monkeypatch):
    tested: list[tuple[int, ...]] = []

    def noted(logs):
        tested.append(logs.shape)
        return best_cut(logs)

    monkeypatch.setattr(change_point, "best_cut", noted)
    change_points(series((1, 5), (1.2, 6)))
    assert {shape[-1] for shape in tested} == {11}
