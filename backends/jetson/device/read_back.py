"""Whether an engine computes in the precision that was asked for (device side, Python 3.6 syntax)."""

from collections import Counter
from typing import Any, Dict, List, NamedTuple

from .build_failures import MOST_NAME, BuildFailed, listed, not_honoured
from .build_log import BuildLog
from .build_source import BY_QDQ, Source
from .engine_layers import UNKNOWN, Layer, count_by_precision, multiplying, of_inspector, of_log, unseen
from .network import WeightLayers

INSPECTOR, LOG = "engine inspector", "verbose log of the build"
NOTHING_READ = "this TensorRT has no engine inspector, and the log of the build lists no layers"
NO_DETAILS = "neither the engine inspector nor the log of the build lists the layers' precisions"
UNVERIFIED = "{}: that TensorRT computes in {} is not verified"
FUSED = "of {} of {} layers with weights, TensorRT does not say the precision: {}"
NO_NAME = "(a layer without a name)"
LEFT_FLOAT = "the model leaves {} of {} layers with weights float, without Q/DQ nodes: {}"

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
            because the model itself leaves it float.
    """
    if not read.source:
        return {
            "layer_precisions": None,
            "absent": {"layer_precisions": read.why_none},
            "warnings": [UNVERIFIED.format(read.why_none, precision)],
        }
    judged = multiplying(read.layers, weights.products)
    others = [layer for layer in judged if layer.precision not in (precision, UNKNOWN)]
    left_float = [layer for layer in others if source.kind == BY_QDQ and _is_left_float(layer, weights)]
    if len(others) > len(left_float):
        refused = [layer for layer in others if layer not in left_float]
        raise not_honoured(version, precision, source, refused, len(judged))
    hidden = unseen(read.layers, weights.names)
    hidden += [layer.name for layer in judged if layer.precision == UNKNOWN]
    warnings = []
    for text, names in ((FUSED, hidden), (LEFT_FLOAT, [layer.name for layer in left_float])):
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


def _is_left_float(layer: Layer, weights: WeightLayers) -> bool:
    """Whether a model with Q/DQ nodes has none before this layer."""
    return bool(weights.quantised) and not layer.origins.intersection(weights.quantised)


def _inspected(trt: Any, logger: Any, log: BuildLog, engine: Any) -> List[Layer]:
    runtime = trt.Runtime(logger)
    deserialised = runtime.deserialize_cuda_engine(engine)
    if deserialised is None:
        raise BuildFailed(
            "TensorRT {} does not load the engine that it has built: {}".format(
                trt.__version__, log.last_errors()
            )
        )
    inspector = deserialised.create_engine_inspector()
    return of_inspector(inspector.get_engine_information(trt.LayerInformationFormat.JSON))
