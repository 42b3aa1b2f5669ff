"""example-board on the device: Python 3.6 syntax, the standard library, numpy and the vendor's runtime.

This file alone travels to the board, so it imports nothing of its package. Import the runtime at the top: the
import is timed apart from the load.
"""

import json
from typing import TYPE_CHECKING, Any, Dict, List

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Model:
    """A loaded artifact: its input's shape and dtype, what it is, and one call that is timed."""

    def __init__(self, artifact: Dict[str, Any], options: Dict[str, Any]) -> None:
        self.input_shape = tuple(artifact["input_shape"])
        self.input_dtype = str(artifact["input_dtype"])
        self._artifact = artifact
        self._repeat = int(options["repeat"])
        self._centroids = np.array(artifact["centroids"], np.float32)
        self._input = np.zeros(self.input_shape, self.input_dtype)

    def describe(self) -> Dict[str, Any]:
        """The runtime, its version and the settings that it truly uses."""
        return {"name": "example-board", "version": np.__version__, "repeat": self._repeat}

    def buffers(self) -> "List[NDArray[Any]]":
        """The arrays that the worker preprocesses straight into: the runtime's own, where it has some."""
        return [self._input]

    def infer(self, slot: Any) -> "NDArray[np.float32]":
        """Scores float32 [batch, classes] of what lies in the input."""
        for _ in range(self._repeat):
            scores = self._scores()
        return scores

    def _scores(self) -> "NDArray[np.float32]":
        seen = self._input[:, :: self._artifact["step"]].mean(axis=(1, 2), dtype=np.float64)
        if self._artifact["scale"] is not None:
            seen = (seen - self._artifact["zero_point"]) * self._artifact["scale"]
        near = -((seen[:, None] - self._centroids[None]) ** 2).sum(axis=2) * self._artifact["sharpness"]
        powers = np.exp(near - near.max(axis=1, keepdims=True))
        scores: "NDArray[np.float32]" = (powers / powers.sum(axis=1, keepdims=True)).astype(np.float32)
        return scores


def load(path: str, options: Dict[str, Any]) -> Model:
    """Read the artifact; whatever is raised here ends the session as `load_failed`, with these words."""
    with open(path) as file:
        return Model(json.load(file), options)
