"""LiteRT on the processor (device side, Python 3.6 syntax): .tflite in, scores out.

The worker writes straight into the input tensor's memory and reads the scores where they lie, so that no
copy stands between preprocessing and the runtime's own call.
"""

import ctypes
import os
from typing import TYPE_CHECKING, Any, Callable, Dict, List, NamedTuple, Optional

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

Runtime = NamedTuple(
    "Runtime", [("name", str), ("version", str), ("interpreter", Any), ("resolvers", Optional[Any])]
)


def _find_runtime() -> Runtime:
    """The first that is installed: LiteRT, its predecessor for boards, or the whole of TensorFlow."""
    try:
        import ai_edge_litert
        from ai_edge_litert import interpreter

        version = str(getattr(ai_edge_litert, "__version__", "unknown"))
        return Runtime("ai-edge-litert", version, interpreter.Interpreter, interpreter.OpResolverType)
    except ImportError:
        pass
    try:
        import tflite_runtime
        from tflite_runtime import interpreter

        resolvers = getattr(interpreter, "OpResolverType", None)
        return Runtime("tflite-runtime", str(tflite_runtime.__version__), interpreter.Interpreter, resolvers)
    except ImportError:
        pass
    import tensorflow

    resolvers = getattr(tensorflow.lite.experimental, "OpResolverType", None)
    return Runtime("tensorflow", str(tensorflow.__version__), tensorflow.lite.Interpreter, resolvers)


# More threads than this bring MobileNet nothing, and take the steadiness of the figures.
MOST_THREADS = 4

# At the top, so that the import is timed as import and not as load; a failure is load's to tell.
_RUNTIME: Optional[Runtime] = None
_WHY_NONE = ""
try:
    _RUNTIME = _find_runtime()
except ImportError as missing:
    _WHY_NONE = str(missing)


class Model:
    """An interpreter, with views of its input and output that hold no reference to it."""

    def __init__(self, runtime: Runtime, path: str, options: Dict[str, Any]) -> None:
        self._runtime = runtime
        self._kernels = options["kernels"]
        self._threads = options["threads"] or min(MOST_THREADS, len(os.sched_getaffinity(0)))
        self._interpreter = _interpreter(runtime, path, self._threads, options["kernels"])
        self._interpreter.allocate_tensors()
        inputs = self._interpreter.get_input_details()
        outputs = self._interpreter.get_output_details()
        if len(inputs) != 1 or len(outputs) != 1:
            raise ValueError(
                "{} inputs and {} outputs, one of each was due".format(len(inputs), len(outputs))
            )
        self._tensors = [int(inputs[0]["index"]), int(outputs[0]["index"])]
        self.input_shape = tuple(int(side) for side in inputs[0]["shape"])
        self.input_dtype = np.dtype(inputs[0]["dtype"]).name
        self._input, self._output = [self._view(tensor) for tensor in self._tensors]
        self._addresses = [_address(view) for view in (self._input, self._output)]
        self._checked = False
        self._invoke: Callable[[], None] = self._interpreter.invoke
        self._table = _score_table(outputs[0])
        self._raw = self._output.view(np.uint8) if self._output.itemsize == 1 else self._output
        self._scores = np.zeros(self._output.shape, np.float32)

    def describe(self) -> Dict[str, Any]:
        """The runtime, its version, and the settings it was made with."""
        return {
            "name": self._runtime.name,
            "version": self._runtime.version,
            "threads": self._threads,
            "kernels": self._kernels,
        }

    def buffers(self) -> "List[NDArray[Any]]":
        """The input tensor itself."""
        return [self._input]

    def infer(self, slot: Any) -> "NDArray[np.float32]":
        """Run what lies in the input tensor; scores float32 [batch, classes], overwritten by the next."""
        self._invoke()
        if not self._checked:
            self._check_addresses()
        if self._table is None:
            return self._output
        self._table.take(self._raw, None, self._scores, "clip")
        return self._scores

    def _check_addresses(self) -> None:
        # A runtime may move its tensors at the first invoke; views into freed memory must not be used.
        if [_address(self._interpreter.tensor(tensor)()) for tensor in self._tensors] != self._addresses:
            raise RuntimeError("the runtime moved its tensors at the first inference")
        self._checked = True

    def _view(self, tensor: int) -> "NDArray[Any]":
        # The interpreter refuses to run while an array of its own making is alive, hence a view by address.
        own = self._interpreter.tensor(tensor)()
        address, shape, dtype = _address(own), own.shape, own.dtype
        memory = (ctypes.c_char * own.nbytes).from_address(address)
        view: "NDArray[Any]" = np.frombuffer(memory, dtype).reshape(shape)
        return view


def _interpreter(runtime: Runtime, path: str, threads: int, kernels: str) -> Any:
    arguments: Dict[str, Any] = {"model_path": path, "num_threads": threads}
    if kernels == "reference":
        if runtime.resolvers is None:
            raise RuntimeError(
                "{} {} has no reference kernels; take kernels=xnnpack".format(runtime.name, runtime.version)
            )
        arguments["experimental_op_resolver_type"] = runtime.resolvers.BUILTIN_REF
    return runtime.interpreter(**arguments)


def _score_table(output: Dict[str, Any]) -> "Optional[NDArray[np.float32]]":
    """The score that each byte of a quantised output stands for; None for a float output."""
    dtype = np.dtype(output["dtype"])
    if dtype == np.float32:
        return None
    if dtype.itemsize != 1:
        raise ValueError("an output of {} is not understood".format(dtype))
    scale, zero_point = output["quantization"]
    values = np.arange(256, dtype=np.uint8).view(dtype).astype(np.float32)
    table: "NDArray[np.float32]" = (values - np.float32(zero_point)) * np.float32(scale)
    return table


def _address(array: "NDArray[Any]") -> int:
    return int(array.__array_interface__["data"][0])


def load(path: str, options: Dict[str, Any]) -> Model:
    """Read a .tflite file; `options` are threads and kernels."""
    if _RUNTIME is None:
        raise ImportError("no LiteRT runtime here ({}): pip install ai-edge-litert".format(_WHY_NONE))
    return Model(_RUNTIME, path, options)
