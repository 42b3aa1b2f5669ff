"""How much memory TFLM needs for a model beside its weights, from TFLM itself in a process of its own."""

from __future__ import annotations

import os
import tempfile
from importlib.util import find_spec
from pathlib import Path

from edgebench.errors import EdgeBenchError, UnavailableError, UnsupportedError, UsageError
from edgebench.prepare.workers.processes import HelperEndedError, HelperError, results_of, run_jobs
from edgebench.records.model import Artifact
from edgebench.records.values import Progress

from .simulator.engine import INTERPRETER
from .simulator.interpreter import ARENA_BYTES

VARIABLE = "EDGEBENCH_TFLM_ARENA"
"""Of the environment: the arena's bytes, where they are not found by the tflite-micro package."""

_PACKAGE = "tflite_micro"
_OPTIMISED_KERNELS_BYTES = 4096
"""What a board's kernels may take beside the reference ones that are asked here; CMSIS-NN's took 48."""


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
    if not named.isascii() or not named.isdecimal() or not input_bytes <= int(named) <= ARENA_BYTES:
        raise UsageError(
            f"{VARIABLE}={named} is no arena for {artifact.variant}",
            why=f"its input alone takes {input_bytes:,} bytes",
            fix=f"a number of bytes from {input_bytes} to {ARENA_BYTES}, or leave {VARIABLE} unset",
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
        job = {"what": artifact.variant, "do": "start", "model": str(artifact.path)}
        try:
            [result] = results_of(run_jobs(INTERPRETER, [job], Path(scratch), progress, processes=1))
        except HelperEndedError:
            raise
        except HelperError as error:
            what = f"{artifact.variant} cannot be run by TFLM"
            raise UnsupportedError(what, why=error.why, fix=error.fix) from error
    if result["arena_bytes"] is None:
        raise EdgeBenchError(
            f"how much memory TFLM needs for {artifact.variant} cannot be found",
            why="the tflite-micro package says it in other words",
            fix=f"name the bytes: {VARIABLE}=435392",
        )
    return int(result["arena_bytes"]) + _OPTIMISED_KERNELS_BYTES
