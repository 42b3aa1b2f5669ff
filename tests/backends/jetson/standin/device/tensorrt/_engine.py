"""Engines: their tensors by number and by name, and what runs them and tells of their layers."""

import os

import numpy as np

from . import _messages, _onnx_file
from ._context import WORK_BYTES, IExecutionContext
from ._executor import Executor
from ._inspector import EngineInspector
from ._plan import read_plan
from ._shape import ENUMERATIONS, MAJOR, Bound, attribute, integer
from ._values import Dims, data_type, host_memory, log


class ICudaEngine(Bound):
    """An engine: its tensors, inputs first."""

    error_recorder = attribute("error_recorder")

    def __init__(self, data, logger):
        super().__init__()
        self._data, self._logger, self._error_recorder = data, logger, None
        self._header, graph = read_plan(data)
        self._tensors = [
            (name, np.dtype(dtype), tuple(shape), entry)
            for entry, values in ((True, self._header["inputs"]), (False, self._header["outputs"]))
            for name, dtype, shape in values
        ]
        idle = os.environ.get("STANDIN_ZERO_WORK") == "1"
        self._executor = None if idle else Executor(_onnx_file.read(graph))

    name = property(lambda self: self._header["name"])
    num_layers = property(lambda self: len(self._header["layers"]))
    num_bindings = property(lambda self: len(self._tensors))
    num_io_tensors = property(lambda self: len(self._tensors))
    num_optimization_profiles = property(lambda self: 1)
    num_aux_streams = property(lambda self: 0)
    max_batch_size = property(lambda self: 1)
    has_implicit_batch_dimension = property(lambda self: False)
    device_memory_size = property(lambda self: WORK_BYTES)
    device_memory_size_v2 = property(lambda self: WORK_BYTES)
    refittable = property(lambda self: False)
    tactic_sources = property(lambda self: 7)
    streamable_weights_size = property(lambda self: 0)
    engine_capability = property(lambda self: ENUMERATIONS["EngineCapability"].STANDARD)

    @property
    def profiling_verbosity(self):
        """How much of the layers it kept."""
        return getattr(ENUMERATIONS["ProfilingVerbosity"], self._header["verbosity"])

    def __len__(self):
        if MAJOR != 8:
            raise TypeError("object of type 'tensorrt.ICudaEngine' has no len()")
        return len(self._tensors)

    def __getitem__(self, key):
        if isinstance(key, str) and MAJOR == 8:
            return self.get_binding_index(key)
        return self._tensors[key][0]

    def _of(self, key):
        if isinstance(key, str):
            return next(each for each in self._tensors if each[0] == key)
        return self._tensors[key]

    def _is(self, name):
        return any(each[0] == name for each in self._tensors)

    def serialize(self):
        """Its bytes."""
        return host_memory(self._data)

    def get_binding_name(self, index):
        """By number."""
        return self._of(index)[0]

    def get_binding_index(self, name):
        """By name; -1 for none."""
        return [each[0] for each in self._tensors].index(name) if self._is(name) else -1

    def get_binding_shape(self, binding):
        """By number or name."""
        return Dims(self._of(binding)[2])

    def get_binding_dtype(self, binding):
        """By number or name."""
        return data_type(self._of(binding)[1])

    def binding_is_input(self, binding):
        """By number or name."""
        return self._of(binding)[3]

    def get_binding_format(self, index):
        """Linear."""
        return ENUMERATIONS["TensorFormat"].LINEAR

    def get_location(self, binding):
        """On the device."""
        return ENUMERATIONS["TensorLocation"].DEVICE

    def is_shape_binding(self, binding):
        """None is."""
        return False

    def is_execution_binding(self, binding):
        """All are."""
        return True

    def get_profile_shape(self, profile_index, binding):
        """Thrice the same."""
        return [Dims(self._of(binding)[2])] * 3

    def get_tensor_name(self, index):
        """By number."""
        return self._of(integer("get_tensor_name", index))[0]

    def get_tensor_mode(self, name):
        """Input, output, or none of the engine's."""
        modes = ENUMERATIONS["TensorIOMode"]
        if not self._is(name):
            return modes.NONE
        return modes.INPUT if self._of(name)[3] else modes.OUTPUT

    def get_tensor_shape(self, name):
        """By name."""
        return Dims(self._of(name)[2])

    def get_tensor_dtype(self, name):
        """By name."""
        return data_type(self._of(name)[1])

    def get_tensor_location(self, name):
        """On the device."""
        return ENUMERATIONS["TensorLocation"].DEVICE

    def get_tensor_format(self, name, profile_index=0):
        """Linear."""
        return ENUMERATIONS["TensorFormat"].LINEAR

    def get_tensor_profile_shape(self, name, profile_index):
        """Thrice the same."""
        return [Dims(self._of(name)[2])] * 3

    def is_shape_inference_io(self, name):
        """None is."""
        return False

    def create_execution_context(self, *strategy):
        """A context, or None where memory is out."""
        context = IExecutionContext(self)
        if context._work is None:
            log(self._logger, "ERROR", _messages.NO_CONTEXT)
            return None
        return context

    def create_engine_inspector(self):
        """What tells of the layers."""
        return EngineInspector(self)
