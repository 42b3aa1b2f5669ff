"""The CUDA runtime by ctypes: memory, a stream, events (device side, Python 3.6 syntax).

Only functions whose signatures are the same from CUDA 10.2 (JetPack 4.6) to 13 (JetPack 7): NVIDIA's
cuda_runtime_api.h and driver_types.h, docs.nvidia.com/cuda/cuda-runtime-api.
"""

import contextlib
import ctypes
import functools
import re
from ctypes import POINTER, byref, c_char, c_char_p, c_float, c_int, c_size_t, c_uint, c_void_p
from typing import TYPE_CHECKING, Any, Callable, Dict, List, Optional, Tuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

TO_DEVICE, TO_HOST = 1, 2  # cudaMemcpyKind
OUT_OF_MEMORY = 2  # cudaErrorMemoryAllocation
INTEGRATED, CAPABILITY_MAJOR, CAPABILITY_MINOR = 18, 75, 76  # cudaDeviceAttr
NON_BLOCKING = 1  # cudaStreamNonBlocking: no order with the default stream
TIMED, BLOCKING = 0, 1  # cudaEventDefault; cudaEventBlockingSync: who waits for it sleeps
NAME_BYTES = 256
# cudaDeviceProp is another one in every release and has always begun with the name; the largest has 1 KiB.
PROPERTIES_BYTES = 1 << 16

_SIGNATURES: Dict[str, List[Any]] = {
    "cudaRuntimeGetVersion": [POINTER(c_int)],
    "cudaDriverGetVersion": [POINTER(c_int)],
    "cudaGetDevice": [POINTER(c_int)],
    "cudaDeviceGetAttribute": [POINTER(c_int), c_int, c_int],
    "cudaGetDeviceProperties": [c_void_p, c_int],
    "cudaMemGetInfo": [POINTER(c_size_t), POINTER(c_size_t)],
    "cudaMalloc": [POINTER(c_void_p), c_size_t],
    "cudaFree": [c_void_p],
    "cudaHostAlloc": [POINTER(c_void_p), c_size_t, c_uint],
    "cudaFreeHost": [c_void_p],
    "cudaMemcpy": [c_void_p, c_void_p, c_size_t, c_int],
    "cudaMemcpyAsync": [c_void_p, c_void_p, c_size_t, c_int, c_void_p],
    "cudaStreamCreateWithFlags": [POINTER(c_void_p), c_uint],
    "cudaStreamDestroy": [c_void_p],
    "cudaStreamSynchronize": [c_void_p],
    "cudaStreamWaitEvent": [c_void_p, c_void_p, c_uint],
    "cudaEventCreateWithFlags": [POINTER(c_void_p), c_uint],
    "cudaEventDestroy": [c_void_p],
    "cudaEventRecord": [c_void_p, c_void_p],
    "cudaEventSynchronize": [c_void_p],
    "cudaEventElapsedTime": [POINTER(c_float), c_void_p, c_void_p],
}


class CudaError(RuntimeError):
    """A function of the CUDA runtime failed; the message is CUDA's own."""


class CudaMemoryError(CudaError):
    """The device, or the memory that it shares with the board, is full."""

    session_status = "out_of_memory"


class Cuda:
    """The runtime, and what was taken from it: `close` gives all of it back.

    Args:
        path: of libcudart, or its name for the loader.

    Raises:
        OSError: it cannot be loaded.
        AttributeError: it lacks a function that is needed.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        library = ctypes.CDLL(path)
        self._functions = _declared(library)
        # The same functions, called without letting other threads of Python run: to let go of the interpreter
        # and to wait for it again takes longer than a call that only queues something.
        self._queueing = _declared(ctypes.PyDLL(path))
        self._error_name = library.cudaGetErrorName
        self._error_string = library.cudaGetErrorString
        for function in (self._error_name, self._error_string):
            function.argtypes, function.restype = [c_int], c_char_p
        self._taken: List[Tuple[str, int]] = []  # what gives it back, and its handle or address

    def call(self, name: str, *arguments: Any) -> None:
        """Call a function of the runtime.

        Raises:
            CudaMemoryError: memory ran out.
            CudaError: it failed otherwise.
        """
        self.check(self._functions[name](*arguments), name)

    def bound(self, name: str, *arguments: Any, waits: bool = False) -> Callable[[], int]:
        """A function of the runtime for the timed loop; it gives CUDA's status, 0 where all is well.

        Args:
            name: of the function.
            arguments: ctypes' own objects, so that nothing is converted when it is called.
            waits: whether it waits for the device, so that other threads have to run meanwhile.
        """
        return functools.partial((self._functions if waits else self._queueing)[name], *arguments)

    def check(self, status: int, name: str) -> None:
        """Raise the error of a status other than 0; see `call`."""
        if status == 0:
            return
        words = "{} failed: {} ({}, {})".format(
            name, self._text(self._error_string, status), self._text(self._error_name, status), status
        )
        if status != OUT_OF_MEMORY:
            raise CudaError(words)
        with contextlib.suppress(CudaError):  # CUDA may not say how much there is
            words += "; {:.0f} of {:.0f} MiB are free".format(*(size / 2**20 for size in self.memory()))
        raise CudaMemoryError(words)

    def version(self, of: str) -> str:
        """Such as 10.2: of this library (`Runtime`), or the latest that the driver takes (`Driver`)."""
        number = c_int()
        self.call("cuda{}GetVersion".format(of), byref(number))
        return "{}.{}".format(number.value // 1000, number.value % 1000 // 10)

    def gpu_name(self) -> str:
        """The name of the GPU that is used."""
        properties = (c_char * PROPERTIES_BYTES)()
        self.call("cudaGetDeviceProperties", properties, self._device())
        return properties.raw[:NAME_BYTES].split(b"\0")[0].decode("utf-8", "replace")

    def capability(self) -> str:
        """Its compute capability, such as 5.3."""
        return ".".join(str(self._attribute(number)) for number in (CAPABILITY_MAJOR, CAPABILITY_MINOR))

    @property
    def gpu(self) -> str:
        """Both, as an engine's header has them."""
        return "{} {}".format(self.gpu_name(), self.capability())

    def memory(self) -> Tuple[int, int]:
        """Bytes of the device's memory: free, and in total."""
        free, total = c_size_t(), c_size_t()
        self.call("cudaMemGetInfo", byref(free), byref(total))
        return free.value, total.value

    def available(self, meminfo: str = "/proc/meminfo") -> int:
        """Bytes that can be taken.

        Of memory that GPU and processor share, what the system keeps of files counts as free.
        """
        free, total = self.memory()
        if self._attribute(INTEGRATED):
            with contextlib.suppress(OSError), open(meminfo) as file:
                found = re.search(r"^MemAvailable: *([0-9]{1,15}) kB$", file.read(), re.MULTILINE)
                free = min(total, max(free, int(found.group(1)) << 10)) if found else free
        return free

    def allocate(self, size: int) -> int:
        """Allocate device memory of that many bytes; its address."""
        return self._take("cudaMalloc", "cudaFree", max(1, size))

    def free(self, address: int) -> None:
        """Give device memory back before `close` does."""
        self._taken.remove(("cudaFree", address))
        self.call("cudaFree", address)

    def copy(self, address: int, array: "NDArray[Any]") -> None:
        """Copy an array to the device; it is there when this returns."""
        self.call("cudaMemcpy", address, array.ctypes.data, array.nbytes, TO_DEVICE)

    def pinned(self, shape: Tuple[int, ...], dtype: str) -> "NDArray[Any]":
        """Page-locked memory of the host as an array of zeros, which the device itself copies from and to.

        Not to be used after `close`.
        """
        size = int(np.prod(shape, dtype=np.int64)) * np.dtype(dtype).itemsize
        address = self._take("cudaHostAlloc", "cudaFreeHost", max(1, size), 0)
        memory: Any = (c_char * size).from_address(address)
        array: "NDArray[Any]" = np.frombuffer(memory, dtype).reshape(shape)
        array.fill(0)
        return array

    def stream(self) -> int:
        """A new stream."""
        return self._take("cudaStreamCreateWithFlags", "cudaStreamDestroy", NON_BLOCKING)

    def event(self, flags: int = TIMED) -> int:
        """A new event."""
        return self._take("cudaEventCreateWithFlags", "cudaEventDestroy", flags)

    def close(self) -> None:
        """Give back all that was taken, the last first; the first failure is raised when all was tried."""
        failure: Optional[CudaError] = None
        while self._taken:
            release, handle = self._taken.pop()
            try:
                self.call(release, handle)
            except CudaError as error:
                failure = failure or error
        if failure is not None:
            raise failure

    def _take(self, function: str, release: str, *arguments: Any) -> int:
        handle = c_void_p()
        self.call(function, byref(handle), *arguments)
        if not handle.value:
            raise CudaError("{} gave nothing".format(function))
        self._taken.append((release, handle.value))
        return handle.value

    def _attribute(self, number: int) -> int:
        value = c_int()
        self.call("cudaDeviceGetAttribute", byref(value), number, self._device())
        return value.value

    def _device(self) -> int:
        device = c_int()
        self.call("cudaGetDevice", byref(device))
        return device.value

    @staticmethod
    def _text(function: Any, status: int) -> str:
        words = function(status)
        return words.decode("utf-8", "replace") if words else "unknown error"


def _declared(library: Any) -> Dict[str, Any]:
    functions = {}
    for name, argument_types in _SIGNATURES.items():
        function = getattr(library, name)
        function.argtypes, function.restype = argument_types, c_int
        functions[name] = function
    return functions
