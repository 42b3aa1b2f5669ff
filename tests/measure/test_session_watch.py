"""One session as it goes on: stages, the time left, its times once it has ended."""

import math
from dataclasses import replace

import pytest

from edgebench.records.session import MeasurePlan
from edgebench.run.forecast import SessionTimes
from edgebench.run.measuring.session import SessionWatch
from tests.fakes import made_images, made_pass, made_scene

PLAN = MeasurePlan(made_scene(), 3)


class Watched:
    """Keeps what was told, on a clock that goes on by hand."""

    def __init__(self, plan=PLAN, expected_s=math.inf, **more):
        self.now_s = 50.0
        self.lines: list[tuple[str, bool, float]] = []
        self.watch = SessionWatch(plan, expected_s, self.moved, lambda: self.now_s, **more)

    def moved(self, *, begins):
        self.lines.append((self.watch.text, begins, self.watch.share))

    def report(self, stage, done=0, steps=0, after_s=0.0):
        self.now_s += after_s
        self.watch.report(stage, done, steps)

    def arrive(self, index, phase, seconds=1.0, **more):
        self.now_s += seconds
        scene_pass = made_pass(index, 6, phase, round(seconds * 1e9))
        self.watch.arrived(replace(scene_pass, **more))


def test_windows_are_called_windows_before_the_first_has_arrived():
    seen = Watched(windows=True)
    seen.report("first pass")
    seen.report("passes", 0, 3)
    assert [text for text, *_ in seen.lines] == ["first window", "window 1 of 3"]


def test_stages_and_passes_are_told_as_they_come():
    seen = Watched(expected_s=8.0)
    seen.report("load")
    seen.report("first pass", after_s=1.0)
    seen.arrive(0, "first")
    seen.report("passes", 0, 3)
    for index in (1, 2, 3):
        seen.arrive(index, "steady")
    seen.report("images", 0, 10)
    seen.report("images", 5, 10, after_s=1.0)
    assert [line[:2] for line in seen.lines] == [
        ("load", True),
        ("first pass", True),
        ("pass 1 of 3", True),
        ("pass 2 of 3", False),
        ("pass 3 of 3", False),
        ("pass 3 of 3", False),
        ("images 0 of 10", True),
        ("images 5 of 10", False),
    ]
    assert [share * 8 for *_, share in seen.lines] == pytest.approx([0, 1, 2, 3, 4, 5, 5, 6])


def test_passes_that_are_lengthened_for_a_meter_are_told_as_they_are_expected():
    seen = Watched(replace(PLAN, least_s=5.5))
    seen.arrive(0, "first")
    for index in range(1, 7):
        seen.arrive(index, "steady")
    assert [text for text, *_ in seen.lines] == [
        *(f"pass {number} of about 6" for number in (2, 3, 4, 5, 6)),
        "pass 6 of about 6",
    ]
    sustained = Watched(replace(PLAN, least_s=5.5, sustained_s=2.0))
    sustained.arrive(1, "steady", 1.0)
    assert sustained.watch.text == "pass 2"


def test_the_time_left_is_what_such_sessions_took_less_the_time_that_has_passed():
    seen = Watched(expected_s=20.0)
    assert (seen.watch.left_s, seen.watch.share) == (20.0, 0.0)
    seen.now_s += 5.0
    assert (seen.watch.left_s, seen.watch.share) == (15.0, 0.25)
    seen.now_s += 50.0
    assert (seen.watch.left_s, seen.watch.share) == (0.0, 1.0)


def test_without_an_earlier_session_the_time_left_is_not_known():
    seen = Watched()
    seen.report("first pass", after_s=4.0)
    seen.arrive(0, "first", 3.0)
    assert (seen.watch.left_s, seen.watch.share) == (math.inf, 0.0)


def test_a_session_with_accuracy_tells_both_times():
    seen = Watched(replace(PLAN, images=made_images()))
    seen.report("load")
    seen.report("passes", after_s=10.0)
    seen.report("images", 0, 4, after_s=20.0)
    seen.report("images", 3, 4, after_s=40.0)
    seen.report("stopping", after_s=5.0)
    seen.now_s += 100.0  # written to disk
    assert seen.watch.times(76.0) == SessionTimes(31.0, 76.0)
    plain = Watched()
    plain.report("passes", after_s=10.0)
    assert plain.watch.times(30.0) == SessionTimes(30.0)


def test_files_on_their_way_are_no_part_of_the_next_session():
    seen = Watched(expected_s=100.0)
    seen.report("load")
    seen.report("sending scene", after_s=1.0)
    seen.report("sending scene", 30, 60, after_s=20.0)
    seen.report("first pass", after_s=20.0)
    assert seen.lines[2][0] == "sending scene 30 of 60 MB"
    assert seen.watch.left_s == 99.0
    assert seen.watch.times(70.0) == SessionTimes(30.0)


@pytest.mark.parametrize(("deadline_ns", "tells"), [(10**12, True), (0, False), (None, True)])
def test_a_paced_pass_that_is_late_is_not_held_up(deadline_ns, tells):
    seen = Watched()
    seen.arrive(1, "steady", due_ns=0, deadline_ns=deadline_ns)
    assert bool(seen.lines) is tells


def test_a_build_is_shown_with_its_target_and_is_no_part_of_the_next_session():
    seen = Watched(builds=True)
    seen.report("build")
    seen.report("build: layers", 1, 4, after_s=5.0)
    seen.report("load", after_s=15.0)
    seen.report("idle window", after_s=2.0)
    assert [text for text, *_ in seen.lines] == [
        "building on the board: starting",
        "building on the board: layers 1 of 4",
        "load",
        "idle window",
    ]
    assert [begins for _, begins, _ in seen.lines] == [True, False, True, True]
    assert seen.watch.times(29.0) == SessionTimes(9.0)
