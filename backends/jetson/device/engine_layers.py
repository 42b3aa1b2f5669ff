"""Which precision each layer of an engine computes in, by TensorRT (device side, Python 3.6 syntax).

Two sources: the engine inspector's JSON (TensorRT 8.2 on), and the verbose log of the build. What TensorRT
was asked for is no source: it may build another precision all the same.
"""

import json
import re
from collections import Counter
from typing import Any, Dict, Iterable, List, NamedTuple, Optional, Sequence, Set

UNKNOWN = "unknown"

# In the inspector's words ("Thirty-two wide channel vectorized row major Int8 format", "Half") and the log's.
PRECISIONS = (
    ("int8", ("int8", "uint8")),
    ("fp16", ("fp16", "half", "float16")),
    ("bf16", ("bf16", "bfloat16")),
    ("fp8", ("fp8", "fp8e4m3", "float8")),
    ("int4", ("int4",)),
    ("fp32", ("fp32", "float", "float32", "tf32")),
    ("int32", ("int32",)),
    ("int64", ("int64",)),
    ("bool", ("bool",)),
)
MULTIPLIES = re.compile(r"conv|gemm|matrixmultiply|matmul|fullyconnected|innerproduct", re.IGNORECASE)
COPIES = re.compile(r"reformat|noop|constant|shuffle|copy", re.IGNORECASE)
# A region that a compiler of its own fuses, or foreign code: what goes in and out says nothing of its inside.
OPAQUE = re.compile(r"myelin|foreignnode|plugin", re.IGNORECASE)

_LOGGED = re.compile(r"Layer\(([^)]*)\): ")
_TACTIC = ", Tactic: "
_LOGGED_TYPE = re.compile(r"[\[(]([A-Za-z0-9]+)[(\[]")  # [Float(1,3)], of later releases (Float[1,3])
_ONNX_LAYER = "[ONNX Layer: "
_FUSED = re.compile(r" \+ | \|\| ")

Layer = NamedTuple(
    "Layer",
    [
        ("name", str),
        ("kind", str),  # TensorRT's: CaskConvolution, Reformat, ...
        ("precision", str),  # fp32, fp16, int8, ..., or unknown
        ("origins", Set[str]),  # the network's layers that were fused into it, as far as it says
    ],
)


def of_inspector(text: str) -> List[Layer]:
    """The layers in what `get_engine_information(JSON)` gives.

    None of them where the engine holds no more than names, or where this is no such JSON.
    """
    try:
        layers = json.loads(text)["Layers"]
        return [_inspected(layer) for layer in layers if isinstance(layer, dict)]
    except (ValueError, KeyError, TypeError, RecursionError):
        return []


def of_log(lines: Iterable[str]) -> List[Layer]:
    """The layers in a verbose log's lines below `Engine Layer Information:`."""
    logged = map(_logged, lines)
    return [layer for layer in logged if layer is not None]


def precision_of(text: str) -> str:
    """The precision that a data type or a tensor's format names; unknown where it names none."""
    words = set(re.findall(r"[a-z0-9]+", text.lower()))
    for precision, names in PRECISIONS:
        if words.intersection(names):
            return precision
    return UNKNOWN


def count_by_precision(layers: Sequence[Layer]) -> Dict[str, int]:
    """How many layers compute in each precision, without those that only copy."""
    return dict(Counter(layer.precision for layer in layers if not COPIES.search(layer.kind)))


def multiplying(layers: Sequence[Layer], excepted: Set[str]) -> List[Layer]:
    """The layers that compute with weights: convolutions and matrix products.

    Args:
        layers: of the engine.
        excepted: the network's layers that are not meant, such as attention's products without weights.
    """
    return [
        layer
        for layer in layers
        if MULTIPLIES.search(layer.kind)
        and not COPIES.search(layer.kind)
        and not layer.origins.intersection(excepted)
    ]


def unseen(layers: Sequence[Layer], names: Sequence[str]) -> List[str]:
    """Those of the network's layers that the engine does not name, such as those inside a fused region."""
    seen: Set[str] = set()
    for layer in layers:
        if not COPIES.search(layer.kind):
            seen |= layer.origins
    return [name for name in names if name not in seen]


def _inspected(layer: Dict[str, Any]) -> Layer:
    kinds = [str(layer.get(key, "")) for key in ("LayerType", "ParameterType")]
    name = str(layer.get("Name", ""))
    origins = set(_FUSED.split(name)) | set(_onnx_layers(str(layer.get("Metadata", ""))))
    weights = layer.get("Weights")
    types = [_tensor_type(tensor) for tensor in layer.get("Inputs") or []][:1]
    types += [str(weights["Type"])] if isinstance(weights, dict) and "Type" in weights else []
    types += [_tensor_type(tensor) for tensor in layer.get("Outputs") or []]
    kind = kinds[0] if MULTIPLIES.search(kinds[0]) or not MULTIPLIES.search(kinds[1]) else kinds[1]
    return Layer(name, kind, _precision(kind, types), origins)


def _tensor_type(tensor: Any) -> str:
    if not isinstance(tensor, dict):
        return ""
    return str(tensor.get("Format/Datatype") or tensor.get("Datatype") or "")


def _onnx_layers(metadata: str) -> List[str]:
    """The names in `[ONNX Layer: NAME]`, of which there may be several."""
    return [part.partition("]")[0] for part in metadata.split(_ONNX_LAYER)[1:] if "]" in part]


def _logged(line: str) -> Optional[Layer]:
    """`Layer(KIND): NAME, Tactic: 0x0, INPUTS -> OUTPUTS`; None for another line.

    Not by one pattern: a name of some kilobytes, which the model decides, would take it minutes.
    """
    head = _LOGGED.match(line)
    name, tactic, tensors = line[head.end() if head else 0 :].rpartition(_TACTIC)
    inputs, arrow, outputs = tensors.partition(",")[2].partition("-> ")
    if head is None or not tactic or not arrow:
        return None
    kind = head.group(1)
    types = _LOGGED_TYPE.findall(inputs)[:1] + _LOGGED_TYPE.findall(outputs)
    return Layer(name, kind, _precision(kind, types), set(_FUSED.split(name)))


def _precision(kind: str, types: Sequence[str]) -> str:
    """The first that is known: of the first input, else of the weights, else of the outputs.

    A layer computes in the type of its first input: weights may be kept in a narrower one than they are used.
    """
    if OPAQUE.search(kind):
        return UNKNOWN
    known = [precision for precision in map(precision_of, types) if precision != UNKNOWN]
    return known[0] if known else UNKNOWN
