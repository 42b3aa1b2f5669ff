"""The process that infers by tflite-micro: it aborts on some models, and takes its process with it."""

from __future__ import annotations

import base64
import os
import re
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any, BinaryIO

import numpy as np

from edgebench.errors import EdgeBenchError
from edgebench.prepare.workers.processes import Job, Report, last_line, serve

ARENA_BYTES = 1 << 28  # of which only what is used becomes memory
_USED = re.compile(r"Arena allocation total (\d+) bytes")


def handle(job: Job, _: Report) -> dict[str, Any]:
    """`start` (facts of the model) or `infer` (of a tensor, several times).

    A job names its model's path each time: a restarted process knows nothing.
    """
    try:
        if job["do"] == "start":
            return _facts(job["model"])
        interpreter = _interpreter(job["model"])
        details = interpreter.get_input_details(0)
        tensor = np.frombuffer(base64.b64decode(job["tensor"]), details["dtype"]).reshape(details["shape"])
        return _infer(interpreter, tensor, job["times"], resets=job["resets"])
    except (RuntimeError, ValueError) as error:  # ValueError: the input has another size
        raise EdgeBenchError("tflite-micro cannot run the model", why=str(error)) from None


@cache
def _interpreter(path: str) -> Any:
    from tflite_micro.python.tflite_micro import runtime

    return runtime.Interpreter.from_file(path, arena_size=ARENA_BYTES)


def _facts(path: str) -> dict[str, Any]:
    with _stderr() as printed:
        try:
            interpreter = _interpreter(path)
            interpreter.print_allocations()
        except RuntimeError as error:
            words = last_line(_text(printed)) or str(error)
            raise EdgeBenchError("tflite-micro cannot run the model", why=words) from error
        used = _USED.search(_text(printed))
    details = interpreter.get_input_details(0)
    zeros = np.zeros(details["shape"], details["dtype"])
    interpreter.set_input(zeros, 0)  # the first one fills caches
    start_ns = time.monotonic_ns()
    interpreter.set_input(zeros, 0)
    copy_us = (time.monotonic_ns() - start_ns) // 1000
    interpreter.invoke()
    return {"copy_us": copy_us, "arena_bytes": int(used[1]) if used else None}


def _infer(interpreter: Any, tensor: Any, times: int, *, resets: bool) -> dict[str, Any]:
    """Scores of the last inference, and when all of them began and ended; each begins with a reset state."""
    start_ns = time.monotonic_ns()
    for _ in range(times):
        interpreter.set_input(tensor, 0)  # an inference overwrites it
        if resets:
            interpreter.reset()
        interpreter.invoke()
    end_ns = time.monotonic_ns()
    levels = interpreter.get_output(0).ravel()
    quantisation = interpreter.get_output_details(0)["quantization_parameters"]
    scores = levels.astype(np.float32)
    if levels.dtype != np.float32:
        scores = (scores - np.float32(quantisation["zero_points"][0])) * quantisation["scales"][0]
    return {"scores": [float(score) for score in scores], "start_ns": start_ns, "end_ns": end_ns}


@contextmanager
def _stderr() -> Iterator[BinaryIO]:
    """What is printed there meanwhile: TFLM says there alone what it takes, and what it cannot run."""
    with tempfile.TemporaryFile() as printed:
        stderr = os.dup(2)
        os.dup2(printed.fileno(), 2)
        try:
            yield printed
        finally:
            os.dup2(stderr, 2)
            os.close(stderr)


def _text(printed: BinaryIO) -> str:
    printed.seek(0)
    return printed.read().decode(errors="replace")


if __name__ == "__main__":
    serve(handle)
