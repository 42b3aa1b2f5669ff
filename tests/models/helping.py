"""A process of its own for tests: it answers, reports, refuses, prints and dies as it is told."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from typing import Any

from edgebench.errors import InputError
from edgebench.prepare.workers.processes import Job, Report, serve

NOISE = """WARNING: All log messages before absl::InitializeLog() is called are written to STDERR
LAST
I0000 00:00:1763767800.123456   12345 devices.cc:67] Number of eligible GPUs
2026-11-21 22:33:49.123456: I tensorflow/cc/saved_model/loader.cc:471] SavedModel load took 1 s
W0000 00:00:1763767800.123456   12345 tf_tfl_flatbuffer_helpers.cc:365] Ignored output_format.
fully_quantize: 0, inference_type: 6, input_inference_type: INT8, output_inference_type: INT8
INFO: Created TensorFlow Lite XNNPACK delegate for CPU.
"""


def handle(job: Job, report: Report) -> dict[str, Any]:
    print("a library that prints")
    os.write(1, b"and one that writes to the descriptor\n")
    report(f"at {job['n']}")
    outputs = job.get("outputs")
    do = "abort" if outputs and "int8" in outputs and job["do"] == "abort at int8" else job["do"]
    match do:
        case "refuse":
            raise InputError("no", why="it is so", fix="ask for something else")
        case "crash":
            raise ZeroDivisionError("the last words")
        case "hang":
            signal.pause()
        case "hang with a child":
            report(f"child {subprocess.Popen(['sleep', '600']).pid}")
            signal.pause()
        case "abort":
            print(NOISE.replace("LAST", "about to abort"), file=sys.stderr, flush=True)
            os.kill(os.getpid(), signal.SIGABRT)
    with tempfile.NamedTemporaryFile(prefix="left-", delete=False) as left:
        result = {"n": job["n"], "process": os.getpid(), "temporary": left.name}
    return result if outputs is None else dict.fromkeys(outputs, result)


if __name__ == "__main__":
    serve(handle)
