"""One batch's way through the GPU: copied in, computed, copied out (device side, Python 3.6 syntax)."""

import functools
from ctypes import byref, c_float, c_int, c_size_t, c_uint, c_void_p
from typing import TYPE_CHECKING, Any, Callable, List, NamedTuple, Sequence, Tuple

from .cudart import BLOCKING, TO_DEVICE, TO_HOST, Cuda

if TYPE_CHECKING:
    from numpy.typing import NDArray


# An engine's inputs and outputs, and how it is run: by bindings or by tensors' names (Python 3.6 syntax).
#
# TensorRT numbers an engine's inputs and outputs until 8.6 and names them since 8.5: ICudaEngine and
# IExecutionContext of each release, docs.nvidia.com/deeplearning/tensorrt/archives.


BY_NAMES, BY_BINDINGS = "execute_async_v3", "execute_async_v2"

# The members of trt.DataType, of which each release has some, as numpy has them.
DTYPES = {
    "FLOAT": "float32",
    "HALF": "float16",
    "INT8": "int8",
    "UINT8": "uint8",
    "INT32": "int32",
    "INT64": "int64",
    "BOOL": "bool",
}

Tensor = NamedTuple("Tensor", [("name", str), ("shape", Tuple[int, ...]), ("dtype", str), ("is_input", bool)])


def api_of(engine: Any) -> str:
    """What runs it."""
    return BY_NAMES if hasattr(engine, "num_io_tensors") else BY_BINDINGS


def tensors_of(trt: Any, engine: Any) -> List[Tensor]:
    """The engine's inputs and outputs, in its order.

    Raises:
        ValueError: one has an open shape, or a type that numpy does not have.
    """
    if api_of(engine) == BY_NAMES:
        names = [engine.get_tensor_name(place) for place in range(engine.num_io_tensors)]
        return [
            _tensor(
                trt,
                name,
                engine.get_tensor_shape(name),
                engine.get_tensor_dtype(name),
                engine.get_tensor_mode(name) == trt.TensorIOMode.INPUT,
            )
            for name in names
        ]
    return [
        _tensor(
            trt,
            engine.get_binding_name(place),
            engine.get_binding_shape(place),
            engine.get_binding_dtype(place),
            bool(engine.binding_is_input(place)),
        )
        for place in range(engine.num_bindings)
    ]


def execution(
    engine: Any, context: Any, tensors: Sequence[Tensor], addresses: Sequence[int], stream: int, shared: bool
) -> Callable[[], bool]:
    """A function that queues an inference on a stream; it gives False where TensorRT refuses.

    Args:
        engine: with these inputs and outputs.
        context: of the engine.
        tensors: in the engine's order.
        addresses: where each is in the device's memory.
        stream: its handle.
        shared: whether the context runs with other addresses in between.
    """
    if api_of(engine) == BY_BINDINGS:
        return functools.partial(context.execute_async_v2, list(addresses), stream)
    places = [(tensor.name, address) for tensor, address in zip(tensors, addresses)]
    set_address, execute = context.set_tensor_address, context.execute_async_v3
    for name, address in places:
        set_address(name, address)
    if not shared:
        return functools.partial(execute, stream)

    def execute_there() -> bool:
        for name, address in places:
            set_address(name, address)
        done: bool = execute(stream)
        return done

    return execute_there


def _tensor(trt: Any, name: str, shape: Any, dtype: Any, is_input: bool) -> Tensor:
    sides = tuple(int(side) for side in shape)
    kind = "input" if is_input else "output"
    if any(side < 1 for side in sides):
        raise ValueError("the {} {} has the shape {}: a fixed one is needed".format(kind, name, sides))
    for member, numpy_name in DTYPES.items():
        if hasattr(trt.DataType, member) and dtype == getattr(trt.DataType, member):
            return Tensor(name, sides, numpy_name, is_input)
    raise ValueError("the {} {} is {}, which numpy does not have".format(kind, name, dtype))


Calls = List[Tuple[Callable[[], int], str]]
"""Functions with their arguments bound, each with its name for errors."""


class Request:
    """Inputs and outputs of one batch, in the host's page-locked memory and the device's; all calls prepared.

    One request copies and computes on one stream. Where there are several, each copies on a stream of its own
    and all compute on one: a batch is copied while another one computes, and no two share the GPU's cores, so
    that the time between a batch's events is its own.

    Args:
        cuda: the runtime.
        engine: what is run.
        context: of it; several requests share one.
        tensors: the engine's inputs and outputs, in its order.
        compute: the stream that computes.
        copies_beside: whether others compute while this one copies.
        refusal: what TensorRT has logged, for an error.
    """

    def __init__(
        self,
        cuda: Cuda,
        engine: Any,
        context: Any,
        tensors: Sequence[Tensor],
        compute: int,
        copies_beside: bool,
        refusal: Callable[[], str],
    ) -> None:
        arrays = [cuda.pinned(tensor.shape, tensor.dtype) for tensor in tensors]
        addresses = [cuda.allocate(array.nbytes) for array in arrays]
        self.inputs: "List[NDArray[Any]]" = [a for a, t in zip(arrays, tensors) if t.is_input]
        self.outputs: "List[NDArray[Any]]" = [a for a, t in zip(arrays, tensors) if not t.is_input]
        self._cuda, self._refusal = cuda, refusal
        self._execute = execution(engine, context, tensors, addresses, compute, copies_beside)
        copying = c_void_p(cuda.stream() if copies_beside else compute)
        computing = c_void_p(compute)
        began, ended = c_void_p(cuda.event()), c_void_p(cuda.event())
        self._milliseconds = c_float()

        def copies(kind: int) -> Calls:
            calls = []
            for tensor, array, address in zip(tensors, arrays, addresses):
                if tensor.is_input == (kind == TO_DEVICE):
                    ends = (address, array.ctypes.data) if kind == TO_DEVICE else (array.ctypes.data, address)
                    size = c_size_t(array.nbytes)
                    calls.append(call("cudaMemcpyAsync", *map(c_void_p, ends), size, c_int(kind), copying))
            return calls

        def call(name: str, *arguments: Any, waits: bool = False) -> Tuple[Callable[[], int], str]:
            return cuda.bound(name, *arguments, waits=waits), name

        def order(first: c_void_p, then: c_void_p) -> Calls:
            """What is queued on `then` waits for what is on `first`."""
            if not copies_beside:
                return []
            reached = c_void_p(cuda.event())
            return [
                call("cudaEventRecord", reached, first),
                call("cudaStreamWaitEvent", then, reached, c_uint(0)),
            ]

        self._before = copies(TO_DEVICE) + order(copying, computing)
        self._before.append(call("cudaEventRecord", began, computing))
        self._after = [call("cudaEventRecord", ended, computing)]
        self._after += order(computing, copying) + copies(TO_HOST)
        if copies_beside:  # another thread fills the next batch meanwhile: whoever waits is to sleep
            done = c_void_p(cuda.event(BLOCKING))
            self._after.append(call("cudaEventRecord", done, copying))
            synchronise = call("cudaEventSynchronize", done, waits=True)
        else:
            synchronise = call("cudaStreamSynchronize", copying, waits=True)
        elapsed = call("cudaEventElapsedTime", byref(self._milliseconds), began, ended)
        self._finish = [synchronise, elapsed]

    def start(self) -> None:
        """Queue the batch in `inputs`.

        Raises:
            CudaError: a call failed.
            RuntimeError: TensorRT refused.
        """
        self._call(self._before)
        if not self._execute():
            raise RuntimeError("TensorRT did not run the engine: {}".format(self._refusal()))
        self._call(self._after)

    def wait(self) -> int:
        """Until it is done and its scores are in `outputs`: the nanoseconds that the GPU computed.

        Raises:
            CudaError: it failed.
        """
        self._call(self._finish)
        return int(self._milliseconds.value * 1e6)

    def infer(self) -> None:
        """Start it, and wait until it is done."""
        self.start()
        self.wait()

    def _call(self, calls: Calls) -> None:
        for function, name in calls:
            status = function()
            if status:
                self._cuda.check(status, name)
