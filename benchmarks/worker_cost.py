"""The worker's own cost a patch: a runner that does no work, beside patchify and preprocess."""

from __future__ import annotations

import statistics

from benchmarks.row import Row
from edgebench import registry
from edgebench.prepare.cache import Cache
from edgebench.prepare.image_sets import shipped_scene
from edgebench.records.model import Artifact, PrepareRequest
from edgebench.records.session import MeasurePlan, Pass, SessionSettings
from edgebench.records.target import Launch, Target
from edgebench.records.values import Variant

BAR_US = 20.0


def rows(cache: Cache, pairs: int) -> list[Row]:
    """One row; the details say what patchify and preprocess took."""
    backend = registry.backend("toy")
    options = backend.options_model.model_validate({"work": "none"}).model_dump(mode="json")
    (artifact,) = backend.prepare([PrepareRequest(Variant(0.25, "int8"), 1, options)], cache, print)
    assert isinstance(artifact, Artifact), artifact
    scene = shipped_scene(cache)
    device = backend.open(Target(name="toy", device="toy", options=options))
    try:
        with device.session(artifact, SessionSettings(1, options, Launch())) as session:
            session.golden()
            passes = [
                scene_pass
                for scene_pass in session.measure(MeasurePlan(scene, 9))
                if isinstance(scene_pass, Pass)
            ]
    finally:
        device.close()
    steady = [scene_pass for scene_pass in passes if scene_pass.phase == "steady"]
    own_us = statistics.median(_own_ns(scene_pass) / scene.patches / 1e3 for scene_pass in steady)
    stages = {
        f"{name}_us": statistics.median(
            float((scene_pass.stamps_ns[:, index, 1] - scene_pass.stamps_ns[:, index, 0]).sum())
            / scene.patches
            / 1e3
            for scene_pass in steady
        )
        for index, name in enumerate(steady[0].stages)
    }
    return [Row("worker's own cost a patch, a runner that does no work", own_us, "us", BAR_US, None, stages)]


def _own_ns(scene_pass: Pass) -> float:
    pixels = [index for index, name in enumerate(scene_pass.stages) if name != "infer"]
    spent = (scene_pass.stamps_ns[:, pixels, 1] - scene_pass.stamps_ns[:, pixels, 0]).sum()
    return float(scene_pass.image_ns - spent)
