"""What TensorRT's runner costs itself: a batch of 16 on a stand-in whose GPU and copies do no work."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.row import Row
from edgebench import registry
from edgebench.cache.objects import Cache
from edgebench.data.shipped import shipped_scene
from edgebench.vocabulary.artifact import Artifact
from edgebench.vocabulary.passes import Pass
from edgebench.vocabulary.preparation import PrepareRequest
from edgebench.vocabulary.session import MeasurePlan, SessionSettings
from edgebench.vocabulary.target import Launch, Target
from edgebench.vocabulary.variant import Variant
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
        return [
            _row(cache, artifact, shape, double_buffer, Path(folder))
            for shape in SHAPES
            for double_buffer in (False, True)
        ]


def _row(cache: Cache, artifact: Artifact, shape: str, double_buffer: bool, folder: Path) -> Row:
    stand_in = standin.write(folder / shape, shape)
    python = stand_in_python.write(folder / shape, stand_in, STANDIN_ZERO_WORK="1")
    backend = registry.backend("tensorrt")
    options = backend.options_model.model_validate({"double_buffer": double_buffer}).model_dump(mode="json")
    launch = Launch(python=str(python))
    device = backend.open(Target(name="tensorrt", device="tensorrt", options=options, launch=launch))
    try:
        with device.session(artifact, SessionSettings(BATCH, options, launch)) as session:
            passes = [
                scene_pass
                for scene_pass in session.measure(MeasurePlan(shipped_scene(cache), PASSES))
                if isinstance(scene_pass, Pass) and scene_pass.phase == "steady"
            ]
    finally:
        device.close()
    take = _between_fills_ns if double_buffer else _infer_ns
    own_us = np.concatenate([take(scene_pass) for scene_pass in passes]) / 1e3
    way = "double buffered" if double_buffer else "one after the other"
    name = f"own cost a batch of {BATCH}, TensorRT {stand_in.release.version}, {way}, no work"
    quartiles = [float(value) for value in np.percentile(own_us, (25, 75))]
    details = {"batches": len(own_us), "quartiles": quartiles}
    return Row(name, float(np.median(own_us)), "us", BAR_US, None, details)


def _infer_ns(scene_pass: Pass) -> NDArray[np.int64]:
    """Batch by batch, from the runner's beginning to its end."""
    infer = scene_pass.stages.index("infer")
    durations: NDArray[np.int64] = scene_pass.stamps_ns[:, infer, 1] - scene_pass.stamps_ns[:, infer, 0]
    return durations


def _between_fills_ns(scene_pass: Pass) -> NDArray[np.int64]:
    """From the end of a batch's preprocessing to the beginning of the next one's patchify.

    That is what a batch costs where its inference goes on beside: to start it, to take notice of the one
    before, and the worker's own loop.
    """
    patchify, preprocess = (scene_pass.stages.index(name) for name in ("patchify", "preprocess"))
    stamps = scene_pass.stamps_ns
    gaps: NDArray[np.int64] = stamps[1:, patchify, 0] - stamps[:-1, preprocess, 1]
    return gaps
