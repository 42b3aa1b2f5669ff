"""One small network as the files that a board gets: fp32, at 16 bits, and with Q/DQ pairs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from onnx import NodeProto, TensorProto, helper

from tests.models.crafted import onnx_file

BATCH, SIDE, CHANNELS = 2, 6, 4
WEIGHTED = ("first", "second", "dense")
"""The names of the layers that compute with weights."""

_STEP = 1 / 32  # of each tensor's int8


def float_model(path: Path) -> Path:
    """The network in float32; its input is x [BATCH, 3, SIDE, SIDE]."""
    return _write(path, _nodes(), _weights())


def half_model(path: Path) -> Path:
    """The same at 16 bits, with float32 at both ends."""
    nodes = _nodes()
    nodes[0].input[0], nodes[-1].output[0] = "x16", "y16"
    nodes.insert(0, helper.make_node("Cast", ["x"], ["x16"], "to_half", to=TensorProto.FLOAT16))
    nodes.append(helper.make_node("Cast", ["y16"], ["y"], "to_float", to=TensorProto.FLOAT))
    return _write(path, nodes, {name: array.astype(np.float16) for name, array in _weights().items()})


def qdq_model(path: Path, leave_float: tuple[str, ...] = ()) -> Path:
    """The same with Q/DQ pairs before each layer with weights, but those in `leave_float`."""
    weights: dict[str, Any] = {"step": np.float32(_STEP), "zero": np.int8(0)}
    nodes: list[NodeProto] = []
    for node in _nodes():
        if node.name in WEIGHTED:
            stored = _weights()[node.input[1]]
            if node.name in leave_float:
                weights[node.input[1]] = stored
            else:
                nodes += _pair(node, weights, stored)
        nodes.append(node)
    return _write(path, nodes, weights)


def with_unknown_operation(path: Path) -> Path:
    """The network with an operation that nobody knows in the second place."""
    nodes = _nodes()
    nodes[1].op_type = "Mystery"
    return _write(path, nodes, _weights())


def write_calibration(path: Path, pictures: int) -> Path:
    """Pictures for the calibrator, seeded."""
    shape = (pictures, 3, SIDE, SIDE)
    np.save(path, np.random.default_rng(3).uniform(-1, 1, shape).astype(np.float32))
    return path


def companions(folder: Path, pictures: int = 5) -> dict[str, str]:
    """All companions of any precision, by name."""
    return {
        "half.onnx": str(half_model(folder / "half.onnx")),
        "float.onnx": str(float_model(folder / "float.onnx")),
        "calibration.npy": str(write_calibration(folder / "calibration.npy", pictures)),
    }


def _nodes() -> list[NodeProto]:
    return [
        helper.make_node("Conv", ["x", "w1"], ["a"], "first", pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["a"], ["b"], "relu"),
        helper.make_node("Conv", ["b", "w2"], ["c"], "second", group=CHANNELS),
        helper.make_node("GlobalAveragePool", ["c"], ["d"], "pool"),
        helper.make_node("Flatten", ["d"], ["e"], "flat"),
        helper.make_node("Gemm", ["e", "w3"], ["f"], "dense"),
        helper.make_node("Softmax", ["f"], ["y"], "softmax", axis=1),
    ]


def _weights() -> dict[str, Any]:
    generator = np.random.default_rng(1)
    shapes = {"w1": (CHANNELS, 3, 3, 3), "w2": (CHANNELS, 1, 3, 3), "w3": (CHANNELS, 3)}
    return {name: generator.uniform(-1, 1, shape).astype(np.float32) for name, shape in shapes.items()}


def _pair(node: NodeProto, weights: dict[str, Any], stored: Any) -> list[NodeProto]:
    data, kernel = node.input
    weights[f"{kernel}_int8"] = np.rint(stored / _STEP).clip(-127, 127).astype(np.int8)
    node.input[0], node.input[1] = f"{data}_back", f"{kernel}_back"
    return [
        helper.make_node("QuantizeLinear", [data, "step", "zero"], [f"{data}_q"], f"q_{data}"),
        helper.make_node("DequantizeLinear", [f"{data}_q", "step", "zero"], [f"{data}_back"], f"dq_{data}"),
        helper.make_node(
            "DequantizeLinear", [f"{kernel}_int8", "step", "zero"], [f"{kernel}_back"], f"dq_{kernel}"
        ),
    ]


def _write(path: Path, nodes: list[NodeProto], weights: dict[str, Any]) -> Path:
    return onnx_file(path, nodes, {"x": [BATCH, 3, SIDE, SIDE]}, {"y": [BATCH, 3]}, weights)
