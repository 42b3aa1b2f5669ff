"""What computes behind the stand-in for TensorRT: reads ONNX files, lowers and runs them (ONNX Runtime).

Imported where `onnx` is installed; on a board's Python without it, the stand-in starts it as a program of the
tests' own Python, which takes pickled (name, arguments) on stdin and answers on stdout.
"""

from __future__ import annotations

import functools
import pickle
import sys
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

FLOAT, HALF, INT8 = "Float", "Half", "Int8"
WEIGHTED = ("Conv", "Gemm", "MatMul")
PAIR = ("QuantizeLinear", "DequantizeLinear")
KINDS = {
    "Conv": "CaskConvolution",
    "Gemm": "CublasConvolution",
    "MatMul": "MatrixMultiply",
    "GlobalAveragePool": "CudaPooling",
    "ReduceMean": "Reduce",
    "Softmax": "CudaSoftMax",
    "Cast": "Reformat",
    "QuantizeLinear": "Scale",
    "Squeeze": "NoOp",
    "Reshape": "NoOp",
    "Flatten": "NoOp",
    "Transpose": "Shuffle",
}
ASYMMETRIC = (
    "TensorRT only supports symmetric quantization. The zero point for the QuantizeLinear/DequantizeLinear "
    "operator must be all zeros."
)


class Graph:
    """A model: its nodes, its weights as arrays by name, and what is said of it."""

    def __init__(self, data: bytes) -> None:
        self.model = onnx.load_from_string(data)
        self.nodes = list(self.model.graph.node)
        self.weights = {each.name: numpy_helper.to_array(each) for each in self.model.graph.initializer}
        self.producers = {node.output[0]: node for node in self.nodes}
        self.entry = self.model.graph.input[0].name
        self.is_half = any(array.dtype == np.float16 for array in self.weights.values())
        self.has_pairs = any(node.op_type in PAIR for node in self.nodes)

    def written(self, nodes: Any, weights: Any) -> bytes:
        """The same with other nodes and weights."""
        model = onnx.ModelProto()
        model.CopyFrom(self.model)
        del model.graph.node[:], model.graph.initializer[:], model.graph.value_info[:]
        model.graph.node.extend(nodes)
        model.graph.initializer.extend(
            numpy_helper.from_array(np.asarray(array), name) for name, array in weights.items()
        )
        return bytes(model.SerializeToString())


def read(data: bytes, takes_uint8: bool) -> dict[str, Any]:
    """What a parser finds; `problem` is (node's index, name, operation, text) of what TensorRT's refuses."""
    try:
        graph = Graph(data)
    except Exception:  # protobuf's own DecodeError, and whatever is missing from a graph
        return {"problem": (-1, "", "", "Failed to parse the ONNX model.")}
    for index, node in enumerate(graph.nodes):
        if problem := _problem(node, graph.weights, takes_uint8):
            return {"problem": (index, node.name, node.op_type, problem)}
    return {
        "problem": None,
        "inputs": [_value(value) for value in graph.model.graph.input],
        "outputs": [_value(value) for value in graph.model.graph.output],
        "weights": list(graph.weights),
        "nodes": [(node.op_type, _name(node), list(node.input), list(node.output)) for node in graph.nodes],
        "is_half": graph.is_half,
        "has_pairs": graph.has_pairs,
    }


def _value(value: Any) -> tuple[str, str, list[int | None]]:
    tensor = value.type.tensor_type
    shape = [each.dim_value if each.HasField("dim_value") else None for each in tensor.shape.dim]
    return value.name, str(helper.tensor_dtype_to_np_dtype(tensor.elem_type)), shape


def _problem(node: Any, weights: Any, takes_uint8: bool) -> str | None:
    """Of pairs: onnx-tensorrt, QuantDequantLinearHelper and IDequantizeLayer, which takes no INT32."""
    if not onnx.defs.has(node.op_type):
        return f"No importer registered for op: {node.op_type}. Attempting to import as plugin."
    if node.op_type not in PAIR:
        return None
    stored, zero = weights.get(node.input[0]), weights.get("".join(node.input[2:]))
    if node.op_type == "DequantizeLinear" and stored is not None and stored.dtype == np.int32:
        return f"{node.name}: only activation types allowed as input to this layer."
    if np.any(zero):
        return ASYMMETRIC
    is_uint8 = zero is not None and zero.dtype == np.uint8
    return "Found invalid input type of UINT8" if is_uint8 and not takes_uint8 else None


def plan(
    data: bytes, wants_half: bool, wants_int8: bool, refused: str, floats: list[str]
) -> tuple[list[dict[str, Any]], bytes]:
    """The layers of an engine and the file that computes; for a calibrator, `quantised` makes that file.

    Args:
        data: of the network.
        wants_half, wants_int8: which precisions the builder may take.
        refused: "all", or a part of the names of layers that stay float all the same.
        floats: names of further ones.
    """
    graph = Graph(data)
    if refused == "all":
        return _layers(graph, lambda node: FLOAT), _in_float(graph)

    def precision(node: Any) -> str:
        if (refused and refused in node.name) or _name(node) in floats or node.op_type == "Softmax":
            return FLOAT
        reads_pairs = graph.has_pairs and all(
            name in graph.producers and graph.producers[name].op_type == "DequantizeLinear"
            for name in node.input[:2]
        )
        if node.op_type in WEIGHTED and (wants_int8 or reads_pairs):
            return INT8
        return HALF if wants_half or graph.is_half else FLOAT

    is_lowered = wants_half and not (wants_int8 or graph.is_half or graph.has_pairs)
    return _layers(graph, precision), _half(graph) if is_lowered else data


def _name(node: Any) -> str:
    return node.name or f"{node.op_type}_{node.output[0]}"


def _layers(graph: Graph, precision_of: Any) -> list[dict[str, Any]]:
    """The layers, activations fused into what comes before them."""
    layers: list[dict[str, Any]] = []
    by_output: dict[str, dict[str, Any]] = {}
    for node in graph.nodes:
        before = by_output.get(node.input[0])
        name = _name(node)
        if node.op_type == "DequantizeLinear" or (node.op_type == "QuantizeLinear" and before):
            continue
        if node.op_type in ("Clip", "Relu") and before is not None and before["op"] == "Conv":
            before.update(name=f"{before['name']} + {name}", writes=node.output[0])
            by_output[node.output[0]] = before
            continue
        reads = [_behind_pairs(graph, each, by_output) for each in node.input if each not in graph.weights]
        layer = {
            "name": name,
            "kind": KINDS.get(node.op_type, "PointWiseV2"),
            "op": node.op_type,
            "precision": precision_of(node),
            "reads": [each for each in reads if each not in graph.weights],
            "writes": node.output[0],
        }
        layers.append(layer)
        by_output[node.output[0]] = layer
    first = layers[0]
    if first["precision"] != FLOAT and first["kind"] not in ("Reformat", "Scale"):
        # The copy that TensorRT puts between the network's float input and the first layer.
        inside = f"Reformatted Input Tensor 0 to {first['name']}"
        copy = {
            "name": f"Reformatting CopyNode for Input Tensor 0 to {first['name']}",
            "kind": "Reformat",
            "op": "Reformat",
            "precision": first["precision"],
            "reads": [graph.entry],
            "writes": inside,
        }
        first["reads"] = [inside if read == graph.entry else read for read in first["reads"]]
        layers.insert(0, copy)
    return layers


def _behind_pairs(graph: Graph, name: str, written: Any = ()) -> str:
    """The tensor that was quantised and dequantised into this one, back to what a layer has written."""
    while name in graph.producers and name not in written and graph.producers[name].op_type in PAIR:
        name = graph.producers[name].input[0]
    return name


def _half(graph: Graph) -> bytes:
    """With weights and activations in float16; inputs, outputs and the softmax stay float32."""
    weights = {
        name: array.astype(np.float16) if array.dtype == np.float32 else array
        for name, array in graph.weights.items()
    }
    outputs = {value.name for value in graph.model.graph.output}
    renamed = {graph.entry: "half:entry"}
    nodes = [helper.make_node("Cast", [graph.entry], ["half:entry"], to=TensorProto.FLOAT16)]
    for node in graph.nodes:
        node.input[:] = [renamed.get(name, name) for name in node.input]
        nodes.append(node)
        if node.op_type == "Softmax":
            nodes.insert(-1, helper.make_node("Cast", node.input, ["float:logits"], to=TensorProto.FLOAT))
            node.input[:] = ["float:logits"]
        elif node.output[0] in outputs:
            name = node.output[0]
            node.output[0] = f"half:{name}"
            nodes.append(helper.make_node("Cast", node.output, [name], to=TensorProto.FLOAT))
    return graph.written(nodes, weights)


def _in_float(graph: Graph) -> bytes:
    """As it computes where no precision is honoured: without pairs around activations, all in float32."""
    for node in graph.nodes:
        rounds = node.op_type in PAIR and _behind_pairs(graph, node.output[0]) not in graph.weights
        if rounds or (node.op_type == "Cast" and node.attribute[0].i == TensorProto.FLOAT16):
            node.op_type = "Identity"
            del node.input[1:], node.attribute[:]
    weights = {
        name: array.astype(np.float32) if array.dtype == np.float16 else array
        for name, array in graph.weights.items()
    }
    return graph.written(graph.nodes, weights)


def ranges(data: bytes, batch: bytes) -> dict[str, float]:
    """The largest magnitude of what each convolution and product reads, for a batch of the only input."""
    graph = Graph(data)
    names = sorted({node.input[0] for node in graph.nodes if node.op_type in WEIGHTED})
    watched = tuple(name for name in names if name != graph.entry)
    session = _session(data, watched)
    array = np.frombuffer(batch, np.float32).reshape(session.get_inputs()[0].shape)
    seen = dict(zip(watched, session.run(list(watched), {graph.entry: array}), strict=True))
    seen[graph.entry] = array
    return {name: float(np.abs(seen[name]).max()) for name in names}


def quantised(data: bytes, largest: dict[str, float]) -> bytes:
    """The file with every convolution and product on int8 steps, by the ranges of calibration."""
    graph = Graph(data)
    weights, nodes = dict(graph.weights), []
    weights["zero"] = np.int8(0)
    weights |= {f"scale:{name}": np.float32(max(size, 1e-12) / 127) for name, size in largest.items()}
    for name in largest:
        nodes.append(helper.make_node(PAIR[0], [name, f"scale:{name}", "zero"], [f"q:{name}"]))
        nodes.append(helper.make_node(PAIR[1], [f"q:{name}", f"scale:{name}", "zero"], [f"dq:{name}"]))
    for node in graph.nodes:
        if node.op_type in WEIGHTED:
            node.input[0] = f"dq:{node.input[0]}"
            stored = graph.weights[node.input[1]]
            axes = tuple(range(1, stored.ndim)) if node.op_type == "Conv" else None
            scale = np.maximum(np.abs(stored).max(axis=axes, keepdims=True), 1e-12) / 127
            weights[node.input[1]] = (np.rint(stored / scale) * scale).astype(np.float32)
        nodes.append(node)
    return graph.written(_sorted(nodes, {*weights, graph.entry}), weights)


def _sorted(nodes: list[Any], known: set[str]) -> list[Any]:
    """In an order in which each node's inputs are known."""
    ordered = []
    while nodes:
        ready = [node for node in nodes if set(node.input) <= known]
        known |= {name for node in ready for name in node.output}
        ordered += ready
        nodes = [node for node in nodes if node not in ready]
    return ordered


@functools.cache
def _session(data: bytes, outputs: tuple[str, ...] = ()) -> Any:
    import onnxruntime

    model = onnx.load_from_string(data)
    model.graph.output.extend(onnx.ValueInfoProto(name=name) for name in outputs)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    # Rounding to half precision and back is what is wanted, not a detour to be optimised away.
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return onnxruntime.InferenceSession(model.SerializeToString(), options, ["CPUExecutionProvider"])


SESSIONS: list[Any] = []


def load(data: bytes) -> int:
    """What `run` takes for this file."""
    SESSIONS.append(_session(data))
    return len(SESSIONS) - 1


def run(session: int, inputs: dict[str, tuple[str, list[int], bytes]]) -> list[bytes]:
    """The outputs' bytes for inputs by name: dtype, shape and bytes."""
    fed = {
        name: np.frombuffer(content, dtype).reshape(shape) for name, (dtype, shape, content) in inputs.items()
    }
    return [result.tobytes() for result in SESSIONS[session].run(None, fed)]


def main() -> None:
    """Answer until stdin ends."""
    while True:
        try:
            name, arguments = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        pickle.dump(globals()[name](*arguments), sys.stdout.buffer, 4)
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
