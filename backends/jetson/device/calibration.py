"""int8's ranges by TensorRT's own entropy calibrator (device side, Python 3.6 syntax)."""

from typing import TYPE_CHECKING, Any, Callable, Dict, Iterator, List, Optional, Tuple

import numpy as np

from .build_source import BuildRefused

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Batches:
    """The calibration pictures, batch by batch, in one place of the device's memory.

    The last batch is filled up from the first pictures: every picture counts.

    Args:
        path: a .npy of float32, [n, channels, height, width], as the model takes them.
        shape: of the model's input, with the batch.
        allocate: gives that many bytes of the device, as an address.
        copy: copies an array to an address of the device and returns when it is there.
        step: called with a text for each batch.

    Attributes:
        address: of the place on the device.
        count, taken: batches in all, and those that TensorRT has taken.
        failure: what went wrong while it took them.

    Raises:
        BuildRefused: the pictures do not fit the input.
    """

    def __init__(
        self,
        path: str,
        shape: Tuple[int, ...],
        allocate: Callable[[int], int],
        copy: "Callable[[int, NDArray[Any]], None]",
        step: Callable[[str], None],
    ) -> None:
        self._pictures: "NDArray[Any]" = np.load(path, mmap_mode="r")
        pictures = self._pictures
        if pictures.dtype != np.float32 or pictures.shape[1:] != tuple(shape[1:]) or not len(pictures):
            raise BuildRefused(
                "the calibration pictures are {} {}, the model takes float32 {}: they are of another model; "
                "remove the copy in the cache and run again".format(
                    pictures.dtype, pictures.shape, tuple(shape)
                )
            )
        self.batch = int(shape[0])
        self.pictures = len(pictures)
        self.count = -(-self.pictures // self.batch)
        self.taken = 0
        self.failure: Optional[BaseException] = None
        self._buffer: "NDArray[Any]" = np.empty(shape, np.float32)
        self._copy = copy
        self._step = step
        self.address = allocate(self._buffer.nbytes)
        self._batches = self._fill()

    def next(self) -> Optional[List[int]]:
        """The address of the next batch; None at the end, and where something failed (see `failure`).

        Nothing is raised: an exception that leaves TensorRT's call ends the process.
        """
        try:
            for _ in self._batches:
                self.taken += 1
                self._step("calibration batch {} of {}".format(self.taken, self.count))
                return [self.address]
        except BaseException as error:
            self.failure = error
        return None

    def facts(self) -> Dict[str, int]:
        """For the record."""
        return {"pictures": self.pictures, "batch": self.batch, "batches": self.count}

    def _fill(self) -> Iterator[None]:
        for first in range(0, self.pictures, self.batch):
            rows = np.arange(first, first + self.batch) % self.pictures
            self._buffer[...] = self._pictures[rows]
            self._copy(self.address, self._buffer)
            yield


def calibrator_of(trt: Any, batches: Batches) -> Any:
    """The entropy calibrator over these batches.

    It reads and writes no cache of its own: the engine that it makes is what is kept.
    """

    class Calibrator(trt.IInt8EntropyCalibrator2):  # type: ignore[misc]
        def __init__(self) -> None:
            trt.IInt8EntropyCalibrator2.__init__(self)

        def get_batch_size(self) -> int:
            return batches.batch

        def get_batch(self, names: List[str]) -> Optional[List[int]]:
            return batches.next()

        def read_calibration_cache(self) -> None:
            return None

        def write_calibration_cache(self, cache: Any) -> None:
            return None

    return Calibrator()
