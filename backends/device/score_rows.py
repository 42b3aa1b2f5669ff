"""Whether a model's outputs are scores (device side, Python 3.6 syntax)."""

from typing import Sequence


def is_one_row(shapes: Sequence[Sequence[int]], batch: int) -> bool:
    """Whether there is one output, with a row of scores for each item of the batch.

    Args:
        shapes: of the outputs.
        batch: items in an inference.
    """
    if len(shapes) != 1:
        return False
    shape = shapes[0]
    return len(shape) > 0 and shape[0] == batch and len([side for side in shape[1:] if side > 1]) <= 1
