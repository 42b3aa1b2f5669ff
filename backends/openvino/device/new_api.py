"""A model by OpenVINO's API since 2022.1: `openvino`, before 2023 `openvino.runtime` (Python 3.6 syntax).

The worker writes into a request's own tensors and scores are read from them, so that no copy stands between
preprocessing and the device.
"""

import contextlib
import functools
import inspect
from typing import TYPE_CHECKING, Any, Callable, Dict, List, Optional, Tuple

import numpy as np

from .library import (
    NO_READER,
    ONLY_PRECISION,
    CompileCache,
    Library,
    Settings,
    Tensor,
    answer,
    device_failure,
    devices,
    family_of,
    number_of,
    read_model,
    require_static,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

PRECISION_HINT = "INFERENCE_PRECISION_HINT"
SEVERAL_SCALES = "the output {} is stored as integers of several scales: let the model give float scores"
NO_SCALE = "the output {} is stored as integers of scale {}: let the model give float scores"
HINTS = {"latency": "LATENCY", "throughput": "THROUGHPUT"}
ELEMENTS = {"float32": "f32", "float16": "f16", "bfloat16": "bf16"}  # as types print: <Type: 'float32'>


class Request:
    """One request: it has inputs and outputs of its own, and computes one batch at a time."""

    def __init__(self, compiled: Any) -> None:
        self._request: Any = compiled.create_infer_request()
        self.inputs: "List[NDArray[Any]]" = [tensor.data for tensor in self._request.input_tensors]
        self.outputs: "List[NDArray[Any]]" = [tensor.data for tensor in self._request.output_tensors]
        self.infer = _bare_infer(self._request)
        self.start: Callable[[], Any] = self._request.start_async
        self.wait: Callable[[], Any] = self._request.wait  # until it is done; RuntimeError where it failed


def _bare_infer(request: Any) -> Callable[[], Any]:
    """A request's `infer` as it is below the library's Python.

    On the way through that, copies of the outputs are made that are not read here: an inference of a
    millisecond would count as one per cent longer.
    """
    takes = inspect.signature(request.infer).parameters  # more of them with every release
    unread = {"share_outputs": True, "decode_strings": False}
    arguments = [value for name, value in unread.items() if name in takes]
    return functools.partial(super(type(request), request).infer, {}, *arguments)


class Compiled:
    """A model that is compiled for a device, with its requests.

    Attributes:
        inputs, outputs: in the file's order.
        requests: as many as the settings ask for.
        is_from_cache: whether an earlier session had compiled it; None where nothing is kept.

    Raises:
        ValueError: it leaves the shape of an input or an output open, an output is stored as integers that
            no single scale turns into real numbers, or this release does not read such a file.
        RuntimeError: the library's own, for whatever else is wrong with file, device or settings.
    """

    def __init__(
        self,
        library: Library,
        core: Any,
        path: str,
        settings: Settings,
        cache: Optional[CompileCache],
    ) -> None:
        self._library = library
        self._core = core
        self._settings = settings
        model = _read(library, core, path, settings.weights)
        if settings.input_shapes:
            model.reshape(dict(enumerate(settings.input_shapes)))
        for kind, ports in (("input", model.inputs), ("output", model.outputs)):
            for port in ports:
                shape = port.get_partial_shape()
                require_static(kind, _name(port), str(shape), shape.is_dynamic)
        self.outputs = [_tensor(port, _quantisation(port)) for port in model.outputs]
        self._compiled: Any = self._compile(model, cache)
        self.inputs = [_tensor(port) for port in self._compiled.inputs]
        self.requests = [Request(self._compiled) for _ in range(settings.requests)]
        self.is_from_cache = None if cache is None else self._was_cached(cache)

    def _compile(self, model: Any, cache: Optional[CompileCache]) -> Any:
        """In the first precision that the device takes: one without 16-bit arithmetic may refuse f16."""
        device, precisions = self._settings.device, self._settings.precisions
        for precision in precisions:
            properties = self._properties(precision, cache)
            try:
                return self._core.compile_model(model, device, properties)
            except RuntimeError as error:
                if precision == precisions[-1]:
                    raise device_failure(self._library, self._core, device, error) from error
        raise AssertionError("there is a precision to try")

    def _properties(self, precision: str, cache: Optional[CompileCache]) -> Dict[str, Any]:
        settings = self._settings
        properties: Dict[str, Any] = {}
        if settings.hint:
            properties["PERFORMANCE_HINT"] = HINTS[settings.hint]
            properties["PERFORMANCE_HINT_NUM_REQUESTS"] = str(settings.requests)
        if cache is not None:
            properties["CACHE_DIR"] = cache.folder
        of_device: Dict[str, str] = {}
        if settings.streams:
            of_device["NUM_STREAMS"] = str(settings.streams)
        if settings.threads:
            of_device["INFERENCE_NUM_THREADS"] = str(settings.threads)
        if precision and family_of(settings.device) not in ONLY_PRECISION:
            of_device[PRECISION_HINT] = precision
        if settings.device == "AUTO":
            self._set_on_devices(of_device)
        else:
            properties.update(of_device)
        return properties

    def _set_on_devices(self, properties: Dict[str, str]) -> None:
        """AUTO of 2022 takes none of these itself, nor does it hand a hint on to the device that it takes."""
        for device in devices(self._core):
            for name, value in properties.items():
                # One without that hint has one precision, one without threads is no processor.
                with contextlib.suppress(RuntimeError):
                    self._core.set_property(device, {name: value})

    def _was_cached(self, cache: CompileCache) -> Optional[bool]:
        if not cache.models():
            return None
        told = self._property("LOADED_FROM_CACHE")  # since 2023
        if told is not None:
            return bool(told)
        capabilities = answer(self._core.get_property, self._settings.device, "OPTIMIZATION_CAPABILITIES")
        return cache.is_unchanged() if "EXPORT_IMPORT" in (capabilities or ()) else None

    def facts(self) -> Dict[str, Any]:
        """What the compiled model says of itself; None where this release does not tell."""
        told = self._property("EXECUTION_DEVICES")  # since 2023
        runs_on = [self._settings.device] if told is None else [str(name) for name in told]
        precision = self._property(PRECISION_HINT, runs_on[0])
        return {
            "runs_on": runs_on,
            "device_name": answer(self._core.get_property, runs_on[0], "FULL_DEVICE_NAME"),
            "execution_precision": ONLY_PRECISION.get(family_of(runs_on[0]), _element(precision)),
            "streams": number_of(self._property("NUM_STREAMS", runs_on[0])),
            "threads": number_of(self._property("INFERENCE_NUM_THREADS", runs_on[0])),
            "optimal_requests": number_of(self._property("OPTIMAL_NUMBER_OF_INFER_REQUESTS")),
        }

    def layers(self) -> List[Tuple[str, str]]:
        """Kind and precision of each layer that is carried out; empty where the device does not tell."""
        try:
            operations = self._compiled.get_runtime_model().get_ops()
        except RuntimeError:
            return []
        return [
            (_text(info["layerType"]), _text(info["runtimePrecision"]))
            for info in (operation.get_rt_info() for operation in operations)
            if "layerType" in info and "runtimePrecision" in info
        ]

    def _property(self, name: str, device: str = "") -> Any:
        """Properties of the compiled model; for AUTO those that it has for the device that it took."""
        value = answer(self._compiled.get_property, name)
        if value is not None:
            return value
        try:
            return self._compiled.get_property("DEVICE_PROPERTIES")[device][name]
        except (KeyError, RuntimeError, TypeError):
            return None


def _read(library: Library, core: Any, path: str, weights: str) -> Any:
    try:
        return read_model(core.read_model, path, weights)
    except ValueError as error:
        if path.endswith(".tflite"):
            from openvino.frontend import FrontEndManager

            if "tflite" not in map(str, FrontEndManager().get_available_front_ends()):
                raise ValueError(NO_READER.format(library.version)) from error
        raise


def _tensor(port: Any, quantisation: Optional[Tuple[float, int]] = None) -> Tensor:
    shape = tuple(int(side) for side in port.get_shape())
    dtype = np.dtype(port.get_element_type().to_dtype()).name
    return Tensor(_name(port), shape, str(dtype), quantisation)


def _name(port: Any) -> str:
    return str(min(port.get_names(), default=port.get_node().get_friendly_name()))


def _quantisation(port: Any) -> Optional[Tuple[float, int]]:
    """Scale and zero point of an output that a .tflite file stores as integers; None for any other.

    The reader makes it Result of Convert of FakeQuantize, whose four limits say which integers mean
    which real numbers.
    """
    name, result = _name(port), port.get_node()
    convert = result.input_value(0).get_node()
    if convert.get_type_name() != "Convert":
        return None
    fake_quantize = convert.input_value(0).get_node()
    if fake_quantize.get_type_name() != "FakeQuantize":
        return None
    limits = [fake_quantize.input_value(at).get_node().get_data() for at in (1, 2, 3, 4)]
    if any(limit.min() != limit.max() for limit in limits):
        raise ValueError(SEVERAL_SCALES.format(name))
    low, high, stored_low, stored_high = [float(limit.flat[0]) for limit in limits]
    scale = (high - low) / (stored_high - stored_low) if stored_high > stored_low else 0.0
    if not 0 < scale < float("inf"):
        raise ValueError(NO_SCALE.format(name, scale))
    return scale, round(stored_low - low / scale)


def _element(value: Any) -> Optional[str]:
    """`f32` of what properties print as <Type: 'float32'>."""
    name = str(value).replace("<Type: '", "").replace("'>", "")
    return None if value is None else ELEMENTS.get(name, name)


def _text(value: Any) -> str:
    return str(getattr(value, "value", value))
