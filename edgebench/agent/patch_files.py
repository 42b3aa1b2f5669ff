"""Patches and samples of tensors as they lie in their files: golden patches, images."""

from typing import TYPE_CHECKING, Any, List, Tuple

from .frames import Message

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def samples(path: str, tensors: List[Message]) -> List[Any]:
    """The samples of a .npz as tuples of one array an input; ValueError when they are not its tensors."""
    import numpy

    with numpy.load(path) as stored:
        arrays = [numpy.ascontiguousarray(stored[str(place)]) for place in range(len(tensors))]
    for array, tensor in zip(arrays, tensors):
        if array.dtype.name != tensor["dtype"] or list(array.shape[1:]) != list(tensor["shape"]):
            raise ValueError(
                "samples of {} {} for the input {} {}".format(
                    array.dtype, list(array.shape[1:]), tensor["dtype"], list(tensor["shape"])
                )
            )
    if not arrays or len({len(array) for array in arrays}) != 1 or not len(arrays[0]):
        raise ValueError("the inputs have not as many samples each")
    return list(zip(*arrays))


def patches(path: str, sides: "Tuple[int, int]", in_memory: bool) -> "NDArray[np.uint8]":
    """Patches uint8 [n, height, width, 3] of a .npy; ValueError when it holds others."""
    import numpy

    whole = numpy.load(path) if in_memory else numpy.load(path, mmap_mode="r")
    held: "NDArray[np.uint8]" = numpy.asarray(whole)
    if held.dtype != numpy.uint8 or held.ndim != 4 or held.shape[1:] != tuple(sides) + (3,):
        raise ValueError(
            "{} holds {} {}, uint8 [n, {}, {}, 3] was due".format(path, held.dtype, held.shape, *sides)
        )
    return held
