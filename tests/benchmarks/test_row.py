"""When two figures that ought to be the same are."""

from __future__ import annotations

import pytest

from benchmarks.pairs import Paired
from benchmarks.row import agreement_row

STEADY = (1.0, 1.0, 1.0, 1.0)


def _met(ratio: float, same: float = 1.0) -> bool:
    """Whether A and B agree within 3 %, where like against like is off by `same` inside a block."""
    b = (1.0, 1.0 / same, 1.0, 1.0 / same)
    return agreement_row("a figure", Paired(tuple(ratio * value for value in b), b), 3.0).met


@pytest.mark.parametrize(
    ("ratio", "met"), [(1.0, True), (1.029, True), (0.971, True), (1.031, False), (0.969, False)]
)
def test_a_difference_counts_either_way(ratio: float, met: bool) -> None:
    assert _met(ratio) is met


def test_a_noisy_machine_allows_twice_what_like_differs_from_like() -> None:
    assert _met(1.09, same=1.05)
    assert not _met(1.11, same=1.05)


def test_the_row_keeps_the_ratios_that_it_comes_from() -> None:
    row = agreement_row("a figure", Paired((0.5, 0.5, 0.5, 0.5), STEADY), 3.0)
    assert (row.figure, row.details["ratio"], row.same, row.bar) == (50.0, 0.5, 0.0, 3.0)
