"""Small .tflite files from TFLite's schema: with a state, and with outputs that kernels disagree on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import flatbuffers  # type: ignore[import-untyped]
import numpy as np
from ai_edge_litert import schema_py_generated as schema
from numpy.typing import NDArray

TYPES = {np.float32: "FLOAT32", np.int8: "INT8", np.int16: "INT16", np.int32: "INT32"}
CLASSES, MEMORY = 4, 3


class Graph:
    """One graph under construction; tensors are known by their number."""

    def __init__(self) -> None:
        self.model = schema.ModelT()
        self.model.version, self.model.operatorCodes = 3, []
        self.model.buffers = [schema.BufferT()]
        self.graph = schema.SubGraphT()
        self.graph.tensors, self.graph.operators = [], []
        self.model.subgraphs = [self.graph]

    def tensor(
        self,
        name: str,
        shape: tuple[int, ...],
        dtype: Any = np.float32,
        *,
        scale: float | None = None,
        values: NDArray[Any] | None = None,
        variable: bool = False,
    ) -> int:
        tensor = schema.TensorT()
        tensor.name, tensor.shape, tensor.type = name, list(shape), getattr(schema.TensorType, TYPES[dtype])
        tensor.isVariable, tensor.buffer = variable, 0
        if scale is not None:
            tensor.quantization = schema.QuantizationParametersT()
            tensor.quantization.scale, tensor.quantization.zeroPoint = [scale], [0]
        if values is not None:
            buffer = schema.BufferT()
            buffer.data = np.frombuffer(np.ascontiguousarray(values, dtype).tobytes(), np.uint8)
            tensor.buffer = len(self.model.buffers)
            self.model.buffers.append(buffer)
        self.graph.tensors.append(tensor)
        return len(self.graph.tensors) - 1

    def operator(self, name: str, inputs: list[int], outputs: list[int], options: Any = None) -> None:
        code, operator = schema.OperatorCodeT(), schema.OperatorT()
        code.builtinCode = getattr(schema.BuiltinOperator, name)
        code.deprecatedBuiltinCode, code.version = min(code.builtinCode, 127), 1
        self.model.operatorCodes.append(code)
        operator.opcodeIndex, operator.inputs, operator.outputs = (
            len(self.model.operatorCodes) - 1,
            inputs,
            outputs,
        )
        if options is not None:
            operator.builtinOptionsType = getattr(schema.BuiltinOptions, type(options).__name__[:-1])
            operator.builtinOptions = options
        self.graph.operators.append(operator)

    def write(self, path: Path, inputs: list[int], outputs: list[int]) -> Path:
        self.graph.inputs, self.graph.outputs = inputs, outputs
        builder = flatbuffers.Builder(1024)
        builder.Finish(self.model.Pack(builder), b"TFL3")
        path.write_bytes(bytes(builder.Output()))
        return path


def write_memory(path: Path, *, quantised: bool = False) -> Path:
    """A model [1, 4] to [1, 4] whose scores are the sum of its last 3 inputs: an SVDF with a variable tensor.

    Reset before an inference it gives its input. As int8, samples have a scale of 1/16 and scores one of 1/4.
    Negative sums become 0.
    """
    graph = Graph()
    real = not quantised
    kind, narrow, bias = (np.float32, np.float32, np.float32) if real else (np.int8, np.int16, np.int32)
    scale = (lambda value: None) if real else (lambda value: value)
    taken = graph.tensor("samples", (1, CLASSES), kind, scale=scale(1 / 16))
    features = graph.tensor("features", (CLASSES, CLASSES), kind, scale=scale(1.0), values=np.eye(CLASSES))
    times = graph.tensor(
        "times", (CLASSES, MEMORY), narrow, scale=scale(1.0), values=np.ones((CLASSES, MEMORY))
    )
    biases = graph.tensor("biases", (CLASSES,), bias, scale=scale(1 / 256), values=np.zeros(CLASSES))
    state = graph.tensor("state", (1, CLASSES * MEMORY), narrow, scale=scale(1 / 256), variable=True)
    scores = graph.tensor("scores", (1, CLASSES), kind, scale=scale(1 / 4))
    options = schema.SVDFOptionsT()
    options.rank, options.fusedActivationFunction = (
        1,
        schema.ActivationFunctionType.RELU,
    )  # int8 takes no other
    graph.operator("SVDF", [taken, features, times, biases, state], [scores], options)
    return graph.write(path, [taken], [scores])


def write_detector(path: Path, candidates: int = 64) -> Path:
    """int8 samples [1, 8] to the 10 highest of 64 scores and where they are, as detectors give them.

    A score is half a sum. LiteRT's kernels round halves differently: such a score differs by a step, and two
    detections change places.
    """
    graph = Graph()
    taken = graph.tensor("samples", (1, 8), np.int8, scale=1.0)
    weights = np.random.default_rng(7).integers(-3, 4, (candidates, 8))
    dense = graph.tensor("weights", weights.shape, np.int8, scale=0.5, values=weights)
    biases = graph.tensor("biases", (candidates,), np.int32, scale=0.5, values=np.zeros(candidates))
    scores = graph.tensor("scores", (1, candidates), np.int8, scale=1.0)
    graph.operator("FULLY_CONNECTED", [taken, dense, biases], [scores], schema.FullyConnectedOptionsT())
    most = graph.tensor("most", (), np.int32, values=np.array(10))
    highest = graph.tensor("highest", (1, 10), np.int8, scale=1.0)
    places = graph.tensor("places", (1, 10), np.int32)
    graph.operator("TOPK_V2", [scores, most], [highest, places], schema.TopKV2OptionsT())
    return graph.write(path, [taken], [highest, places])
