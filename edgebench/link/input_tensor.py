"""A picture as the bytes of a model's input, for a device that takes it as its memory has it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from edgebench.agent.pixels import preprocessing, resizing
from edgebench.vocabulary.artifact import InputSpec


def input_bytes(spec: InputSpec, patch: NDArray[np.uint8]) -> bytes:
    """The input as it lies in the board's memory, little-endian: of the shipped int8 models pixel - 128.

    Args:
        spec: of the artifact's input.
        patch: uint8 [height, width, 3]; of another size it is resized by the nearest pixel, as workers do.
    """
    picture = fitted(spec, patch)[None]
    shape = picture.shape if spec.layout == "NHWC" else (1, 3, spec.height, spec.width)
    tensor = np.empty(shape, spec.dtype)
    preprocessing(spec.model_dump(), picture, tensor)()
    return tensor.astype(tensor.dtype.newbyteorder("<"), copy=False).tobytes()


def fitted(spec: InputSpec, patch: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """A patch uint8 [height, width, 3] of the input's size, in C order: resized where it is of another."""
    if patch.shape[:2] == (spec.height, spec.width):
        return np.ascontiguousarray(patch)
    picture = np.empty((spec.height, spec.width, 3), np.uint8)
    resizing(patch.shape[:2], picture.shape[:2])(picture, patch)
    return picture


def size_bytes(spec: InputSpec) -> int:
    """Of one input."""
    return spec.height * spec.width * 3 * np.dtype(spec.dtype).itemsize
