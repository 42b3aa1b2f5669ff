"""Networks: their tensors and layers, as a parser makes them of a graph."""

import numpy as np

from . import _onnx_file
from ._shape import ENUMERATIONS, MAJOR, Bound, attribute
from ._values import Dims, data_type


class ITensor(Bound):
    """A tensor of a network."""

    name = attribute("name")
    dtype = attribute("dtype")
    shape = attribute("shape")
    location = attribute("location")
    allowed_formats = attribute("allowed_formats")
    is_network_input = attribute("is_network_input", read_only=True)
    is_network_output = attribute("is_network_output", read_only=True)
    is_shape_tensor = attribute("is_shape_tensor", read_only=True)
    is_execution_tensor = attribute("is_execution_tensor", read_only=True)
    dynamic_range = attribute("dynamic_range")

    def __init__(self, value, entry):
        super().__init__()
        self._name = value.name
        self._dtype = data_type(value.dtype)
        self._shape = Dims(-1 if size is None else size for size in value.shape)
        self._location = ENUMERATIONS["TensorLocation"].DEVICE
        self._allowed_formats = 1 << int(ENUMERATIONS["TensorFormat"].LINEAR)
        self._is_network_input, self._is_network_output = entry, not entry
        self._is_shape_tensor, self._is_execution_tensor = False, True
        self._dynamic_range = None

    def set_dynamic_range(self, min, max):
        """A range by hand, in place of calibration."""
        self._dynamic_range = (min, max)
        return True


class ILayer(Bound):
    """An operation of a network, or a constant; what is asked of its precision is an order to the builder."""

    name = attribute("name")
    type = attribute("type", read_only=True)
    precision = attribute("precision", ENUMERATIONS["DataType"])
    metadata = attribute("metadata")

    def __init__(self, name, kind, inputs, outputs):
        super().__init__()
        self._name, self._inputs, self._outputs = name, inputs, outputs
        types = ENUMERATIONS["LayerType"]
        self._type = getattr(types, kind, types.IDENTITY)
        self._precision = ENUMERATIONS["DataType"].FLOAT
        self._metadata = "[ONNX Layer: {}]".format(name)

    num_inputs = property(lambda self: len(self._inputs))
    num_outputs = property(lambda self: len(self._outputs))

    def get_input(self, index):
        """A tensor that goes in; None behind the last one."""
        return self._inputs[index] if index < len(self._inputs) else None

    def get_output(self, index):
        """A tensor that comes out; None behind the last one."""
        return self._outputs[index] if index < len(self._outputs) else None


_LAYER_TYPES = {
    "Abs": "UNARY",
    "Add": "ELEMENTWISE",
    "Cast": "CAST",
    "Clip": "ACTIVATION",
    "Conv": "CONVOLUTION",
    "DequantizeLinear": "DEQUANTIZE",
    "Gemm": "MATRIX_MULTIPLY",
    "GlobalAveragePool": "REDUCE",
    "Identity": "IDENTITY",
    "MatMul": "MATRIX_MULTIPLY",
    "Mul": "ELEMENTWISE",
    "QuantizeLinear": "QUANTIZE",
    "ReduceMean": "REDUCE",
    "Relu": "ACTIVATION",
    "Softmax": "SOFTMAX",
    "Sub": "ELEMENTWISE",
}
"""The parser's layers for operations; SHUFFLE is the rest. Up to 8.2 a cast is an identity."""


def network_layers(graph):
    """The layers that a parser makes; weights that are not a convolution's own come from constants."""
    tensors = {value.name: ITensor(value, True) for value in graph.inputs}
    layers = []

    def tensor(name):
        if name not in tensors:
            tensors[name] = ITensor(_onnx_file.Value(name, np.float32, ()), False)
            if name in graph.weights:
                layers.append(ILayer(name, "CONSTANT", [], [tensors[name]]))
        return tensors[name]

    for node in graph.nodes:
        has_weights = node.op == "Conv" and node.inputs[1] in graph.weights
        inputs = [tensor(name) for name in (node.inputs[:1] if has_weights else node.inputs) if name]
        outputs = [tensor(name) for name in node.outputs]
        layers.append(ILayer(node.name, _LAYER_TYPES.get(node.op, "SHUFFLE"), inputs, outputs))
    return layers


class INetworkDefinition(Bound):
    """A network: what a parser has put into it."""

    name = attribute("name")
    error_recorder = attribute("error_recorder")

    def __init__(self, builder, flags):
        super().__init__()
        self._builder, self._flags, self._graph = builder, flags, None
        self._name, self._error_recorder = "Unnamed Network 0", None
        self._inputs, self._outputs, self._layers = [], [], []

    def _fill(self, graph):
        self._graph = graph
        self._inputs = [ITensor(value, True) for value in graph.inputs]
        self._outputs = [ITensor(value, False) for value in graph.outputs]
        self._layers = network_layers(graph)

    def _has(self, flag):
        member = getattr(ENUMERATIONS["NetworkDefinitionCreationFlag"], flag, None)
        return member is not None and bool(self._flags >> int(member) & 1)

    def _strongly_typed(self):
        return MAJOR >= 11 or self._has("STRONGLY_TYPED")

    num_inputs = property(lambda self: len(self._inputs))
    num_outputs = property(lambda self: len(self._outputs))
    num_layers = property(lambda self: len(self._layers))
    flags = property(lambda self: self._flags)
    builder = property(lambda self: self._builder)
    has_implicit_batch_dimension = property(lambda self: MAJOR == 8 and not self._has("EXPLICIT_BATCH"))

    def get_flag(self, flag):
        """Whether it was made with a flag."""
        return bool(self._flags >> int(flag) & 1)

    def get_input(self, index):
        """An input."""
        return self._inputs[index]

    def get_output(self, index):
        """An output."""
        return self._outputs[index]

    def get_layer(self, index):
        """An operation."""
        return self._layers[index]

    def __len__(self):
        return len(self._layers)

    def __getitem__(self, index):
        return self._layers[index]
