"""The stand-in for the CUDA runtime checks addresses, keeps a stream's order, and runs beside its caller."""

from __future__ import annotations

import ctypes
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from ctypes import byref, c_float, c_int, c_size_t, c_void_p
from typing import Any

import numpy as np
import pytest

from tests.backends.jetson import standin

INVALID_VALUE, INVALID_HANDLE, NOT_READY = 1, 400, 600
TO_DEVICE, TO_HOST = 1, 2
BYTES = 4096
CALLBACK = ctypes.CFUNCTYPE(None, c_void_p)


@pytest.fixture
def cuda() -> Iterator[Any]:
    """The library; nothing is left of it behind a test."""
    if why := standin.missing():
        pytest.skip(why)
    library = ctypes.CDLL(str(standin.compiled()))
    for name in ("cudaFree", "cudaFreeHost", "cudaStreamDestroy", "cudaStreamSynchronize", "cudaStreamQuery"):
        getattr(library, name).argtypes = [c_void_p]
    library.cudaMemcpyAsync.argtypes = [c_void_p, c_void_p, c_size_t, c_int, c_void_p]
    library.cudaMemcpy.argtypes = [c_void_p, c_void_p, c_size_t, c_int]
    library.cudaLaunchHostFunc.argtypes = [c_void_p, CALLBACK, c_void_p]
    library.cudaGetErrorName.restype = ctypes.c_char_p
    yield library
    for what in (b"device_blocks", b"host_blocks", b"streams", b"events"):
        assert library.standin_count(what) == 0, what


def device(cuda, size=BYTES) -> int:
    address = c_void_p()
    assert cuda.cudaMalloc(byref(address), c_size_t(size)) == 0 and address.value
    return address.value


def pinned(cuda, size=BYTES) -> Any:
    address = c_void_p()
    assert cuda.cudaHostAlloc(byref(address), c_size_t(size), 0) == 0 and address.value
    return np.frombuffer((ctypes.c_char * size).from_address(address.value), np.uint8)


def stream(cuda) -> c_void_p:
    handle = c_void_p()
    assert cuda.cudaStreamCreate(byref(handle)) == 0
    return handle


def test_addresses_are_checked(cuda):
    memory, host = device(cuda), pinned(cuda)
    there = host.ctypes.data
    assert cuda.cudaMemcpy(memory, there, BYTES, TO_DEVICE) == 0
    refused = cuda.standin_count(b"refused_addresses")
    wrong = [
        (there, there, BYTES, TO_DEVICE),  # the host's memory where the device's is due
        (memory, there, BYTES, TO_HOST),
        (memory, there, BYTES + 1, TO_DEVICE),  # more than there is
        (there, memory + 1, BYTES, TO_HOST),
    ]
    for arguments in wrong:
        assert cuda.cudaMemcpy(*arguments) == INVALID_VALUE, arguments
    assert cuda.cudaFree(memory) == 0
    assert cuda.cudaMemcpy(memory, there, BYTES, TO_DEVICE) == INVALID_VALUE  # it is gone
    assert cuda.cudaFree(memory) == INVALID_VALUE
    assert cuda.cudaFreeHost(there + 1) == INVALID_VALUE
    assert cuda.cudaGetErrorName(cuda.cudaGetLastError()) == b"cudaErrorInvalidValue"
    assert cuda.cudaGetLastError() == 0
    assert cuda.standin_count(b"refused_addresses") == refused + len(wrong) + 3
    assert cuda.cudaFreeHost(there) == 0


def test_a_stream_keeps_its_order_and_does_not_hold_its_caller_up(cuda):
    memory, first, last, handle = device(cuda), pinned(cuda), pinned(cuda), stream(cuda)
    gate, events = threading.Event(), [c_void_p(), c_void_p()]
    for event in events:
        assert cuda.cudaEventCreate(byref(event)) == 0

    def write(_: Any) -> None:
        gate.wait(20)
        first[:] = 7

    callback = CALLBACK(write)
    last[:] = 1
    assert cuda.cudaEventRecord(events[0], handle) == 0
    assert cuda.cudaLaunchHostFunc(handle, callback, None) == 0
    assert cuda.cudaMemcpyAsync(memory, first.ctypes.data, BYTES, TO_DEVICE, handle) == 0
    assert cuda.cudaMemcpyAsync(last.ctypes.data, memory, BYTES, TO_HOST, handle) == 0
    assert cuda.cudaEventRecord(events[1], handle) == 0
    elapsed = c_float()
    assert cuda.cudaEventElapsedTime(byref(elapsed), *events) in (NOT_READY, INVALID_HANDLE)
    assert cuda.cudaStreamQuery(handle) == NOT_READY
    assert (last == 1).all()
    gate.set()
    assert cuda.cudaStreamSynchronize(handle) == 0
    assert (last == 7).all()
    assert cuda.cudaEventElapsedTime(byref(elapsed), *events) == 0 and elapsed.value > 0
    for event in events:
        assert cuda.cudaEventDestroy(event) == 0
    assert cuda.cudaStreamDestroy(handle) == 0
    assert cuda.cudaStreamSynchronize(handle) == INVALID_HANDLE
    assert cuda.cudaFree(memory) == 0
    assert cuda.cudaFreeHost(first.ctypes.data) == cuda.cudaFreeHost(last.ctypes.data) == 0


def test_a_stream_waits_for_another_one(cuda):
    memory, host, handles, event = device(cuda), pinned(cuda), [stream(cuda), stream(cuda)], c_void_p()
    assert cuda.cudaEventCreate(byref(event)) == 0
    gate = threading.Event()
    callback = CALLBACK(lambda _: bool(gate.wait(20)) and None)
    assert cuda.cudaLaunchHostFunc(handles[0], callback, None) == 0
    assert cuda.cudaEventRecord(event, handles[0]) == 0
    assert cuda.cudaStreamWaitEvent(handles[1], event, 0) == 0
    assert cuda.cudaMemcpyAsync(host.ctypes.data, memory, BYTES, TO_HOST, handles[1]) == 0
    assert cuda.cudaStreamQuery(handles[1]) == NOT_READY
    gate.set()
    assert cuda.cudaStreamSynchronize(handles[1]) == 0
    assert (host == 0xA5).all()  # nobody wrote it
    for handle in handles:
        assert cuda.cudaStreamDestroy(handle) == 0
    assert cuda.cudaEventDestroy(event) == 0
    assert cuda.cudaFree(memory) == 0 and cuda.cudaFreeHost(host.ctypes.data) == 0


def test_the_host_reads_no_memory_of_the_device():
    if why := standin.missing():
        pytest.skip(why)
    program = (
        "import ctypes, sys; library = ctypes.CDLL(sys.argv[1]); address = ctypes.c_void_p(); "
        "library.cudaMalloc(ctypes.byref(address), ctypes.c_size_t(64)); ctypes.string_at(address.value, 1)"
    )
    read = subprocess.run([sys.executable, "-c", program, str(standin.compiled())], check=False)
    assert read.returncode == -signal.SIGSEGV
