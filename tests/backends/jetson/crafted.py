"""A small network as ONNX, for the stand-in: a convolution, an activation, a mean, and a softmax."""

from __future__ import annotations

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

SIDE, CLASSES = 16, 4


def network(batch: int = 2, pairs: bool = False, zero: int = 0, bias: str = "float32") -> bytes:
    """The file: float32, or with pairs of quantise and dequantise.

    Args:
        batch: of the input, [batch, 3, 16, 16].
        pairs: whether input and weights are quantised and dequantised.
        zero: their zero point.
        bias: float32, or int32: dequantised too.
    """
    random = np.random.default_rng(3)
    kernel = random.normal(0, 0.5, (CLASSES, 3, 3, 3)).astype(np.float32)
    offset = random.normal(0, 0.1, CLASSES).astype(np.float32)
    stored = {"offset": offset, "least": np.float32(0), "most": np.float32(6)}
    nodes, data, weights = [], "image", "kernel"
    if pairs:
        stored |= {"input_scale": np.float32(1 / 127), "zero": np.int8(zero)}
        scale = float(np.abs(kernel).max() / 127)
        stored |= {"kernel_scale": np.float32(scale), "kernel": np.rint(kernel / scale).astype(np.int8)}
        nodes.append(helper.make_node("QuantizeLinear", ["image", "input_scale", "zero"], ["steps"], "q"))
        nodes.append(
            helper.make_node("DequantizeLinear", ["steps", "input_scale", "zero"], ["rounded"], "dq")
        )
        nodes.append(
            helper.make_node(
                "DequantizeLinear", ["kernel", "kernel_scale", "zero"], ["rounded_kernel"], "dqk"
            )
        )
        data, weights = "rounded", "rounded_kernel"
    else:
        stored["kernel"] = kernel
    if bias == "int32":
        stored |= {"offset": np.rint(offset * 1000).astype(np.int32)}
        stored |= {"offset_scale": np.float32(1e-3), "offset_zero": np.int32(0)}
        pair = ["offset", "offset_scale", "offset_zero"]
        nodes.append(helper.make_node("DequantizeLinear", pair, ["sum"], "dqb"))
    nodes += [
        helper.make_node(
            "Conv",
            [data, weights, "sum" if bias == "int32" else "offset"],
            ["conv"],
            "conv",
            pads=[1, 1, 1, 1],
        ),
        helper.make_node("Clip", ["conv", "least", "most"], ["clipped"], "relu6"),
        helper.make_node("GlobalAveragePool", ["clipped"], ["mean"], "pool"),
        helper.make_node("Flatten", ["mean"], ["logits"], "flatten"),
        helper.make_node("Softmax", ["logits"], ["scores"], "softmax", axis=1),
    ]
    graph = helper.make_graph(
        nodes,
        "crafted",
        [helper.make_tensor_value_info("image", TensorProto.FLOAT, [batch, 3, SIDE, SIDE])],
        [helper.make_tensor_value_info("scores", TensorProto.FLOAT, [batch, CLASSES])],
        [numpy_helper.from_array(np.asarray(array), name) for name, array in stored.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=7)
    onnx.checker.check_model(model)
    return bytes(model.SerializeToString())


def half(data: bytes) -> bytes:
    """The same in half precision inside."""
    model = onnx.load_from_string(data)
    graph = model.graph
    for tensor in graph.initializer:
        if tensor.data_type == TensorProto.FLOAT:
            tensor.CopyFrom(
                numpy_helper.from_array(numpy_helper.to_array(tensor).astype(np.float16), tensor.name)
            )
    entry, last = graph.node[0], graph.node[-1]
    entry.input[0], last.output[0] = "half_image", "half_scores"
    nodes = [
        helper.make_node("Cast", ["image"], ["half_image"], "cast_in", to=TensorProto.FLOAT16),
        *graph.node,
        helper.make_node("Cast", ["half_scores"], ["scores"], "cast_out", to=TensorProto.FLOAT),
    ]
    del graph.node[:]
    graph.node.extend(nodes)
    return bytes(model.SerializeToString())
