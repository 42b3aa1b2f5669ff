"""Figures, verdicts, passing limits and settled verdicts in full digits, while the core changes."""

from __future__ import annotations

import pytest

from tests.frozen.core_rows import rows_of_folder, rows_of_published
from tests.frozen.expected_values import KEYS, differences, expected
from tests.frozen.made_results import DECLARED, MADE, make
from tests.frozen.replays import QUICK, SLOW


@pytest.mark.parametrize("name", QUICK)
def test_a_quick_scenario_has_the_expected_values(quick, name):
    assert differences(expected(name), rows_of_folder(quick[0] / "results" / name)) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", SLOW)
def test_a_scenario_has_the_expected_values(slow, name):
    assert differences(expected(name), rows_of_folder(slow[0] / "results" / name)) == []


@pytest.mark.parametrize("name", DECLARED)
def test_a_scenario_has_the_expected_values_with_what_is_declared(quick, name):
    scenario, declared = DECLARED[name]
    assert differences(expected(name), rows_of_folder(quick[0] / "results" / scenario, **declared)) == []


@pytest.mark.parametrize("name", MADE)
def test_a_made_result_has_the_expected_values(tmp_path, name):
    assert differences(expected(name), rows_of_folder(make(tmp_path, name))) == []


def test_published_figures_have_the_expected_values():
    assert differences(expected("published"), rows_of_published()) == []


def _document(*estimates, limits=()):
    return {part: [] for part in KEYS} | {"estimates": list(estimates), "limits": list(limits)}


def _estimate(metric="image_s", value=0.5, low=0.4, high=0.6, n=30):
    return ["trial", metric, "median", None, "", "", "", value, low, high, n]


@pytest.mark.parametrize(
    ("before", "after", "line"),
    [
        (_estimate(), _estimate(value=0.5 * (1 + 1e-11)), "value 0.5 is now"),
        (_estimate(), _estimate(high=None), "high 0.6 is now None"),
        (_estimate(), _estimate(n=29), "n 30 is now 29"),
        (_estimate(low=None), _estimate(low=0.0), "low None is now 0.0"),
    ],
)
def test_a_number_that_differs_is_named_with_its_row(before, after, line):
    (found,) = differences(_document(before), _document(after))
    assert found.startswith("estimates: trial / image_s / median: ")
    assert line in found


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (_estimate(), _estimate(value=0.5 * (1 + 1e-13))),
        (_estimate(n=0), _estimate(n=7)),
        (_estimate(low=1e-17), _estimate(low=0.0)),
        (_estimate(low=float("inf")), _estimate(low=float("inf"))),
    ],
)
def test_rounding_and_an_unknown_n_are_no_difference(before, after):
    assert differences(_document(before), _document(after)) == []


def test_rows_that_are_missing_new_or_there_twice_are_named():
    one, other = _estimate(), _estimate("infer_s")
    lines = differences(_document(one), _document(other, other))
    assert [line.partition(": ")[2].split(",")[0] for line in lines] == [
        "trial / infer_s / median: two rows",
        "trial / image_s / median: is missing",
        "trial / infer_s / median: is new",
    ]


def test_sides_of_a_size_are_compared_one_by_one():
    key = ["trial", "profile", "size"]
    before, after = (_document(limits=[[*key, [60.0, side, 10.0]]]) for side in (30.0, 31.0))
    assert differences(before, before) == []
    assert len(differences(before, after)) == 1


def test_of_many_differences_the_first_twenty_are_named():
    rows = [_estimate(f"metric {number}") for number in range(30)]
    lines = differences(_document(*rows), _document())
    assert (len(lines), lines[-1]) == (21, "and 10 more")
