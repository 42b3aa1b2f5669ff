"""A model by OpenVINO's API since 2022.1: `openvino`, before 2023 `openvino.runtime` (Python 3.6 syntax).

The worker writes into a request's own tensors and scores are read from them, so that no copy stands between
preprocessing and the device.
"""

from typing import TYPE_CHECKING, Any, Callable, Dict, List

from .library import Library, core_of
from .settings import Settings, Tensor, require_static

if TYPE_CHECKING:
    from numpy.typing import NDArray

PRECISION_HINT = "INFERENCE_PRECISION_HINT"
HINTS = {"latency": "LATENCY", "throughput": "THROUGHPUT"}


class Request:
    """One request: it has inputs and outputs of its own, and computes one batch at a time."""

    def __init__(self, compiled: Any) -> None:
        self._request: Any = compiled.create_infer_request()
        self.inputs: "List[NDArray[Any]]" = [tensor.data for tensor in self._request.input_tensors]
        self.outputs: "List[NDArray[Any]]" = [tensor.data for tensor in self._request.output_tensors]
        self.infer: Callable[[], Any] = self._request.infer
        self.start: Callable[[], Any] = self._request.start_async
        self.wait: Callable[[], Any] = self._request.wait  # until it is done; RuntimeError where it failed

    def when_done(self, call: "Callable[[int], None]", number: int) -> None:
        """Have `call(number)` called by a thread of the library's when a batch is done, and did not fail."""
        self._request.set_callback(call, number)

    def check(self) -> None:
        """RuntimeError where its batch failed; nothing while it is on its way."""
        self._request.wait_for(0)


class Compiled:
    """A model that is compiled for a device, with its requests.

    Raises:
        ValueError: it leaves the shape of an input open.
        RuntimeError: the library's own, for whatever else is wrong with file, device or settings.
    """

    def __init__(self, library: Library, path: str, settings: Settings) -> None:
        self._core: Any = core_of(library)
        model = self._core.read_model(path)
        if settings.input_shapes:
            model.reshape(dict(enumerate(settings.input_shapes)))
        for port in model.inputs:
            shape = port.get_partial_shape()
            require_static(port.get_any_name(), str(shape), shape.is_dynamic)
        self._compiled: Any = self._core.compile_model(model, settings.device, self._properties(settings))
        self.inputs = [_tensor(port) for port in self._compiled.inputs]
        self.requests = [Request(self._compiled) for _ in range(settings.requests)]

    def _properties(self, settings: Settings) -> Dict[str, Any]:
        properties: Dict[str, Any] = {}
        if settings.hint:
            properties["PERFORMANCE_HINT"] = HINTS[settings.hint]
            properties["PERFORMANCE_HINT_NUM_REQUESTS"] = str(settings.requests)
        if settings.streams:
            properties["NUM_STREAMS"] = str(settings.streams)
        if settings.threads:
            properties["INFERENCE_NUM_THREADS"] = str(settings.threads)
        if settings.precision:
            properties[PRECISION_HINT] = settings.precision
        if settings.cache:
            properties["CACHE_DIR"] = settings.cache
        return properties

    def facts(self) -> Dict[str, Any]:
        """What the compiled model says of itself."""
        return {}


def _tensor(port: Any) -> Tensor:
    shape = tuple(int(side) for side in port.get_shape())
    return Tensor(str(port.get_any_name()), shape, str(port.get_element_type().to_dtype().name))
