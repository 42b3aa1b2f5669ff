"""A .tflite file in any of the TFLite runtimes (device side, Python 3.6 syntax): what runners share.

It travels to the board with the runner that takes it in, as `from ...device.litert import ...`. The worker
writes straight into the input tensor's memory and reads the scores in place, so that no copy stands
between preprocessing and the runtime's own call.
"""

import ctypes
from typing import TYPE_CHECKING, Any, Callable, Dict, List, NamedTuple, Optional, Tuple, Union

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

Runtime = NamedTuple(
    "Runtime",
    [
        ("name", str),
        ("version", str),
        ("interpreter", Any),
        ("resolvers", Optional[Any]),
        ("load_delegate", Callable[..., Any]),
    ],
)


class Loaded:
    """What every model has: an interpreter, allocated, and the settings that it was made with.

    `reset` is there only for a model whose variable tensors are reset before each inference.
    """

    def __init__(self, runtime: Runtime, interpreter: Any, settings: Dict[str, Any]) -> None:
        self._runtime = runtime
        self._interpreter = interpreter
        self._settings = settings
        self._keeps_state = False

    def treat_state(self, state: str) -> None:
        """Take the treatment of the model's state, as the artifact has it."""
        self._keeps_state = state == "kept"
        if state in ("reset", "partly"):
            self.reset = self._interpreter.reset_all_variables

    def begin(self, stage: str) -> None:
        """Restart the stream where its state is kept."""
        if self._keeps_state:
            self._interpreter.reset_all_variables()

    def describe(self) -> Dict[str, Any]:
        """The runtime, its version, and the settings it was made with."""
        return dict({"name": self._runtime.name, "version": self._runtime.version}, **self._settings)


class Model(Loaded):
    """One input and one row of scores: views of both that hold no reference to the interpreter."""

    def __init__(self, runtime: Runtime, interpreter: Any, settings: Dict[str, Any]) -> None:
        Loaded.__init__(self, runtime, interpreter, settings)
        inputs = self._interpreter.get_input_details()
        outputs = self._interpreter.get_output_details()
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

    def buffers(self) -> "List[NDArray[Any]]":
        """The input tensor itself."""
        return [self._input]

    def infer(self, slot: Any) -> "NDArray[np.float32]":
        """Run the slot's input; scores float32 [batch, classes], overwritten by the next.

        Pictures are in the input tensor already; samples, a tuple of one array, are copied into it.
        """
        if isinstance(slot.array, tuple):
            np.copyto(self._input, slot.array[0])
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


class Tensors(Loaded):
    """Any other model: the runtime copies what goes in and what comes out, within the timed call.

    Views would not do: where shapes are found out while it runs, the runtime moves its tensors.
    """

    def __init__(self, runtime: Runtime, interpreter: Any, settings: Dict[str, Any]) -> None:
        Loaded.__init__(self, runtime, interpreter, settings)
        inputs = self._interpreter.get_input_details()
        outputs = self._interpreter.get_output_details()
        self._inputs = [int(tensor["index"]) for tensor in inputs]
        self._outputs = [int(tensor["index"]) for tensor in outputs]
        self.quantisations = [_quantisation(tensor) for tensor in outputs]
        self.input_shape = tuple(int(side) for side in inputs[0]["shape"])
        self.input_dtype = np.dtype(inputs[0]["dtype"]).name

    def infer(self, slot: Any) -> "Tuple[NDArray[Any], ...]":
        """Give the runtime the slot's array or arrays; all outputs, as they are stored."""
        arrays = slot.array if isinstance(slot.array, tuple) else (slot.array,)
        for tensor, array in zip(self._inputs, arrays):
            self._interpreter.set_tensor(tensor, array)
        self._interpreter.invoke()
        return tuple(self._interpreter.get_tensor(tensor) for tensor in self._outputs)


def _fix_shapes(interpreter: Any, shapes: "List[List[int]]") -> None:
    """Fix the axes that the file leaves open."""
    for tensor, shape in zip(interpreter.get_input_details(), shapes):
        if list(tensor["shape"]) != list(shape):
            interpreter.resize_tensor_input(int(tensor["index"]), list(shape))


def _quantisation(output: Dict[str, Any]) -> "Optional[Tuple[float, int]]":
    """Scale and zero point of an output; None for one of real numbers."""
    scale, zero_point = output["quantization"]
    return (float(scale), int(zero_point)) if scale else None


def _has_one_row(interpreter: Any) -> bool:
    """Whether there is one input, and one output [batch, scores] of real numbers or bytes that stays put."""
    inputs, outputs = interpreter.get_input_details(), interpreter.get_output_details()
    if len(inputs) != 1 or len(outputs) != 1 or len(outputs[0]["shape"]) != 2:
        return False
    if any(side < 0 for side in outputs[0].get("shape_signature", ())):
        return False
    dtype = np.dtype(outputs[0]["dtype"])
    return bool(dtype == np.float32 or (dtype.itemsize == 1 and outputs[0]["quantization"][0]))


def _score_table(output: Dict[str, Any]) -> "Optional[NDArray[np.float32]]":
    """The score of each byte of a quantised output; None for a float output."""
    dtype = np.dtype(output["dtype"])
    if dtype == np.float32:
        return None
    scale, zero_point = output["quantization"]
    values = np.arange(256, dtype=np.uint8).view(dtype).astype(np.float32)
    table: "NDArray[np.float32]" = (values - np.float32(zero_point)) * np.float32(scale)
    return table


def _address(array: "NDArray[Any]") -> int:
    return int(array.__array_interface__["data"][0])


def interpreter_of(runtime: Runtime, **settings: Any) -> Any:
    """The runtime's interpreter with these settings.

    RuntimeError, with the fix, where the runtime was built against another numpy than there is: its
    import works, and the first thing that it makes fails without a word about numpy (tflite-runtime 2.14.0
    with numpy 2).
    """
    try:
        return runtime.interpreter(**settings)
    except SystemError as error:
        if np.__version__.startswith(("0.", "1.")):
            raise
        raise RuntimeError(
            "{} {} makes no interpreter with numpy {}: most likely it was built against numpy 1; "
            "pip install 'numpy<2' where it is ({})".format(
                runtime.name, runtime.version, np.__version__, error
            )
        ) from error


def loaded(
    runtime: Runtime, interpreter: Any, settings: Dict[str, Any], options: Dict[str, Any]
) -> "Union[Model, Tensors]":
    """The model in an interpreter, with views of its tensors where it can be seen that they stay.

    Args:
        runtime: whose interpreter it is.
        interpreter: made, and not yet allocated.
        settings: what it was made with, for `describe`.
        options: perhaps with `input_shapes`, and `state`, as `edgebench.records.model.State` has it.
    """
    shapes = options.get("input_shapes") or []
    _fix_shapes(interpreter, shapes)
    interpreter.allocate_tensors()
    kind = Model if not shapes and _has_one_row(interpreter) else Tensors
    model = kind(runtime, interpreter, settings)
    model.treat_state(options.get("state", "none"))
    return model
