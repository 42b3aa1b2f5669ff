"""Small model files for tests, written piece by piece so that each says one thing."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping, Sequence
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


def with_metadata(
    path: Path,
    *,
    mean: Sequence[float] | None = None,
    std: Sequence[float] = (),
    labels: Mapping[str, tuple[str, str]] | None = None,
    method: int = zipfile.ZIP_DEFLATED,
    content: bytes | None = None,
) -> Path:
    """Add metadata to a .tflite as tflite-support writes them.

    Args:
        path: of the file, which is changed.
        mean, std: of the NormalizationOptions of the first input; None: no such options.
        labels: locale and text of the label files of the first output, by name.
        method: of the archive at the end.
        content: written in place of the metadata's FlatBuffer.
    """
    builder = flatbuffers.Builder(0)

    def vector(items: Sequence[Any], prepend: Any) -> int:
        builder.StartVector(4, len(items), 4)
        for item in reversed(items):
            prepend(item)
        return int(builder.EndVector())

    def table(fields: Mapping[int, int], **numbers: int) -> int:
        """Fields by their place; `b2=1` is a number of 8 bits."""
        builder.StartObject(10)
        for place, offset in fields.items():
            builder.PrependUOffsetTRelativeSlot(place, offset, 0)
        for name, number in numbers.items():
            builder.PrependUint8Slot(int(name[1:]), number, 0)
        return int(builder.EndObject())

    def tables(*items: int) -> int:
        return vector(items, builder.PrependUOffsetTRelative)

    files = {
        name: (builder.CreateString(name), builder.CreateString(locale))
        for name, (locale, _) in (labels or {}).items()
    }
    named = tables(*(table({0: name, 3: locale}, b2=2) for name, locale in files.values()))
    taken, given = table({}), table({6: named})
    if mean is not None:
        numbers = {0: vector(mean, builder.PrependFloat32), 1: vector(std, builder.PrependFloat32)}
        taken = table({4: tables(table({1: table(numbers)}, b0=1))})
    graph = table({2: tables(taken), 3: tables(given)})
    builder.Finish(table({3: tables(graph)}), b"M001")

    model = schema.ModelT.InitFromObj(schema.Model.GetRootAs(path.read_bytes(), 0))
    entry, buffer = schema.MetadataT(), schema.BufferT()
    entry.name, entry.buffer = "TFLITE_METADATA", len(model.buffers)
    buffer.data = np.frombuffer(bytes(builder.Output()) if content is None else content, np.uint8)
    model.metadata = [entry]
    model.buffers.append(buffer)
    packed = flatbuffers.Builder(1024)
    packed.Finish(model.Pack(packed), b"TFL3")
    path.write_bytes(bytes(packed.Output()))
    with zipfile.ZipFile(path, "a", method) as archive:
        for name, (_, text) in (labels or {}).items():
            archive.writestr(name, text)
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
