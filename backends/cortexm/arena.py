"""How much memory TFLM takes for a model, by tflite-micro: a process of its own, which some models abort."""

from __future__ import annotations

import os
import re
import tempfile
from typing import Any

import numpy as np

from edgebench.errors import EdgeBenchError
from edgebench.prepare.workers.processes import Job, Report, last_line, serve

ARENA_BYTES = 1 << 28  # of which only what is used becomes memory
_USED = re.compile(r"Arena allocation total (\d+) bytes")


def handle(job: Job, _: Report) -> dict[str, Any]:
    """`arena_bytes` of the model in a file, once an inference has worked.

    TFLM prints on stderr alone what it takes, and what it cannot run.
    """
    from tflite_micro.python.tflite_micro import runtime

    stderr = os.dup(2)
    with tempfile.TemporaryFile() as printed:
        os.dup2(printed.fileno(), 2)
        try:
            interpreter = runtime.Interpreter.from_file(job["model"], arena_size=ARENA_BYTES)
            interpreter.print_allocations()
            details = interpreter.get_input_details(0)
            interpreter.set_input(np.zeros(details["shape"], details["dtype"]), 0)
            interpreter.invoke()
            failure = ""
        except RuntimeError as error:
            failure = str(error)
        finally:
            os.dup2(stderr, 2)
            os.close(stderr)
        printed.seek(0)
        text = printed.read().decode(errors="replace")
    if failure:
        raise EdgeBenchError("tflite-micro cannot run the model", why=last_line(text) or failure)
    if (used := _USED.search(text)) is None:
        raise EdgeBenchError("tflite-micro does not print what it takes", why=last_line(text))
    return {"arena_bytes": int(used[1])}


if __name__ == "__main__":
    serve(handle)
