"""One session as it goes on: stages, what is left, what it shows of its trial's cost."""

import math
from dataclasses import replace

import pytest

from edgebench.run.estimate import Cost, Shape, Span, session_s
from edgebench.run.measuring.session import SessionWatch
from tests.fakes import made_pass

SHAPE = Shape(patches=6, passes=3, images=10)
KNOWN = Cost(0.5, 2.0, 0)


class Watched:
    """Keeps what was told, on a clock that goes on by hand."""

    def __init__(self, shape=SHAPE, known=None):
        self.now_s = 50.0
        self.lines: list[tuple[str, bool, float]] = []
        self.watch = SessionWatch(shape, known, self.moved, lambda: self.now_s)

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
    seen = Watched(replace(SHAPE, windows=True))
    seen.report("first pass")
    seen.report("passes", 0, 3)
    assert [text for text, *_ in seen.lines] == ["first window", "window 1 of 3"]


def test_stages_and_passes_are_told_as_they_come():
    seen = Watched()
    seen.report("load")
    seen.report("first pass", after_s=1.0)
    seen.arrive(0, "first")
    seen.report("passes", 0, 3)
    for index in (1, 2, 3):
        seen.arrive(index, "steady")
    seen.report("images", 0, 10)
    seen.report("images", 5, 10)
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
    shares = [share for *_, share in seen.lines]
    assert shares == sorted(shares) and 0.0 == shares[0] < shares[2] < shares[3] < shares[-1] < 1.0


def test_passes_that_are_lengthened_for_a_meter_are_told_as_they_are_expected():
    seen = Watched(replace(SHAPE, least_s=5.5))
    seen.arrive(0, "first")
    for index in range(1, 7):
        seen.arrive(index, "steady")
    assert [text for text, *_ in seen.lines] == [
        "pass 2 of about 6",
        "pass 3 of about 6",
        "pass 4 of about 6",
        "pass 5 of about 6",
        "pass 6 of about 6",
        "pass 6 of about 6",
    ]
    assert seen.watch.left.most_s == pytest.approx(10 / 6)
    sustained = Watched(replace(SHAPE, least_s=5.5, sustained_s=2.0))
    sustained.arrive(0, "first")
    sustained.arrive(1, "steady", 1.0)
    assert sustained.watch.text == "pass 2"
    assert sustained.watch.left.most_s == pytest.approx(5 + 10 / 6)


def test_nothing_is_known_before_the_first_pass_and_all_of_it_after_it():
    seen = Watched(replace(SHAPE, warmup_cap=6))
    assert seen.watch.left == Span(0.0, math.inf)
    seen.report("first pass", after_s=4.0)
    assert not seen.watch.left.known and seen.watch.share == 0.0
    seen.arrive(0, "first", 3.0)
    # Load took 4 s; a patch takes half a second, images alike.
    assert seen.watch.cost == Cost(0.5, 4.0, None)
    assert seen.watch.left.most_s == pytest.approx(3 * 3.0 + 10 * 0.5)


def test_golden_patches_give_an_estimate_until_the_first_pass_is_there():
    seen = Watched(replace(SHAPE, warmup_cap=6))
    seen.report("load")
    seen.now_s += 4.0
    seen.watch.patch_took(0.25)
    assert seen.watch.cost == Cost(0.25, 4.0, None, measured=False)
    # Load is over: what is left are the first pass, three more and the images.
    assert seen.watch.left.most_s == pytest.approx(4 * 6 * 0.25 + 10 * 0.25)
    seen.report("first pass")
    seen.arrive(0, "first", 3.0)
    assert seen.watch.cost == Cost(0.5, 4.0, None)


@pytest.mark.parametrize("shape, known", [(SHAPE, KNOWN), (replace(SHAPE, own_clock=True), None)])
def test_golden_patches_say_nothing_new_of_a_known_trial_nor_of_a_clock_of_its_own(shape, known):
    seen = Watched(shape, known)
    seen.watch.patch_took(0.25)
    assert seen.watch.cost == known


def test_a_session_that_reports_nothing_is_followed_by_its_passes():
    seen = Watched(replace(SHAPE, warmup_cap=6))
    seen.now_s += 4.0
    seen.arrive(0, "first", 3.0)
    assert seen.watch.cost == Cost(0.5, 4.0, None)
    assert seen.watch.left.most_s == pytest.approx(3 * 3.0 + 10 * 0.5)


def test_the_warm_up_is_open_until_it_is_over():
    seen = Watched()
    seen.arrive(0, "first", 3.0)
    floor_s, cap_s = seen.watch.left.least_s, seen.watch.left.most_s
    assert cap_s - floor_s == pytest.approx((300 - 40) * 0.5)
    seen.report("warm-up")
    seen.arrive(1, "warmup", 3.0)
    seen.arrive(2, "steady", 3.0)
    assert seen.watch.cost is not None and seen.watch.cost.warmup_batches == 6
    left = seen.watch.left
    assert left.least_s == left.most_s == pytest.approx(2 * 3.0 + 10 * 0.5)


def test_what_is_known_beforehand_gives_way_to_what_is_seen():
    seen = Watched(known=KNOWN)
    assert seen.watch.left.known
    seen.arrive(0, "first", 6.0)
    assert seen.watch.cost == Cost(1.0, 2.0, 0)


def test_files_on_their_way_are_no_part_of_what_the_next_session_takes():
    seen = Watched()
    seen.report("load")
    seen.report("sending scene", after_s=1.0)
    seen.report("sending scene", 30, 60, after_s=20.0)
    seen.report("first pass", after_s=20.0)
    seen.arrive(0, "first", 3.0)
    assert ("sending scene 30 of 60 MB", False, 0.0) in seen.lines
    assert seen.watch.once_s == 40.0
    assert seen.watch.cost is not None and seen.watch.cost.overhead_s == 1.0
    seen.arrive(1, "steady", 3.0)
    cost = seen.watch.cost_of(3.0, took_s=40.0 + 30.0)
    assert cost.overhead_s == pytest.approx(30.0 - 4 * 3.0 - 10 * 0.5)


@pytest.mark.parametrize(("deadline_ns", "tells"), [(10**12, True), (0, False), (None, True)])
def test_a_paced_pass_that_is_late_is_not_held_up(deadline_ns, tells):
    seen = Watched()
    seen.arrive(1, "steady", due_ns=0, deadline_ns=deadline_ns)
    assert bool(seen.lines) is tells


def test_sustained_passes_move_with_the_devices_time():
    seen = Watched(Shape(patches=6, passes=3, sustained_s=20.0), KNOWN)
    seen.report("first pass", after_s=2.0)
    seen.arrive(0, "first", 5.0)
    seen.report("passes", 0, 0)
    seen.arrive(1, "steady", 5.0)
    assert [line[0] for line in seen.lines][1:] == ["pass 1", "pass 2"]
    assert seen.watch.left.most_s == pytest.approx(15.0)


def test_on_a_clock_of_its_own_real_time_is_what_counts():
    seen = Watched(replace(SHAPE, own_clock=True), Cost(0.0, 4.0, 0))
    seen.report("first pass", after_s=1.0)
    seen.arrive(0, "first", 0.0)
    assert seen.watch.cost == Cost(0.0, 4.0, 0)
    assert seen.watch.left == Span.exactly(3.0)
    assert seen.watch.cost_of(19.0, 5.0) == Cost(0.0, 5.0, 0)


def test_a_build_is_shown_with_its_target_and_is_no_part_of_the_next_session():
    seen = Watched(replace(SHAPE, builds=True), replace(KNOWN, build_s=20.0))
    seen.report("build")
    assert seen.watch.left.most_s == 20.0 + session_s(KNOWN, SHAPE).most_s
    seen.report("build: layers", 1, 4, after_s=5.0)
    assert seen.watch.left.most_s == 15.0 + session_s(KNOWN, SHAPE).most_s
    seen.report("load", after_s=15.0)
    seen.report("idle window", after_s=2.0)
    assert [text for text, *_ in seen.lines] == [
        "building on the board: starting",
        "building on the board: layers 1 of 4",
        "load",
        "idle window",
    ]
    assert [begins for _, begins, _ in seen.lines] == [True, False, True, True]
    assert seen.watch.once_s == 20.0
    seen.arrive(0, "first", 1.0)
    assert seen.watch.cost_of(1.0, 29.0).overhead_s == pytest.approx(9.0 - 4.0 - 10 / 6)
