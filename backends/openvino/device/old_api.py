"""A model by OpenVINO's API until 2021.4, `openvino.inference_engine` (Python 3.6 syntax).

2021.4.2 is the last release whose wheel has the plugin of the Neural Compute Stick 2. The worker writes into
a request's own blobs and scores are read from them.
"""

import os
import tempfile
from typing import TYPE_CHECKING, Any, Callable, Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple
from xml.etree import ElementTree

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
    family_of,
    number_of,
    read_model,
    require_static,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray


# The order of an .onnx file's inputs and outputs (device side, Python 3.6 syntax).
#
# The API until 2021.4 sorts them by name. The file is a message of Protocol Buffers: each field is a number
# with its kind, then its value, whose length stands before it where it is a message or text.


GRAPH = 7  # of the model
INITIALIZER, INPUT, OUTPUT = 5, 11, 12  # of the graph
INITIALIZER_NAME, NAME = 8, 1  # of an initializer; of an input or output
VARINT, EIGHT_BYTES, WITH_LENGTH, FOUR_BYTES = 0, 1, 2, 5

Names = NamedTuple("Names", [("inputs", List[str]), ("outputs", List[str])])


def names_of(path: str) -> Names:
    """The inputs that no stored value fills, and the outputs, in the file's order.

    Raises:
        ValueError: the file is no .onnx.
    """
    with open(path, "rb") as file:
        model = memoryview(file.read())
    names = Names([], [])
    stored = set()
    try:
        for graph in _values(model, GRAPH):
            names.inputs.extend(_texts(graph, INPUT, NAME))
            names.outputs.extend(_texts(graph, OUTPUT, NAME))
            stored.update(_texts(graph, INITIALIZER, INITIALIZER_NAME))
    except (IndexError, UnicodeDecodeError) as error:
        raise ValueError("the file is no .onnx: {}".format(error)) from error
    return Names([name for name in names.inputs if name not in stored], names.outputs)


def _texts(message: memoryview, field: int, field_of_text: int) -> List[str]:
    return [
        bytes(text).decode("utf-8")
        for value in _values(message, field)
        for text in _values(value, field_of_text)
    ]


def _values(message: memoryview, wanted: int) -> Iterator[memoryview]:
    """The messages or texts of a field; IndexError where the message ends too soon or has other kinds."""
    at = 0
    while at < len(message):
        key, at = _number(message, at)
        kind = key & 7
        if kind == VARINT:
            _, at = _number(message, at)
            continue
        if kind not in (EIGHT_BYTES, WITH_LENGTH, FOUR_BYTES):
            raise IndexError("kind {} of a field".format(kind))
        length = {EIGHT_BYTES: 8, FOUR_BYTES: 4}.get(kind, 0)
        if kind == WITH_LENGTH:
            length, at = _number(message, at)
        if at + length > len(message):
            raise IndexError("a field ends behind the file")
        if key >> 3 == wanted and kind == WITH_LENGTH:
            yield message[at : at + length]
        at += length


def _number(message: memoryview, at: int) -> Tuple[int, int]:
    """Seven bits a byte, the lowest first, and where it ends; the last byte's eighth bit is 0."""
    value = shift = 0
    while True:
        byte = message[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at


# The same of an IR, whose layers and connections are elements of XML.


NEWEST_IR = 10
TOO_NEW = (
    "OpenVINO {} reads IR {} and this model is IR {}: take OpenVINO 2022.1 or later there, "
    "or give the .onnx that it was made from"
)


def ir_version(path: str) -> int:
    """The version of an IR's format."""
    return int(ElementTree.parse(path).getroot().attrib["version"])


def names_of_ir(path: str) -> Tuple[List[str], List[str]]:
    """The network's names of inputs and outputs in the file's order, as `names_of` gives them."""
    net = ElementTree.parse(path).getroot()
    layers = {layer.attrib["id"]: layer for layer in net.findall("layers/layer")}
    sources = {edge.attrib["to-layer"]: edge.attrib for edge in net.findall("edges/edge")}
    inputs = [layer.attrib["name"] for layer in layers.values() if layer.attrib["type"] == "Parameter"]
    outputs = []
    for number, layer in layers.items():
        if layer.attrib["type"] == "Result":
            source = layers[sources[number]["from-layer"]]
            ports = [port.attrib["id"] for port in source.findall("output/port")]
            place = ".{}".format(ports.index(sources[number]["from-port"])) if len(ports) > 1 else ""
            outputs.append(source.attrib["name"] + place)
    return inputs, outputs


UNTIL_DONE_MS = -1
OK = 0  # of StatusCode
LEFT_OUT = "OpenVINO {} leaves the {} {} of the model out, as nothing depends on it: export it without"
ENFORCED = {"YES": "bf16", "NO": "f32"}  # of ENFORCE_BF16
DTYPES = {"FP32": "float32", "FP16": "float16", "I8": "int8", "U8": "uint8", "I32": "int32", "I64": "int64"}
# This API has no hints: of these devices it has streams that say the same.
STREAMS_OF_HINT = {"latency": "1", "throughput": "{}_THROUGHPUT_AUTO"}
WITH_STREAMS = ("CPU", "GPU")


class Request:
    """One request: it has inputs and outputs of its own, and computes one batch at a time.

    Args:
        request: the library's.
        module: the library.
        inputs: their names, in the file's order.
        outputs: the network's, by name, in the file's order.
    """

    def __init__(self, request: Any, module: Any, inputs: Sequence[str], outputs: Dict[str, Any]) -> None:
        self._request = request
        self.inputs: "List[NDArray[Any]]" = [request.input_blobs[name].buffer for name in inputs]
        self.outputs: "List[NDArray[Any]]" = []
        for name, output in outputs.items():
            # Of an output `buffer` is a copy, which takes longer than many an inference: memory of our own.
            array = np.zeros(tuple(output.shape), _dtype(output.precision))
            description = module.TensorDesc(output.precision, list(output.shape), output.layout)
            request.set_blob(name, module.Blob(description, array))
            self.outputs.append(array)
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
        inputs, outputs: in the file's order.
        requests: as many as the settings ask for.
        is_from_cache: whether an earlier session had compiled it; None where nothing is kept.

    Raises:
        ValueError: it leaves the shape of an input open, has one that nothing depends on, or is a .tflite.
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
        version = ir_version(path) if settings.weights else NEWEST_IR
        if version > NEWEST_IR:
            raise ValueError(TOO_NEW.format(library.version, NEWEST_IR, version))
        network = read_model(core.read_network, path, settings.weights)
        inputs, outputs = _in_order_of_file(library, network, path)
        if settings.input_shapes:
            network.reshape(dict(zip(inputs, settings.input_shapes)))
        for name in inputs:
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
        described = [(name, network.input_info[name].tensor_desc) for name in inputs]
        self.inputs = [
            Tensor(name, tuple(int(side) for side in tensor.dims), _dtype(tensor.precision), None)
            for name, tensor in described
        ]
        of_network = {name: network.outputs[name] for name in outputs}
        self.outputs = [
            Tensor(name, tuple(output.shape), _dtype(output.precision), None)
            for name, output in of_network.items()
        ]
        self.requests = [
            Request(request, library.module, inputs, of_network) for request in self._compiled.requests
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
        config = self._compiled.get_config
        bf16 = answer(config, "ENFORCE_BF16")
        return {
            "runs_on": [self._settings.device],
            "device_name": self._metric("FULL_DEVICE_NAME"),
            "execution_precision": ONLY_PRECISION.get(family) if bf16 is None else ENFORCED.get(str(bf16)),
            "streams": number_of(answer(config, "{}_THROUGHPUT_STREAMS".format(family))),
            "threads": number_of(answer(config, "CPU_THREADS_NUM")) or None,  # 0: it does not tell how many
            "optimal_requests": number_of(
                answer(self._compiled.get_metric, "OPTIMAL_NUMBER_OF_INFER_REQUESTS")
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

    def _metric(self, name: str) -> Any:
        return answer(self._core.get_metric, self._settings.device, name)


def _in_order_of_file(library: Library, network: Any, path: str) -> Tuple[List[str], List[str]]:
    """The network's names of the inputs and of the outputs, which it has sorted; ValueError for one less."""
    inputs, outputs = ([str(name) for name in names] for names in (network.input_info, network.outputs))
    if len(inputs) == len(outputs) == 1:
        return inputs, outputs
    if path.endswith(".xml"):
        return names_of_ir(path)
    names = names_of(path)
    return (
        _names_in_network(library, network, "input", names.inputs, inputs),
        _names_in_network(library, network, "output", names.outputs, outputs),
    )


def _names_in_network(
    library: Library, network: Any, kind: str, names: Sequence[str], has: Sequence[str]
) -> List[str]:
    ordered = []
    for name in names:
        in_network = str(answer(network.get_ov_name_for_tensor, name))
        if in_network not in has or in_network in ordered:
            raise ValueError(LEFT_OUT.format(library.version, kind, name))
        ordered.append(in_network)
    return ordered


def _dtype(precision: str) -> str:
    if precision not in DTYPES:
        raise ValueError(
            "{} is a type that is not taken: {} are".format(precision, ", ".join(sorted(DTYPES)))
        )
    return DTYPES[precision]
