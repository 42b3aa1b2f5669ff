"""`image_s` by EdgeBench against a plain script that does the same work, a fresh process each."""

from __future__ import annotations

import io
import statistics
import subprocess
import sys
from pathlib import Path

import numpy as np

from benchmarks.pairs import abba
from benchmarks.row import Row, ratio_row
from edgebench import registry
from edgebench.contract import Device
from edgebench.prepare.cache import Cache
from edgebench.prepare.image_sets import shipped_scene
from edgebench.records.model import Artifact, PrepareRequest
from edgebench.records.session import MeasurePlan, Pass, SessionSettings
from edgebench.records.target import Launch, Target
from edgebench.records.values import Scene, Variant
from edgebench.run.meters import TELEMETRY

PLAIN = Path(__file__).with_name("plain_litert.py")
BAR = 1.03
THREADS = 1  # on both sides
PATCH = 224
MONITORS = (TELEMETRY,)  # as beside every session of a run


def rows(cache: Cache, pairs: int) -> list[Row]:
    """0.25 int8 and 1.0 fp32, one thread, the default kernels."""
    backend = registry.backend("cpu")
    options = backend.options_model.model_validate({"threads": THREADS}).model_dump(mode="json")
    variants = {Variant(0.25, "int8"): 4, Variant(1.0, "fp32"): 2}
    requests = [PrepareRequest(variant, 1, options) for variant in variants]
    artifacts = backend.prepare(requests, cache, print)
    scene = shipped_scene(cache)
    device = backend.open(Target(name="cpu", device="cpu", options=options))
    ratio_rows = []
    try:
        for (variant, passes), artifact in zip(variants.items(), artifacts, strict=True):
            assert isinstance(artifact, Artifact), artifact
            paired = abba(
                lambda artifact=artifact, passes=passes: ours(device, artifact, scene, options, passes),  # type: ignore[misc]
                lambda artifact=artifact, passes=passes: plain(artifact, scene, passes),  # type: ignore[misc]
                pairs,
            )
            ratio_rows.append(ratio_row(f"image_s against a plain script, {variant.name}", paired, BAR))
    finally:
        device.close()
    return ratio_rows


def strip(cache: Cache, patches_down: int) -> Scene:
    """The top of the shipped scene, as wide as it is: 20 patches across."""
    whole = np.load(shipped_scene(cache).path, mmap_mode="r")
    height = patches_down * PATCH
    held = io.BytesIO()
    np.save(held, np.ascontiguousarray(whole[:height]))
    path, digest = cache.add_bytes(held.getvalue(), ".npy")
    return Scene(path, digest, height, whole.shape[1])


def ours(device: Device, artifact: Artifact, scene: Scene, options: dict[str, object], passes: int) -> float:
    """Seconds: the median of the steady passes of one session."""
    settings = SessionSettings(1, options, Launch(), monitors=MONITORS)
    with device.session(artifact, settings) as session:
        session.golden()
        steady = [
            scene_pass.image_ns / 1e9
            for scene_pass in session.measure(MeasurePlan(scene, passes))
            if isinstance(scene_pass, Pass) and scene_pass.phase == "steady"
        ]
    return statistics.median(steady)


def plain(artifact: Artifact, scene: Scene, passes: int) -> float:
    """Seconds: the median of the same number of passes by the script."""
    command = [sys.executable, str(PLAIN), str(artifact.path), str(scene.path), str(THREADS), str(passes)]
    output = subprocess.run(command, check=True, capture_output=True, text=True, timeout=300).stdout
    return statistics.median(float(line) for line in output.split())
