"""From an ONNX file to a serialized engine: network, parser, configuration, calibrators, builder."""

import json
import os
import signal
import time
from typing import Dict

import numpy as np

from . import _cuda, _lowering, _messages, _onnx_file
from ._executor import Executor
from ._interpreter import SUPPORTED
from ._running import ICudaEngine, plan_bytes
from ._shape import ENUMERATIONS, MAJOR, SHAPE, VERSION, Bound, attribute, incompatible
from ._values import Dims, ILogger, data_type, host_memory, log

FLOAT, HALF, INT8 = _lowering.FLOAT, _lowering.HALF, _lowering.INT8
_DATA_TYPES = {FLOAT: "FLOAT", HALF: "HALF", INT8: "INT8"}


def note(event, **more):
    """A line in STANDIN_LOG, for tests: what a build or an engine has done."""
    path = os.environ.get("STANDIN_LOG")
    if path:
        with open(path, "a") as file:
            file.write(
                json.dumps(dict(more, event=event, pid=os.getpid(), version=VERSION), sort_keys=True) + "\n"
            )


def capability():
    """(major, minor) of the device."""
    return tuple(int(part) for part in os.environ.get("STANDIN_CAPABILITY", "7.2").split("."))


def _has_fast_int8():
    return capability() >= (6, 1) and capability() != (6, 2)


class ITensor(Bound):
    """A tensor of a network."""

    name = attribute("name")
    dtype = attribute("dtype")
    shape = attribute("shape")
    location = attribute("location")
    allowed_formats = attribute("allowed_formats")
    is_network_input = attribute("is_network_input", read_only=True)
    is_network_output = attribute("is_network_output", read_only=True)
    is_shape_tensor = attribute("is_shape_tensor", read_only=True)
    is_execution_tensor = attribute("is_execution_tensor", read_only=True)
    dynamic_range = attribute("dynamic_range")

    def __init__(self, value, entry):
        super().__init__()
        self._name = value.name
        self._dtype = data_type(value.dtype)
        self._shape = Dims(-1 if size is None else size for size in value.shape)
        self._location = ENUMERATIONS["TensorLocation"].DEVICE
        self._allowed_formats = 1 << int(ENUMERATIONS["TensorFormat"].LINEAR)
        self._is_network_input, self._is_network_output = entry, not entry
        self._is_shape_tensor, self._is_execution_tensor = False, True
        self._dynamic_range = None

    def set_dynamic_range(self, min, max):
        """A range by hand, in place of calibration."""
        self._dynamic_range = (min, max)
        return True


class ILayer(Bound):
    """An operation of a network, or a constant; what is asked of its precision is an order to the builder."""

    name = attribute("name")
    type = attribute("type", read_only=True)
    precision = attribute("precision", ENUMERATIONS["DataType"])
    metadata = attribute("metadata")

    def __init__(self, name, kind, inputs, outputs):
        super().__init__()
        self._name, self._inputs, self._outputs = name, inputs, outputs
        types = ENUMERATIONS["LayerType"]
        self._type = getattr(types, kind, types.IDENTITY)
        self._precision = ENUMERATIONS["DataType"].FLOAT
        self._metadata = "[ONNX Layer: {}]".format(name)

    num_inputs = property(lambda self: len(self._inputs))
    num_outputs = property(lambda self: len(self._outputs))

    def get_input(self, index):
        """A tensor that goes in; None behind the last one."""
        return self._inputs[index] if index < len(self._inputs) else None

    def get_output(self, index):
        """A tensor that comes out; None behind the last one."""
        return self._outputs[index] if index < len(self._outputs) else None


_LAYER_TYPES = {
    "Abs": "UNARY",
    "Add": "ELEMENTWISE",
    "Cast": "CAST",
    "Clip": "ACTIVATION",
    "Conv": "CONVOLUTION",
    "DequantizeLinear": "DEQUANTIZE",
    "Gemm": "MATRIX_MULTIPLY",
    "GlobalAveragePool": "REDUCE",
    "Identity": "IDENTITY",
    "MatMul": "MATRIX_MULTIPLY",
    "Mul": "ELEMENTWISE",
    "QuantizeLinear": "QUANTIZE",
    "ReduceMean": "REDUCE",
    "Relu": "ACTIVATION",
    "Softmax": "SOFTMAX",
    "Sub": "ELEMENTWISE",
}
"""The parser's layers for operations; SHUFFLE is the rest. Up to 8.2 a cast is an identity."""


def network_layers(graph):
    """The layers that a parser makes; weights that are not a convolution's own come from constants."""
    tensors = {value.name: ITensor(value, True) for value in graph.inputs}
    layers = []

    def tensor(name):
        if name not in tensors:
            tensors[name] = ITensor(_onnx_file.Value(name, np.float32, ()), False)
            if name in graph.weights:
                layers.append(ILayer(name, "CONSTANT", [], [tensors[name]]))
        return tensors[name]

    for node in graph.nodes:
        has_weights = node.op == "Conv" and node.inputs[1] in graph.weights
        inputs = [tensor(name) for name in (node.inputs[:1] if has_weights else node.inputs) if name]
        outputs = [tensor(name) for name in node.outputs]
        layers.append(ILayer(node.name, _LAYER_TYPES.get(node.op, "SHUFFLE"), inputs, outputs))
    return layers


class INetworkDefinition(Bound):
    """A network: what a parser has put into it."""

    name = attribute("name")
    error_recorder = attribute("error_recorder")

    def __init__(self, builder, flags):
        super().__init__()
        self._builder, self._flags, self._graph = builder, flags, None
        self._name, self._error_recorder = "Unnamed Network 0", None
        self._inputs, self._outputs, self._layers = [], [], []

    def _fill(self, graph):
        self._graph = graph
        self._inputs = [ITensor(value, True) for value in graph.inputs]
        self._outputs = [ITensor(value, False) for value in graph.outputs]
        self._layers = network_layers(graph)

    def _has(self, flag):
        member = getattr(ENUMERATIONS["NetworkDefinitionCreationFlag"], flag, None)
        return member is not None and bool(self._flags >> int(member) & 1)

    def _strongly_typed(self):
        return MAJOR >= 11 or self._has("STRONGLY_TYPED")

    num_inputs = property(lambda self: len(self._inputs))
    num_outputs = property(lambda self: len(self._outputs))
    num_layers = property(lambda self: len(self._layers))
    flags = property(lambda self: self._flags)
    builder = property(lambda self: self._builder)
    has_implicit_batch_dimension = property(lambda self: MAJOR == 8 and not self._has("EXPLICIT_BATCH"))

    def get_flag(self, flag):
        """Whether it was made with a flag."""
        return bool(self._flags >> int(flag) & 1)

    def get_input(self, index):
        """An input."""
        return self._inputs[index]

    def get_output(self, index):
        """An output."""
        return self._outputs[index]

    def get_layer(self, index):
        """An operation."""
        return self._layers[index]

    def __len__(self):
        return len(self._layers)

    def __getitem__(self, index):
        return self._layers[index]


class ParserError(Bound):
    """What was wrong with a file."""

    def __init__(self, code, text, node=-1, name="", op=""):
        super().__init__()
        self._code, self._text, self._node, self._name, self._op = code, text, node, name, op

    def code(self):
        """Its ErrorCode."""
        return getattr(ENUMERATIONS["ErrorCode"], self._code)

    def desc(self):
        """What was asserted."""
        return self._text

    def file(self):
        """Where in the parser."""
        return "ModelImporter.cpp"

    def line(self):
        """Where in the parser."""
        return 1

    def func(self):
        """Where in the parser."""
        return "importModel"

    def node(self):
        """The node's index, -1 for none."""
        return self._node

    def node_name(self):
        """The node's name."""
        return self._name

    def node_operator(self):
        """The node's operation."""
        return self._op

    def __str__(self):
        return "In node {} ({}): {}: {}".format(self._node, self.func(), self._code, self._text)

    __repr__ = __str__


class OnnxParser(Bound):
    """Reads an ONNX file into a network."""

    def __init__(self, network, logger):
        super().__init__()
        if not isinstance(network, INetworkDefinition) or not isinstance(logger, ILogger):
            raise incompatible("__init__", (network, logger))
        self._network, self._logger, self._errors = network, logger, []

    num_errors = property(lambda self: len(self._errors))

    def get_error(self, index):
        """An error of the last parse."""
        return self._errors[index]

    def clear_errors(self):
        """Forget the errors."""
        del self._errors[:]

    def supports_operator(self, op_name):
        """Whether an operation can be read."""
        return op_name in SUPPORTED

    def parse_from_file(self, model):
        """As `parse`, of a file."""
        try:
            with open(model, "rb") as file:
                return self.parse(file.read())
        except OSError:
            return self._refuse("MODEL_DESERIALIZE_FAILED", "Failed to open file: {}".format(model))

    def parse(self, model, path=None):
        """Whether the network has the model now; else there are errors."""
        if self._network.has_implicit_batch_dimension:
            return self._refuse(
                "INVALID_VALUE",
                _messages.NO_IMPLICIT_BATCH,
            )
        try:
            graph = _onnx_file.read(memoryview(model).tobytes())
        except _onnx_file.BadFile:
            return self._refuse("MODEL_DESERIALIZE_FAILED", "Failed to parse the ONNX model.")
        for index, node in enumerate(graph.nodes):
            problem = _problem(node, graph)
            if problem:
                code = "UNSUPPORTED_NODE" if node.op not in SUPPORTED else "INVALID_NODE"
                return self._refuse(code, problem, index, node.name, node.op)
        self._network._fill(graph)
        return True

    def _refuse(self, code, text, node=-1, name="", op=""):
        self._errors.append(ParserError(code, text, node, name, op))
        log(self._logger, "ERROR", str(self._errors[-1]))
        return False


def _problem(node, graph):
    """What TensorRT's parser has against a node.

    Of pairs: onnx-tensorrt, QuantDequantLinearHelper (zero points all zero, no UINT8 up to 8.6) and
    IDequantizeLayer, which takes no INT32, such as a bias that was quantised.
    """
    if node.op not in SUPPORTED:
        return "No importer registered for op: {}. Attempting to import as plugin.".format(node.op)
    if node.op not in ("QuantizeLinear", "DequantizeLinear"):
        return None
    zero = graph.weights.get(node.inputs[2]) if len(node.inputs) > 2 else None
    if zero is None and SHAPE == "8.0":
        return "This version of TensorRT requires 3 inputs for the DequantizeLinear operator."
    stored = graph.weights.get(node.inputs[0])
    if node.op == "DequantizeLinear" and stored is not None and stored.dtype == np.int32:
        return _messages.INTEGER_BIAS.format(node.name)
    if zero is not None and np.any(zero):
        return _messages.ASYMMETRIC
    if zero is not None and zero.dtype == np.uint8 and MAJOR == 8:
        return "Found invalid input type of UINT8"
    if np.any(graph.weights[node.inputs[1]] <= 0):
        return "Scale coefficients must all be positive"
    return None


class IInt8Calibrator(Bound):
    """What is derived from it gives batches as addresses of device memory."""

    def get_batch_size(self):
        """Patches a batch."""
        raise RuntimeError('Tried to call pure virtual function "IInt8Calibrator::get_batch_size"')

    def get_batch(self, names):
        """An address for each input, or None behind the last batch."""
        return []

    def read_calibration_cache(self):
        """What an earlier calibration wrote, or None."""
        return None

    def write_calibration_cache(self, cache):
        """Keep the ranges."""

    def get_algorithm(self):
        """Which calibration it is."""
        return ENUMERATIONS["CalibrationAlgoType"].ENTROPY_CALIBRATION_2


class IInt8LegacyCalibrator(IInt8Calibrator):
    """By quantiles."""


class IInt8EntropyCalibrator(IInt8Calibrator):
    """By entropy, as of old."""


class IInt8EntropyCalibrator2(IInt8Calibrator):
    """By entropy."""


class IInt8MinMaxCalibrator(IInt8Calibrator):
    """By the largest magnitude."""


class IProgressMonitor(Bound):
    """What is derived from it is told how far a build is, and may end it."""

    def phase_start(self, phase_name, parent_phase, num_steps):
        """A phase begins."""

    def step_complete(self, phase_name, step):
        """A step is done; False ends the build."""
        return True

    def phase_finish(self, phase_name):
        """A phase is over."""


class IOptimizationProfile(Bound):
    """Shapes of inputs whose axes are left open."""

    extra_memory_target = attribute("extra_memory_target")

    def __init__(self):
        super().__init__()
        self._shapes, self._extra_memory_target = {}, 1.0

    def set_shape(self, input, min, opt, max):
        """The least, the usual and the largest shape."""
        self._shapes[input] = [tuple(min), tuple(opt), tuple(max)]

    def get_shape(self, input):
        """What was set."""
        return [Dims(shape) for shape in self._shapes.get(input, [])]

    def __bool__(self):
        return True


class ITimingCache(Bound):
    """What a build has learnt; it serves the version and device that it was made by."""

    def __init__(self, data=b""):
        super().__init__()
        self._names = set(json.loads(bytes(data).decode("utf-8"))["names"]) if len(bytes(data)) else set()

    def serialize(self):
        """Its bytes."""
        return host_memory(json.dumps({"version": VERSION, "names": sorted(self._names)}).encode("utf-8"))

    def combine(self, input_cache, ignore_mismatch):
        """Take in another one."""
        self._names |= input_cache._names
        return True

    def reset(self):
        """Empty it."""
        self._names.clear()
        return True


class IBuilderConfig(Bound):
    """How an engine is to be built."""

    int8_calibrator = attribute("int8_calibrator")
    max_workspace_size = attribute("max_workspace_size", int)
    min_timing_iterations = attribute("min_timing_iterations", int)
    avg_timing_iterations = attribute("avg_timing_iterations", int)
    builder_optimization_level = attribute("builder_optimization_level", int)
    engine_capability = attribute("engine_capability")
    default_device_type = attribute("default_device_type")
    hardware_compatibility_level = attribute("hardware_compatibility_level")
    algorithm_selector = attribute("algorithm_selector")
    profile_stream = attribute("profile_stream")
    quantization_flags = attribute("quantization_flags", int)
    progress_monitor = attribute("progress_monitor")
    max_aux_streams = attribute("max_aux_streams", int)
    DLA_core = attribute("DLA_core", int)

    def __init__(self):
        super().__init__()
        verbosity = ENUMERATIONS["ProfilingVerbosity"]
        self._flags = 0
        if hasattr(ENUMERATIONS["BuilderFlag"], "TF32"):
            self._flags = 1 << int(ENUMERATIONS["BuilderFlag"].TF32)
        self._int8_calibrator = self._algorithm_selector = self._progress_monitor = None
        self._max_workspace_size, self._pools = 0, {}
        self._min_timing_iterations, self._avg_timing_iterations = 1, 1
        self._builder_optimization_level, self._max_aux_streams = 3, -1
        self._engine_capability = ENUMERATIONS["EngineCapability"].STANDARD
        self._default_device_type = ENUMERATIONS["DeviceType"].GPU
        self._hardware_compatibility_level = None
        self._profile_stream, self._quantization_flags, self._DLA_core = 0, 0, -1
        self._profiles, self._cache, self._calibration_profile = [], None, None
        self._profiling_verbosity = getattr(verbosity, "LAYER_NAMES_ONLY", None) or verbosity.DEFAULT

    @property
    def flags(self):
        """All flags, a bit each."""
        return self._flags

    @flags.setter
    def flags(self, value):
        self._flags = int(value)

    @property
    def profiling_verbosity(self):
        """How much of the layers the engine keeps."""
        return self._profiling_verbosity

    @profiling_verbosity.setter
    def profiling_verbosity(self, value):
        if not isinstance(value, ENUMERATIONS["ProfilingVerbosity"]):
            raise incompatible("profiling_verbosity", value)
        self._profiling_verbosity = value

    def set_flag(self, flag):
        """Set a flag."""
        self._require_flag(flag)
        self._flags |= 1 << int(flag)

    def clear_flag(self, flag):
        """Take a flag away."""
        self._require_flag(flag)
        self._flags &= ~(1 << int(flag))

    def get_flag(self, flag):
        """Whether a flag is set."""
        self._require_flag(flag)
        return bool(self._flags >> int(flag) & 1)

    def _require_flag(self, flag):
        if not isinstance(flag, ENUMERATIONS["BuilderFlag"]):
            raise incompatible("flag", flag)

    def _has(self, name):
        flag = getattr(ENUMERATIONS["BuilderFlag"], name, None)
        return flag is not None and self.get_flag(flag)

    def set_memory_pool_limit(self, pool, pool_size):
        """The bytes of a pool."""
        if not isinstance(pool, ENUMERATIONS["MemoryPoolType"]):
            raise incompatible("set_memory_pool_limit", pool)
        self._pools[pool] = int(pool_size)

    def get_memory_pool_limit(self, pool):
        """What was set."""
        return self._pools.get(pool, 0)

    def add_optimization_profile(self, profile):
        """Its index."""
        self._profiles.append(profile)
        return len(self._profiles) - 1

    num_optimization_profiles = property(lambda self: len(self._profiles))

    def set_calibration_profile(self, profile):
        """The shapes that calibration takes."""
        self._calibration_profile = profile
        return True

    def get_calibration_profile(self):
        """What was set."""
        return self._calibration_profile

    def create_timing_cache(self, serialized_timing_cache):
        """A cache from bytes; an empty one from none."""
        return ITimingCache(memoryview(serialized_timing_cache).tobytes())

    def set_timing_cache(self, cache, ignore_mismatch):
        """Have the build use it."""
        self._cache = cache
        return True

    def get_timing_cache(self):
        """What was set."""
        return self._cache

    def set_tactic_sources(self, tactic_sources):
        """Where tactics may come from."""
        return True

    def get_tactic_sources(self):
        """All sources."""
        return 7


class Builder(Bound):
    """Builds engines; TypeError where there is no device, as pybind11 has it."""

    max_batch_size = attribute("max_batch_size", int)
    gpu_allocator = attribute("gpu_allocator")
    error_recorder = attribute("error_recorder")
    max_threads = attribute("max_threads", int)

    def __init__(self, logger):
        super().__init__()
        require_device(logger)
        self._logger, self._max_batch_size, self._max_threads = logger, 1, 1
        self._gpu_allocator = self._error_recorder = None

    logger = property(lambda self: self._logger)
    platform_has_fast_fp16 = property(lambda self: capability() >= (5, 3))
    platform_has_fast_int8 = property(lambda self: _has_fast_int8())
    platform_has_tf32 = property(lambda self: capability() >= (8, 0))
    num_DLA_cores = property(lambda self: 0)
    max_DLA_batch_size = property(lambda self: 0)

    def create_network(self, flags=0):
        """An empty network."""
        return INetworkDefinition(self, int(flags))

    def create_builder_config(self):
        """A configuration."""
        return IBuilderConfig()

    def create_optimization_profile(self):
        """An empty profile."""
        return IOptimizationProfile()

    def is_network_supported(self, network, config):
        """Whether it can be built."""
        return network._graph is not None

    def reset(self):
        """As it was."""

    def build_serialized_network(self, network, config):
        """The engine's bytes, or None, and the logger knows why."""
        data = Build(self._logger, network, config).run()
        return None if data is None else host_memory(data)

    def build_engine(self, network, config):
        """An engine, or None."""
        data = Build(self._logger, network, config).run()
        return None if data is None else ICudaEngine(data, self._logger)


def require_device(logger):
    """TypeError for what is no logger, or without a device."""
    if not isinstance(logger, ILogger):
        raise incompatible("__init__", logger)
    problem = _cuda.device_error()
    if problem:
        log(logger, "WARNING", _messages.NO_DEVICE.format(problem))
        raise TypeError("pybind11::init(): factory function returned nullptr")


def _fill(path):
    """Write a file until the disk is full."""
    with open(path, "wb", buffering=0) as file:
        size = 1 << 20
        while size:
            try:
                file.write(bytes(size))
            except OSError:
                size //= 2


class Stopped(Exception):
    """A build ends without an engine; the logger knows why."""


class Build:
    """One run of the builder."""

    def __init__(self, logger, network, config):
        self._logger, self._network, self._config = logger, network, config
        self._graph = network._graph

    def run(self):
        """The engine's bytes, or None."""
        note("build")
        try:
            self._require_buildable()
            self._disturb()
            graph, layers = self._lowered()
            self._take_time(layers)
        except Stopped as stopped:
            if str(stopped):
                log(self._logger, "ERROR", str(stopped))
            return None
        self._tell(layers)
        data = plan_bytes(self._graph, graph, layers, self._config._profiling_verbosity, self._network._name)
        note("built", bytes=len(data))
        return data

    def _require_buildable(self):
        if self._graph is None:
            raise Stopped(_messages.NO_OUTPUT)
        if any(size is None for value in self._graph.inputs for size in value.shape):
            raise Stopped(_messages.NO_PROFILE)
        if self._network._strongly_typed():
            for name in ("FP16", "INT8"):
                if self._config._has(name):
                    raise Stopped(_messages.STRONGLY_TYPED.format(name))
            return
        for name, needed in (("FP16", _lowering.is_half), ("INT8", _lowering.is_quantised)):
            if needed(self._graph) and not self._config._has(name):
                raise Stopped(_messages.NOT_CONFIGURED.format(name.lower()))

    def _disturb(self):
        """What STANDIN_BUILD asks for: oom, kill, hang, fill; once where STANDIN_ONCE says so."""
        order = os.environ.get("STANDIN_BUILD", "")
        once = os.environ.get("STANDIN_ONCE")
        if not order or order.startswith("slow"):
            return
        if once:
            if os.path.exists(once):
                return
            with open(once, "w"):
                pass
        if order == "oom":
            log(self._logger, "WARNING", _messages.LITTLE_MEMORY)
            log(self._logger, "ERROR", _messages.OUT_OF_MEMORY)
            raise Stopped(_messages.NO_IMPLEMENTATION.format(self._graph.nodes[0].name))
        note("disturbed", order=order)
        if order.startswith("fill:"):
            return _fill(order.partition(":")[2])
        if order == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        while True:
            time.sleep(1)

    def _lowered(self):
        """(graph that computes, layers)."""
        refused = os.environ.get("STANDIN_UNHONOURED", "")
        graph, config = self._graph, self._config
        if refused == "all":
            return _lowering.in_float(graph), _lowering.layers_of(graph, lambda node: FLOAT)
        wants_half = config._has("FP16") or _lowering.is_half(graph)
        wants_int8 = config._has("INT8") and not _lowering.is_quantised(graph)
        if wants_int8 and not _has_fast_int8():
            log(self._logger, "WARNING", _messages.NO_NATIVE_INT8)
            wants_int8 = False
        if config._has("INT8") and not wants_int8 and not _lowering.is_quantised(graph):
            return graph, _lowering.layers_of(graph, lambda node: FLOAT)

        def precision_of(node):
            if refused and refused in node.name:
                return FLOAT
            if node.op == "Softmax":
                return FLOAT
            if wants_int8 and node.op in ("Conv", "Gemm", "MatMul"):
                return INT8
            if _lowering.is_quantised(graph) and self._reads_pairs(node):
                return INT8
            return HALF if wants_half else FLOAT

        layers = _lowering.layers_of(graph, precision_of)
        if wants_int8:
            return _lowering.quantised(graph, self._ranges()), layers
        if wants_half and not _lowering.is_half(graph) and not _lowering.is_quantised(graph):
            return _lowering.half(graph), layers
        return graph, layers

    def _reads_pairs(self, node):
        """Whether a convolution or product reads what was quantised."""
        if node.op not in ("Conv", "Gemm", "MatMul"):
            return False
        written = {each.outputs[0]: each.op for each in self._graph.nodes}
        return all(written.get(name) == "DequantizeLinear" for name in node.inputs[:2])

    def _ranges(self):
        """{tensor: largest magnitude} from the calibrator."""
        calibrator, entry = self._config._int8_calibrator, self._graph.inputs[0]
        if calibrator is None:
            log(self._logger, "WARNING", _messages.NO_CALIBRATOR)
            raise Stopped(_messages.NO_RANGES)
        cached = calibrator.read_calibration_cache()
        if cached is not None:
            return json.loads(memoryview(cached).tobytes().decode("utf-8"))
        tensors = _lowering.calibrated_tensors(self._graph)
        executor = Executor(self._graph, [name for name in tensors if name != entry.name])
        size = int(np.prod(entry.shape)) * entry.dtype.itemsize
        ranges: Dict[str, float] = {}
        batches = 0
        calibrator.get_batch_size()
        while True:
            addresses = calibrator.get_batch([entry.name])
            if not addresses:
                break
            memory = _cuda.window(int(addresses[0]), size)
            if memory is None:
                _cuda.break_device()
                raise Stopped(_messages.BAD_BATCH)
            batch = np.frombuffer(memory, entry.dtype).reshape(entry.shape).copy()
            self._widen(ranges, executor, entry.name, batch, tensors)
            batches += 1
        note("calibrated", batches=batches, patches=batches * entry.shape[0])
        if not batches:
            raise Stopped(_messages.NO_BATCHES)
        calibrator.write_calibration_cache(memoryview(json.dumps(ranges).encode("utf-8")))
        return ranges

    def _widen(self, ranges, executor, entry, batch, tensors):
        """Take in a batch; numpy, which is slow and bound to no batch, computes its first patch alone."""
        results = executor.run({entry: batch if executor.is_fixed else batch[:1]})
        seen = dict(zip([name for name in tensors if name != entry], results[len(self._graph.outputs) :]))
        seen[entry] = batch
        for name in tensors:
            ranges[name] = max(ranges.get(name, 0.0), float(np.abs(seen[name].astype(np.float32)).max()))

    def _take_time(self, layers):
        """Step by step, as slowly as STANDIN_BUILD=slow:SECONDS asks for, and as the monitor lets it."""
        order = os.environ.get("STANDIN_BUILD", "")
        pause = float(order.partition(":")[2]) / len(layers) if order.startswith("slow:") else 0.0
        monitor, phase = self._config._progress_monitor, "Building Engine"
        if monitor is not None:
            monitor.phase_start(phase, None, len(layers))
        for step, layer in enumerate(layers):
            time.sleep(pause)
            log(
                self._logger,
                "VERBOSE",
                "--------------- Timing Runner: {} ({})".format(layer.name, layer.kind),
            )
            if self._config._cache is not None:
                self._config._cache._names.add(layer.name)
            if monitor is not None and not monitor.step_complete(phase, step):
                monitor.phase_finish(phase)
                raise Stopped("Build was cancelled by the progress monitor")
        if monitor is not None:
            monitor.phase_finish(phase)

    def _tell(self, layers):
        """The layers as the verbose log has them, one message."""
        shapes = shapes_of(self._graph)
        lines = [
            "Layer({}): {}, Tactic: 0x{:016x}, {} -> {}".format(
                layer.kind,
                layer.name,
                index,
                self._tensors(layer, layer.reads, shapes),
                self._tensors(layer, [layer.writes], shapes),
            )
            for index, layer in enumerate(layers)
        ]
        log(self._logger, "VERBOSE", "Engine Layer Information:\n" + "\n".join(lines))

    def _tensors(self, layer, names, shapes):
        entries = {value.name for value in self._graph.inputs + self._graph.outputs}
        style = "{} ({}[{}])" if SHAPE in ("10", "11") or SHAPE == "8.6" else "{}[{}({})]"
        texts = []
        for name in names:
            kind = FLOAT if name in entries and not _lowering.is_half(self._graph) else layer.precision
            shape = ",".join(str(size) for size in shapes.get(name, self._graph.inputs[0].shape))
            texts.append(style.format(name, kind, shape))
        return ", ".join(texts)


def shapes_of(graph):
    """The shapes that are known without computing: of inputs and outputs."""
    return {value.name: value.shape for value in graph.inputs + graph.outputs}
