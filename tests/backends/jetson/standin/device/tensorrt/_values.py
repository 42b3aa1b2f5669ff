"""Loggers, dimensions, memory of the host, and what the package has as functions."""

import ctypes
import sys
import time
from typing import Any

import numpy as np

from ._events import note
from ._shape import ENUMERATIONS, MAJOR, SHAPE, VERSION, Bound, attribute, incompatible, severity

_LETTERS = {"INTERNAL_ERROR": "F", "ERROR": "E", "WARNING": "W", "INFO": "I", "VERBOSE": "V"}


class ILogger(Bound):
    """What is derived from it gets every message, of every severity."""

    def log(self, severity, msg):
        """Take a message."""
        raise RuntimeError('Tried to call pure virtual function "ILogger::log"')


class Logger(ILogger):
    """Prints to stderr what is at least as severe."""

    min_severity = attribute("min_severity")

    def __init__(self, min_severity=None):
        super().__init__()
        self._min_severity = severity().WARNING if min_severity is None else min_severity

    def log(self, severity, msg):
        """Print a message."""
        if severity > self._min_severity:
            return
        if SHAPE == "8.0":
            sys.stderr.write("[TensorRT] {}: {}\n".format(severity.name.replace("_", " "), msg))
            return
        stamp = time.strftime("%m/%d/%Y-%H:%M:%S")
        sys.stderr.write("[{}] [TRT] [{}] {}\n".format(stamp, _LETTERS[severity.name], msg))


def log(logger, name, text):
    """Tell a logger; what it raises ends nothing here, as nothing may pass through the library."""
    logger.log(getattr(severity(), name), text)


class Dims(Bound):
    """A shape: a sequence that is no tuple."""

    MAX_DIMS = 8

    def __init__(self, shape=()):
        super().__init__()
        self._sizes = tuple(int(size) for size in shape)

    def __len__(self):
        return len(self._sizes)

    def __getitem__(self, index):
        return self._sizes[index]

    def __eq__(self, other):
        return self._sizes == tuple(other)

    def __hash__(self):
        return hash(self._sizes)

    def __str__(self):
        return str(self._sizes)

    __repr__ = __str__


class IHostMemory(ctypes.Structure):
    """Memory of the library's: a buffer, with its size in `nbytes`, and no length."""

    @property
    def nbytes(self):
        """Its size."""
        return ctypes.sizeof(self)

    @property
    def dtype(self):
        """Of its elements."""
        return ENUMERATIONS["DataType"].INT8


def host_memory(data):
    """An IHostMemory with a copy of these bytes."""
    fields = {"_fields_": [("_held", ctypes.c_char * len(data))]}
    kind: Any = type("IHostMemory", (IHostMemory,), fields)
    return kind.from_buffer_copy(data)


_SIZES = {
    "FLOAT": 4,
    "HALF": 2,
    "BF16": 2,
    "INT8": 1,
    "INT32": 4,
    "INT64": 8,
    "BOOL": 1,
    "UINT8": 1,
    "FP8": 1,
}
_NUMPY = {
    "FLOAT": np.float32,
    "HALF": np.float16,
    "INT8": np.int8,
    "INT32": np.int32,
    "INT64": np.int64,
    "BOOL": np.bool_,
    "UINT8": np.uint8,
}


def itemsize(dtype):
    """The bytes of an element."""
    return _SIZES.get(dtype.name)


def nptype(trt_type):
    """numpy's dtype; in 8.0 and 8.2 by an alias that newer releases of numpy lack."""
    if MAJOR == 8 and SHAPE != "8.6":
        np.bool  # noqa: B018 (an AttributeError from numpy 1.24 on, as there)
    if trt_type in ENUMERATIONS["DataType"].__members__.values() and trt_type.name in _NUMPY:
        return _NUMPY[trt_type.name]
    raise TypeError("Could not resolve TensorRT datatype to an equivalent numpy datatype.")


def data_type(dtype):
    """TensorRT's name of a numpy dtype."""
    wanted = np.dtype(dtype)
    return next(
        getattr(ENUMERATIONS["DataType"], name)
        for name, each in _NUMPY.items()
        if np.dtype(each) == wanted and name in ENUMERATIONS["DataType"].__members__
    )


def volume(iterable):
    """The product of sizes; 1 of none."""
    product = 1
    for size in iterable:
        product *= size
    return product


def get_nv_onnx_parser_version():
    """As one number."""
    numbers = [int(number) for number in VERSION.split(".")]
    return numbers[0] * 10000 + numbers[1] * 100 + numbers[2]


def init_libnvinfer_plugins(logger, namespace):
    """That they are there is in STANDIN_LOG alone: nothing that is parsed here is one."""
    if not isinstance(logger, ILogger):
        raise incompatible("init_libnvinfer_plugins", logger)
    note("plugins", namespace=namespace)
    return True
