"""OpenVINO IR for tests, made of small .onnx files by OpenVINO in a process of its own."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from onnx import helper

from tests.models.crafted import onnx_file

_CONVERT = """
import sys
sys.modules["openvino_telemetry"] = None
import openvino
model = openvino.Core().read_model(sys.argv[1])
openvino.save_model(model, sys.argv[2], compress_to_fp16=sys.argv[3] == "True")
"""


def ir_file(onnx: Path, path: Path, *, version: int = 11, half: bool = False) -> Path:
    """Write `path` (.xml) and its .bin; `half` stores weights as float16.

    OpenVINO writes version 11 alone; the same elements are version 10.
    """
    subprocess.run([sys.executable, "-c", _CONVERT, onnx, path, str(half)], check=True, timeout=120)
    path.write_text(path.read_text().replace('version="11"', f'version="{version}"', 1))
    return path


def two_inputs(path: Path) -> Path:
    """An .onnx of z (its 4 numbers are factors) and a [1, 3], times a matrix that is needed in order.

    Two of its outputs are in another order when they are sorted, one is the second half of a Split.
    """
    nodes = [
        helper.make_node("MatMul", ["a", "matrix"], ["product"]),
        helper.make_node("Mul", ["product", "z"], ["y"]),
        helper.make_node("Neg", ["y"], ["b"]),
        helper.make_node("Split", ["product"], ["first", "second"], axis=1),
    ]
    matrix = [[1.0, 2.0, 3.0, 4.0], [0.5, 0.25, 2.0, 1.0], [3.0, 1.0, 2.0, 0.5]]
    outputs: dict[str, Sequence[int | str]] = {"y": (1, 4), "second": (1, 2), "b": (1, 4)}
    constants = {"matrix": np.array(matrix, np.float32)}
    return onnx_file(path, nodes, {"z": (1, 4), "a": (1, 3)}, outputs, constants)


def picture(path: Path, side: int | str = 8, batch: int | str = 1) -> Path:
    """An .onnx of a picture [batch, 3, side, side] to three scores: its mean colours through a matrix."""
    nodes = [
        helper.make_node("GlobalAveragePool", ["camera"], ["pooled"]),
        helper.make_node("Flatten", ["pooled"], ["colours"]),
        helper.make_node("MatMul", ["colours", "matrix"], ["scores"]),
    ]
    constants = {"matrix": np.array([[2, -1, 0.1], [0.3, 1, -1], [-1, 0.7, 1]], np.float32)}
    return onnx_file(path, nodes, {"camera": (batch, 3, side, side)}, {"scores": (batch, 3)}, constants)
