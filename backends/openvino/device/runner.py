"""A model by OpenVINO (device side, Python 3.6 syntax): .onnx or .tflite in, scores out.

Either generation of the library's API gives the same: a compiled model, and requests with inputs and outputs
per request. One request is run in turn; several are in flight at once.
"""

import os
from typing import Any, Dict

from ...device.flight import RequestModel
from ...device.threads import allowed_cores
from ...device.usb_sticks import ROOT
from . import new_api, old_api, record
from .library import OLD, CompileCache, Library, Settings, core_of, find, settings_of
from .record import Stick

# At the top, so that the import is timed as import and not as load; a failure is load's to tell.
_LIBRARY, _WHY_NONE = find()


class Model(RequestModel):
    """A compiled model and its requests.

    Attributes:
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
        for tensor in compiled.inputs + compiled.outputs:
            if 0 in tensor.shape:
                raise ValueError("{} has the shape {}: it holds no value".format(tensor.name, tensor.shape))
        self.quantisations = [tensor.quantisation for tensor in compiled.outputs]
        self.is_cold = not compiled.is_from_cache
        is_real = all(quantisation is None for quantisation in self.quantisations)
        RequestModel.__init__(
            self, compiled.requests, compiled.inputs, compiled.outputs, "requests=1", is_real
        )

    def describe(self) -> Dict[str, Any]:
        """The library, its version, and what the compiled model says of itself."""
        return record.described(
            self._library,
            self._settings,
            self._precision,
            self._compiled,
            self._stick.facts(),
        )

    def close(self) -> None:
        """Let go of the device: of the requests first, then of the compiled model."""
        RequestModel.close(self)
        self._compiled = None


def _within_quota(settings: Settings) -> Settings:
    """Settings whose default threads keep to a container's CPU quota, which not every release knows."""
    cores = allowed_cores()
    is_limited = settings.device in ("CPU", "AUTO") and cores < len(os.sched_getaffinity(0))
    return settings._replace(threads=cores) if is_limited and not settings.threads else settings


def load(path: str, options: Dict[str, Any]) -> Model:
    """Read a model and compile it; `options` are those of the backend, and the variant's precision."""
    if _LIBRARY is None:
        raise ImportError("no OpenVINO here ({})".format(_WHY_NONE))
    settings = _within_quota(settings_of(options))
    cache = CompileCache(settings.cache) if settings.cache else None
    core = core_of(_LIBRARY)
    api: Any = old_api if _LIBRARY.generation == OLD else new_api
    stick = Stick(settings.device, os.environ.get(ROOT, "/"))
    with stick.explained():
        compiled = api.Compiled(_LIBRARY, core, path, settings, cache)
    return Model(_LIBRARY, settings, compiled, stick, str(options["precision"]))
