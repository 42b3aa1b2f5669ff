"""The runtime: reads serialized engines of its own version and device."""

from . import _messages
from ._device import capability, gpu, require_device
from ._engine import ICudaEngine
from ._events import note
from ._plan import BadPlan, read_plan
from ._shape import VERSION, Bound, attribute
from ._values import log


class Runtime(Bound):
    """Reads serialized engines."""

    gpu_allocator = attribute("gpu_allocator")
    error_recorder = attribute("error_recorder")
    max_threads = attribute("max_threads", int)
    DLA_core = attribute("DLA_core", int)
    engine_host_code_allowed = attribute("engine_host_code_allowed", bool)

    def __init__(self, logger):
        super().__init__()
        require_device(logger)
        self._logger, self._max_threads, self._DLA_core = logger, 1, -1
        self._gpu_allocator = self._error_recorder = None
        self._engine_host_code_allowed = False

    logger = property(lambda self: self._logger)
    num_DLA_cores = property(lambda self: 0)

    def deserialize_cuda_engine(self, serialized_engine):
        """An engine, or None, and the logger knows why."""
        data = memoryview(serialized_engine).tobytes()
        problem = self._problem(data)
        if problem:
            note("refused", why=problem)
            log(self._logger, "ERROR", problem)
            log(self._logger, "ERROR", _messages.NO_ENGINE)
            return None
        note("deserialized")
        return ICudaEngine(data, self._logger)

    def _problem(self, data):
        try:
            header, _ = read_plan(data)
        except BadPlan:
            return _messages.BAD_MAGIC
        if header["version"] != VERSION:
            return _messages.OTHER_VERSION.format(VERSION, header["version"])
        if header["capability"] != capability():
            return _messages.OTHER_DEVICE.format(capability(), header["capability"])
        if header["gpu"] != gpu():
            log(self._logger, "WARNING", _messages.OTHER_MODEL)
        return None
