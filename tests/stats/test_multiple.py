"""Holm's adjusted p, against a worked example and its own definition."""

from __future__ import annotations

import numpy as np
import pytest

from edgebench.stats.intervals import holm


def test_a_worked_example() -> None:
    # Sorted 0.01, 0.02, 0.03, 0.04 times 4, 3, 2, 1, and never below the one before.
    assert holm([0.02, 0.04, 0.01, 0.03]).tolist() == pytest.approx([0.06, 0.06, 0.04, 0.06])


def test_one_alone_is_as_it_is_and_none_exceeds_one() -> None:
    assert holm([0.2]).tolist() == [0.2]
    assert holm([0.6, 0.7, 1.0]).tolist() == [1.0, 1.0, 1.0]
    assert holm([]).tolist() == []


def test_it_lies_between_p_and_bonferroni_and_takes_many_families_at_once() -> None:
    p = np.random.default_rng(1).uniform(0, 0.2, (50, 7))
    adjusted = holm(p)
    assert (adjusted >= p).all() and (adjusted <= np.minimum(1, 7 * p)).all()
    assert np.allclose(adjusted[13], holm(p[13]))
    assert np.allclose(adjusted.min(axis=1), np.minimum(1, 7 * p.min(axis=1)))
