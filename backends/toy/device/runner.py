"""The toy runner: nearest centroid on a patch's mean colour, in numpy (device side, Python 3.6).

Its options also do no work at all, wait, queue, or fail on purpose, for the tests of everything around it.
"""

import json
import os
import signal
import sys
import threading
import time
from collections import deque
from typing import TYPE_CHECKING, Any, Callable, Deque, Dict, Iterator, List, Optional, Tuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Model:
    """The artifact in memory. Scores are a softmax over minus the squared distances to the centroids."""

    def __init__(self, artifact: Dict[str, Any], options: Dict[str, Any]) -> None:
        self._options = options
        self._precision = artifact["precision"]
        self._step = int(artifact["step"])
        self._sharpness = float(artifact["sharpness"])
        self._input = artifact["input"]
        self.input_shape = tuple(int(side) for side in artifact["input_shape"])
        self.input_dtype = str(self._input["dtype"])
        self._centroids = np.array(artifact["centroids"], dtype=artifact["centroid_dtype"])
        queue = int(options["queue"])
        self._buffers = [np.zeros(self.input_shape, self.input_dtype) for _ in range(max(queue, 1))]
        self._constant = np.zeros((self.input_shape[0], len(self._centroids)), np.float32)
        self._stage = "load"
        if queue:
            self.infer_many = self._infer_many
        if options["work"] == "none":
            self.infer: Callable[[Any], NDArray[Any]] = self._infer_nothing
        else:
            self.infer = self._infer
        self._misbehave()

    def describe(self) -> Dict[str, Any]:
        """The runtime and its settings."""
        return {"name": "toy", "version": "1", "work": self._options["work"], "queue": self._options["queue"]}

    def buffers(self) -> "List[NDArray[Any]]":
        """One input array a place in the queue."""
        return self._buffers

    def begin(self, stage: str) -> None:
        """Remember the stage, for the faults."""
        self._stage = stage

    def _infer_nothing(self, slot: Any) -> "NDArray[Any]":
        return self._constant

    def _infer(self, slot: Any) -> "NDArray[Any]":
        if self._options["fault"]:
            self._misbehave()
        if self._options["delay_us"]:
            time.sleep(self._options["delay_us"] / 1e6)
        seen = self._buffers[slot.number][:, :: self._step]
        if self._precision == "int8":
            return self._scores_int8(seen)
        colour = seen.mean(axis=(1, 2), dtype=np.float32).astype(self._centroids.dtype)
        return self._softmax(colour[:, None, :] - self._centroids[None])

    def _scores_int8(self, seen: "NDArray[Any]") -> "NDArray[Any]":
        # Integers all the way to the distance; the scores are rounded to 1/256 as a runtime's output is.
        total = seen.sum(axis=(1, 2), dtype=np.int64)
        count = seen.shape[1] * seen.shape[2]
        mean = np.rint(total / count).astype(np.int32)
        steps = mean[:, None, :] - self._centroids[None].astype(np.int32)
        scores = self._softmax(steps.astype(np.float32) * np.float32(self._input["scale"]))
        rounded: "NDArray[Any]" = np.minimum(np.rint(scores * 256), 255).astype(np.float32) / np.float32(256)
        return rounded

    def _softmax(self, offsets: "NDArray[Any]") -> "NDArray[Any]":
        near = -(offsets.astype(np.float32) ** 2).sum(axis=2) * np.float32(self._sharpness)
        powers = np.exp(near - near.max(axis=1, keepdims=True))
        scores: "NDArray[Any]" = (powers / powers.sum(axis=1, keepdims=True)).astype(np.float32)
        return scores

    def _infer_many(self, slots: "Iterator[Tuple[int, Any]]", done: "Callable[..., None]") -> None:
        """A queue as deep as the buffers: each batch in a thread of its own, done in whatever order."""
        running: Deque[threading.Thread] = deque()
        free = threading.Semaphore(len(self._buffers))
        errors: List[BaseException] = []

        def work(index: int, slot: Any) -> None:
            try:
                done(index, self.infer(slot))
            except BaseException as error:
                errors.append(error)
            finally:
                free.release()

        while not errors:
            free.acquire()
            taken = next(slots, None)
            if taken is None:
                break
            thread = threading.Thread(target=work, args=taken)
            thread.start()
            running.append(thread)
        for thread in running:
            thread.join()
        if errors:
            raise errors[0]

    def _misbehave(self) -> None:
        fault = self._options["fault"]
        if fault and self._stage == self._options["fault_stage"]:
            FAULTS[fault]()


def _garbage() -> None:
    os.write(1, b"EdBn\x00\x01this is no frame\n" * 100)


def _flood() -> None:
    for _ in range(4096):
        os.write(2, b"e" * 1023 + b"\n")
    os.write(2, b"the last line\n")


def _raise() -> None:
    raise RuntimeError("the toy was asked to fail")


def _out_of_memory() -> None:
    raise MemoryError("the toy was asked to run out of memory")


def _hang() -> None:
    while True:
        time.sleep(3600)


FAULTS: Dict[str, Callable[[], Any]] = {
    "abort": os.abort,
    "segfault": lambda: os.kill(os.getpid(), signal.SIGSEGV),
    "exit": lambda: os._exit(7),
    "hang": _hang,
    "garbage": _garbage,
    "stderr_flood": _flood,
    "raise": _raise,
    "out_of_memory": _out_of_memory,
}


def load(path: str, options: Dict[str, Any]) -> Model:
    """Read the artifact, a JSON file."""
    sys.stderr.write("toy: loading {}\n".format(os.path.basename(path)))
    with open(path) as file:
        artifact = json.load(file)
    if artifact.get("to_build"):
        raise ValueError("{} is a source: it has to be built first".format(os.path.basename(path)))
    return Model(artifact, options)


def build_version() -> str:
    """The runtime, which decides what is built."""
    return "toy 1, numpy {}".format(np.__version__)


def build(
    source: str,
    calibration: Optional[str],
    cache_dir: str,
    options: Dict[str, Any],
    progress: Callable[..., None],
) -> str:
    """Make a source into what `load` takes, in as many steps as it has classes."""
    with open(source) as file:
        artifact = json.load(file)
    if options["fault"] and options["fault_stage"] == "build":
        FAULTS[options["fault"]]()
    assert calibration is not None
    artifact["calibrated_on"] = len(np.load(calibration, mmap_mode="r"))
    del artifact["to_build"]
    steps = len(artifact["centroids"])
    for step in range(steps):
        time.sleep(options["delay_us"] / 1e6)
        progress(step + 1, steps, "centroids")
    path = os.path.join(cache_dir, "toy.json")
    with open(path, "w") as file:
        json.dump(artifact, file)
    return path
