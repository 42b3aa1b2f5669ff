"""What a build makes of a network: layers with a precision each, and a graph that computes in them.

Half precision is kept in float16 between operations; integers are quantised and dequantised around every
convolution and matrix product, by the ranges of calibration or as the file's own pairs have it.
"""

from typing import Dict

import numpy as np

from ._onnx_file import Graph, Node

FLOAT, HALF, INT8 = "Float", "Half", "Int8"
_WEIGHTED = ("Conv", "Gemm", "MatMul")
_KINDS = {
    "Conv": "CaskConvolution",
    "Gemm": "CublasConvolution",
    "MatMul": "MatrixMultiply",
    "GlobalAveragePool": "CudaPooling",
    "ReduceMean": "Reduce",
    "Softmax": "CudaSoftMax",
    "Clip": "PointWiseV2",
    "Relu": "PointWiseV2",
    "Cast": "Reformat",
    "QuantizeLinear": "Scale",
    "Squeeze": "NoOp",
    "Reshape": "NoOp",
    "Flatten": "NoOp",
    "Transpose": "Shuffle",
}


class Layer:
    """A layer of an engine: name, kind, its tensors, and the precision of what goes in and comes out."""

    def __init__(self, name, kind, op, precision, reads, writes):
        self.name = name
        self.kind = kind
        self.op = op
        self.precision = precision
        self.reads = reads
        self.writes = writes


def is_quantised(graph):
    """Whether a file has its own pairs of quantise and dequantise."""
    return any(node.op in ("QuantizeLinear", "DequantizeLinear") for node in graph.nodes)


def is_half(graph):
    """Whether a file has weights in half precision."""
    return any(array.dtype == np.float16 for array in graph.weights.values())


def layers_of(graph, precision_of):
    """The layers, activations fused into what comes before them; `precision_of(node)` is asked for each."""
    producers = {node.outputs[0]: node for node in graph.nodes}
    layers = []
    by_output: Dict[str, Layer] = {}
    for node in graph.nodes:
        if node.op == "DequantizeLinear" or (node.op == "QuantizeLinear" and node.inputs[0] in graph.weights):
            continue
        reads = [
            _behind_pairs(name, producers, by_output)
            for name in node.inputs
            if name and name not in graph.weights
        ]
        reads = [name for name in reads if name not in graph.weights]
        before = by_output.get(node.inputs[0])
        if node.op in ("Clip", "Relu") and before is not None and before.op == "Conv":
            before.name += " + " + _name(node)
            before.writes = node.outputs[0]
            by_output[node.outputs[0]] = before
            continue
        if node.op == "QuantizeLinear" and before is not None:
            continue  # fused into what writes the tensor
        kind = _KINDS.get(node.op, "PointWiseV2")
        layer = Layer(_name(node), kind, node.op, precision_of(node), reads, node.outputs[0])
        layers.append(layer)
        by_output[node.outputs[0]] = layer
    return _reformatted(graph, layers)


def _behind_pairs(name, producers, written=()):
    """The tensor that was quantised and dequantised into this one, back to what a layer has written."""
    while (
        name in producers
        and name not in written
        and producers[name].op in ("QuantizeLinear", "DequantizeLinear")
    ):
        name = producers[name].inputs[0]
    return name


def _name(node):
    return node.name or "{}_{}".format(node.op, node.outputs[0])


def _reformatted(graph, layers):
    """With the copies that TensorRT puts between the network's float input and the first layer."""
    entry = graph.inputs[0]
    if (
        not layers
        or entry.dtype != np.float32
        or layers[0].precision == FLOAT
        or layers[0].kind in ("Reformat", "Scale")
    ):
        return layers
    first = layers[0]
    name = "Reformatting CopyNode for Input Tensor 0 to " + first.name
    inside = "Reformatted Input Tensor 0 to " + first.name
    copy = Layer(name, "Reformat", "Reformat", first.precision, [entry.name], inside)
    first.reads = [inside if read == entry.name else read for read in first.reads]
    return [copy] + layers


def half(graph):
    """The graph with weights and activations in float16; inputs, outputs and the softmax stay float32."""
    weights = {
        name: array.astype(np.float16) if array.dtype == np.float32 else array
        for name, array in graph.weights.items()
    }
    nodes = [Node("Cast", "to half", [graph.inputs[0].name], ["half:" + graph.inputs[0].name], {"to": 10})]
    renamed = {graph.inputs[0].name: "half:" + graph.inputs[0].name}
    outputs = {value.name for value in graph.outputs}
    for node in graph.nodes:
        inputs = [renamed.get(name, name) for name in node.inputs]
        if node.op == "Softmax":
            nodes.append(Node("Cast", "to float", inputs[:1], ["float:" + node.name], {"to": 1}))
            nodes.append(Node(node.op, node.name, ["float:" + node.name], node.outputs, node.attributes))
        elif node.outputs[0] in outputs:
            nodes.append(Node(node.op, node.name, inputs, ["half:" + node.outputs[0]], node.attributes))
            nodes.append(Node("Cast", "to float", ["half:" + node.outputs[0]], node.outputs, {"to": 1}))
        else:
            nodes.append(Node(node.op, node.name, inputs, node.outputs, node.attributes))
    return Graph(nodes, weights, graph.inputs, graph.outputs, graph.opset, graph.ir_version)


def calibrated_tensors(graph):
    """The tensors whose ranges decide an int8 engine: what convolutions and products read."""
    return sorted({node.inputs[0] for node in graph.nodes if node.op in _WEIGHTED})


def quantised(graph, ranges):
    """The graph with every convolution and product on int8 steps, {tensor: largest magnitude}."""
    weights, nodes = dict(graph.weights), []
    for name, largest in ranges.items():
        weights["scale:" + name] = np.array(max(largest, 1e-12) / 127.0, np.float32)
    weights["zero"] = np.array(0, np.int8)
    done = set()
    for node in graph.nodes:
        inputs = list(node.inputs)
        if node.op in _WEIGHTED:
            name = inputs[0]
            if name not in done:
                done.add(name)
                scale = "scale:" + name
                nodes.append(Node("QuantizeLinear", "q:" + name, [name, scale, "zero"], ["q:" + name]))
                nodes.append(
                    Node("DequantizeLinear", "dq:" + name, ["q:" + name, scale, "zero"], ["dq:" + name])
                )
            inputs[0] = "dq:" + name
            if inputs[1] in graph.weights:
                weights[inputs[1]] = _on_steps(graph.weights[inputs[1]], 0 if node.op == "Conv" else None)
        nodes.append(Node(node.op, node.name, inputs, node.outputs, node.attributes))
    return Graph(nodes, weights, graph.inputs, graph.outputs, graph.opset, graph.ir_version)


def _on_steps(array, axis):
    """Weights rounded to 127 steps either way, an output channel at a time where there is an axis."""
    others = tuple(i for i in range(array.ndim) if i != axis) if axis is not None else None
    scale = np.maximum(np.abs(array).max(axis=others, keepdims=True), 1e-12) / 127.0
    return (np.rint(array / scale) * scale).astype(np.float32)


def in_float(graph):
    """The graph as it computes where no precision is honoured: without pairs, everything float32."""
    producers = {node.outputs[0]: node for node in graph.nodes}
    weights = {
        name: array.astype(np.float32) if array.dtype == np.float16 else array
        for name, array in graph.weights.items()
    }
    nodes = []
    for node in graph.nodes:
        if node.op in ("QuantizeLinear", "DequantizeLinear") and producers_from_data(node, producers, graph):
            nodes.append(Node("Identity", node.name, node.inputs[:1], node.outputs))
        elif node.op == "Cast" and node.attributes["to"] == 10:
            nodes.append(Node("Identity", node.name, node.inputs, node.outputs))
        else:
            nodes.append(node)
    return Graph(nodes, weights, graph.inputs, graph.outputs, graph.opset, graph.ir_version)


def producers_from_data(node, producers, graph):
    """Whether a pair rounds an activation; one on stored integers has to stay."""
    return _behind_pairs(node.outputs[0], producers) not in graph.weights
