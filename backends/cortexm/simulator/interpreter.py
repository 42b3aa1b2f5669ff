"""The process that infers by tflite-micro: it aborts on some models, and takes its process with it."""

from __future__ import annotations

import base64
import os
import re
import tempfile
import time
from functools import cache
from typing import Any

import numpy as np

from edgebench.errors import EdgeBenchError
from edgebench.models.workers.processes import Job, Report, serve

_ARENA_BYTES = 64 << 20
_USED = re.compile(rb"Arena allocation total (\d+) bytes")


def handle(job: Job, _: Report) -> dict[str, Any]:
    """One of `start` (facts of the model), `infer` (of a tensor, several times) and `abort`.

    A job names its model's path each time: a process that is started anew knows nothing.
    """
    if job["what"] == "abort":
        os.abort()
    try:
        interpreter = _interpreter(job["model"])
        if job["what"] == "start":
            return _facts(interpreter)
        details = interpreter.get_input_details(0)
        tensor = np.frombuffer(base64.b64decode(job["tensor"]), details["dtype"]).reshape(details["shape"])
        return _infer(interpreter, tensor, job["times"])
    except (RuntimeError, ValueError) as error:  # ValueError: the input has another size
        raise EdgeBenchError("tflite-micro cannot run the model", why=str(error)) from None


@cache
def _interpreter(path: str) -> Any:
    from tflite_micro.python.tflite_micro import runtime

    return runtime.Interpreter.from_file(path, arena_size=_ARENA_BYTES)


def _facts(interpreter: Any) -> dict[str, Any]:
    details = interpreter.get_input_details(0)
    zeros = np.zeros(details["shape"], details["dtype"])
    interpreter.set_input(zeros, 0)  # the first one fills caches
    start_ns = time.monotonic_ns()
    interpreter.set_input(zeros, 0)
    copy_us = (time.monotonic_ns() - start_ns) // 1000
    interpreter.invoke()
    return {"copy_us": copy_us, "arena_bytes": _arena_bytes(interpreter)}


def _infer(interpreter: Any, tensor: Any, times: int) -> dict[str, Any]:
    """Scores of the last inference, and when all of them began and ended."""
    start_ns = time.monotonic_ns()
    for _ in range(times):
        interpreter.set_input(tensor, 0)  # an inference overwrites it
        interpreter.invoke()
    end_ns = time.monotonic_ns()
    levels = interpreter.get_output(0).ravel()
    quantisation = interpreter.get_output_details(0)["quantization_parameters"]
    scores = levels.astype(np.float32)
    if levels.dtype != np.float32:
        scores = (scores - np.float32(quantisation["zero_points"][0])) * quantisation["scales"][0]
    return {"scores": [float(score) for score in scores], "start_ns": start_ns, "end_ns": end_ns}


def _arena_bytes(interpreter: Any) -> int | None:
    """What of the arena is used, which is only printed, on stderr; None where that has other words."""
    with tempfile.TemporaryFile() as printed:
        stderr = os.dup(2)
        os.dup2(printed.fileno(), 2)
        try:
            interpreter.print_allocations()
        finally:
            os.dup2(stderr, 2)
            os.close(stderr)
        printed.seek(0)
        used = _USED.search(printed.read())
    return int(used[1]) if used else None


if __name__ == "__main__":
    serve(handle)
