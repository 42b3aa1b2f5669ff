"""The timed loop on a counted clock: stamps, order of stages, padding, queues, and runners that misbehave."""

import gc
import itertools
import threading
from typing import Any

import numpy as np
import pytest

from edgebench.agent.timed import STAGES, OutputError, TimedLoop

SIDE = 4
SPEC = {
    "dtype": "float32",
    "layout": "NHWC",
    "height": SIDE,
    "width": SIDE,
    "divisor": 127.5,
    "offset": -1.0,
    "scale": None,
    "zero_point": None,
}
CLASSES = 2


class Ticks:
    """A clock that advances by one every time it is read."""

    def __init__(self):
        self.now = 0

    def __call__(self):
        self.now += 1
        return self.now


class Model:
    """Scores are the mean input and its negative; remembers what it was given."""

    input_dtype = "float32"

    def __init__(self, batch, clock, slots=1):
        self.input_shape = (batch, SIDE, SIDE, 3)
        self._arrays = [np.zeros(self.input_shape, np.float32) for _ in range(slots)]
        self.seen = []
        self.at = []
        self.clock = clock
        self.collecting = []

    def buffers(self):
        return self._arrays

    def describe(self):
        return {}

    def infer(self, slot):
        self.at.append(self.clock.now)
        self.collecting.append(gc.isenabled())
        self.seen.append(slot.array[:, 0, 0, 0].copy())
        mean = slot.array.mean(axis=(1, 2, 3))
        return np.stack([mean, -mean], axis=1)


def patches(count):
    return [np.full((SIDE, SIDE, 3), 10 * number + 5, np.uint8) for number in range(count)]


def real(pixel):
    return np.float32(pixel) / np.float32(127.5) - np.float32(1)


def made(batch, **more):
    clock = Ticks()
    model = Model(batch, clock, **more)
    return model, TimedLoop(model, SPEC, batch, CLASSES, clock)


@pytest.mark.parametrize("batch", [1, 3])
@pytest.mark.parametrize("extra", [-1, 0, 1])
def test_scores_and_padding_around_a_whole_batch(batch, extra):
    count = 2 * batch + extra
    model, loop = made(batch)
    timed = loop.run(patches(count))
    np.testing.assert_allclose(timed.scores[:, 0], [real(10 * n + 5) for n in range(count)], rtol=1e-6)
    np.testing.assert_array_equal(timed.scores[:, 1], -timed.scores[:, 0])
    assert timed.scores.shape == (count, CLASSES)
    assert len(model.seen) == loop.batches(count)
    flat = np.concatenate(model.seen)
    np.testing.assert_array_equal(flat[:count], [real(10 * n + 5) for n in range(count)])
    # What pads the last batch is the last patch again.
    np.testing.assert_array_equal(flat[count:], [real(10 * (count - 1) + 5)] * (len(flat) - count))


def test_stamps_bound_each_stage_in_order():
    model, loop = made(2)
    timed = loop.run(patches(5))
    stamps = np.array(timed.stamps).reshape(-1, len(STAGES), 2)
    assert stamps.shape == (3, 3, 2)
    assert (np.diff(stamps.reshape(-1)) >= 0).all()
    assert timed.start_ns < stamps[0, 0, 0]
    assert timed.end_ns > stamps[-1, -1, -1]
    for batch, at in enumerate(model.at):
        # The runner's own call lies within the infer stage, and within it alone.
        assert stamps[batch, 2, 0] <= at < stamps[batch, 2, 1]
        assert stamps[batch, 1, 1] <= at
    assert loop.first_inference_ns == stamps[0, 2, 1] - stamps[0, 2, 0]


def test_a_state_is_reset_before_each_inference_within_the_pass_and_outside_of_its_stages():
    clock = Ticks()
    model = Model(2, clock)
    resets: list[int] = []
    model.reset = lambda: resets.append(clock.now)  # type: ignore[attr-defined]
    timed = TimedLoop(model, SPEC, 2, CLASSES, clock).run(patches(5))
    stamps = np.array(timed.stamps).reshape(-1, len(STAGES), 2)
    assert len(resets) == len(stamps)
    for batch, at in enumerate(resets):
        assert stamps[batch, 1, 1] <= at < stamps[batch, 2, 0]


def test_the_first_inference_is_the_first_ever():
    _, loop = made(1)
    loop.run(patches(3))
    first = loop.first_inference_ns
    loop.run(patches(3))
    assert loop.first_inference_ns == first


def test_a_counted_clock_is_read_five_times_a_batch_and_twice_a_run():
    model, loop = made(1)
    loop.run(patches(7))
    assert model.clock.now == 5 * 7 + 2


def test_the_collector_rests_in_the_loop_and_is_put_back():
    model, loop = made(1)
    loop.run(patches(2))
    assert model.collecting == [False, False]
    assert gc.isenabled()


def test_a_runner_without_buffers_is_given_the_workers():
    class Plain:
        input_shape = (1, SIDE, SIDE, 3)
        input_dtype = "float32"

        def describe(self):
            return {}

        def infer(self, slot):
            return slot.array.mean(axis=(1, 2, 3))[:, None] * np.array([[1.0, -1.0]], np.float32)

    timed = TimedLoop(Plain(), SPEC, 1, CLASSES, Ticks()).run(patches(2))
    np.testing.assert_allclose(timed.scores[:, 0], [real(5), real(15)], rtol=1e-6)


class Queue(Model):
    """Fills every slot, then finishes the newest first, from another thread."""

    extra_stage = "device"

    def infer_many(self, slots, done):
        depth = len(self._arrays)
        waiting: list[Any] = []
        more = True
        while more or waiting:
            while more and len(waiting) < depth:
                taken = list(itertools.islice(slots, 1))
                more = bool(taken)
                waiting += taken
            if waiting:
                index, slot = waiting.pop()
                thread = threading.Thread(target=lambda i=index, s=slot: done(i, self.infer(s), 1))
                thread.start()
                thread.join()


def test_a_queue_overlaps_and_finishes_in_any_order():
    clock = Ticks()
    model = Queue(2, clock, slots=3)
    loop = TimedLoop(model, SPEC, 2, CLASSES, clock)
    timed = loop.run(patches(11))
    np.testing.assert_allclose(timed.scores[:, 0], [real(10 * n + 5) for n in range(11)], rtol=1e-6)
    assert loop.stages == (*STAGES, "device")
    stamps = np.array(timed.stamps).reshape(-1, 4, 2)
    infer = stamps[:, 2]
    overlapping = sum(later[0] < earlier[1] for earlier, later in itertools.pairwise(infer))
    assert overlapping > 0
    # Of each its own: three are submitted, and the newest is done first.
    assert (np.diff(infer[:, 0]) > 0).all()
    assert (np.diff(infer[:3, 1]) < 0).all()
    np.testing.assert_array_equal(stamps[:, 3, 1], infer[:, 1])
    np.testing.assert_array_equal(stamps[:, 3, 1] - stamps[:, 3, 0], 1)


class Wrong(Model):
    def __init__(self, way):
        super().__init__(1, Ticks())
        self.way = way

    def infer_many(self, slots, done):
        scores = np.zeros((1, CLASSES), np.float32)
        for index, _slot in slots:
            if self.way == "stops early":
                return
            if self.way == "forgets" and index == 1:
                continue
            done(index, {"shape": scores[:, :1], "list": [[0, 0]]}.get(self.way, scores))
            if self.way == "twice":
                done(index, scores)


@pytest.mark.parametrize(
    ("way", "complaint"),
    [
        ("stops early", "before every batch was done"),
        ("forgets", "before one was done"),
        ("twice", "batch 0 twice"),
        ("shape", r"\[1, 1\], \[1, 2\] were expected"),
        ("list", "scores are list"),
    ],
)
def test_a_runner_that_breaks_its_promise_is_named(way, complaint):
    loop = TimedLoop(Wrong(way), SPEC, 1, CLASSES, Ticks())
    with pytest.raises(OutputError, match=complaint):
        loop.run(patches(3))
    assert gc.isenabled()


def test_no_patches_are_no_work():
    model, loop = made(2)
    timed = loop.run([])
    assert timed.scores.shape == (0, CLASSES)
    assert model.seen == []


def test_patches_of_another_size_are_resized_while_they_are_cut():
    clock = Ticks()
    model = Model(2, clock)
    loop = TimedLoop(model, SPEC, 2, CLASSES, clock)
    wide = [np.full((3, 9, 3), 10 * number + 5, np.uint8) for number in range(2)]
    timed = loop.run(wide)
    np.testing.assert_array_equal(model.seen[0], [real(5), real(15)])
    assert len(timed.stamps) == 6


class Several:
    """Takes two inputs and gives a quantised row and a number."""

    input_shape = (1, 2)
    input_dtype = "float32"
    quantisations = ((0.5, 1), None)

    def __init__(self):
        self.seen: list[Any] = []

    def describe(self):
        return {}

    def infer(self, slot):
        self.seen.append([array.tolist() for array in slot.array])
        return np.array([[3, 5]], np.int8), np.array([[7]], np.float32)


def test_samples_go_in_as_they_are_and_all_outputs_come_out_as_one_row():
    clock, model = Ticks(), Several()
    tensors = [{"dtype": "float32", "shape": [1, 2]}, {"dtype": "int32", "shape": [1]}]
    loop = TimedLoop(model, SPEC, 1, 3, clock, tensors)
    samples = [(np.full((1, 2), n, np.float32), np.full(1, n, np.int32)) for n in range(2)]
    timed = loop.run(samples)
    assert model.seen == [[[[0, 0]], [0]], [[[1, 1]], [1]]]
    np.testing.assert_array_equal(timed.scores, [[1, 2, 7], [1, 2, 7]])
    stamps = np.array(timed.stamps).reshape(2, 3, 2)
    assert (stamps[:, 1:, 0] >= stamps[:, :-1, 1]).all()


def test_outputs_that_are_not_as_many_as_announced_are_named():
    tensors = [{"dtype": "float32", "shape": [1, 2]}, {"dtype": "int32", "shape": [1]}]
    loop = TimedLoop(Several(), SPEC, 1, 4, Ticks(), tensors)
    with pytest.raises(OutputError, match=r"\[1, 3\], \[1, 4\]"):
        loop.run([(np.ones((1, 2), np.float32), np.ones(1, np.int32))])
