"""How long a session takes, stage by stage."""

import math

import pytest

from edgebench.run.estimate import (
    Cost,
    Shape,
    Span,
    cost_of_session,
    longest,
    session_s,
    stages_s,
    steady_passes,
)
from edgebench.session_stages import STAGES

COST = Cost(0.01, 1.5, warmup_batches=0)
SHAPE = Shape(patches=400, passes=3)


def shape(**changes):
    return Shape(**{"patches": 400, "passes": 3, **changes})


def test_stages_are_in_the_order_in_which_a_session_has_them():
    assert tuple(stages_s(COST, SHAPE)) == STAGES


def test_load_idle_windows_bursts_passes_and_images_add_up():
    whole = session_s(COST, shape(idle_s=2.0, bursts_s=5.5, images=1000))
    assert whole.least_s == whole.most_s == pytest.approx(1.5 + 2 * 2 + 5.5 + 4 * 4.0 + 10.0)


def test_without_a_cost_only_the_plan_is_known():
    whole = session_s(None, shape(idle_s=2.0, period_s=10.0, images=5))
    assert whole.least_s == pytest.approx(2 * 2 + 30)
    assert not whole.known
    assert session_s(None, shape(idle_s=2.0, sustained_s=600.0)).least_s == pytest.approx(604)
    # Whoever has a clock of their own waits for none of it.
    assert session_s(None, shape(idle_s=2.0, bursts_s=5.5, period_s=10.0, own_clock=True)).least_s == 0.0


def test_a_warm_up_that_nobody_has_seen_takes_from_its_floor_to_its_cap():
    unseen = Cost(0.01, 0.0)
    small = stages_s(unseen, shape(patches=20))["warm-up"]
    assert [small.least_s, small.most_s] == pytest.approx([0.2, 2.8])
    batched = stages_s(unseen, shape(batch=32))["warm-up"]
    assert [batched.least_s, batched.most_s] == pytest.approx([0.01 * 32 * 27, 0.01 * 32 * 287])
    # A first pass of so many batches is the warm-up.
    assert stages_s(unseen, SHAPE)["warm-up"] == Span()
    seen = stages_s(Cost(0.01, 0.0, warmup_batches=30), shape(batch=32))["warm-up"]
    assert seen.least_s == seen.most_s == pytest.approx(0.01 * 32 * 30)


def passes_s(**changes):
    return stages_s(COST, shape(**changes))["passes"].most_s


def test_a_paced_pass_takes_its_period_or_longer():
    assert passes_s(period_s=10.0) == pytest.approx(30.0)
    assert passes_s(period_s=1.0) == pytest.approx(12.0)


def test_a_pass_over_some_patches_takes_no_longer_than_they_do():
    whole, part = (stages_s(Cost(0.01, 1.0, 0), shape(some=some)) for some in (None, 100))
    assert (part["first pass"], part["passes"]) == (Span.exactly(1.0), Span.exactly(3.0))
    assert whole["passes"] == Span.exactly(12.0)
    # What was measured is scaled up to the scene: a patch takes what it took.
    assert cost_of_session(shape(some=100), scene_s=4.0, warmup_batches=0, took_s=5.0).patch_s == 0.01


def test_sustained_passes_take_as_long_as_they_are_told_to():
    assert passes_s(sustained_s=600.0) == pytest.approx(600.0)
    assert passes_s(sustained_s=1.0) == pytest.approx(4.0)
    assert passes_s(sustained_s=1.0, period_s=30.0) == pytest.approx(30.0)


def test_passes_go_on_for_as_long_as_a_meter_takes():
    assert passes_s(least_s=10.0) == pytest.approx(12.0)  # 3 of 4 s
    assert passes_s(least_s=55.0) == pytest.approx(56.0)
    assert passes_s(least_s=55.0, period_s=10.0) == pytest.approx(60.0)
    assert passes_s(least_s=55.0, sustained_s=600.0) == pytest.approx(600.0)
    assert passes_s(least_s=55.0, sustained_s=5.0) == pytest.approx(56.0)
    assert passes_s(least_s=55.0, own_clock=True) == pytest.approx(12.0)
    unknown = stages_s(None, shape(least_s=55.0))["passes"]
    assert unknown == Span(55.0, math.inf)
    assert steady_passes(4.0, shape(least_s=55.0)) == 14
    assert steady_passes(4.0, shape(least_s=55.0, period_s=10.0)) == 6
    assert steady_passes(0.0, shape(least_s=55.0)) == steady_passes(4.0, SHAPE) == 3


@pytest.mark.parametrize(
    "changes", [{}, {"idle_s": 2.0}, {"images": 50}, {"period_s": 9.0}, {"batch": 32}, {"least_s": 11.0}]
)
def test_a_session_that_was_measured_takes_as_long_again(changes):
    work = shape(**changes)
    cost = cost_of_session(work, scene_s=3.0, warmup_batches=20, took_s=60.0)
    assert cost.patch_s == pytest.approx(3.0 / 400)
    again = session_s(cost, work)
    assert again.least_s == again.most_s == pytest.approx(60.0)


def test_on_a_clock_of_its_own_only_real_time_counts():
    work = shape(own_clock=True, idle_s=2.0, sustained_s=1800.0, images=100)
    cost = cost_of_session(work, scene_s=19.0, warmup_batches=0, took_s=0.4)
    assert session_s(cost, work) == Span.exactly(0.4)


def test_spans():
    unknown = Span(1.0, math.inf)
    assert unknown + Span(1, 2) == Span(2.0, math.inf)
    assert unknown.times(3) == Span(3.0, math.inf)
    assert unknown.times(0) == Span()
    assert unknown.at_most(0.5) == Span(0.5, 0.5)
    assert not unknown.known and Span(1, 2).known
    assert longest([Span(1, 9), Span(2, 3)]) == Span(2, 9)
    assert longest([]) == Span()


def test_a_backend_says_how_long_its_own_stages_take():
    def told(patch_s):
        windows = {} if patch_s is None else {"passes": (30.0, 31.0)}
        return {"load": (12.0, 24.0), "images": (50.0, 50.0), **windows}

    work = shape(device_stages=told, images=100)
    unknown = stages_s(None, work)
    assert unknown["load"] == Span(12.0, 24.0) and not unknown["passes"].known
    known = stages_s(COST, work)
    assert (known["passes"], known["images"]) == (Span(30.0, 31.0), Span.exactly(50.0))
    assert known["first pass"] == stages_s(COST, shape())["first pass"]
    assert stages_s(COST, shape(device_stages=told, images=0))["images"] == Span()
