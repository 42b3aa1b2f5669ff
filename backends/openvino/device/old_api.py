"""A model by OpenVINO's API until 2021.4, `openvino.inference_engine` (Python 3.6 syntax).

2021.4.2 is the last release whose wheel has the plugin of the Neural Compute Stick 2. The worker writes into
a request's own blobs and scores are read from them.
"""

import os
import tempfile
from typing import TYPE_CHECKING, Any, Callable, Dict, List, Optional, Tuple
from xml.etree import ElementTree

import numpy as np

from .compile_cache import CompileCache
from .failures import NO_READER, device_failure, unreadable
from .library import Library
from .settings import ONLY_PRECISION, Settings, Tensor, family_of, require_static

if TYPE_CHECKING:
    from numpy.typing import NDArray

UNTIL_DONE_MS = -1
OK = 0  # of StatusCode
SEVERAL = (
    "the model has {} inputs and {} outputs, and OpenVINO {} gives them in another order than the file: "
    "take 2022.1 or newer"
)
ENFORCED = {"YES": "bf16", "NO": "f32"}  # of ENFORCE_BF16
DTYPES = {"FP32": "float32", "FP16": "float16", "I8": "int8", "U8": "uint8", "I32": "int32", "I64": "int64"}
# This API has no hints: of these devices it has streams that say the same.
STREAMS_OF_HINT = {"latency": "1", "throughput": "{}_THROUGHPUT_AUTO"}
WITH_STREAMS = ("CPU", "GPU")


class Request:
    """One request: it has an input and an output of its own, and computes one batch at a time."""

    def __init__(self, request: Any, module: Any, name: str, output: Any) -> None:
        self._request = request
        self.inputs: "List[NDArray[Any]]" = [blob.buffer for blob in request.input_blobs.values()]
        # Of an output `buffer` is a copy, which takes longer than many an inference: memory of our own.
        self.outputs: "List[NDArray[Any]]" = [np.zeros(tuple(output.shape), _dtype(output.precision))]
        description = module.TensorDesc(output.precision, list(output.shape), output.layout)
        request.set_blob(name, module.Blob(description, self.outputs[0]))
        self.infer: Callable[[], Any] = request.infer
        self.start: Callable[[], Any] = request.async_infer

    def wait(self) -> None:
        """Until its batch is done; RuntimeError where it failed."""
        status = self._request.wait(UNTIL_DONE_MS)
        if int(status) != OK:
            raise RuntimeError("an inference failed with {}".format(status))


class Compiled:
    """A model that is compiled for a device, with its requests.

    Attributes:
        inputs, outputs: one each.
        requests: as many as the settings ask for.
        is_from_cache: whether an earlier session had compiled it; None where nothing is kept.

    Raises:
        ValueError: it leaves the shape of its input open, has several, or is a .tflite.
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
        if path.endswith(".tflite"):
            raise ValueError(NO_READER.format(library.version))
        self._core = core
        self._settings = settings
        network = _read(core, path)
        if len(network.input_info) != 1 or len(network.outputs) != 1:
            raise ValueError(SEVERAL.format(len(network.input_info), len(network.outputs), library.version))
        name = next(iter(network.input_info))
        if settings.input_shapes:
            network.reshape({name: settings.input_shapes[0]})
        # An open shape is an empty one here.
        dims = list(network.input_info[name].tensor_desc.dims)
        require_static("input", name, dims or "which this API does not tell", not dims)
        if cache is not None:
            core.set_config({"CACHE_DIR": cache.folder}, "")
        try:
            if settings.device in ("CPU", "AUTO"):
                self._hold_precision(settings.precisions[0])
            config = self._config()
            if settings.device == "AUTO":  # it takes no such settings itself
                core.set_config(config, "CPU")
                config = {}
            self._compiled: Any = core.load_network(
                network, settings.device, config, num_requests=settings.requests
            )
        except RuntimeError as error:
            raise device_failure(library, core, settings.device, error) from error
        self.inputs = [_tensor(name, network.input_info[name].tensor_desc)]
        (name, output) = next(iter(network.outputs.items()))
        self.outputs = [Tensor(str(name), tuple(output.shape), _dtype(output.precision), None)]
        self.requests = [
            Request(request, library.module, name, output) for request in self._compiled.requests
        ]
        self.is_from_cache = self._was_cached(cache)

    def _config(self) -> Dict[str, str]:
        """By what the device knows of it; a setting that was named goes to the device either way.

        Of AUTO that is the processor: this release's streams and threads are by device.
        """
        settings = self._settings
        family = "CPU" if settings.device == "AUTO" else family_of(settings.device)
        config: Dict[str, str] = {}
        streams = "{}_THROUGHPUT_STREAMS".format(family)
        if settings.hint and family in WITH_STREAMS:
            config[streams] = STREAMS_OF_HINT[settings.hint].format(family)
        if settings.streams:
            config[streams] = str(settings.streams)
        if settings.threads:
            config["CPU_THREADS_NUM"] = str(settings.threads)
        return config

    def _hold_precision(self, wanted: str) -> None:
        """On the processor, which AUTO may take, too: where it has bf16 it takes that by itself."""
        if wanted and "ENFORCE_BF16" in self._core.get_metric("CPU", "SUPPORTED_CONFIG_KEYS"):
            self._core.set_config({"ENFORCE_BF16": "YES" if wanted == "bf16" else "NO"}, "CPU")

    def _was_cached(self, cache: Optional[CompileCache]) -> Optional[bool]:
        if cache is None or not self._metric("IMPORT_EXPORT_SUPPORT"):
            return None
        return cache.is_unchanged() if cache.models() else None

    def facts(self) -> Dict[str, Any]:
        """What the compiled model says of itself; None where this API does not tell."""
        family = family_of(self._settings.device)
        bf16 = self._setting("ENFORCE_BF16")
        return {
            "runs_on": [self._settings.device],
            "device_name": self._metric("FULL_DEVICE_NAME"),
            "execution_precision": ONLY_PRECISION.get(family) if bf16 is None else ENFORCED.get(bf16),
            "streams": _number(self._setting("{}_THROUGHPUT_STREAMS".format(family))),
            "threads": _number(self._setting("CPU_THREADS_NUM")) or None,  # 0: it does not tell how many
            "optimal_requests": _number(
                _answer(self._compiled.get_metric, "OPTIMAL_NUMBER_OF_INFER_REQUESTS")
            ),
        }

    def layers(self) -> List[Tuple[str, str]]:
        """Kind and precision of each layer that is carried out; empty where the device does not tell."""
        with tempfile.TemporaryDirectory() as folder:
            file = os.path.join(folder, "layers.xml")
            try:
                self._compiled.get_exec_graph_info().serialize(file)
            except RuntimeError:
                return []
            operations = ElementTree.parse(file).iter("layer")
            data = [(operation.get("type"), operation.find("data")) for operation in operations]
        return [
            (str(kind), str(attributes.get("runtimePrecision")))
            for kind, attributes in data
            if attributes is not None and attributes.get("runtimePrecision")
        ]

    def _setting(self, name: str) -> Optional[str]:
        value = _answer(self._compiled.get_config, name)
        return None if value is None else str(value)

    def _metric(self, name: str) -> Any:
        return _answer(self._core.get_metric, self._settings.device, name)


def _answer(ask: Callable[..., Any], *arguments: str) -> Any:
    """None where a device does not know of it."""
    try:
        return ask(*arguments)
    except RuntimeError:
        return None


def _read(core: Any, path: str) -> Any:
    try:
        return core.read_network(path)
    except RuntimeError as error:
        raise unreadable(error) from error


def _tensor(name: str, description: Any) -> Tensor:
    return Tensor(
        str(name), tuple(int(side) for side in description.dims), _dtype(description.precision), None
    )


def _dtype(precision: str) -> str:
    if precision not in DTYPES:
        raise ValueError(
            "{} is a type that is not taken: {} are".format(precision, ", ".join(sorted(DTYPES)))
        )
    return DTYPES[precision]


def _number(value: Optional[str]) -> Optional[int]:
    try:
        return int(value) if value is not None else None
    except ValueError:
        return None
