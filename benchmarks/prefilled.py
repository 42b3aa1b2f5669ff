"""The worker's timed loop over OpenVINO's runner, with inputs that were filled before: inference alone.

    python -m benchmarks.prefilled REQUEST

REQUEST is JSON with `path`, `options` of the runner, `input`, `classes`, `patches` and `passes`. It prints a
list: the nanoseconds of inference of each pass, the union of the requests' intervals.
"""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from edgebench.agent.clock import monotonic_clock
from edgebench.agent.pixels import Copy
from edgebench.agent.timed import STAGES, TimedLoop
from edgebench.results.rows import union_ns
from edgebench.results.tables import INFER

SEED = 0
RUNNER = "edgebench.backends.openvino.device.runner"


class PrefilledLoop(TimedLoop):
    """The timed loop, whose patches are neither copied nor preprocessed.

    Args:
        model: with `buffers()`, which are filled with noise once.
        spec: the artifact's input.
        classes: scores a patch.
    """

    def __init__(self, model: Any, spec: dict[str, Any], classes: int) -> None:
        super().__init__(model, spec, 1, classes, monotonic_clock())
        noise = np.random.default_rng(SEED)
        for slot in self._slots:
            slot.array[...] = noise.uniform(-1, 1, slot.array.shape)
        self._fills = [lambda: None for _ in self._slots]

    def _copy_of(self, windows: Sequence[Any]) -> Copy:
        return lambda place, patch: None


def infer_ns(asked: Mapping[str, Any]) -> list[int]:
    """Of each pass, after a warm-up of one pass."""
    runner: Any = importlib.import_module(RUNNER)
    model = runner.load(asked["path"], asked["options"])
    loop = PrefilledLoop(model, asked["input"], asked["classes"])
    patch = np.zeros((asked["input"]["height"], asked["input"]["width"], 3), np.uint8)
    patches = [patch] * asked["patches"]
    loop.run(patches)
    runs = [loop.run(patches) for _ in range(asked["passes"])]
    stamps = [np.frombuffer(run.stamps, np.int64).reshape(-1, len(loop.stages), 2) for run in runs]
    model.close()
    return [union_ns(of_run[:, STAGES.index(INFER)]) for of_run in stamps]


if __name__ == "__main__":
    print(json.dumps(infer_ns(json.loads(sys.argv[1]))))
