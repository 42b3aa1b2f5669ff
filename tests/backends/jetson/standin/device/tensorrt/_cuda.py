"""The stand-in's own libcudart, which lies beside the package: the program under test has the same one."""

import atexit
import ctypes
import glob
import os
import time
from typing import Any, Dict

_FOLDER = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "lib")
_library = ctypes.CDLL(sorted(glob.glob(os.path.join(_FOLDER, "libcudart.so*")))[0])
_library.standin_bytes.restype = ctypes.c_void_p
_library.standin_bytes.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
_library.cudaMalloc.argtypes = [ctypes.POINTER(ctypes.c_void_p), ctypes.c_size_t]
_library.cudaFree.argtypes = [ctypes.c_void_p]
_library.cudaGetErrorString.restype = ctypes.c_char_p
_CALLBACK = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
_library.cudaLaunchHostFunc.argtypes = [ctypes.c_void_p, _CALLBACK, ctypes.c_void_p]

LAUNCH_FAILURE = 719
ILLEGAL_ADDRESS = 700
END_S = 5.0
_running: Dict[int, Any] = {}
_computing: Dict[int, Any] = {}


def device_error():
    """Why there is no device; nothing where there is one."""
    count = ctypes.c_int()
    code = _library.cudaGetDeviceCount(ctypes.byref(count))
    return "{}: {}".format(code, _library.cudaGetErrorString(code).decode()) if code else ""


def allocate(size):
    """An address of device memory, or None."""
    address = ctypes.c_void_p()
    return None if _library.cudaMalloc(ctypes.byref(address), size) else address.value


def free(address):
    """Give back what `allocate` gave."""
    _library.cudaFree(address)


def window(address, size):
    """Device memory as a writable buffer, or None where the range is no live device memory."""
    start = _library.standin_bytes(address, size)
    return None if start is None else (ctypes.c_char * size).from_address(start)


def launch(stream, work):
    """Have a stream do `work()` when its turn comes; its error code."""

    def run(_):
        _computing[key] = work
        try:
            work()
        except Exception:
            _library.standin_break(LAUNCH_FAILURE)
        finally:
            _running.pop(key, None)
            _computing.pop(key, None)

    callback = _CALLBACK(run)
    key = id(callback)
    _running[key] = callback
    return _library.cudaLaunchHostFunc(stream, callback, None)


def break_device():
    """As after a kernel that read where nothing is."""
    _library.standin_break(ILLEGAL_ADDRESS)


def _await_computing():
    """A Python that ends takes its threads with it: one within C++ would end the process by SIGABRT."""
    deadline = time.monotonic() + END_S
    while _computing and time.monotonic() < deadline:
        time.sleep(0.005)


atexit.register(_await_computing)
