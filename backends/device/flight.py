"""Several requests in flight at once (device side, Python 3.6 syntax)."""

import threading
from collections import deque
from typing import TYPE_CHECKING, Any, Callable, Deque, Iterator, List, Optional, Sequence, Tuple

import numpy as np

from .score_rows import is_one_row

if TYPE_CHECKING:
    from numpy.typing import NDArray

ONE_AT_A_TIME = "a model that takes no picture is measured one inference at a time: --set {}"


class Flight:
    """Requests that are started in one thread and awaited in one thread each, asleep in `wait`.

    Not by a library's callbacks: OpenVINO's are not called for a request that failed, and a request that is
    started again before its callback is back loses the next one.

    Args:
        requests: each with `start()`, and `wait()`, which raises what went wrong and gives the nanoseconds
            that the device itself has measured, where it has.
        results: what each request's outputs are seen as.
        one_at_a_time: the option that turns this off, such as `requests=1`.
    """

    def __init__(self, requests: Sequence[Any], results: Sequence[Any], one_at_a_time: str) -> None:
        self._requests = requests
        self._results = results
        self._one_at_a_time = one_at_a_time
        self._index_of = [0] * len(requests)
        # Bare locks, passed from thread to thread: a semaphore of `threading` takes several times as long.
        self._started = [_held_lock() for _ in requests]
        self._ended = _held_lock()
        self._landed: Deque[int] = deque()
        self._errors: List[BaseException] = []
        self._done: Optional[Callable[..., None]] = None
        self._threads = [
            threading.Thread(target=self._await, args=(number,), daemon=True)
            for number in range(len(requests))
        ]
        for thread in self._threads:
            thread.start()

    def fly(self, slots: "Iterator[Tuple[int, Any]]", done: "Callable[..., None]") -> None:
        """Take every batch through the request of its slot's number; whichever is free is started next.

        `done` is called at once when a request is through, by the thread that awaits it.

        Raises:
            RuntimeError: a request failed.
            Exception: whatever `slots` or `done` raise; of several the first. What is on its way is waited
                for before.
        """
        self._done, self._errors = done, []
        in_flight = 0
        try:
            while not self._errors:
                if in_flight == len(self._requests):
                    self._await_any()
                    in_flight -= 1
                    continue
                taken = next(slots, None)
                if taken is None:
                    break
                self._start(*taken)
                in_flight += 1
        except BaseException as error:
            self._errors.append(error)
        for _ in range(in_flight):
            self._await_any()
        if self._errors:
            raise self._errors[0]

    def close(self) -> None:
        """End the threads."""
        self._done = None
        for started in self._started:
            started.release()
        for thread in self._threads:
            thread.join()

    def _start(self, index: int, slot: Any) -> None:
        if isinstance(slot.array, tuple):
            raise ValueError(ONE_AT_A_TIME.format(self._one_at_a_time))
        self._index_of[slot.number] = index
        self._requests[slot.number].start()
        self._started[slot.number].release()

    def _await_any(self) -> None:
        """Until one more request is through."""
        while not self._landed:
            self._ended.acquire()
        self._landed.popleft()

    def _await(self, number: int) -> None:
        while True:
            self._started[number].acquire()
            done = self._done
            if done is None:
                return
            try:
                device_ns = self._requests[number].wait()
                done(self._index_of[number], self._results[number], device_ns or 0)
            except BaseException as error:
                self._errors.append(error)
            finally:
                self._landed.append(number)
                try:
                    self._ended.release()
                except RuntimeError:  # another one has, and nobody has taken notice of that yet
                    pass


def _held_lock() -> Any:
    lock = threading.Lock()
    lock.acquire()
    return lock


class RequestModel:
    """A model whose requests have inputs and outputs of their own: one is run in turn, several are in flight.

    Attributes:
        input_shape, input_dtype: of its first input.

    Args:
        requests: each with `inputs` and `outputs`, `infer()`, and what Flight needs of it.
        inputs, outputs: of the model, each with its `shape` and `dtype`.
        one_at_a_time: as Flight has it.
        is_real: whether the outputs are real numbers.

    Raises:
        ValueError: it has no input, or no output.
    """

    def __init__(
        self,
        requests: Sequence[Any],
        inputs: Sequence[Any],
        outputs: Sequence[Any],
        one_at_a_time: str,
        is_real: bool = True,
    ) -> None:
        if not inputs or not outputs:
            raise ValueError("the model has no input, or no output: there is nothing to measure")
        self._requests = requests
        self.input_shape: Tuple[int, ...] = inputs[0].shape
        self.input_dtype: str = inputs[0].dtype
        batch = self.input_shape[0] if self.input_shape else 1
        has_row = is_real and is_one_row([tensor.shape for tensor in outputs], batch)
        # Views of the requests' outputs, which stay where they are.
        self._results: List[Any] = [
            request.outputs[0].reshape(batch, -1) if has_row else tuple(request.outputs)
            for request in requests
        ]
        self._flight: Optional[Flight] = None
        if len(requests) > 1:
            self._flight = Flight(requests, self._results, one_at_a_time)
            self.infer_many: Callable[..., None] = self._flight.fly

    def buffers(self) -> "List[NDArray[Any]]":
        """The requests' own inputs, so that an input lives until its request is done."""
        return [request.inputs[0] for request in self._requests]

    def infer(self, slot: Any) -> Any:
        """Run the batch in the slot; the scores are overwritten by the next batch in it.

        Returns:
            Scores [batch, classes], or a tuple of all outputs where they are anything else.
        """
        if isinstance(slot.array, tuple):
            self._take_in(slot)
        self._requests[slot.number].infer()
        return self._results[slot.number]

    def close(self) -> None:
        """Let go of the requests; what they depend on is closed afterwards."""
        if self._flight is not None:
            self._flight.close()
        self._flight = None
        self._results = []
        self._requests = []

    def _take_in(self, slot: Any) -> None:
        """Copy the inputs of a model that takes no picture; a picture is in its place already."""
        for place, array in zip(self._requests[slot.number].inputs, slot.array):
            np.copyto(place, array)
