"""Stamps of the worker's own loop are taken in; the attacks on it are in tests/attacks."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgebench.agent.timed import TimedLoop, steady_after
from edgebench.errors import SessionError
from edgebench.link.replies import (
    ROUNDING_NS,
    ClockSteps,
    ImpossibleTimes,
    Span,
    batch_ns,
    require_fits,
    require_idle,
    require_warm_up,
    require_within,
)
from edgebench.records.session import Pass
from edgebench.results.tables import require_valid_pass
from tests.agent.test_timed import CLASSES, SPEC, Queue, Ticks, made, patches

SPAN = Span(0, 10_000)


def stamps_of(timed, stages):
    return np.array(timed.stamps).reshape(-1, stages, 2)


def made_pass(start_ns, end_ns, stamps, phase="steady"):
    stages = ("patchify", "preprocess", "infer", "decode")[: stamps.shape[1]]
    return Pass(0, phase, start_ns, end_ns, stages, stamps, None, batch=2)


def check(measured):
    require_valid_pass(measured, measured.stages, workers=1)


def test_a_loop_and_a_queue_of_the_worker_are_believed():
    _, loop = made(2)
    timed = loop.run(patches(7))
    check(made_pass(timed.start_ns, timed.end_ns, stamps_of(timed, 3)))
    clock = Ticks()
    timed = TimedLoop(Queue(2, clock, slots=3), SPEC, 2, CLASSES, clock).run(patches(11))
    check(made_pass(timed.start_ns, timed.end_ns, stamps_of(timed, 4)))


def test_a_stage_a_batch_and_a_short_warm_up_may_take_no_time_where_the_clock_is_coarse():
    stamps = np.array([[[10, 10], [10, 10], [10, 20]], [[20, 20], [20, 20], [20, 30]]])
    once = np.full_like(stamps, 20)
    for warm in (stamps, np.where(stamps > 20, 20, stamps), once):
        check(made_pass(10, 30, warm, "warmup"))
    check(made_pass(10, 30, stamps))
    for start_ns, end_ns, words in ((20, 20, "it took no time"), (10, 30, "its inference took no time")):
        with pytest.raises(SessionError) as caught:
            check(made_pass(start_ns, end_ns, once))
        assert words in caught.value.why
        assert "more patches" in caught.value.fix


def test_the_steps_of_a_clock_are_told_where_a_batch_took_no_time():
    steps = ClockSteps()
    steps.take_in(np.array([[[10, 10], [10, 10], [10, 4_000_010]]]))
    assert steps.warnings() == []
    steps.take_in(np.full((2, 3, 2), 7))
    (warning,) = steps.warnings()
    assert "of 4 ms or more" in warning and "on average" in warning


def test_a_stage_of_the_devices_own_lies_within_its_pass():
    stamps = np.array([[[10, 11], [11, 12], [12, 20], [14, 20]]])
    check(made_pass(10, 20, stamps))
    for outside in ([9, 20], [14, 21]):
        stamps[0, 3] = outside
        with pytest.raises(SessionError) as caught:
            check(made_pass(10, 20, stamps))
        assert "lies outside" in caught.value.why


def test_a_run_lies_within_what_was_asked_but_for_a_floats_rounding():
    require_within("a pass", 5_000 - ROUNDING_NS, 6_000, Span(5_000, 5_500))
    for span in (Span(5_000 + ROUNDING_NS + 1, 9_000), Span(0, 5_900 - ROUNDING_NS)):
        with pytest.raises(ImpossibleTimes):
            require_within("a pass", 5_000, 6_000, span)
    require_fits("a load", 10_000 + ROUNDING_NS, SPAN)
    with pytest.raises(ImpossibleTimes, match="1e-05 s"):
        require_fits("a load", 10_001 + ROUNDING_NS, SPAN)


def test_an_idle_window_is_as_long_as_it_was_to_be():
    require_idle(0, 9_950, 1e-5, SPAN)
    for end in (0, 9_000):
        with pytest.raises(ImpossibleTimes):
            require_idle(0, end, 1e-5, SPAN)


@settings(deadline=None, max_examples=50)
@given(st.lists(st.integers(0, 10**7), min_size=1, max_size=120), st.integers(0, 60), st.integers(0, 120))
def test_the_warm_up_of_the_worker_is_believed_and_no_other(taken_ns, floor, cap):
    steady = steady_after(taken_ns, floor, cap)
    batches = min(len(taken_ns), cap) if steady is None else steady
    if steady is None and len(taken_ns) < cap:
        with pytest.raises(ImpossibleTimes, match=f"ended after {len(taken_ns)} batches"):
            require_warm_up(batches, False, taken_ns, floor, cap)
    else:
        require_warm_up(batches, steady is not None, taken_ns, floor, cap)
    for wrong in ((batches + 1, steady is not None), (batches, steady is None)):
        with pytest.raises(ImpossibleTimes):
            require_warm_up(*wrong, taken_ns, floor, cap)


def test_a_batch_takes_from_patchify_to_the_end_of_infer():
    stamps = np.array([[[10, 11], [11, 12], [12, 20], [14, 19]]])
    assert batch_ns(stamps) == [10]
