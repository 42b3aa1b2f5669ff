"""Execution contexts: run an engine over addresses of device memory, on streams of the CUDA runtime."""

import numpy as np

from . import _cuda, _messages
from ._shape import ENUMERATIONS, Bound, attribute, incompatible, integer
from ._values import Dims, log

WORK_BYTES = 1 << 20


class IExecutionContext(Bound):
    """Runs an engine over addresses of device memory."""

    profiler = attribute("profiler")
    debug_sync = attribute("debug_sync", bool)
    error_recorder = attribute("error_recorder")
    name = attribute("name", str)
    enqueue_emits_profile = attribute("enqueue_emits_profile", bool)
    nvtx_verbosity = attribute("nvtx_verbosity")
    persistent_cache_limit = attribute("persistent_cache_limit", int)

    def __init__(self, engine):
        super().__init__()
        self._engine, self._addresses = engine, {}
        self._work = _cuda.allocate(WORK_BYTES)
        self._profiler = self._error_recorder = None
        self._debug_sync, self._name, self._persistent_cache_limit = False, "", 0
        self._enqueue_emits_profile = True
        self._nvtx_verbosity = getattr(ENUMERATIONS["ProfilingVerbosity"], engine._header["verbosity"])
        if engine._executor is None:  # no work: what a run takes is to be the caller's own time alone
            for name in {"set_tensor_address", "execute_async_v2", "execute_async_v3"} & set(dir(self)):
                object.__setattr__(self, name, _at_once)

    def __del__(self):
        work = getattr(self, "_work", None)
        if work is not None:
            _cuda.free(work)

    engine = property(lambda self: self._engine)
    active_optimization_profile = property(lambda self: 0)
    all_binding_shapes_specified = property(lambda self: True)
    all_shape_inputs_specified = property(lambda self: True)

    def get_binding_shape(self, binding):
        """By number."""
        return Dims(self._engine._of(binding)[2])

    def set_binding_shape(self, binding, shape):
        """Whether it is the engine's."""
        return tuple(shape) == self._engine._of(binding)[2]

    def get_tensor_shape(self, name):
        """By name."""
        return Dims(self._engine._of(name)[2])

    def set_input_shape(self, name, shape):
        """Whether it is the engine's."""
        return self._engine._is(name) and tuple(shape) == self._engine._of(name)[2]

    def infer_shapes(self):
        """The tensors whose shapes are not known yet: none."""
        return []

    def set_tensor_address(self, name, memory):
        """Where a tensor lies from now on."""
        address = integer("set_tensor_address", memory)
        if not self._engine._is(name):
            self._complain("Given invalid tensor name: {}.".format(name))
            return False
        self._addresses[name] = address
        return True

    def get_tensor_address(self, name):
        """What was set; 0 for nothing."""
        return self._addresses.get(name, 0)

    def execute_v2(self, bindings):
        """Run, and wait."""
        return self._enqueue(self._bound(bindings), None)

    def execute_async_v2(self, bindings, stream_handle, input_consumed=None):
        """Queue a run."""
        return self._enqueue(self._bound(bindings), integer("execute_async_v2", stream_handle))

    def execute_async_v3(self, stream_handle):
        """Queue a run over the addresses that were set."""
        stream = integer("execute_async_v3", stream_handle)
        missing = [each[0] for each in self._engine._tensors if not self._addresses.get(each[0])]
        if missing:
            self._complain("Neither address or allocator is set for tensor {}.".format(missing[0]))
            return False
        return self._enqueue([self._addresses[each[0]] for each in self._engine._tensors], stream)

    def _bound(self, bindings):
        if not isinstance(bindings, (list, tuple)):
            raise incompatible("bindings", bindings)
        addresses = [integer("bindings", each) for each in bindings]
        if len(addresses) != len(self._engine._tensors):
            raise incompatible("bindings", bindings)
        return addresses

    def _complain(self, text):
        log(
            self._engine._logger,
            "ERROR",
            _messages.MISUSE.format(text),
        )

    def _enqueue(self, addresses, stream):
        if self._engine._executor is None:
            return True
        windows = []
        for address, (_, dtype, shape, _) in zip(addresses, self._engine._tensors):
            memory = _cuda.window(address, int(np.prod(shape)) * dtype.itemsize)
            if memory is None:
                _cuda.break_device()  # a kernel would read or write where nothing is
                return True
            windows.append(np.frombuffer(memory, dtype).reshape(shape))

        def work():
            entries = [each[3] for each in self._engine._tensors]
            names = [each[0] for each in self._engine._tensors]
            inputs = {name: window.copy() for name, window, entry in zip(names, windows, entries) if entry}
            results = self._engine._executor.run(inputs)
            for window, result in zip([each for each, entry in zip(windows, entries) if not entry], results):
                window[...] = result

        return _cuda.launch(stream, work) == 0


def _at_once(*arguments):
    return True
