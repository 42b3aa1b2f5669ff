"""Golden patches and calibration images as a model takes them, one tuple of arrays a call."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgebench.agent.pixels import preprocessing

Feed = tuple[NDArray[Any], ...]


def golden_feeds(path: Path, shapes: Sequence[Sequence[int]], spec: Mapping[str, Any] | None) -> list[Feed]:
    """What golden patches are to a model's inputs; the last call is padded with the last patch.

    Args:
        path: a .npy of uint8 [g, height, width, 3], or a .npz of samples.
        shapes: of the inputs, the batch included.
        spec: the input as `edgebench.vocabulary.artifact.InputSpec` has it, as a dict; None for samples.
    """
    if spec is None:
        with np.load(path, allow_pickle=False) as stored:
            arrays = [stored[str(place)] for place in range(len(shapes))]
        return list(zip(*arrays, strict=True))
    return list(picture_feeds(np.load(path, mmap_mode="r"), shapes[0], spec))


def picture_feeds(
    patches: NDArray[np.uint8], shape: Sequence[int], spec: Mapping[str, Any], *, cycle: bool = False
) -> Iterator[Feed]:
    """Patches as calls of the input's batch, each a new array; the last is padded with the last patch, or
    with the first ones where `cycle` says so.
    """
    batch, n = shape[0], len(patches)
    for start in range(0, n, batch):
        places = np.arange(start, start + batch)
        chosen = np.ascontiguousarray(patches[places % n if cycle else places.clip(max=n - 1)])
        target: NDArray[Any] = np.zeros(tuple(shape), np.dtype(spec["dtype"]))
        preprocessing(dict(spec), chosen, target)()
        yield (target,)
