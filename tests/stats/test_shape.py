import numpy as np
import pytest

from edgebench.stats.shape import (
    MODES_SHARE,
    MOST_SESSIONS,
    TAIL_ABOVE_SHARE,
    TAIL_BELOW_SHARE,
    flags_of,
    limits_of,
    shape_of,
    unseen_mode_share,
)

BELL = [0.98, 0.99, 0.995, 1.0, 1.005, 1.01, 1.02]
TAIL = [1.0, 1.001, 1.002, 1.003, 1.004, 1.006, 1.009, 1.014, 1.03, 1.08]
GROUPS = [1.0, 1.05, 1.001, 1.051, 0.999, 1.052, 1.002, 1.0]


def test_an_even_bell_is_neither():
    shape = shape_of(BELL)
    assert (shape.skewed, shape.multimodal, shape.tail) == (False, False, "")
    assert shape.groups == (tuple(BELL),)
    assert shape.skew is not None
    assert shape.skew_limit is not None
    assert shape.skew > shape.skew_limit


def test_a_tail_of_slow_sessions_is_skewed():
    shape = shape_of(TAIL)
    assert shape.skewed and shape.tail == "above"
    assert shape.skew is not None
    assert shape.skew_limit is not None
    assert shape.skew < shape.skew_limit


def test_a_long_tail_of_quick_sessions_is_skewed_too():
    shape = shape_of([2 - value for value in [*TAIL, 1.2, 1.3]])
    assert shape.skewed and shape.tail == "below"
    assert shape.skew is not None
    assert shape.skew_limit is not None
    assert shape.skew < shape.skew_limit


def test_two_groups_are_found_with_their_members():
    shape = shape_of(GROUPS)
    assert shape.multimodal
    assert shape.groups == ((0.999, 1.0, 1.0, 1.001, 1.002), (1.05, 1.051, 1.052))
    assert shape.split is not None
    assert shape.split_limit is not None
    assert shape.split > shape.split_limit


def test_order_and_unit_do_not_matter():
    scaled = shape_of([1e3 * value for value in reversed(GROUPS)])
    assert (scaled.skewed, scaled.multimodal) == (shape_of(GROUPS).skewed, True)
    assert scaled.split == pytest.approx(shape_of(GROUPS).split)


@pytest.mark.parametrize("medians", [[], [1.0], [1.0, 1.05], [1.0] * 9, [1.0, 1.0, 1.0, 1.0005]])
def test_of_too_few_or_too_like_sessions_nothing_is_said(medians):
    shape = shape_of(medians)
    assert (shape.skewed, shape.multimodal, shape.skew, shape.split) == (False, False, None, None)
    assert shape.sessions == len(medians)


def test_many_sessions_are_thinned_and_all_of_them_are_in_a_group():
    rng = np.random.default_rng(1)
    medians = np.concatenate([rng.normal(1, 0.005, 300), rng.normal(1.05, 0.005, 200)])
    shape = shape_of(medians.tolist())
    assert shape.multimodal and shape.sessions == 500 > MOST_SESSIONS
    assert sum(len(group) for group in shape.groups) == 500


@pytest.mark.parametrize("sessions", [3, 5, 10, 20])
def test_normal_sessions_are_flagged_as_seldom_as_stated(sessions):
    normal = np.sort(np.random.default_rng(99).standard_normal((20_000, sessions)), axis=-1)
    skewed, multimodal = flags_of(normal)
    # Limits and shares are each simulated 20,000 times: four standard errors are below one point.
    assert skewed.mean() == pytest.approx(TAIL_ABOVE_SHARE + TAIL_BELOW_SHARE, abs=0.01)
    assert multimodal.mean() == pytest.approx(MODES_SHARE, abs=0.006)


def test_many_at_once_are_judged_as_each_by_itself():
    drawn = 1 + 0.02 * np.random.default_rng(4).standard_exponential((200, 7))
    skewed, multimodal = flags_of(np.sort(drawn, axis=-1))
    shapes = [shape_of(row.tolist()) for row in drawn]
    assert [shape.skewed for shape in shapes] == skewed.tolist()
    assert [shape.multimodal for shape in shapes] == multimodal.tolist()
    assert 0 < skewed.sum() < 200


def test_the_limits_are_the_same_every_time():
    first = limits_of(6)
    limits_of.cache_clear()
    assert limits_of(6) == first


@pytest.mark.parametrize(("sessions", "share"), [(3, 0.37), (5, 0.1705), (10, 0.02825)])
def test_how_often_a_second_mode_leaves_no_trace(sessions, share):
    assert unseen_mode_share(sessions) == pytest.approx(share, abs=1e-4)
