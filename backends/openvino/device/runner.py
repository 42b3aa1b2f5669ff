"""A model by OpenVINO (device side, Python 3.6 syntax): .onnx in, scores out.

Either generation of the library's API gives the same: a compiled model with inputs and requests. One request
is run in turn; several are in flight at once.
"""

import os
import platform
from typing import TYPE_CHECKING, Any, Dict, List

import numpy as np

from ...device.usb_sticks import ROOT
from .library import NEW, Library, find
from .settings import Settings, settings_of
from .stick import Stick

if TYPE_CHECKING:
    from numpy.typing import NDArray

# At the top, so that the import is timed as import and not as load; a failure is load's to tell.
_LIBRARY, _WHY_NONE = find()


class Model:
    """A compiled model, and its requests."""

    def __init__(self, library: Library, path: str, settings: Settings) -> None:
        from . import new_api

        self._library = library
        self._settings = settings
        self._stick = Stick(settings.device, os.environ.get(ROOT, "/"))
        with self._stick.explained():
            self._compiled = new_api.Compiled(library, path, settings)
        self._requests = self._compiled.requests
        first = self._compiled.inputs[0]
        self.input_shape, self.input_dtype = first.shape, first.dtype

    def describe(self) -> Dict[str, Any]:
        """The library, its version, and what the compiled model says of itself."""
        facts: Dict[str, Any] = {
            "name": "openvino",
            "version": self._library.version,
            "python": platform.python_version(),
            "api": self._library.module.__name__,
            "device": self._settings.device,
            "requests": len(self._requests),
            "warnings": [],
            "absent": {},
        }
        for more in (self._compiled.facts(), self._stick.facts()):
            warnings, absent = facts["warnings"] + more.pop("warnings", []), more.pop("absent", {})
            facts.update(more, warnings=warnings, absent=dict(facts["absent"], **absent))
        return facts

    def buffers(self) -> "List[NDArray[Any]]":
        """The requests' own inputs."""
        return [request.inputs[0] for request in self._requests]

    def infer(self, slot: Any) -> Any:
        """Run what lies in the slot; the scores are overwritten by the next batch in it.

        Returns:
            Scores [batch, classes], or a tuple of all outputs where they are anything else.
        """
        request = self._requests[0]
        if isinstance(slot.array, tuple):
            for place, array in zip(request.inputs, slot.array):
                np.copyto(place, array)
        request.infer()
        return self._scores(request)

    def _scores(self, request: Any) -> Any:
        if len(request.outputs) != 1:
            return tuple(request.outputs)
        return request.outputs[0]


def load(path: str, options: Dict[str, Any]) -> Model:
    """Read a model and compile it; `options` are those of the backend."""
    if _LIBRARY is None:
        raise ImportError("no OpenVINO here ({})".format(_WHY_NONE))
    if _LIBRARY.generation != NEW:
        raise ImportError("OpenVINO {} has the old API".format(_LIBRARY.version))
    return Model(_LIBRARY, path, settings_of(options))
