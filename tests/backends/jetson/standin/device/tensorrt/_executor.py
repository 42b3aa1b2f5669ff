"""What computes behind an engine: ONNX Runtime where it is installed, else numpy."""

from . import _onnx_file
from ._interpreter import Interpreter

try:
    import onnxruntime
except ImportError:
    onnxruntime = None


class Executor:
    """Runs a graph; `extra` names tensors that are given too, behind the outputs.

    Attributes:
        is_fixed: whether it takes no other batch than the graph's.
    """

    is_fixed = onnxruntime is not None

    def __init__(self, graph, extra=()):
        self._outputs = [value.name for value in graph.outputs]
        self._extra = [name for name in extra if name not in self._outputs]
        self._session = None
        if onnxruntime is None:
            self._interpreter = Interpreter(graph)
            return
        data = _onnx_file.write(graph, self._extra)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        options.log_severity_level = 3
        # Rounding to half precision and back is what is wanted, not a detour to be optimised away.
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        self._session = onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])

    def run(self, inputs):
        """The outputs, then the extra tensors, for {name: array}."""
        if self._session is not None:
            fed = {value.name for value in self._session.get_inputs()}
            return self._session.run(self._outputs + self._extra, {name: inputs[name] for name in fed})
        seen = {}

        def watch(name, array):
            if name in self._extra:
                seen[name] = array

        results = self._interpreter.run(inputs, watch)
        return results + [inputs[name] if name in inputs else seen[name] for name in self._extra]
