"""Reading a model file in a process of its own: `python -m edgebench.prepare.workers.inspecting`.

A job is `{"what": text, "path": path, "format": "tflite", "limit_bytes": n}`; the answer has the fields of
`edgebench.records.model.ModelFacts` that are read from the file.
"""

from __future__ import annotations

import resource
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from edgebench.errors import InputError
from edgebench.prepare.workers import keras as keras_file
from edgebench.prepare.workers import onnx_file, openvino_ir, tflite_file
from edgebench.prepare.workers.processes import Job, Report, serve
from edgebench.prepare.workers.tflite_file import Malformed

_READERS: Mapping[str, Callable[[Path], dict[str, Any]]] = {
    "tflite": tflite_file.read,
    "onnx": onnx_file.read,
    "openvino": openvino_ir.read,
    "keras": keras_file.read,
    "saved_model": keras_file.read_saved_model,
}
_CPU_S = 120  # a file that keeps its reader busy for longer is not one that was meant to be read


def read(job: Job, report: Report) -> dict[str, Any]:
    """The facts of one file; InputError, whose `what` is the reason, where it is damaged."""
    try:
        return _READERS[job["format"]](Path(job["path"]))
    except Malformed as error:
        raise InputError(str(error)) from error
    except MemoryError as error:
        raise InputError("reading it takes more memory than such a file should") from error
    except OSError as error:
        raise InputError(error.strerror or str(error)) from error


def bounded(job: Job, report: Report) -> dict[str, Any]:
    """`read` with bounds on the process's memory and processor time."""
    _limit(resource.RLIMIT_AS, int(job["limit_bytes"]))
    _limit(resource.RLIMIT_CPU, _CPU_S)
    return read(job, report)


def _limit(kind: int, most: int) -> None:
    """Lower a limit of this process; one that is lower already, as `ulimit` sets it, stays."""
    hard = resource.getrlimit(kind)[1]
    least = most if hard == resource.RLIM_INFINITY else min(most, hard)
    resource.setrlimit(kind, (least, least))


if __name__ == "__main__":
    serve(bounded)
