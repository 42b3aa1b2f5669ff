"""From an ONNX file to a network, or to errors that say why not."""

import numpy as np

from . import _messages, _onnx_file
from ._interpreter import SUPPORTED
from ._network import INetworkDefinition
from ._shape import ENUMERATIONS, MAJOR, SHAPE, Bound, incompatible
from ._values import ILogger, log


class ParserError(Bound):
    """What was wrong with a file."""

    def __init__(self, code, text, node=-1, name="", op=""):
        super().__init__()
        self._code, self._text, self._node, self._name, self._op = code, text, node, name, op

    def code(self):
        """Its ErrorCode."""
        return getattr(ENUMERATIONS["ErrorCode"], self._code)

    def desc(self):
        """What was asserted."""
        return self._text

    def file(self):
        """Where in the parser."""
        return "ModelImporter.cpp"

    def line(self):
        """Where in the parser."""
        return 1

    def func(self):
        """Where in the parser."""
        return "importModel"

    def node(self):
        """The node's index, -1 for none."""
        return self._node

    def node_name(self):
        """The node's name."""
        return self._name

    def node_operator(self):
        """The node's operation."""
        return self._op

    def __str__(self):
        return "In node {} ({}): {}: {}".format(self._node, self.func(), self._code, self._text)

    __repr__ = __str__


class OnnxParser(Bound):
    """Reads an ONNX file into a network."""

    def __init__(self, network, logger):
        super().__init__()
        if not isinstance(network, INetworkDefinition) or not isinstance(logger, ILogger):
            raise incompatible("__init__", (network, logger))
        self._network, self._logger, self._errors = network, logger, []

    num_errors = property(lambda self: len(self._errors))

    def get_error(self, index):
        """An error of the last parse."""
        return self._errors[index]

    def clear_errors(self):
        """Forget the errors."""
        del self._errors[:]

    def supports_operator(self, op_name):
        """Whether an operation can be read."""
        return op_name in SUPPORTED

    def parse_from_file(self, model):
        """As `parse`, of a file."""
        try:
            with open(model, "rb") as file:
                return self.parse(file.read())
        except OSError:
            return self._refuse("MODEL_DESERIALIZE_FAILED", "Failed to open file: {}".format(model))

    def parse(self, model, path=None):
        """Whether the network has the model now; else there are errors."""
        if self._network.has_implicit_batch_dimension:
            return self._refuse(
                "INVALID_VALUE",
                _messages.NO_IMPLICIT_BATCH,
            )
        try:
            graph = _onnx_file.read(memoryview(model).tobytes())
        except _onnx_file.BadFile:
            return self._refuse("MODEL_DESERIALIZE_FAILED", "Failed to parse the ONNX model.")
        for index, node in enumerate(graph.nodes):
            problem = _problem(node, graph)
            if problem:
                code = "UNSUPPORTED_NODE" if node.op not in SUPPORTED else "INVALID_NODE"
                return self._refuse(code, problem, index, node.name, node.op)
        self._network._fill(graph)
        return True

    def _refuse(self, code, text, node=-1, name="", op=""):
        self._errors.append(ParserError(code, text, node, name, op))
        log(self._logger, "ERROR", str(self._errors[-1]))
        return False


def _problem(node, graph):
    """What TensorRT's parser has against a node.

    Of pairs: onnx-tensorrt, QuantDequantLinearHelper (zero points all zero, no UINT8 up to 8.6) and
    IDequantizeLayer, which takes no INT32, such as a bias that was quantised.
    """
    if node.op not in SUPPORTED:
        return "No importer registered for op: {}. Attempting to import as plugin.".format(node.op)
    if node.op not in ("QuantizeLinear", "DequantizeLinear"):
        return None
    zero = graph.weights.get(node.inputs[2]) if len(node.inputs) > 2 else None
    if zero is None and SHAPE == "8.0":
        return "This version of TensorRT requires 3 inputs for the DequantizeLinear operator."
    stored = graph.weights.get(node.inputs[0])
    if node.op == "DequantizeLinear" and stored is not None and stored.dtype == np.int32:
        return _messages.INTEGER_BIAS.format(node.name)
    if zero is not None and np.any(zero):
        return _messages.ASYMMETRIC
    if zero is not None and zero.dtype == np.uint8 and MAJOR == 8:
        return "Found invalid input type of UINT8"
    if np.any(graph.weights[node.inputs[1]] <= 0):
        return "Scale coefficients must all be positive"
    return None
