"""A stand-in for TensorRT's Python package, in the shape of one release: see the package that writes it."""

import ctypes
import json
import os
import struct
import sys
import zlib
from typing import Any, List

import numpy as np

from . import _build, _cuda
from ._names import ENUMERATIONS, MAJOR, SEVERITY, VERSION, Bound, expose, incompatible, integer

__version__ = VERSION
WORK_BYTES = 1 << 20
_MAGIC = b"ftrt"
_NUMPY = {
    "FLOAT": np.dtype(np.float32),
    "HALF": np.dtype(np.float16),
    "INT8": np.dtype(np.int8),
    "INT32": np.dtype(np.int32),
    "INT64": np.dtype(np.int64),
}


class ILogger(Bound):
    """What is derived from it gets every message, of every severity."""

    def log(self, severity, msg):
        """Take a message."""
        raise RuntimeError('Tried to call pure virtual function "ILogger::log"')


class Logger(ILogger):
    """Prints errors to stderr."""

    def log(self, severity, msg):
        """Print a message."""
        if int(severity) <= int(SEVERITY.ERROR):
            sys.stderr.write("[TRT] {}\n".format(msg))


class Dims(Bound):
    """A shape: a sequence that is no tuple."""

    def __init__(self, shape):
        super().__init__()
        self._sizes = tuple(-1 if size is None else size for size in shape)

    def __len__(self):
        return len(self._sizes)

    def __getitem__(self, index):
        return self._sizes[index]


class IHostMemory(ctypes.Structure):
    """Memory of the library's: a buffer, with its size in `nbytes`, and no length."""

    nbytes = property(ctypes.sizeof)


def host_memory(data):
    """An IHostMemory with a copy of these bytes."""
    kind: Any = type("IHostMemory", (IHostMemory,), {"_fields_": [("_held", ctypes.c_char * len(data))]})
    return kind.from_buffer_copy(data)


def data_type(dtype):
    """TensorRT's name of a numpy dtype."""
    name = next(name for name, each in _NUMPY.items() if each == np.dtype(dtype))
    return getattr(ENUMERATIONS["DataType"], name)


class ITensor(Bound):
    """A tensor of a network."""

    def __init__(self, name, shape=()):
        super().__init__()
        self.name, self.shape = name, Dims(shape)


class ILayer(Bound):
    """An operation of a network, or a constant; what is asked of its precision is an order to the builder."""

    def __init__(self, name, kind, inputs, outputs):
        super().__init__()
        types = ENUMERATIONS["LayerType"]
        self.name, self.type = name, getattr(types, kind, types.IDENTITY)
        self._inputs, self._outputs = inputs, outputs

    num_inputs = property(lambda self: len(self._inputs))
    num_outputs = property(lambda self: len(self._outputs))

    def get_input(self, index):
        """A tensor that goes in."""
        return self._inputs[index]

    def get_output(self, index):
        """A tensor that comes out."""
        return self._outputs[index]


_LAYER_TYPES = {
    "Add": "ELEMENTWISE",
    "Cast": "CAST",
    "Clip": "ACTIVATION",
    "Conv": "CONVOLUTION",
    "DequantizeLinear": "DEQUANTIZE",
    "Gemm": "MATRIX_MULTIPLY",
    "GlobalAveragePool": "REDUCE",
    "MatMul": "MATRIX_MULTIPLY",
    "QuantizeLinear": "QUANTIZE",
    "ReduceMean": "REDUCE",
    "Relu": "ACTIVATION",
    "Softmax": "SOFTMAX",
}
"""The parser's layers for operations; SHUFFLE is the rest. Up to 8.2 a cast is an identity."""


class INetworkDefinition(Bound):
    """A network: what a parser has put into it."""

    def __init__(self, flags):
        super().__init__()
        creation = ENUMERATIONS["NetworkDefinitionCreationFlag"]
        self._is_explicit = MAJOR > 8 or bool(flags >> int(creation.EXPLICIT_BATCH) & 1)
        self._model, self._read, self._inputs, self._layers = b"", None, [], []

    def _fill(self, model, read):
        """Take in what a parser has read; weights that are not a convolution's own come from constants."""
        self._model, self._read = model, read
        self._inputs = [ITensor(name, shape) for name, _, shape in read["inputs"]]
        tensors = {tensor.name: tensor for tensor in self._inputs}

        def tensor(name):
            if name not in tensors:
                tensors[name] = ITensor(name)
                if name in read["weights"]:
                    self._layers.append(ILayer(name, "CONSTANT", [], [tensors[name]]))
            return tensors[name]

        for op, name, inputs, outputs in read["nodes"]:
            has_weights = op == "Conv" and inputs[1] in read["weights"]
            reads = [tensor(each) for each in (inputs[:1] if has_weights else inputs) if each]
            layer = ILayer(name, _LAYER_TYPES.get(op, "SHUFFLE"), reads, [tensor(each) for each in outputs])
            self._layers.append(layer)

    num_inputs = property(lambda self: len(self._inputs))
    num_layers = property(lambda self: len(self._layers))

    def get_input(self, index):
        """An input."""
        return self._inputs[index]

    def get_layer(self, index):
        """An operation."""
        return self._layers[index]


class ParserError(Bound):
    """What was wrong with a file."""

    def __init__(self, code, node, name, text):
        super().__init__()
        self._code, self._node, self._name, self._text = code, node, name, text

    def code(self):
        """Its ErrorCode."""
        return getattr(ENUMERATIONS["ErrorCode"], self._code)

    def desc(self):
        """What was asserted."""
        return self._text

    def node(self):
        """The node's index, -1 for none."""
        return self._node

    def node_name(self):
        """The node's name."""
        return self._name


class OnnxParser(Bound):
    """Reads an ONNX file into a network."""

    def __init__(self, network, logger):
        super().__init__()
        self._network, self._logger, self._errors = network, logger, []

    num_errors = property(lambda self: len(self._errors))

    def get_error(self, index):
        """An error of the last parse."""
        return self._errors[index]

    def parse(self, model):
        """Whether the network has the model now; else there are errors."""
        if not self._network._is_explicit:
            return self._refuse("INVALID_VALUE", -1, "", "the network has no explicit batch dimension")
        read = _build.compute("read", model, MAJOR > 8)
        if read["problem"]:
            index, name, op, text = read["problem"]
            code = "MODEL_DESERIALIZE_FAILED" if not op else "INVALID_NODE"
            return self._refuse("UNSUPPORTED_NODE" if "No importer" in text else code, index, name, text)
        self._network._fill(model, read)
        return True

    def _refuse(self, *error):
        self._errors.append(ParserError(*error))
        self._logger.log(SEVERITY.ERROR, str(error))
        return False


class IInt8EntropyCalibrator2(Bound):
    """What is derived from it gives batches as addresses of device memory."""


class IProgressMonitor(Bound):
    """What is derived from it is told how far a build is, and may end it."""


class IBuilderConfig(Bound):
    """How an engine is to be built."""

    int8_calibrator = progress_monitor = profiling_verbosity = None
    max_workspace_size = 0

    def __init__(self):
        super().__init__()
        self._flags = {"TF32"}

    def set_flag(self, flag):
        """Set a flag."""
        self._flags.add(self._name(flag))

    def clear_flag(self, flag):
        """Take a flag away."""
        self._flags.discard(self._name(flag))

    def _name(self, flag):
        if not isinstance(flag, ENUMERATIONS["BuilderFlag"]):
            raise incompatible("flag", flag)
        return flag.name

    def set_memory_pool_limit(self, pool, pool_size):
        """The bytes of a pool."""
        if not isinstance(pool, ENUMERATIONS["MemoryPoolType"]):
            raise incompatible("set_memory_pool_limit", pool)


def _require_device(logger):
    """TypeError for what is no logger, or without a device, as pybind11 has it."""
    if not isinstance(logger, ILogger):
        raise incompatible("__init__", logger)
    problem = _cuda.device_error()
    if problem:
        logger.log(SEVERITY.WARNING, "CUDA initialization failure with error: {}".format(problem))
        raise TypeError("pybind11::init(): factory function returned nullptr")


class Builder(Bound):
    """Builds engines."""

    def __init__(self, logger):
        super().__init__()
        _require_device(logger)
        self._logger = logger

    platform_has_fast_int8 = property(lambda self: _build.has_fast_int8())

    def create_network(self, flags=0):
        """An empty network."""
        return INetworkDefinition(integer("create_network", flags))

    def create_builder_config(self):
        """A configuration."""
        return IBuilderConfig()

    def build_serialized_network(self, network, config):
        """The engine's bytes, or None, and the logger knows why."""
        int8 = ENUMERATIONS["DataType"].INT8
        products = [layer for layer in network._layers if layer.type.name == "MATRIX_MULTIPLY"]
        ordered = [layer for layer in products if getattr(layer, "precision", None) == int8]
        has_calibrator = getattr(config, "int8_calibrator", None) is not None  # 11 has none
        if has_calibrator and ordered:  # NVIDIA/TensorRT, issue 3659
            text = "10: Could not find any implementation for node {}: its constant has no scale"
            self._logger.log(SEVERITY.ERROR, text.format(ordered[0].name))
            return None
        floats = [layer.name for layer in products] if has_calibrator else []
        built = _build.Build(self._logger, network._model, network._read, config).run(floats)
        if built is None:
            return None
        header, graph = built
        verbosity = config.profiling_verbosity
        header.update(version=VERSION, verbosity="" if verbosity is None else verbosity.name)
        body = json.dumps(header).encode("utf-8") + b"\n" + graph
        data = _MAGIC + struct.pack("<I", zlib.crc32(body) & 0xFFFFFFFF) + body
        _build.note("built", bytes=len(data))
        return host_memory(data)


class Runtime(Bound):
    """Reads serialized engines of its own version and device."""

    def __init__(self, logger):
        super().__init__()
        _require_device(logger)
        self._logger = logger

    def deserialize_cuda_engine(self, serialized_engine):
        """An engine, or None, and the logger knows why."""
        data = memoryview(serialized_engine).tobytes()
        body = data[8:]
        is_whole = data[:8] == _MAGIC + struct.pack("<I", zlib.crc32(body) & 0xFFFFFFFF)
        line, _, graph = body.partition(b"\n")
        header = json.loads(line.decode("utf-8")) if is_whole else {}
        here = dict(header, version=VERSION, capability=_build.capability())
        if not is_whole or header != here:
            text = "6: The engine plan file is not compatible: expecting {} got {}".format(
                (VERSION, _build.capability()), (header.get("version"), header.get("capability"))
            )
            _build.note("refused", why=text)
            self._logger.log(SEVERITY.ERROR, text)
            return None
        _build.note("deserialized")
        return ICudaEngine(header, graph, self._logger)


class ICudaEngine(Bound):
    """An engine: its tensors, inputs first."""

    def __init__(self, header, graph, logger):
        super().__init__()
        self._header, self._logger = header, logger
        self._tensors = [
            (name, np.dtype(dtype), tuple(shape), is_entry)
            for is_entry, kind in ((True, "inputs"), (False, "outputs"))
            for name, dtype, shape in header[kind]
        ]
        idle = os.environ.get("STANDIN_ZERO_WORK") == "1"
        self._session = None if idle else _build.compute("load", graph)

    num_bindings = property(lambda self: len(self._tensors))
    num_io_tensors = property(lambda self: len(self._tensors))

    def _of(self, name):
        return next(each for each in self._tensors if each[0] == name)

    def get_binding_name(self, index):
        """By number."""
        return self._tensors[index][0]

    def get_binding_shape(self, binding):
        """By number."""
        return Dims(self._tensors[binding][2])

    def get_binding_dtype(self, binding):
        """By number."""
        return data_type(self._tensors[binding][1])

    def binding_is_input(self, binding):
        """By number."""
        return self._tensors[binding][3]

    def get_tensor_name(self, index):
        """By number."""
        return self._tensors[integer("get_tensor_name", index)][0]

    def get_tensor_mode(self, name):
        """Input or output."""
        modes = ENUMERATIONS["TensorIOMode"]
        return modes.INPUT if self._of(name)[3] else modes.OUTPUT

    def get_tensor_shape(self, name):
        """By name."""
        return Dims(self._of(name)[2])

    def get_tensor_dtype(self, name):
        """By name."""
        return data_type(self._of(name)[1])

    def create_execution_context(self):
        """A context, or None where memory is out."""
        context = IExecutionContext(self)
        if context._work is None:
            self._logger.log(SEVERITY.ERROR, "Error Code 1: Cuda Runtime (out of memory)")
            return None
        return context

    def create_engine_inspector(self):
        """What tells of the layers."""
        return EngineInspector(self)


def _at_once(*arguments):
    return True


class IExecutionContext(Bound):
    """Runs an engine over addresses of device memory, on streams of the CUDA runtime."""

    def __init__(self, engine):
        super().__init__()
        self._engine, self._addresses = engine, {}
        self._work = _cuda.allocate(WORK_BYTES)
        if engine._session is None:  # no work: what a run takes is to be the caller's own time alone
            for name in {"set_tensor_address", "execute_async_v2", "execute_async_v3"} & set(dir(self)):
                object.__setattr__(self, name, _at_once)

    def __del__(self):
        if getattr(self, "_work", None) is not None:
            _cuda.free(self._work)

    def set_tensor_address(self, name, memory):
        """Where a tensor lies from now on."""
        self._addresses[self._engine._of(name)[0]] = integer("set_tensor_address", memory)
        return True

    def execute_async_v2(self, bindings, stream_handle):
        """Queue a run."""
        addresses = [integer("bindings", each) for each in bindings]
        return self._enqueue(addresses, integer("execute_async_v2", stream_handle))

    def execute_async_v3(self, stream_handle):
        """Queue a run over the addresses that were set."""
        addresses = [self._addresses[each[0]] for each in self._engine._tensors]
        return self._enqueue(addresses, integer("execute_async_v3", stream_handle))

    def _enqueue(self, addresses, stream):
        inputs: List[Any] = []
        outputs: List[Any] = []
        for address, (name, dtype, shape, is_entry) in zip(addresses, self._engine._tensors):
            memory = _cuda.window(address, int(np.prod(shape)) * dtype.itemsize)
            if memory is None:
                _cuda.break_device()  # a kernel would read or write where nothing is
                return True
            (inputs if is_entry else outputs).append((name, dtype, shape, memory))

        def work():
            fed = {name: (str(dtype), list(shape), memory.raw) for name, dtype, shape, memory in inputs}
            results = _build.compute("run", self._engine._session, fed)
            for (_, _, _, memory), result in zip(outputs, results):
                memory.raw = result

        return _cuda.launch(stream, work) == 0


_FORMATS = {
    "Float": "Row major linear FP32",
    "Half": "Row major linear FP16 format",
    "Int8": "Thirty-two wide channel vectorized row major Int8 format",
}


class EngineInspector(Bound):
    """Tells of an engine's layers, as much as it was built to keep, in the form of the release."""

    def __init__(self, engine):
        super().__init__()
        self._engine = engine

    def get_engine_information(self, format):
        """All layers, as JSON."""
        if not isinstance(format, ENUMERATIONS["LayerInformationFormat"]):
            raise incompatible("get_engine_information", format)
        header = self._engine._header
        if header["verbosity"] != "DETAILED":
            return json.dumps({"Layers": [layer["name"] for layer in header["layers"]]})
        return json.dumps({"Layers": [self._layer(layer) for layer in header["layers"]]})

    def _layer(self, layer):
        fields = {
            "Name": layer["name"],
            "LayerType": layer["kind"],
            "Inputs": [self._tensor(layer, name) for name in layer["reads"]],
            "Outputs": [self._tensor(layer, layer["writes"])],
        }
        if layer["op"] in ("Conv", "Gemm", "MatMul"):
            fields.update(ParameterType="Convolution", Weights={"Type": layer["precision"], "Count": 1})
        return fields

    def _tensor(self, layer, name):
        """From 11 on with its type apart (NVIDIA: Migrating IEngineInspector Usage from 10.x to 11.x)."""
        ends = {each[0] for each in self._engine._tensors}
        precision = "Float" if name in ends else layer["precision"]
        if MAJOR >= 11:
            return {"Name": name, "Datatype": precision, "Format": _FORMATS[precision]}
        return {"Name": name, "Format/Datatype": _FORMATS[precision]}


def init_libnvinfer_plugins(logger, namespace):
    """That they are there is in STANDIN_LOG alone: nothing that is parsed here is one."""
    if not isinstance(logger, ILogger):
        raise incompatible("init_libnvinfer_plugins", logger)
    _build.note("plugins", namespace=namespace)
    return True


expose(globals())
