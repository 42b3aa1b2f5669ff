"""How much memory TFLM needs for a model beside its weights, from TFLM itself in a process of its own."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from edgebench.errors import EdgeBenchError, UnavailableError, UnsupportedError, UsageError
from edgebench.models.workers.processes import (
    HelperEndedError,
    HelperError,
    Job,
    Report,
    last_line,
    results_of,
    run_jobs,
    serve,
)
from edgebench.vocabulary.artifact import Artifact
from edgebench.vocabulary.values import Progress

VARIABLE = "EDGEBENCH_TFLM_ARENA"
"""Of the environment: the arena's bytes, where they are not found by the tflite-micro package."""

_PACKAGE = "tflite_micro"
_ROOM_BYTES = 1 << 28  # of which only what is used becomes memory
_OPTIMISED_KERNELS_BYTES = 4096
"""What a board's kernels may take beside the reference ones that are asked here; CMSIS-NN's took 48."""

_TOTAL = re.compile(r"Arena allocation total (\d+) bytes")


def arena_bytes(artifact: Artifact, input_bytes: int, progress: Progress) -> int:
    """As the environment says, else as much as TFLM is known to need.

    Raises:
        UsageError: the environment names no number, or less than the model's input alone.
        UnavailableError: the tflite-micro package is not installed.
        UnsupportedError: TFLM cannot run the model.
    """
    named = os.environ.get(VARIABLE)
    if not named:
        return needed_bytes(artifact, progress)
    if not named.isascii() or not named.isdecimal() or not input_bytes <= int(named) <= _ROOM_BYTES:
        raise UsageError(
            f"{VARIABLE}={named} is no arena for {artifact.variant}",
            why=f"its input alone takes {input_bytes:,} bytes",
            fix=f"a number of bytes from {input_bytes} to {_ROOM_BYTES}, or leave {VARIABLE} unset",
        )
    return int(named)


def needed_bytes(artifact: Artifact, progress: Progress) -> int:
    """Enough for a 32-bit board: what the tflite-micro package takes here, and room for other kernels.

    Pointers are twice as long here, so that it takes a little more than on a board (MobileNet v1 0.25:
    431,296 bytes against 428,292).

    Raises:
        UnavailableError: the package is not installed.
        UnsupportedError: TFLM cannot run the model.
    """
    if find_spec(_PACKAGE) is None:
        raise UnavailableError(
            "how much memory TFLM needs for the model cannot be found",
            why="tflite-micro is not installed",
            fix=f"pip install 'edgebench[simulator]', or name the bytes: {VARIABLE}=435392",
        )
    with tempfile.TemporaryDirectory(prefix="edgebench-") as scratch:
        job = {"what": artifact.variant, "path": str(artifact.path)}
        try:
            [result] = results_of(run_jobs(__name__, [job], Path(scratch), progress, processes=1))
        except HelperEndedError:
            raise
        except HelperError as error:
            raise UnsupportedError(error.what, why=error.why, fix=error.fix) from error
    return int(result["bytes"]) + _OPTIMISED_KERNELS_BYTES


def _measure(job: Job, report: Report) -> Mapping[str, Any]:
    """In the process of its own: what TFLM's interpreter says that it took."""
    from tflite_micro.python.tflite_micro import runtime

    with tempfile.TemporaryFile() as log:
        stderr = os.dup(2)
        os.dup2(log.fileno(), 2)
        try:
            runtime.Interpreter.from_file(job["path"], arena_size=_ROOM_BYTES).print_allocations()
        except RuntimeError as error:
            raise EdgeBenchError(
                f"{job['what']} cannot be run by TFLM", why=last_line(_text(log)) or str(error)
            ) from error
        finally:
            os.dup2(stderr, 2)
            os.close(stderr)
        total = _TOTAL.search(_text(log))
    if total is None:
        raise EdgeBenchError(
            f"how much memory TFLM needs for {job['what']} cannot be found",
            why="the tflite-micro package says it in other words",
            fix=f"name the bytes: {VARIABLE}=435392",
        )
    return {"bytes": int(total[1])}


def _text(log: Any) -> str:
    log.seek(0)
    return str(log.read().decode(errors="replace"))


if __name__ == "__main__":
    serve(_measure)
