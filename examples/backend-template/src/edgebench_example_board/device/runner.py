"""example-board on the device: Python 3.6 syntax, the standard library, numpy and the vendor's runtime.

This file alone travels to the board, so it imports nothing of its package. Import the runtime at the top: the
import is timed apart from the load.
"""

from typing import Any, Dict

import ai_edge_litert
import numpy as np
from ai_edge_litert.interpreter import Interpreter


class Model:
    """A loaded artifact: its input's shape and dtype, what it is, and one call that is timed."""

    def __init__(self, path: str, options: Dict[str, Any]) -> None:
        self._threads = int(options["threads"])
        self._interpreter = Interpreter(model_path=path, num_threads=self._threads)
        self._interpreter.allocate_tensors()
        [model_input] = self._interpreter.get_input_details()
        [output] = self._interpreter.get_output_details()
        self.input_shape = tuple(int(side) for side in model_input["shape"])
        self.input_dtype = np.dtype(model_input["dtype"]).name
        self._input, self._output = int(model_input["index"]), int(output["index"])
        self._scale, self._zero_point = output["quantization"]

    def describe(self) -> Dict[str, Any]:
        """The runtime, its version and the settings that it truly uses."""
        version = getattr(ai_edge_litert, "__version__", "unknown")
        return {"name": "ai-edge-litert", "version": version, "threads": self._threads}

    def infer(self, slot: Any) -> Any:
        """Scores float32 [batch, classes] of the worker's input.

        A runtime that gives its input's memory as `buffers()` is spared the copy.
        """
        self._interpreter.set_tensor(self._input, slot.array)
        self._interpreter.invoke()
        scores = self._interpreter.get_tensor(self._output)
        return (scores.astype(np.float32) - self._zero_point) * self._scale if self._scale else scores


def load(path: str, options: Dict[str, Any]) -> Model:
    """Read the artifact; whatever is raised here ends the session as `load_failed`, with these words."""
    return Model(path, options)
