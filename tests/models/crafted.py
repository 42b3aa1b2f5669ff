"""Small model files for tests, written piece by piece so that each says one thing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import flatbuffers  # type: ignore[import-untyped]
import numpy as np
import onnx
from ai_edge_litert import schema_py_generated as schema
from onnx import TensorProto, helper, numpy_helper

Codes = schema.BuiltinOperator
Types = schema.TensorType


@dataclass
class Lite:
    """A tensor of a .tflite: a constant where `stored`."""

    shape: Sequence[int]
    dtype: Any = Types.FLOAT32
    stored: bool = False
    signature: Sequence[int] | None = None
    scale: float | None = None
    nbytes: int | None = None  # in place of what the shape takes


def tflite(
    path: Path,
    tensors: Sequence[Lite],
    operators: Sequence[tuple[int | str, Sequence[int], Sequence[int]]],
    inputs: Sequence[int],
    outputs: Sequence[int],
) -> Path:
    """Write a .tflite of one graph; an operator is its code (or custom name), its inputs and its outputs."""
    widths = {Types.INT8: 1, Types.FLOAT16: 2}
    model, graph = schema.ModelT(), schema.SubGraphT()
    model.version, model.subgraphs, model.buffers, model.operatorCodes = 3, [graph], [schema.BufferT()], []
    graph.tensors, graph.operators = [], []
    graph.inputs, graph.outputs = list(inputs), list(outputs)
    for number, one in enumerate(tensors):
        tensor = schema.TensorT()
        tensor.name, tensor.shape, tensor.type, tensor.buffer = f"t{number}", list(one.shape), one.dtype, 0
        tensor.shapeSignature = None if one.signature is None else list(one.signature)
        if one.scale is not None:
            tensor.quantization = schema.QuantizationParametersT()
            tensor.quantization.scale, tensor.quantization.zeroPoint = [one.scale], [3]
        if one.stored:
            taken = int(np.prod(one.shape)) * widths.get(one.dtype, 4) if one.nbytes is None else one.nbytes
            buffer = schema.BufferT()
            buffer.data = np.zeros(taken, np.uint8)
            tensor.buffer = len(model.buffers)
            model.buffers.append(buffer)
        graph.tensors.append(tensor)
    for code, taken_from, gives in operators:
        kind, operator = schema.OperatorCodeT(), schema.OperatorT()
        kind.builtinCode = Codes.CUSTOM if isinstance(code, str) else code
        kind.deprecatedBuiltinCode = min(kind.builtinCode, 127)
        kind.customCode = code if isinstance(code, str) else None
        operator.opcodeIndex = len(model.operatorCodes)
        operator.inputs, operator.outputs = list(taken_from), list(gives)
        model.operatorCodes.append(kind)
        graph.operators.append(operator)
    builder = flatbuffers.Builder(1024)
    builder.Finish(model.Pack(builder), b"TFL3")
    path.write_bytes(bytes(builder.Output()))
    return path


def onnx_file(
    path: Path,
    nodes: Sequence[Any],
    inputs: dict[str, Sequence[int | str]],
    outputs: dict[str, Sequence[int | str]],
    constants: dict[str, Any] | None = None,
    *,
    dtype: int = TensorProto.FLOAT,
) -> Path:
    """Write an .onnx; axes given as text are open."""
    graph = helper.make_graph(
        list(nodes),
        "crafted",
        [helper.make_tensor_value_info(name, dtype, list(shape)) for name, shape in inputs.items()],
        [helper.make_tensor_value_info(name, dtype, list(shape)) for name, shape in outputs.items()],
        [numpy_helper.from_array(np.asarray(value), name) for name, value in (constants or {}).items()],
    )
    domains = {"", "com.microsoft"} | {node.domain for node in nodes}
    opsets = [helper.make_opsetid(domain, 1 if domain else 13) for domain in sorted(domains)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=8), path)
    return path
