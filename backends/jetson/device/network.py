"""An .onnx as TensorRT's network, and its layers with weights (device side, Python 3.6 syntax)."""

from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Set, Tuple

from .build_failures import listed
from .build_log import in_one_line

MOST_ERRORS = 5
MOST_TEXT = 300  # of one error

ALWAYS_WEIGHTS = ("CONVOLUTION", "DECONVOLUTION", "FULLY_CONNECTED")
PRODUCT = "MATRIX_MULTIPLY"
# What may stand between a constant and the layer that computes with it.
BETWEEN = ("SHUFFLE", "IDENTITY", "CAST", "QUANTIZE", "DEQUANTIZE")

WeightLayers = NamedTuple(
    "WeightLayers",
    [
        ("layers", List[Any]),  # those that compute with weights
        ("names", List[str]),
        ("quantised", Set[str]),  # names of those whose input comes from a DequantizeLinear
        ("products", Set[str]),  # names of matrix products of what is computed: no weights
    ],
)


class ParseFailed(ValueError):
    """TensorRT's parser does not take the model; the message has its errors."""


def empty_network(trt: Any, builder: Any) -> Any:
    """A network with a batch of its own axis, which releases until 10 ask for by a flag."""
    flag = getattr(trt.NetworkDefinitionCreationFlag, "EXPLICIT_BATCH", None)
    return builder.create_network() if flag is None else builder.create_network(1 << int(flag))


def parse(trt: Any, logger: Any, network: Any, path: str) -> Any:
    """Read a model into the network.

    Returns:
        The parser, which holds the weights: it has to stay until the engine is built.

    Raises:
        ParseFailed: with all of the parser's errors.
    """
    parser = trt.OnnxParser(network, logger)
    with open(path, "rb") as file:
        model = file.read()
    if parser.parse(model):
        return parser
    errors = [_error(parser.get_error(number)) for number in range(parser.num_errors)]
    raise ParseFailed(
        "TensorRT {} does not take the model: {}; export it with other operations or another opset, "
        "or take a board with a later JetPack".format(
            trt.__version__, listed(errors, MOST_ERRORS) or "it gives no reason"
        )
    )


def weight_layers(network: Any) -> WeightLayers:
    """The layers that compute with weights."""
    layers = [network.get_layer(number) for number in range(network.num_layers)]
    producers = dict(_producers(layers))
    with_weights, quantised, products = [], set(), set()
    for layer in layers:
        kind = kind_of(layer)
        if kind not in ALWAYS_WEIGHTS and kind != PRODUCT:
            continue
        inputs = [layer.get_input(number) for number in range(layer.num_inputs)]
        origins = [_origin(tensor, producers) for tensor in inputs]
        if kind == PRODUCT and not any(origin.is_constant for origin in origins):
            products.add(layer.name)
            continue
        with_weights.append(layer)
        if any(origin.dequantised and not origin.is_constant for origin in origins):
            quantised.add(layer.name)
    return WeightLayers(with_weights, [layer.name for layer in with_weights], quantised, products)


def kind_of(layer: Any) -> str:
    """The name of a layer's type: CONVOLUTION, ACTIVATION, ..."""
    return str(layer.type.name)


_Origin = NamedTuple("_Origin", [("is_constant", bool), ("dequantised", bool)])


def _origin(tensor: Optional[Any], producers: Dict[str, Any]) -> _Origin:
    """Where a layer's input comes from, behind what only brings it into another form."""
    dequantised = False
    while tensor is not None:
        producer = producers.get(tensor.name)
        if producer is None:
            break
        kind = kind_of(producer)
        dequantised = dequantised or kind == "DEQUANTIZE"
        if kind not in BETWEEN:
            return _Origin(kind == "CONSTANT", dequantised)
        tensor = producer.get_input(0)
    return _Origin(False, dequantised)


def _producers(layers: List[Any]) -> Iterator[Tuple[str, Any]]:
    for layer in layers:
        for number in range(layer.num_outputs):
            tensor = layer.get_output(number)
            if tensor is not None:
                yield tensor.name, layer


def _error(error: Any) -> str:
    """One of the parser's errors: the node, the kind of error, what it is."""
    name = error.node_name() if hasattr(error, "node_name") else ""
    node = "node {}{}".format(error.node(), " ({})".format(name) if name else "")
    return "{}: {}: {}".format(node, error.code(), in_one_line(str(error.desc())))[:MOST_TEXT]
