"""Serialized engines, and what runs them: runtime, engine, context, inspector.

A serialized engine is a line of JSON behind a magic word, the graph that computes, and a checksum of both.
"""

import json
import os
import struct
import zlib

import numpy as np

from . import _cuda, _messages, _onnx_file
from ._executor import Executor
from ._shape import ENUMERATIONS, MAJOR, SHAPE, VERSION, Bound, attribute, incompatible, integer
from ._values import Dims, data_type, host_memory, log

_MAGIC = b"ftrt"
_FORMATS = {
    "Float": "Row major linear FP32",
    "Half": "Row major linear FP16 format",
    "Int8": "Thirty-two wide channel vectorized row major Int8 format",
}
_WORK_BYTES = 1 << 20


def _capability():
    return os.environ.get("STANDIN_CAPABILITY", "7.2")


def _gpu():
    return os.environ.get("STANDIN_GPU", "Stand-in GPU")


def plan_bytes(network, graph, layers, verbosity, name):
    """A serialized engine.

    Args:
        network: the graph as it was read, with the inputs and outputs.
        graph: the one that computes.
        layers: from _lowering.
        verbosity: a ProfilingVerbosity.
        name: of the network.
    """
    header = {
        "version": VERSION,
        "capability": _capability(),
        "gpu": _gpu(),
        "verbosity": verbosity.name,
        "name": name,
        "layers": [vars(layer) for layer in layers],
        "inputs": [[value.name, str(value.dtype), list(value.shape)] for value in network.inputs],
        "outputs": [[value.name, str(value.dtype), list(value.shape)] for value in network.outputs],
    }
    body = json.dumps(header).encode("utf-8") + b"\n" + _onnx_file.write(graph)
    return _MAGIC + struct.pack("<IQ", zlib.crc32(body) & 0xFFFFFFFF, len(body)) + body


class BadPlan(Exception):
    """No serialized engine, or one that was cut off or changed."""


def read_plan(data):
    """(header, ONNX bytes)."""
    size = struct.calcsize("<IQ")
    if data[:4] != _MAGIC or len(data) < 4 + size:
        raise BadPlan
    checksum, length = struct.unpack("<IQ", data[4 : 4 + size])
    body = data[4 + size :]
    if len(body) != length or zlib.crc32(body) & 0xFFFFFFFF != checksum:
        raise BadPlan
    line, _, graph = body.partition(b"\n")
    return json.loads(line.decode("utf-8")), graph


class Runtime(Bound):
    """Reads serialized engines."""

    gpu_allocator = attribute("gpu_allocator")
    error_recorder = attribute("error_recorder")
    max_threads = attribute("max_threads", int)
    DLA_core = attribute("DLA_core", int)
    engine_host_code_allowed = attribute("engine_host_code_allowed", bool)

    def __init__(self, logger):
        from ._building import require_device

        super().__init__()
        require_device(logger)
        self._logger, self._max_threads, self._DLA_core = logger, 1, -1
        self._gpu_allocator = self._error_recorder = None
        self._engine_host_code_allowed = False

    logger = property(lambda self: self._logger)
    num_DLA_cores = property(lambda self: 0)

    def deserialize_cuda_engine(self, serialized_engine):
        """An engine, or None, and the logger knows why."""
        from ._building import note

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
        if header["capability"] != _capability():
            return _messages.OTHER_DEVICE.format(_capability(), header["capability"])
        if header["gpu"] != _gpu():
            log(self._logger, "WARNING", _messages.OTHER_MODEL)
        return None


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
    device_memory_size = property(lambda self: _WORK_BYTES)
    device_memory_size_v2 = property(lambda self: _WORK_BYTES)
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


class EngineInspector(Bound):
    """Tells of an engine's layers, as much as it was built to keep."""

    execution_context = attribute("execution_context")
    error_recorder = attribute("error_recorder")

    def __init__(self, engine):
        super().__init__()
        self._engine, self._execution_context, self._error_recorder = engine, None, None

    def get_layer_information(self, layer_index, format):
        """One layer."""
        return self._written(self._layer(self._engine._header["layers"][layer_index]), format)

    def get_engine_information(self, format):
        """All layers, and the tensors that go in and come out."""
        if not isinstance(format, ENUMERATIONS["LayerInformationFormat"]):
            raise incompatible("get_engine_information", format)
        header = self._engine._header
        layers = [self._layer(layer) for layer in header["layers"]]
        if format.name == "ONELINE":
            return "\n".join(self._written(layer, format) for layer in layers) + "\n"
        told = {"Layers": [layer for layer in layers if layer is not None]}
        told.update(_tensors_of(header))
        return json.dumps(told, indent=2)

    def _layer(self, layer):
        kept = self._engine._header["verbosity"]
        if kept == "NONE":
            return None
        if kept not in ("DETAILED", "VERBOSE"):
            return layer["name"]
        told = {
            "Name": layer["name"],
            "LayerType": layer["kind"],
            "Inputs": [self._tensor(layer, name) for name in layer["reads"]],
            "Outputs": [self._tensor(layer, layer["writes"])],
        }
        if layer["op"] in ("Conv", "Gemm", "MatMul"):
            told.update({"ParameterType": "Convolution", "Weights": {"Type": layer["precision"], "Count": 1}})
        told.update(
            {"TacticName": "standin_" + layer["precision"].lower(), "TacticValue": "0x0000000000000001"}
        )
        return told

    def _tensor(self, layer, name):
        entries = {each[0]: each for each in self._engine._tensors}
        precision = layer["precision"]
        shape = list(self._engine._tensors[0][2])
        if name in entries:
            precision = {np.dtype(np.float16): "Half", np.dtype(np.int8): "Int8"}.get(
                entries[name][1], "Float"
            )
            shape = list(entries[name][2])
        tensor = {"Name": name, "Location": "Device", "Dimensions": shape}
        if SHAPE == "8.2":
            del tensor["Location"]
        if MAJOR >= 11:
            tensor.update({"Datatype": precision, "Format": _FORMATS[precision]})
        else:
            tensor["Format/Datatype"] = _FORMATS[precision]
        return tensor

    def _written(self, layer, format):
        if layer is None:
            return ""
        if format.name == "JSON" or isinstance(layer, str):
            return json.dumps(layer)
        return ", ".join("{}: {}".format(name, value) for name, value in layer.items())


def _tensors_of(header):
    """From 11 on objects, before names (NVIDIA: Migrating IEngineInspector Usage from 10.x to 11.x)."""
    if MAJOR < 11:
        return {"Bindings": [each[0] for each in header["inputs"] + header["outputs"]]}
    return {
        "I/O Tensors": [
            {
                "Name": name,
                "IOMode": mode,
                "DataType": data_type(dtype).name.title(),
                "Dimensions": shape,
                "Location": "Device",
            }
            for mode, values in (("Input", header["inputs"]), ("Output", header["outputs"]))
            for name, dtype, shape in values
        ]
    }


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
        self._work = _cuda.allocate(_WORK_BYTES)
        self._profiler = self._error_recorder = None
        self._debug_sync, self._name, self._persistent_cache_limit = False, "", 0
        self._enqueue_emits_profile = True
        self._nvtx_verbosity = getattr(ENUMERATIONS["ProfilingVerbosity"], engine._header["verbosity"])

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
            return _cuda.launch_nothing(stream) == 0
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
            given = {name: window.copy() for name, window, entry in zip(names, windows, entries) if entry}
            results = self._engine._executor.run(given)
            for window, result in zip([each for each, entry in zip(windows, entries) if not entry], results):
                window[...] = result

        return _cuda.launch(stream, work) == 0
