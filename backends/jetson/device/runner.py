"""A model by TensorRT (device side, Python 3.6 syntax): .onnx to an engine on the board, then to scores."""

import contextlib
import platform
from typing import Any, Callable, Dict, Iterator, Optional, Tuple

from ...device.flight import RequestModel
from . import cuda_library, engine_file
from . import engine_file as record
from .build_source import BuildLog, logger_of, opened
from .building import Builder
from .cudart import Cuda, CudaError
from .library import find, register_plugins, require
from .request import Request, api_of, tensors_of

# At the top, so that the import is timed as import and not as load; a failure is load's to tell.
_LIBRARY, _WHY_NONE = find()

BUILD_OPTIONS = ("precision", "input_shapes", "int8", "workspace_mb", "cudart")

SLOTS = 2  # of double buffering: one is filled while the other one is computed


def build_version() -> str:
    """TensorRT and the GPU: an engine is of one version and one GPU."""
    library = require(_LIBRARY, _WHY_NONE)
    try:
        gpu = cuda_library.find("").gpu
    except ImportError:  # build has the option that may name one, which decides the build as well
        gpu = "a GPU of {}".format(platform.machine())
    return "TensorRT {}, {}".format(library.version, gpu)


def build(
    source: str,
    calibration: Optional[str],
    cache_dir: str,
    options: Dict[str, Any],
    progress: Callable[..., None],
) -> str:
    """Build an engine of the .onnx in `source` or of one of its companions; the path of its file."""
    library = require(_LIBRARY, _WHY_NONE)
    cuda = cuda_library.find(str(options["cudart"]))
    with _closed_where_it_fails(cuda):
        path = Builder(library.module, cuda, options, progress).build(source, calibration, cache_dir)
    cuda.close()
    return path


class Model(RequestModel):
    """An engine with its memory on the GPU.

    Attributes:
        extra_stage: the time that the GPU computes, without copies.
    """

    extra_stage = "gpu"

    def __init__(self, trt: Any, cuda: Cuda, path: str, double_buffer: bool) -> None:
        header, serialized = engine_file.read(path)
        engine_file.require_fit(header, str(trt.__version__), cuda.gpu)
        self._cuda = cuda
        self._log = BuildLog()
        self._logger = logger_of(trt, self._log)
        register_plugins(trt, self._logger)
        self._runtime = opened(trt, "Runtime", self._logger, self._log)
        self._engine = self._runtime.deserialize_cuda_engine(serialized)
        if self._engine is None:
            raise self._failure("does not load the engine")
        tensors = tensors_of(trt, self._engine)
        self._context = self._engine.create_execution_context()
        if self._context is None:
            raise self._failure("gives no execution context")
        compute = cuda.stream()
        requests = [
            Request(cuda, self._engine, self._context, tensors, compute, double_buffer, self._log.last_errors)
            for _ in range(SLOTS if double_buffer else 1)
        ]
        self.infer_many = self._in_turn
        RequestModel.__init__(
            self,
            requests,
            [tensor for tensor in tensors if tensor.is_input],
            [tensor for tensor in tensors if not tensor.is_input],
            "double_buffer=false",
        )
        self._description = record.described(
            str(trt.__version__), api_of(self._engine), cuda, header, double_buffer
        )

    def describe(self) -> Dict[str, Any]:
        """TensorRT, CUDA, the GPU and the engine with its layers' precisions."""
        return self._description

    def close(self) -> None:
        """Give back memory, streams, events and the engine, what depends on others first."""
        RequestModel.close(self)
        self._context = self._engine = self._runtime = None
        self._cuda.close()

    def _in_turn(self, slots: "Iterator[Tuple[int, Any]]", done: "Callable[..., None]") -> None:
        """Each batch is done before the next one is taken."""
        request, result = self._requests[0], self._results[0]
        for index, slot in slots:
            if isinstance(slot.array, tuple):
                self._take_in(slot)
            request.start()
            done(index, result, request.wait())

    def _failure(self, what: str) -> Exception:
        text = "TensorRT {}: {}".format(what, self._log.last_errors())
        return OutOfMemory(text) if self._log.says_out_of_memory() else RuntimeError(text)


class OutOfMemory(RuntimeError):
    """There is not enough memory for the engine."""

    session_status = "out_of_memory"


def load(path: str, options: Dict[str, Any]) -> Model:
    """Load the engine in a file that `build` wrote; `options` are those of the backend.

    Raises:
        ImportError: there is no TensorRT, or no CUDA.
        EngineFileError: the engine is of another TensorRT or GPU.
        CudaError: the GPU cannot be used, or has too little memory.
    """
    library = require(_LIBRARY, _WHY_NONE)
    cuda = cuda_library.find(str(options["cudart"]))
    with _closed_where_it_fails(cuda):
        return Model(library.module, cuda, path, bool(options["double_buffer"]))


@contextlib.contextmanager
def _closed_where_it_fails(cuda: Cuda) -> Iterator[None]:
    """What fails in here counts, and not that a GPU with an error takes nothing back."""
    try:
        yield
    except BaseException:
        with contextlib.suppress(CudaError):
            cuda.close()
        raise
