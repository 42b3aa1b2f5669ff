"""What of a model's outputs is kept as scores: one row whole, maps and several outputs thinned.

The same rule on the device and where the reference is computed, so that the two can be compared.
"""

from typing import TYPE_CHECKING, Any, List, Optional, Sequence, Tuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

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


class Rows:
    """Turns the outputs of one inference into rows of scores, float32 [batch, scores].

    Args:
        batch: items in an inference.
        quantisations: of the outputs, in their order; empty where the runner gives real numbers.
    """

    def __init__(self, batch: int, quantisations: "Sequence[Quantisation]" = ()) -> None:
        self._batch = batch
        self._quantisations = quantisations
        self._places: "Optional[List[Optional[NDArray[Any]]]]" = None

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
