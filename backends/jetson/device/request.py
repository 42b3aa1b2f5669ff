"""One batch's way through the GPU: copied in, computed, copied out (device side, Python 3.6 syntax)."""

from ctypes import byref, c_float, c_int, c_size_t, c_uint, c_void_p
from typing import TYPE_CHECKING, Any, Callable, List, Sequence, Tuple

from .bindings import Tensor, execution
from .cudart import BLOCKING, TO_DEVICE, TO_HOST, Cuda

if TYPE_CHECKING:
    from numpy.typing import NDArray

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
            self._synchronise = call("cudaEventSynchronize", done, waits=True)
        else:
            self._synchronise = call("cudaStreamSynchronize", copying, waits=True)
        self._elapsed = call("cudaEventElapsedTime", byref(self._milliseconds), began, ended)

    def start(self) -> None:
        """Queue the batch that lies in `inputs`.

        Raises:
            CudaError: a call failed.
            RuntimeError: TensorRT refused.
        """
        for function, name in self._before:
            status = function()
            if status:
                self._cuda.check(status, name)
        if not self._execute():
            raise RuntimeError("TensorRT did not run the engine: {}".format(self._refusal()))
        for function, name in self._after:
            status = function()
            if status:
                self._cuda.check(status, name)

    def wait(self) -> int:
        """Until it is done and its scores lie in `outputs`: the nanoseconds that the GPU computed.

        Raises:
            CudaError: it failed.
        """
        function, name = self._synchronise
        status = function()
        if status:
            self._cuda.check(status, name)
        function, name = self._elapsed
        status = function()
        if status:
            self._cuda.check(status, name)
        return int(self._milliseconds.value * 1e6)
