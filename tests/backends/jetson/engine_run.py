"""A program on a board of the tests: it builds an engine with the runner, loads it and runs it.

`python -m tests.backends.jetson.engine_run` takes a JSON object on stdin::

    {"source": path, "companions": {name: path}, "folder": path, "precision": "fp16", "options": [{...}, ...],
     "engine": path or null, "patches": path, "input": {...}, "tensors": [], "batch": 16, "classes": 3}

and writes one on stdout: `engine` (its path), and in `runs` for each of the options `scores`, `stages`,
`gpu_ns` (of each batch), `slots`, `overlapping` (batches that began before the one before them was done),
`runtime`, and `allocated_bytes` (the most that a second go held in Python); or `error`, with `kind`, `what`
and `status`.
"""

from __future__ import annotations

import importlib
import json
import sys
import time
import tracemalloc
from typing import Any

import numpy as np

from edgebench.agent.timed import TimedLoop


def main() -> None:
    """Do what stdin says."""
    task = json.load(sys.stdin)
    runner: Any = importlib.import_module("edgebench.backends.jetson.device.runner")
    runs: list[dict[str, Any]] = []
    results: dict[str, Any] = {"engine": task["engine"], "runs": runs}
    try:
        for chosen in task["options"]:
            options = {**chosen, "precision": task["precision"], "companions": task["companions"]}
            if results["engine"] is None:
                calibration = task["companions"].get("calibration.npy")
                results["engine"] = runner.build(
                    task["source"], calibration, task["folder"], options, lambda *_: None
                )
                results["version"] = runner.build_version()
            runs.append(run(runner.load(results["engine"], options), task))
    except Exception as error:
        status = getattr(error, "session_status", None)
        results["error"] = {"kind": type(error).__name__, "what": str(error), "status": status}
    json.dump(results, sys.stdout)


def run(model: Any, task: dict[str, Any]) -> dict[str, Any]:
    """All patches through a loaded model; it is closed where it has not failed, as the worker does it."""
    loop = TimedLoop(model, task["input"], task["batch"], task["classes"], time.monotonic_ns, task["tensors"])
    windows = _windows(task)
    timed = loop.run(windows)
    stamps = np.array(timed.stamps).reshape(-1, len(loop.stages), 2)
    slots = len(model.buffers())
    allocated_bytes = _allocated_bytes(loop, windows)
    model.close()
    return {
        "scores": timed.scores.tolist(),
        "stages": loop.stages,
        "gpu_ns": (stamps[:, 3, 1] - stamps[:, 3, 0]).tolist(),
        "slots": slots,
        "allocated_bytes": allocated_bytes,
        "overlapping": int((stamps[1:, 0, 0] < stamps[:-1, 2, 1]).sum()),
        "runtime": model.describe(),
    }


def _windows(task: dict[str, Any]) -> list[Any]:
    """Patches; of a model that takes no picture tuples of tensors."""
    with open(task["patches"], "rb") as file:
        stored = np.load(file)
        if not task["tensors"]:
            return list(stored)
        return list(zip(*(stored[str(place)] for place in range(len(task["tensors"]))), strict=True))


def _allocated_bytes(loop: TimedLoop, windows: list[Any]) -> int:
    """numpy's arrays count, memory of the CUDA runtime does not."""
    tracemalloc.start()
    loop.run(windows)
    _, peak_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return peak_bytes


if __name__ == "__main__":
    main()
