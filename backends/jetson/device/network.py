"""An .onnx as TensorRT's network, and its layers with weights (device side, Python 3.6 syntax)."""

from collections import Counter
from typing import Any, Dict, List, NamedTuple, Optional, Set

from .build_source import (
    BY_CALIBRATOR,
    BY_QDQ,
    MOST_NAME,
    UNKNOWN,
    BuildFailed,
    BuildLog,
    Layer,
    Source,
    count_by_precision,
    in_one_line,
    listed,
    multiplying,
    not_honoured,
    of_inspector,
    of_log,
    opened,
    unseen,
)

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
        ("by_constant", Set[str]),  # names of matrix products with a constant: a calibrator gives it no scale
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
    producers = {
        tensor.name: layer
        for layer in layers
        for tensor in map(layer.get_output, range(layer.num_outputs))
        if tensor is not None
    }
    with_weights, quantised, products, by_constant = [], set(), set(), set()
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
        if kind == PRODUCT:
            by_constant.add(layer.name)
        if any(origin.dequantised and not origin.is_constant for origin in origins):
            quantised.add(layer.name)
    names = [layer.name for layer in with_weights]
    return WeightLayers(with_weights, names, quantised, products, by_constant)


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


def _error(error: Any) -> str:
    """One of the parser's errors: the node, the kind of error, what it is."""
    name = error.node_name() if hasattr(error, "node_name") else ""
    node = "node {}{}".format(error.node(), " ({})".format(name) if name else "")
    return "{}: {}: {}".format(node, error.code(), in_one_line(str(error.desc())))[:MOST_TEXT]


# Whether an engine computes in the precision that was asked for (device side, Python 3.6 syntax).


INSPECTOR, LOG = "engine inspector", "verbose log of the build"
NOTHING_READ = "this TensorRT has no engine inspector, and the log of the build lists no layers"
NO_DETAILS = "neither the engine inspector nor the log of the build lists the layers' precisions"
UNVERIFIED = "{}: that TensorRT computes in {} is not verified"
FUSED = "of {} of {} layers with weights, TensorRT does not say the precision: {}"
NO_NAME = "(a layer without a name)"
LEFT_FLOAT = {
    BY_QDQ: "the model leaves {} of {} layers with weights float, without Q/DQ nodes: {}",
    BY_CALIBRATOR: "a calibrator leaves {} of {} layers with weights float, products with a constant "
    "without a scale (--set int8=qdq has them in int8): {}",
}

ReadBack = NamedTuple(
    "ReadBack",
    [
        ("layers", List[Layer]),
        ("source", str),  # of the list: the inspector or the log; empty where there is none
        ("why_none", str),
    ],
)


def read_layers(trt: Any, logger: Any, log: BuildLog, engine: Any) -> ReadBack:
    """The engine's layers.

    Args:
        trt: the library.
        logger: of the build.
        log: what it took in.
        engine: the serialized engine.

    Raises:
        BuildFailed: TensorRT does not load what it has built.
    """
    logged = of_log(log.layers)
    has_inspector = hasattr(trt.ICudaEngine, "create_engine_inspector")
    inspected = _inspected(trt, logger, log, engine) if has_inspector else []
    for layers, source in ((inspected, INSPECTOR), (logged, LOG)):
        if any(layer.precision != UNKNOWN for layer in layers):
            return ReadBack(layers, source, "")
    return ReadBack([], "", NO_DETAILS if has_inspector else NOTHING_READ)


def verified(
    version: str, precision: str, source: Source, weights: WeightLayers, read: ReadBack
) -> Dict[str, Any]:
    """What the header says of the layers.

    Args:
        version: of TensorRT.
        precision: fp32, fp16 or int8, as asked for.
        source: what the engine was built from.
        weights: the network's layers with weights.
        read: the engine's layers.

    Raises:
        PrecisionNotHonoured: a layer that computes with weights does so in another precision, and not
            because the model itself or a calibrator leaves it float; or all of them are left so.
    """
    if not read.source:
        return {
            "layer_precisions": None,
            "absent": {"layer_precisions": read.why_none},
            "warnings": [UNVERIFIED.format(read.why_none, precision)],
        }
    judged = multiplying(read.layers, weights.products)
    others = [layer for layer in judged if layer.precision not in (precision, UNKNOWN)]
    left_float = [layer for layer in others if _is_left_float(layer, source, weights)]
    if len(left_float) < len(others) or 0 < len(judged) == len(others):
        refused = [layer for layer in others if layer not in left_float] or others
        raise not_honoured(version, precision, source, refused, len(judged))
    hidden = unseen(read.layers, weights.names)
    hidden += [layer.name for layer in judged if layer.precision == UNKNOWN]
    warnings = []
    floats = LEFT_FLOAT.get(source.kind, ""), [layer.name for layer in left_float]
    for text, names in ((FUSED, hidden), floats):
        if names:
            short = [name[:MOST_NAME] or NO_NAME for name in names]
            warnings.append(text.format(len(names), len(weights.names), listed(short)))
    return {
        "layers": [
            {"name": layer.name, "type": layer.kind, "precision": layer.precision} for layer in read.layers
        ],
        "layer_precisions": count_by_precision(read.layers),
        "weight_layer_precisions": dict(Counter(layer.precision for layer in judged)),
        "precisions_read_from": read.source,
        "absent": {},
        "warnings": warnings,
    }


def _is_left_float(layer: Layer, source: Source, weights: WeightLayers) -> bool:
    """Whether a model with Q/DQ nodes has none before this layer, or a calibrator gives it no scale."""
    if source.kind == BY_CALIBRATOR:
        known = layer.origins.intersection(weights.names)
        return bool(known) and known <= weights.by_constant
    has_pairs = source.kind == BY_QDQ and bool(weights.quantised)
    return has_pairs and not layer.origins.intersection(weights.quantised)


def _inspected(trt: Any, logger: Any, log: BuildLog, engine: Any) -> List[Layer]:
    runtime = opened(trt, "Runtime", logger, log)
    deserialised = runtime.deserialize_cuda_engine(engine)
    if deserialised is None:
        raise BuildFailed(
            "TensorRT {} does not load the engine that it has built: {}".format(
                trt.__version__, log.last_errors()
            )
        )
    inspector = deserialised.create_engine_inspector()
    return of_inspector(inspector.get_engine_information(trt.LayerInformationFormat.JSON))
