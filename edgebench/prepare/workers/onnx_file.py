"""Facts of an .onnx file, from its protobuf and ONNX's own shape inference: no runtime is loaded."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from edgebench.files import reason, require_regular
from edgebench.prepare.workers.onnx_graph import correct, tensors_of
from edgebench.prepare.workers.tflite_file import Malformed, Tally
from edgebench.records.model import Shape, TensorFacts

_NAME = 200
MOST_BYTES = 2**31 - 1  # of one protobuf message, which holds all weights of a prepared file
_LARGE = 1024  # numbers in a constant from which shape inference is spared it
# Work that shapes do not tell: recurrent cells, other graphs, equations, and what a runtime has fused.
_HIDDEN = {
    "LSTM", "GRU", "RNN", "If", "Loop", "Scan", "Einsum", "Attention", "MultiHeadAttention", "DeformConv",
    "GroupQueryAttention", "FusedConv", "FusedMatMul", "FusedGemm", "NhwcConv", "QGemm", "MatMulNBits",
}  # fmt: skip
_COUNTED = {
    "Conv", "ConvTranspose", "Gemm", "MatMul", "QLinearConv", "QLinearMatMul", "ConvInteger", "MatMulInteger",
}  # fmt: skip
_WEIGHTS_AT = {"QLinearConv": 3, "QLinearMatMul": 3}  # else 1
# What stands between a constant and its use without changing what it is.
_PASSED = {
    "Cast", "DequantizeLinear", "QuantizeLinear", "Identity", "Transpose", "Reshape", "Squeeze", "Unsqueeze",
}  # fmt: skip
# ONNX Runtime's own quantised operations: the standard one of the same shapes, and where its inputs are.
_PLAIN = {
    "QLinearAdd": ("Add", (0, 3)), "QLinearMul": ("Mul", (0, 3)), "QLinearSoftmax": ("Identity", (0,)),
    "QLinearSigmoid": ("Identity", (0,)), "QLinearLeakyRelu": ("Identity", (0,)),
    "QLinearGlobalAveragePool": ("GlobalAveragePool", (0,)), "QLinearAveragePool": ("AveragePool", (0,)),
}  # fmt: skip


def read(path: Path) -> dict[str, Any]:
    """The fields of `ModelFacts`; Malformed for another file or one that contradicts itself."""
    import onnx

    try:
        model = onnx.load(path, load_external_data=False)
    except (MemoryError, OSError):
        raise
    except Exception as error:  # protobuf's DecodeError, whose module has no types
        raise Malformed("it is no ONNX protobuf, or damaged") from error
    if not model.graph.node and not model.graph.output:
        raise Malformed("it holds no graph")
    try:
        correct(model)
        external = _external_files(model, path)
        return {**_read(model), "external_files": external}
    except Malformed:
        raise
    except (TypeError, ValueError, AttributeError) as error:  # protobuf gives text that is none as bytes
        raise Malformed(f"its protobuf is damaged ({error})") from error


def _read(model: Any) -> dict[str, Any]:
    graph = model.graph
    constants = _constants(graph)
    inputs = [
        _with_quantisation(graph, _facts(value)) for value in graph.input if value.name not in constants
    ]
    outputs = [_facts(value) for value in graph.output]
    shapes, dtypes = _inferred(model, constants)
    makers = {name: node for node in graph.node for name in node.output}
    tally = Tally()
    for node in graph.node:
        _tally(node, constants, shapes, dtypes, makers, tally)
    for inner in _inner_nodes(graph):
        tally.operations[_operation(inner)] += 1
    stored: Counter[str] = Counter()
    for name in _weights(graph, constants):
        dtype, shape = constants[name]
        stored[dtype] += prod(length or 0 for length in shape)
    return {**tally.facts(stored, inputs, outputs), "states": _states(graph.node, inputs, outputs)}


# Operations that take a quantised tensor, its scale and its zero point: the places of the tensors.
_QUANTISED_AT = {
    "QuantizeLinear": (0,), "DequantizeLinear": (0,), "QLinearConv": (0,), "QLinearMatMul": (0, 3),
    "QLinearAdd": (0, 3), "QLinearMul": (0, 3), "QGemm": (0,), "QLinearAveragePool": (0,),
    "QLinearGlobalAveragePool": (0,),
}  # fmt: skip
_MOVING = {"Identity", "Transpose", "Reshape", "Flatten", "Squeeze", "Unsqueeze", "MaxPool"}


def _with_quantisation(graph: Any, tensor: TensorFacts) -> TensorFacts:
    """An input with the scale and zero point of its first quantisation, where they are constants.

    Those of real numbers that are quantised inside are given as of uint8.
    """
    from onnx import numpy_helper

    numbers, names = dict(_tensors(graph)), {tensor.name}
    for node in graph.node:
        if node.op_type in _MOVING and names.intersection(node.input[:1]):
            names.update(node.output)
        for place in _QUANTISED_AT.get(node.op_type, ()):
            if not names.intersection(node.input[place : place + 1]):
                continue
            found = [numbers.get(name) for name in node.input[place + 1 : place + 3] if name]
            constants = [value for value in found if value is not None and prod(value.dims) == 1]
            if not found or len(constants) < len(found):
                return tensor
            scale, *given = (numpy_helper.to_array(value).flat[0] for value in constants)
            zero_point = given[0] if given else np.zeros(1, np.uint8)[0]  # the default of the standard
            shift = 128 if zero_point.dtype == "int8" and tensor.dtype not in ("int8", "uint8") else 0
            if zero_point.dtype not in ("int8", "uint8") or not 0 < scale < np.inf:
                return tensor
            return replace(tensor, scale=float(scale), zero_point=int(zero_point) + shift)
    return tensor


_RECURRENT = ("LSTM", "GRU", "RNN")  # whose inputs 5 and 6 are what an earlier call gave out
_STATE_WORDS = {"state", "states", "hidden", "cell", "cache", "carry", "memory", "h", "c"}
_OF_A_TIME = {
    "in", "out", "input", "output", "init", "initial", "prev", "previous", "past", "last", "next", "new",
    "final", "present", "current", "n",
}  # fmt: skip


def _states(nodes: Sequence[Any], inputs: Sequence[TensorFacts], outputs: Sequence[TensorFacts]) -> list[str]:
    """Names of inputs that an earlier call's output is meant for.

    They begin a recurrent operation, or have the type of an output that is called alike (`h0` and `hn`,
    `state` and `stateN`, `cache_in` and `cache_out`).
    """
    begins = {name for node in nodes if node.op_type in _RECURRENT for name in node.input[5:7]}
    return [
        tensor.name
        for tensor in inputs
        if tensor.name in begins
        or any(
            tensor.dtype == output.dtype
            and _STATE_WORDS & set(_plain(tensor.name))
            and _plain(tensor.name) == _plain(output.name)
            for output in outputs
        )
    ]


def _plain(name: str) -> list[str]:
    """The words of a name without its number and what tells before from after: `h0` and `hn` are `h`."""
    words = (word.lower() for word in re.findall("[A-Z]?[a-z]+|[A-Z]+", name))
    shortened = (word[0] if word in ("hn", "hx", "cn", "cx") else word for word in words)
    return [word for word in shortened if word not in _OF_A_TIME]


def external_file(model: Path, name: str) -> Path:
    """A file that an .onnx names for its weights; Malformed where it is not below the folder of the model."""
    folder = model.absolute().parent
    file = folder / name
    if Path(name).is_absolute() or not file.resolve().is_relative_to(folder.resolve()):
        raise Malformed(f"its weights are in {name[:_NAME]!r}, which is outside of its folder")
    try:
        require_regular(file, MOST_BYTES)
    except OSError as error:
        raise Malformed(f"its weights in {name[:_NAME]!r} cannot be read: {reason(error)}") from error
    return file


def _external_files(model: Any, path: Path) -> list[str]:
    """Names of the files with weights, after a check of the place, the size and the bytes of every tensor.

    Small tensors are read, as shapes may depend on their numbers.
    """
    from onnx import TensorProto, external_data_helper

    names: set[str] = set()
    total = 0
    for tensor in tensors_of(model):
        if tensor.data_location != TensorProto.EXTERNAL:
            continue
        entries = {entry.key: entry.value for entry in tensor.external_data}
        name = entries.get("location", "")
        size = external_file(path, name).stat().st_size
        offset = int(entries.get("offset", 0))
        length = int(entries.get("length", size - offset))
        itemsize = _dtype(tensor.data_type)[1]
        if not 0 <= offset <= offset + length <= size or (
            itemsize and prod(tensor.dims) * itemsize != length
        ):
            raise Malformed(
                f"a constant of shape {list(tensor.dims)} is {length} bytes from {offset} on in {name!r}, "
                f"which has {size}"
            )
        names.add(name)
        total += length
        if total > MOST_BYTES:
            raise Malformed(f"its weights have more than {MOST_BYTES >> 20} MiB")
        if prod(tensor.dims) <= _LARGE:
            external_data_helper.load_external_data_for_tensor(tensor, str(path.absolute().parent))
    return sorted(names)


def _constants(graph: Any) -> dict[str, tuple[str, Shape]]:
    """Dtype and shape of every initialiser and of the constant nodes that hold a tensor, by name."""
    constants_by_name: dict[str, tuple[str, Shape]] = {}
    for name, tensor in _tensors(graph):
        dtype, itemsize = _dtype(tensor.data_type)
        shape = tuple(int(length) for length in tensor.dims)
        stored_bytes = len(tensor.raw_data)
        if any(length < 0 for length in shape) or (
            stored_bytes and itemsize and prod(shape) * itemsize != stored_bytes
        ):
            raise Malformed(f"a constant of shape {list(shape)} has {stored_bytes} bytes of numbers")
        constants_by_name[name] = (dtype, shape)
    return constants_by_name


def _tensors(graph: Any) -> Iterator[tuple[str, Any]]:
    for tensor in graph.initializer:
        yield tensor.name, tensor
    for node in graph.node:
        if node.op_type == "Constant" and node.output:
            for attribute in node.attribute:
                if attribute.name == "value":
                    yield node.output[0], attribute.t


def _inferred(
    model: Any, constants: dict[str, tuple[str, Shape]]
) -> tuple[dict[str, Shape | None], dict[str, str]]:
    """Shapes and dtypes by name; leaves the large initialisers of `model` without their numbers.

    An open batch is taken as 1. ONNX's inference copies the model several times over, so it gets the
    large constants as further inputs.
    """
    import onnx

    graph = model.graph
    for value in graph.input:
        dims = value.type.tensor_type.shape.dim
        if dims and not dims[0].HasField("dim_value"):
            dims[0].dim_value = 1
    declared = {value.name for value in graph.input}
    small = []
    for tensor in graph.initializer:
        if prod(tensor.dims) <= _LARGE:
            small.append(tensor)
        elif tensor.name not in declared:
            graph.input.append(onnx.helper.make_tensor_value_info(tensor.name, tensor.data_type, tensor.dims))
    kept = [onnx.TensorProto.FromString(tensor.SerializeToString()) for tensor in small]
    del graph.initializer[:]
    graph.initializer.extend(kept)
    del graph.value_info[:]  # what the file says of its inside may be of another batch
    for value in graph.output:
        value.type.tensor_type.ClearField("shape")
    plain = onnx.ModelProto()
    plain.CopyFrom(model)
    for node in plain.graph.node:
        if node.domain == "com.microsoft" and node.op_type in _PLAIN:
            node.op_type, places = _PLAIN[node.op_type]
            node.domain = ""
            taken = [node.input[place] for place in places if place < len(node.input)]
            node.ClearField("input")
            node.input.extend(taken)
    try:
        inferred = onnx.shape_inference.infer_shapes(plain, data_prop=True).graph
    except Exception as error:  # of several kinds, for graphs that contradict themselves
        raise Malformed((str(error) or type(error).__name__).splitlines()[0]) from error
    shapes: dict[str, Shape | None] = {name: shape for name, (_, shape) in constants.items()}
    dtypes = {name: dtype for name, (dtype, _) in constants.items()}
    for value in [*inferred.input, *inferred.value_info, *inferred.output]:
        shapes.setdefault(value.name, _shape(value))
        dtypes.setdefault(value.name, _dtype(value.type.tensor_type.elem_type)[0])
    return shapes, dtypes


def _tally(
    node: Any,
    constants: dict[str, tuple[str, Shape]],
    shapes: dict[str, Shape | None],
    dtypes: dict[str, str],
    makers: dict[str, Any],
    tally: Tally,
) -> None:
    """Shapes as in ONNX's operator specification: a convolution's weights are [out, in / group, ...]."""
    name = _operation(node)
    tally.operations[name] += 1
    if name in _HIDDEN or node.domain not in ("", "ai.onnx", "com.microsoft"):
        tally.hidden(name, "does not tell its work")
    if name not in _COUNTED:
        return
    place = _WEIGHTS_AT.get(name, 1)
    if len(node.input) <= place or not node.output:
        raise Malformed(f"{name} lacks inputs or outputs")
    left, weights = shapes.get(node.input[0]), shapes.get(node.input[place])
    made = shapes.get(node.output[0])
    if name == "ConvTranspose":
        factors = [left, None if weights is None else weights[1:]]
    elif "Conv" in name:
        factors = [made, None if weights is None else weights[1:]]
    else:
        factors = [made, None if not left else (left[0 if _transposed(node) else -1],)]
    known: list[Shape] = [(None,) if factor is None else factor for factor in factors]
    whole = name.startswith("QLinear") or name.endswith("Integer")
    taken = "int8" if whole else _computed(node.input[0], dtypes, makers)
    tally.product(name, known, _stored(node.input[place], constants, makers), taken)


def _transposed(node: Any) -> bool:
    return any(attribute.name == "transA" and attribute.i for attribute in node.attribute)


def _stored(name: str, constants: dict[str, tuple[str, Shape]], makers: dict[str, Any]) -> str | None:
    """The dtype in which a weight is used: of the file, or what it is quantised to; None: no constant."""
    quantised = None
    for _ in range(8):
        if name in constants:
            return quantised or constants[name][0]
        node = makers.get(name)
        if node is None or node.op_type not in _PASSED or not node.input:
            return None
        if node.op_type == "QuantizeLinear":
            quantised = "int8"
        name = node.input[0]
    return None


def _computed(name: str, dtypes: dict[str, str], makers: dict[str, Any]) -> str | None:
    """The dtype of an activation: int8 where it comes from there just before, as runtimes fuse it."""
    node = makers.get(name)
    if node is not None and node.op_type == "DequantizeLinear" and node.input:
        return dtypes.get(node.input[0])
    return dtypes.get(name)


def _weights(graph: Any, constants: dict[str, tuple[str, Shape]]) -> list[str]:
    """The constants that are weights or biases: no shapes, scales, zero points or single numbers."""
    scales: set[str] = set()
    quantised: set[str] = set()
    for node in graph.node:
        inputs = list(node.input)
        if node.op_type in ("QuantizeLinear", "DequantizeLinear"):
            scales.update(inputs[1:])
            quantised.update(inputs[:1])
        elif node.op_type.startswith("QLinear") or node.op_type.endswith("Integer"):
            at = _WEIGHTS_AT.get(node.op_type, 1)
            data = [*inputs[at : at + 1], *(inputs[8:9] if node.op_type == "QLinearConv" else [])]
            if node.op_type in _COUNTED:
                quantised.update(data)
            scales.update(set(inputs) - set(data))
    return [
        name
        for name, (dtype, shape) in constants.items()
        if shape and name not in scales and (dtype.startswith(("float", "bfloat")) or name in quantised)
    ]


def _inner_nodes(graph: Any) -> Iterator[Any]:
    """The nodes of the graphs inside `If`, `Loop` and the like, however deep."""
    waiting = list(graph.node)
    while waiting:
        for attribute in waiting.pop().attribute:
            for inner in [attribute.g, *attribute.graphs] if attribute.HasField("g") else attribute.graphs:
                yield from inner.node
                waiting.extend(inner.node)


def _operation(node: Any) -> str:
    domain = "" if node.domain in ("", "ai.onnx", "com.microsoft") else f"{node.domain}:"
    return f"{domain}{node.op_type}"[:_NAME]


def _facts(value: Any) -> TensorFacts:
    dtype, _ = _dtype(value.type.tensor_type.elem_type)
    if not isinstance(value.name, str):
        raise Malformed("an input or output has a name that is no text")
    return TensorFacts(value.name[:_NAME], dtype, _shape(value) or ())


def _shape(value: Any) -> Shape | None:
    tensor = value.type.tensor_type
    if not tensor.HasField("shape"):
        return None
    return tuple(int(dim.dim_value) if dim.dim_value > 0 else None for dim in tensor.shape.dim)


def _dtype(number: int) -> tuple[str, int]:
    """The name as numpy has it, and the bytes of one number (0: not whole bytes, or unknown)."""
    from onnx import TensorProto, helper

    try:
        name = TensorProto.DataType.Name(number).lower()
    except ValueError:
        return f"type {number}", 0
    name = {"float": "float32", "double": "float64", "undefined": "unknown"}.get(name, name)
    if name in ("unknown", "string") or "int4" in name or "int2" in name or "float4" in name:
        return name, 0
    return name, int(helper.tensor_dtype_to_np_dtype(number).itemsize)
