"""The device that builder and runtime find: its name, its compute capability, and what that can do."""

import os

from . import _cuda, _messages
from ._shape import incompatible
from ._values import ILogger, log


def gpu():
    """The name of the device."""
    return os.environ.get("STANDIN_GPU", "Stand-in GPU")


def capability():
    """The compute capability of the device, as text."""
    return os.environ.get("STANDIN_CAPABILITY", "7.2")


def capability_numbers():
    """(major, minor) of the compute capability."""
    return tuple(int(part) for part in capability().split("."))


def has_fast_int8():
    """Whether the device computes with integers of 8 bits itself."""
    return capability_numbers() >= (6, 1) and capability_numbers() != (6, 2)


def require_device(logger):
    """TypeError for what is no logger, or without a device."""
    if not isinstance(logger, ILogger):
        raise incompatible("__init__", logger)
    problem = _cuda.device_error()
    if problem:
        log(logger, "WARNING", _messages.NO_DEVICE.format(problem))
        raise TypeError("pybind11::init(): factory function returned nullptr")
