"""What TensorRT's runner costs itself: a batch of 16 on a stand-in whose GPU and copies do no work."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.row import Row
from edgebench import registry
from edgebench.prepare.cache import Cache
from edgebench.prepare.image_sets import shipped_scene
from edgebench.records.model import Artifact, PrepareRequest
from edgebench.records.session import MeasurePlan, Pass, SessionSettings
from edgebench.records.target import Launch, Target
from edgebench.records.values import Variant
from tests.backends.jetson import stand_in_python, standin

BAR_US = 100.0
BATCH = 16
PASSES = 9
SHAPES = ("8.2", "10")  # an engine is run by its bindings, and by its tensors' names


def rows(cache: Cache, pairs: int) -> list[Row]:
    """One row a way to run an engine, one batch after the other and double buffered."""
    if why := standin.missing():
        print(f"tensorrt: not taken: {why}", file=sys.stderr)
        return []
    backend = registry.backend("tensorrt")
    [artifact] = backend.prepare([PrepareRequest(Variant(0.25, "fp32"), BATCH, {})], cache, print)
    assert isinstance(artifact, Artifact), artifact
    with tempfile.TemporaryDirectory() as folder:
        return [row for shape in SHAPES for row in _rows_of(cache, artifact, shape, Path(folder) / shape)]


def _rows_of(cache: Cache, artifact: Artifact, shape: str, folder: Path) -> list[Row]:
    stand_in = standin.write(folder, shape)
    python = stand_in_python.write(folder, stand_in, STANDIN_ZERO_WORK="1")
    alone, doubled = (_passes(cache, artifact, str(python), value) for value in (False, True))
    infer_us, between_us = _infer_us(alone), _between_fills_us(alone)
    # Where the inference goes on beside, its duration is no cost: what lies between two fills is, less the
    # worker's own share of that.
    worker_us = float(np.median(between_us)) - float(np.median(infer_us))
    name = f"own cost a batch of {BATCH}, TensorRT {stand_in.release.version}"
    return [
        _row(f"{name}, one after the other, no work", infer_us, worker_us),
        _row(f"{name}, double buffered, no work", _between_fills_us(doubled) - worker_us, worker_us),
    ]


def _row(name: str, own_us: NDArray[np.float64], worker_us: float) -> Row:
    quartiles = [float(value) for value in np.percentile(own_us, (25, 75))]
    details = {"batches": len(own_us), "quartiles": quartiles, "worker_us": worker_us}
    return Row(name, float(np.median(own_us)), "us", BAR_US, None, details)


def _passes(cache: Cache, artifact: Artifact, python: str, double_buffer: bool) -> list[Pass]:
    """The steady passes of a session."""
    backend = registry.backend("tensorrt")
    options = backend.options_model.model_validate({"double_buffer": double_buffer}).model_dump(mode="json")
    launch = Launch(python=python)
    device = backend.open(Target(name="tensorrt", device="tensorrt", options=options, launch=launch))
    try:
        with device.session(artifact, SessionSettings(BATCH, options, launch)) as session:
            return [
                scene_pass
                for scene_pass in session.measure(MeasurePlan(shipped_scene(cache), PASSES))
                if isinstance(scene_pass, Pass) and scene_pass.phase == "steady"
            ]
    finally:
        device.close()


def _infer_us(passes: list[Pass]) -> NDArray[np.float64]:
    """Batch by batch, from the runner's beginning to its end."""
    infer = passes[0].stages.index("infer")
    stamps = [scene_pass.stamps_ns for scene_pass in passes]
    return np.concatenate([each[:, infer, 1] - each[:, infer, 0] for each in stamps]) / 1e3


def _between_fills_us(passes: list[Pass]) -> NDArray[np.float64]:
    """From the end of a batch's preprocessing to the beginning of the next one's patchify."""
    patchify, preprocess = (passes[0].stages.index(name) for name in ("patchify", "preprocess"))
    stamps = [scene_pass.stamps_ns for scene_pass in passes]
    return np.concatenate([each[1:, patchify, 0] - each[:-1, preprocess, 1] for each in stamps]) / 1e3
