"""A model by OpenVINO (device side, Python 3.6 syntax): .onnx or .tflite in, scores out.

Either generation of the library's API gives the same: a compiled model, and requests with inputs and outputs
of their own. One request is run in turn; several are in flight at once.
"""

import os
from typing import TYPE_CHECKING, Any, Dict, List, Optional

import numpy as np

from ...device.flight import Flight
from ...device.score_rows import is_one_row
from ...device.usb_sticks import ROOT
from . import new_api, old_api, record
from .library import OLD, CompileCache, Library, Settings, core_of, find, settings_of
from .record import Stick

if TYPE_CHECKING:
    from numpy.typing import NDArray

# At the top, so that the import is timed as import and not as load; a failure is load's to tell.
_LIBRARY, _WHY_NONE = find()


class Model:
    """A compiled model and its requests.

    Attributes:
        input_shape, input_dtype: of its first input.
        quantisations: of its outputs; None for one of real numbers.
        is_cold: whether it was compiled by this load.
    """

    def __init__(
        self, library: Library, settings: Settings, compiled: Any, stick: Stick, precision: str
    ) -> None:
        self._library = library
        self._settings = settings
        self._compiled = compiled
        self._stick = stick
        self._precision = precision
        self._requests: List[Any] = compiled.requests
        if not compiled.inputs or not compiled.outputs:
            raise ValueError("the model has no input, or no output: there is nothing to measure")
        for tensor in compiled.inputs + compiled.outputs:
            if 0 in tensor.shape:
                raise ValueError("{} has the shape {}: it holds no value".format(tensor.name, tensor.shape))
        self.input_shape = compiled.inputs[0].shape
        self.input_dtype = compiled.inputs[0].dtype
        self.quantisations = [tensor.quantisation for tensor in compiled.outputs]
        self.is_cold = not compiled.is_from_cache
        is_real = all(quantisation is None for quantisation in self.quantisations)
        batch = self.input_shape[0] if self.input_shape else 1
        has_row = is_real and is_one_row([tensor.shape for tensor in compiled.outputs], batch)
        # Views of the requests' outputs, which stay where they are.
        self._results: List[Any] = [
            request.outputs[0].reshape(batch, -1) if has_row else tuple(request.outputs)
            for request in self._requests
        ]
        self._flight: Optional[Flight] = None
        if len(self._requests) > 1:
            self._flight = Flight(self._requests, self._results, "requests=1")
            self.infer_many = self._flight.fly

    def describe(self) -> Dict[str, Any]:
        """The library, its version, and what the compiled model says of itself."""
        return record.described(
            self._library,
            self._settings,
            self._precision,
            self._compiled,
            self._stick.facts(),
        )

    def buffers(self) -> "List[NDArray[Any]]":
        """The requests' own inputs, so that an input lives until its request is done."""
        return [request.inputs[0] for request in self._requests]

    def infer(self, slot: Any) -> Any:
        """Run what lies in the slot; the scores are overwritten by the next batch in it.

        Returns:
            Scores [batch, classes], or a tuple of all outputs where they are anything else.
        """
        request = self._requests[slot.number]
        if isinstance(slot.array, tuple):
            for place, array in zip(request.inputs, slot.array):
                np.copyto(place, array)
        request.infer()
        return self._results[slot.number]

    def close(self) -> None:
        """Let go of the device: of the requests first, then of the compiled model."""
        if self._flight is not None:
            self._flight.close()
        self._flight = None
        self._results = []
        self._requests = []
        self._compiled = None


def load(path: str, options: Dict[str, Any]) -> Model:
    """Read a model and compile it; `options` are those of the backend, and the variant's precision."""
    if _LIBRARY is None:
        raise ImportError("no OpenVINO here ({})".format(_WHY_NONE))
    settings = settings_of(options)
    cache = CompileCache(settings.cache) if settings.cache else None
    core = core_of(_LIBRARY)
    api: Any = old_api if _LIBRARY.generation == OLD else new_api
    stick = Stick(settings.device, os.environ.get(ROOT, "/"))
    with stick.explained():
        compiled = api.Compiled(_LIBRARY, core, path, settings, cache)
    return Model(_LIBRARY, settings, compiled, stick, str(options["precision"]))
