"""Golden scores."""

import numpy as np
import pytest

from edgebench.errors import SessionError
from edgebench.records.model import OutputTolerance
from edgebench.run.measuring import session as golden
from tests.fakes import GOLDEN, made_artifact

REFERENCE = made_artifact().golden


def check(scores, options=None):
    return golden.compare(np.array(scores, np.float32), REFERENCE, options or {})


def test_equal_scores_pass():
    outcome = check(GOLDEN)
    golden.require(outcome)
    assert outcome.top1_equal == outcome.n == 2
    assert outcome.max_abs_diff < 1e-7


def test_within_the_tolerance_passes_and_beyond_fails():
    golden.require(check([[0.895, 0.105], [0.2, 0.8]]))
    with pytest.raises(SessionError) as caught:
        golden.require(check([[0.88, 0.12], [0.2, 0.8]]))
    assert caught.value.status == "golden_mismatch"
    assert "0.02" in caught.value.why


def test_another_class_fails_within_the_tolerance_unless_it_was_a_near_tie():
    def near_tie(margin, tolerance):
        reference = REFERENCE.model_copy(
            update={"scores": ((0.5 + margin / 2, 0.5 - margin / 2), (0.2, 0.8)), "tolerance": tolerance}
        )
        swapped = [[0.5 - margin / 2, 0.5 + margin / 2], [0.2, 0.8]]
        return golden.compare(np.array(swapped, np.float32), reference, {})

    with pytest.raises(SessionError):
        golden.require(near_tie(margin=0.02, tolerance=0.0199))
    near = near_tie(margin=0.02, tolerance=0.021)
    golden.require(near)
    assert (near.n, near.top1_equal) == (1, 1)


def test_exact_kernels_allow_no_difference():
    scores = np.array(GOLDEN, np.float32).astype(np.float64)
    exact = REFERENCE.model_copy(update={"scores": tuple(map(tuple, scores.tolist()))})
    golden.require(golden.compare(scores.astype(np.float32), exact, {"kernels": "reference"}))
    outcome = golden.compare(scores.astype(np.float32) + np.float32(1e-4), exact, {"kernels": "reference"})
    assert outcome.tolerance == 0
    with pytest.raises(SessionError):
        golden.require(outcome)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_scores_that_are_no_numbers_fail(bad):
    with pytest.raises(SessionError):
        golden.require(check([[bad, 0.1], [0.2, 0.8]]))


def test_another_shape_fails():
    with pytest.raises(SessionError):
        check([[0.9, 0.1, 0.0], [0.2, 0.8, 0.0]])


UNKNOWN = REFERENCE.model_copy(
    update={
        "scores": ((float("nan"),) * 2,) * 2,
        "reference": "",
        "outputs": (OutputTolerance(scores=2, tolerance=None),),
    }
)


def check_twice(first, second):
    first, second = (np.array(scores, np.float32) for scores in (first, second))
    return golden.compare_twice(golden.compare(first, UNKNOWN, {}), first, second)


def test_scores_without_a_reference_have_to_come_twice():
    outcome = check_twice(GOLDEN, GOLDEN)
    golden.require(outcome)
    assert (outcome.max_abs_diff, outcome.n, outcome.reference) == (0.0, 0, "")


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (GOLDEN, [[0.9, 0.1], [0.2, 0.7]]),
        (GOLDEN, [[0.9, 0.1], [0.2, np.nan]]),
        ([[0.9, 0.1], [0.2, np.inf]], [[0.9, 0.1], [0.2, np.inf]]),
        (GOLDEN, [[0.9, 0.1]]),
        ([[0.9, 0.1, 0.0], [0.2, 0.8, 0.0]], [[0.9, 0.1, 0.0], [0.2, 0.8, 0.0]]),
    ],
    ids=["other", "no number", "infinite", "fewer", "shape"],
)
def test_scores_without_a_reference_that_differ_or_are_none_fail(first, second):
    with pytest.raises(SessionError) as caught:
        golden.require(check_twice(first, second))
    assert caught.value.status == "golden_mismatch"
