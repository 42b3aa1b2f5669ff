"""The timed loop, written once: golden patches, passes, warm-up and predictions all go through it.

A batch is patchified, preprocessed and inferred; every stage is stamped on the device's clock. Nothing is
printed and nothing is allocated per patch beyond Python's own integers.
"""

import gc
from array import array
from collections import deque
from typing import (
    TYPE_CHECKING,
    Any,
    Callable,
    Deque,
    Dict,
    Iterator,
    List,
    NamedTuple,
    Optional,
    Sequence,
    Tuple,
)

import numpy as np

from . import pixels
from .clock import Clock
from .runner_contract import Done, Filled, Slot

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .runner_contract import Model


# What of a model's outputs is kept as scores: one row whole, maps and several outputs thinned.
#
# The same rule on the device and where the reference is computed, so that the two can be compared.


MOST_CLASSES = 32000  # of one row of scores; the predicted class is kept in 16 bits
MOST_VALUES = 1000  # of all outputs together, where they are anything else

Quantisation = Optional[Tuple[float, int]]
"""Scale and zero point of an output, real = scale * (stored - zero point); None where it is float."""


def kept_places(shapes: "Sequence[Sequence[int]]") -> "List[Optional[NDArray[Any]]]":
    """For each output, which of one item's values are kept; None for all of them.

    `shapes` are those of one item, without the batch. Values are taken at equal distances.
    """
    sizes = [int(np.prod(shape, dtype=np.int64)) for shape in shapes]
    row = len(shapes) == 1 and sum(length > 1 for length in shapes[0]) <= 1
    most = MOST_CLASSES if row else max(1, MOST_VALUES // max(1, len(shapes)))
    return [None if size <= most else np.arange(most) * size // most for size in sizes]


class ScoreRows:
    """Turns the outputs of one inference into rows of scores, float32 [batch, scores].

    Args:
        batch: items in an inference.
        quantisations: of the outputs, in their order; empty where the runner gives real numbers.

    Attributes:
        widths: scores of each output in a row, once there was one.
    """

    def __init__(self, batch: int, quantisations: "Sequence[Quantisation]" = ()) -> None:
        self._batch = batch
        self._quantisations = quantisations
        self._places: "Optional[List[Optional[NDArray[Any]]]]" = None
        self.widths: List[int] = []

    def of(self, outputs: "Sequence[NDArray[Any]]") -> "NDArray[np.float32]":
        """The rows; ValueError where an output does not have the batch as its first axis."""
        parts = [self._items(np.asarray(output)) for output in outputs]
        if self._places is None:
            self._places = kept_places([part.shape[1:] for part in parts])
        rows = []
        for number, (part, places) in enumerate(zip(parts, self._places)):
            flat = part.reshape(self._batch, -1)
            if places is not None:
                flat = flat.take(places, 1, None, "clip")
            rows.append(self._real(flat, number))
        self.widths = [row.shape[1] for row in rows]
        return np.concatenate(rows, 1) if len(rows) > 1 else rows[0]

    def _items(self, output: "NDArray[Any]") -> "NDArray[Any]":
        if output.ndim and output.shape[0] == self._batch:
            return output
        if self._batch == 1:  # a network of one item may leave the batch out
            return output.reshape((1,) + output.shape)
        raise ValueError("an output {} of a batch of {}".format(list(output.shape), self._batch))

    def _real(self, values: "NDArray[Any]", number: int) -> "NDArray[np.float32]":
        floats: "NDArray[np.float32]" = values.astype(np.float32)
        quantisation = self._quantisations[number] if number < len(self._quantisations) else None
        if quantisation is None:
            return floats
        scale, zero_point = quantisation
        return (floats - np.float32(zero_point)) * np.float32(scale)


STAGES = ("patchify", "preprocess", "infer")

Timed = NamedTuple(
    "Timed",
    [
        ("start_ns", int),
        ("end_ns", int),
        ("stamps", "array[int]"),
        ("scores", "NDArray[np.float32]"),
    ],
)
"""One run: `stamps` int64, flat [batches, stages, 2]; `scores` float32 [patches, classes]."""


class OutputError(Exception):
    """The runner gave something else than one row of scores for every patch."""


class TimedLoop:
    """Owns the patch buffer and the input slots of one loaded model.

    Args:
        model: what the runner loaded.
        spec: the artifact's input, as in `pixels.preprocessing`, with height and width.
        batch: patches in a batch, as the artifact was made.
        classes: scores a patch.
        clock: nanoseconds, monotonic.
        tensors: the inputs (dtype, shape) of a model that takes no picture; a patch is then a tuple of one
            array an input, its batch is 1, and there is nothing to preprocess.
    """

    def __init__(
        self,
        model: "Model",
        spec: Dict[str, Any],
        batch: int,
        classes: int,
        clock: Clock,
        tensors: Sequence[Dict[str, Any]] = (),
    ) -> None:
        self.batch = batch
        self.classes = classes
        self._clock = clock
        if tensors:
            held = tuple(np.zeros(tuple(tensor["shape"]), np.dtype(tensor["dtype"])) for tensor in tensors)
            self._places: List[Any] = [held]
            self._slots = [Slot(0, held)]
            self._fills: List[pixels.Fill] = [_nothing]
        else:
            channels = pixels.channels_of(spec)
            patches = np.zeros((batch, spec["height"], spec["width"], channels), np.uint8)
            self._places = list(patches)
            own = getattr(model, "buffers", None)
            arrays = own() if own else [np.zeros(tuple(model.input_shape), np.dtype(model.input_dtype))]
            self._slots = [Slot(number, held) for number, held in enumerate(arrays)]
            self._fills = [pixels.preprocessing(spec, patches, held) for held in arrays]
        self._tensors = bool(tensors)
        self._rows = ScoreRows(batch, getattr(model, "quantisations", ()))
        self._reset = getattr(model, "reset", None)
        many = getattr(model, "infer_many", None)
        self._infer_many = many if many else _in_turn(model.infer)
        extra = getattr(model, "extra_stage", None)
        self.stages = STAGES + ((extra,) if extra else ())
        self.first_inference_ns: Optional[int] = None
        self.first_result_ns: Optional[int] = None  # of that batch, patchify and preprocess included

    def batches(self, patches: int) -> int:
        """Batches for that many patches; the last one may be padded."""
        return -(-patches // self.batch)

    def run(self, windows: Sequence[Any]) -> Timed:
        """Take every patch (uint8 [height, width, channels], or a tuple of tensors) to its scores.

        Patches of another size than the input's are resized while they are copied. OutputError for wrong
        scores.
        """
        batches = self.batches(len(windows))
        stamps = array("q", bytes(16 * batches * len(self.stages)))
        scores = np.zeros((len(windows), self.classes), np.float32)
        free = deque(self._slots)
        taken: List[Optional[Slot]] = [None] * batches
        filled = self._filled(windows, self._copy_of(windows), stamps, free, taken)
        done = self._done(stamps, scores, free, taken)
        clock = self._clock
        collecting = gc.isenabled()
        gc.disable()
        try:
            start = clock()
            self._infer_many(filled, done)
            end = clock()
        finally:
            if collecting:
                gc.enable()
        # A batch never taken has no stamp, one taken and not done still holds its slot.
        started = not batches or stamps[len(stamps) // batches * (batches - 1) + 5] != 0
        if not started or any(slot is not None for slot in taken):
            raise OutputError("the runner returned before every batch was done")
        if self.first_inference_ns is None and batches:
            self.first_inference_ns = stamps[5] - stamps[4]
            self.first_result_ns = stamps[5] - stamps[0]
        return Timed(start, end, stamps, scores)

    def _copy_of(self, windows: Sequence[Any]) -> pixels.Copy:
        if self._tensors:
            return _copy_tensors
        place = self._places[0]
        if not len(windows) or windows[0].shape == place.shape:
            return np.copyto
        return pixels.resizing(windows[0].shape, place.shape[:2])

    def _filled(
        self,
        windows: Sequence[Any],
        copy: pixels.Copy,
        stamps: "array[int]",
        free: "Deque[Slot]",
        taken: "List[Optional[Slot]]",
    ) -> Filled:
        clock, fills, reset = self._clock, self._fills, self._reset
        places, last = self._places, len(windows) - 1
        stride = 2 * len(self.stages)
        at = patch = 0
        for index in range(len(taken)):
            if not free:
                raise OutputError("the runner took a slot before one was done")
            began = clock()
            slot = free.popleft()
            for place in places:
                copy(place, windows[patch])
                # Padding repeats the last patch: real pixels, the same work, and the same on every run.
                if patch < last:
                    patch += 1
            cut = clock()
            fills[slot.number]()
            ready = clock()
            taken[index] = slot
            stamps[at] = began
            stamps[at + 1] = stamps[at + 2] = cut
            stamps[at + 3] = ready
            at += stride
            if reset is not None:
                reset()
            stamps[at - stride + 4] = clock()
            yield index, slot

    def _done(
        self,
        stamps: "array[int]",
        scores: "NDArray[np.float32]",
        free: "Deque[Slot]",
        taken: "List[Optional[Slot]]",
    ) -> Done:
        clock, batch, stride = self._clock, self.batch, 2 * len(self.stages)
        shape, total, extra = (self.batch, self.classes), len(scores), len(self.stages) > len(STAGES)
        rows, tensors = self._rows.of, self._tensors

        def done(index: int, result: Any, extra_ns: int = 0) -> None:
            end = clock()
            slot = taken[index]
            if isinstance(result, tuple):
                result = rows(result)
            elif tensors and result.shape != shape:  # a sample without a batch axis: rows of its axis 0
                result = rows((result,))
            if slot is None or getattr(result, "shape", None) != shape:
                raise OutputError(_complaint(index, slot, result, shape))
            first = index * batch
            scores[first : first + batch] = result if first + batch <= total else result[: total - first]
            at = index * stride
            stamps[at + 5] = end
            if extra:
                stamps[at + 6] = end - extra_ns
                stamps[at + 7] = end
            taken[index] = None
            free.append(slot)

        return done


def _nothing() -> None:
    """Samples are the input as they are: there is no preprocessing."""


def _copy_tensors(places: "Sequence[NDArray[Any]]", sample: "Sequence[NDArray[Any]]") -> None:
    for place, tensor in zip(places, sample):
        np.copyto(place, tensor)


def _complaint(index: int, slot: Optional[Slot], result: Any, shape: Tuple[int, int]) -> str:
    if slot is None:
        return "the runner reported batch {} twice".format(index)
    scores_shape = getattr(result, "shape", None)
    return "the runner's scores are {}, {} were expected".format(
        type(result).__name__ if scores_shape is None else list(scores_shape), list(shape)
    )


def _in_turn(infer: "Callable[[Slot], NDArray[Any]]") -> "Callable[[Iterator[Tuple[int, Slot]], Done], None]":
    """A runner without a queue, seen as one: each batch is done before the next is taken."""

    def infer_many(slots: Filled, done: Done) -> None:
        for index, slot in slots:
            done(index, infer(slot))

    return infer_many


# A burst of load: inferences back to back for a while, by the timed loop that measures.


MOST_BATCHES = 1000
"""In one run of the loop, which keeps the stamps of all its batches."""


def in_turn(windows: List[Any], first: int, count: int) -> List[Any]:
    """A number of windows from one on, again and again."""
    return [windows[(first + n) % len(windows)] for n in range(count)]


def load_burst(loop: "TimedLoop", patches: List[Any], burst_ns: int) -> Tuple[int, int]:
    """Infer patches in turn for so long, for a batch at least; when it began and ended.

    Few batches at first: how many there is time for is known by those that have been.
    """
    timed = loop.run(in_turn(patches, 0, loop.batch))
    began, batches = timed.start_ns, 1
    while timed.end_ns - began < burst_ns:
        gone = max(1, timed.end_ns - began)
        more = max(1, min(batches, batches * (burst_ns - gone) // gone, MOST_BATCHES))
        timed = loop.run(in_turn(patches, batches * loop.batch, more * loop.batch))
        batches += more
    return began, timed.end_ns


# When a warm-up is over: pyperf's test on two halves of the most recent values (pure).
#
# Source: pyperf's calibration of warm-ups (`test_calibrate_warmups`, samples of 20 values).


HALF = 20


def steady_after(values: Sequence[float], floor: int, cap: int) -> Optional[int]:
    """The least number of values, in tens, after which they are steady; None if they are not up to `cap`.

    It is at least `floor`, and at least the values that the test itself needs.
    """
    for count in range(max(floor, 2 * HALF), min(cap, len(values)) + 1, 10):
        if is_steady(values[:count]):
            return count
    return None


def is_steady(values: Sequence[float], half: int = HALF) -> bool:
    """Whether the last 2 x `half` values look like one another; False while there are fewer.

    The first value is not above Q3 + 1.5 IQR of the others, the means differ by -50..+10 %, the median
    absolute deviations by at most 10 %, the quartiles by at most 5 %.
    """
    recent = np.array(values[-2 * half :], np.float64)
    if len(recent) < 2 * half:
        return False
    low, high = np.percentile(recent[1:], [25, 75])
    halves = recent[:half], recent[half:]
    sums, quartiles = [part.sum() for part in halves], [np.percentile(part, [25, 75]) for part in halves]
    deviations = [np.median(np.abs(part - np.median(part))) for part in halves]
    return bool(
        recent[0] <= high + 1.5 * (high - low)
        and -0.5 <= _difference(*sums) <= 0.10
        and abs(_difference(*deviations)) <= 0.10
        and all(abs(_difference(older, newer)) <= 0.05 for older, newer in zip(*quartiles))
    )


def _difference(first: float, second: float) -> float:
    if first == second:
        return 0.0
    return (first - second) / second if second else float("inf")
