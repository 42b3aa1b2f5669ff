"""What a test has a board's Python do with the stand-in, as a caller of TensorRT would: Python 3.6 syntax.

`python board_program.py ACTIONS`: a list of [name, argument ...] as JSON; the last line of the output has
what comes of each.
"""

import ctypes
import json
import sys
from typing import Any, Dict

import numpy as np
import tensorrt as trt


def names():
    """The public names of the package and of its classes."""
    results = {"": public(trt)}
    for name in results[""]:
        if isinstance(getattr(trt, name), type):
            results[name] = public(getattr(trt, name))
            severity = getattr(getattr(trt, name), "Severity", None)
            if severity is not None:
                results[name + ".Severity"] = public(severity)
    return results


def public(owner):
    """What it has, without what every enumeration's member has."""
    everywhere = {"name", "value"} if hasattr(owner, "__members__") else set()
    return sorted(name for name in set(dir(owner)) - everywhere if not name.startswith("_"))


def values():
    """The members of its enumerations, as numbers."""
    results = {}
    for name in public(trt):
        members = getattr(getattr(trt, name), "__members__", None)
        if members is not None:
            results[name] = {member: int(value) for member, value in members.items()}
    return results


def behaviour():
    """What the package's own types do, each as text, or the error that it is."""
    flag, dims = trt.BuilderFlag.TF32, trt.Dims((1, 2, 3))

    class Uninitialised(trt.ILogger):  # type: ignore[misc]
        def __init__(self):
            pass

    asked = {
        "text of a member": lambda: (str(flag), repr(flag), flag.name, flag.value, int(flag)),
        "member by number": lambda: trt.BuilderFlag(int(flag)) == flag,
        "a text for a member": lambda: trt.DataType("FLOAT"),
        "shift by a member": lambda: 1 << flag,
        "shift by its number": lambda: 1 << int(flag) > 0,
        "member and number": lambda: (trt.DataType.FLOAT == 0, trt.DataType(0) == trt.DataType.FLOAT),
        "members hash": lambda: {flag: 1}[trt.BuilderFlag.TF32],
        "order of severities": lambda: trt.Logger.ERROR < trt.Logger.VERBOSE,
        "type of a severity": lambda: type(trt.Logger.ERROR).__name__,
        "dimensions": lambda: (tuple(dims), len(dims), dims[0], dims == (1, 2, 3), isinstance(dims, tuple)),
        "text of dimensions": lambda: str(dims),
        "sizes": lambda: [dtype.itemsize for dtype in (trt.float32, trt.float16, trt.int8)],
        "numpy's types": lambda: [
            trt.nptype(dtype).__name__ for dtype in (trt.float32, trt.float16, trt.int8)
        ],
        "volume": lambda: trt.volume((2, 3)),
        "a logger": lambda: (trt.Logger().min_severity.name, trt.Logger(trt.Logger.INFO).min_severity.name),
        "an attribute that there is not": lambda: setattr(trt.Logger(), "level", 1),
        "a logger that was not initialised": Uninitialised,
        "a derived logger": lambda: Messages().kept,
        "a derived logger's own attribute": lambda: setattr(Messages(), "level", 1),
        "a builder without a device": lambda: trt.Builder(Messages()),
        "a runtime without a device": lambda: trt.Runtime(Messages()),
        "a builder without a logger": lambda: trt.Builder(print),
    }
    if hasattr(trt, "IProgressMonitor"):
        asked["a monitor"] = lambda: derived(trt.IProgressMonitor).__name__
    if hasattr(trt, "IInt8EntropyCalibrator2"):
        asked["a calibrator"] = lambda: derived(trt.IInt8EntropyCalibrator2).__name__
    results = {}
    for name, ask in asked.items():
        try:
            results[name] = repr(ask())
        except Exception as error:
            results[name] = type(error).__name__
    return results


def derived(base):
    """A class derived from one of the package's, of which there can be an object."""

    class Derived(base):  # type: ignore[misc,valid-type]
        def __init__(self):
            base.__init__(self)

    return type(Derived())


class Messages(trt.ILogger):  # type: ignore[misc]
    """Keeps all messages."""

    def __init__(self):
        trt.ILogger.__init__(self)
        self.kept = []

    def log(self, severity, msg):
        self.kept.append((severity.name, msg))


def cuda():
    """The CUDA runtime."""
    library = ctypes.CDLL("libcudart.so")
    library.cudaMalloc.argtypes = [ctypes.POINTER(ctypes.c_void_p), ctypes.c_size_t]
    library.cudaMemcpy.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    library.cudaStreamCreate.argtypes = [ctypes.POINTER(ctypes.c_void_p)]
    library.cudaStreamSynchronize.argtypes = [ctypes.c_void_p]
    return library


def device(library, array):
    """The address of a copy on the device."""
    address = ctypes.c_void_p()
    assert library.cudaMalloc(ctypes.byref(address), array.nbytes) == 0
    assert library.cudaMemcpy(address, array.ctypes.data, array.nbytes, 1) == 0
    return address.value


def calibrator(library, shape, batches):
    """An entropy calibrator over noise."""
    random = np.random.RandomState(1)

    class Calibrator(trt.IInt8EntropyCalibrator2):  # type: ignore[misc]
        def __init__(self):
            trt.IInt8EntropyCalibrator2.__init__(self)
            self.left = batches

        def get_batch_size(self):
            return shape[0]

        def get_batch(self, names):
            self.left -= 1
            batch = np.ascontiguousarray(random.uniform(-1, 1, shape).astype(np.float32))
            return [device(library, batch)] if self.left >= 0 else None

        def read_calibration_cache(self):
            return None

        def write_calibration_cache(self, cache):
            self.written = bytes(cache)

    return Calibrator()


def build(logger, library, model, precision):
    """A serialized engine, or None."""
    builder = trt.Builder(logger)
    explicit = getattr(trt.NetworkDefinitionCreationFlag, "EXPLICIT_BATCH", None)
    network = builder.create_network(0 if explicit is None else 1 << int(explicit))
    parser = trt.OnnxParser(network, logger)
    if not parser.parse(model):
        raise ValueError(parser.get_error(0).desc())
    config = builder.create_builder_config()
    if hasattr(trt.ProfilingVerbosity, "DETAILED"):
        config.profiling_verbosity = trt.ProfilingVerbosity.DETAILED
    if precision == "fp16" and hasattr(trt.BuilderFlag, "FP16"):
        config.set_flag(trt.BuilderFlag.FP16)
    if precision in ("int8", "pairs") and hasattr(trt.BuilderFlag, "INT8"):
        config.set_flag(trt.BuilderFlag.INT8)
        if precision == "int8":
            config.int8_calibrator = calibrator(library, tuple(network.get_input(0).shape), 3)
    memory = builder.build_serialized_network(network, config)
    return None if memory is None else bytes(memory)


def run(path, precision):
    """Build, load and run; the scores of noise, and what is told of the layers."""
    logger, library = Messages(), cuda()
    with open(path, "rb") as file:
        model = file.read()
    try:
        data = build(logger, library, model, precision)
    except ValueError as error:
        return {"refused": str(error)}
    if data is None:
        return {"messages": [text for kind, text in logger.kept if kind == "ERROR"]}
    engine = trt.Runtime(logger).deserialize_cuda_engine(data)
    context = engine.create_execution_context()
    shape = tuple(
        engine.get_tensor_shape(engine[0])
        if hasattr(engine, "num_io_tensors")
        else engine.get_binding_shape(0)
    )
    image = np.random.RandomState(5).uniform(-1, 1, shape).astype(np.float32)
    scores = np.zeros((shape[0], 4), np.float32)
    addresses = [device(library, image), device(library, scores)]
    stream = ctypes.c_void_p()
    assert library.cudaStreamCreate(ctypes.byref(stream)) == 0
    if hasattr(context, "execute_async_v3"):
        for index, address in enumerate(addresses):
            context.set_tensor_address(engine.get_tensor_name(index), address)
        assert context.execute_async_v3(stream.value)
    else:
        assert context.execute_async_v2(addresses, stream.value)
    assert library.cudaStreamSynchronize(stream) == 0
    assert library.cudaMemcpy(scores.ctypes.data, addresses[1], scores.nbytes, 2) == 0
    results = {"scores": scores.tolist(), "image": image.tolist(), "size": len(data)}
    results["log"] = [text for kind, text in logger.kept if text.startswith("Engine Layer Information")]
    if hasattr(engine, "create_engine_inspector"):
        results["layers"] = json.loads(
            engine.create_engine_inspector().get_engine_information(trt.LayerInformationFormat.JSON)
        )
    return results


def save(path, target):
    """Build and keep an engine."""
    with open(path, "rb") as file:
        data = build(Messages(), cuda(), file.read(), "fp32")
    with open(target, "wb") as file:
        file.write(data)


def load(path):
    """The errors of loading an engine that was kept."""
    logger = Messages()
    with open(path, "rb") as file:
        engine = trt.Runtime(logger).deserialize_cuda_engine(file.read())
    errors = [text for kind, text in logger.kept if kind == "ERROR"]
    assert (engine is None) == bool(errors)
    return errors


def raises(kind, call):
    """Whether a call raises that."""
    try:
        call()
    except kind:
        return True
    return False


def misuse(path):
    """What is let through here and would not be there."""
    logger, library = Messages(), cuda()
    with open(path, "rb") as file:
        model = file.read()
    config = trt.Builder(logger).create_builder_config()
    engine = trt.Runtime(logger).deserialize_cuda_engine(build(logger, library, model, "fp32"))
    memory = engine.serialize()

    class Uninitialised(trt.ILogger):  # type: ignore[misc]
        def __init__(self):
            pass

    refused = {
        "an attribute that there is not": raises(AttributeError, lambda: setattr(config, "workspace", 1)),
        "a flag as a number": raises(TypeError, lambda: config.set_flag(0)),
        "a shift by an enumeration": raises(TypeError, lambda: 1 << trt.BuilderFlag.TF32),
        "a base that was not initialised": raises(TypeError, Uninitialised),
        "something else for a logger": raises(TypeError, lambda: trt.Builder(print)),
        "the length of memory": raises(TypeError, lambda: len(memory)),
        "an address as a ctypes object": raises(TypeError, lambda: run_at(engine, ctypes.c_void_p(8))),
        "a method of another release": not hasattr(engine, "num_bindings")
        or not hasattr(trt, "IProgressMonitor"),
    }
    assert bytes(memory) and memory.nbytes == len(bytes(memory))
    return sorted(name for name, is_refused in refused.items() if not is_refused)


def run_at(engine, address):
    """Run over that address, by whichever way there is."""
    context = engine.create_execution_context()
    if hasattr(context, "set_tensor_address"):
        context.set_tensor_address(engine[0], address)
    else:
        context.execute_v2([address, address])


if __name__ == "__main__":
    actions: Dict[str, Any] = {
        each.__name__: each for each in (names, values, behaviour, run, save, load, misuse)
    }
    print(json.dumps([actions[name](*arguments) for name, *arguments in json.loads(sys.argv[1])]))
