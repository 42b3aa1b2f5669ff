"""What telemetry costs: its share of a core beside a busy worker, and `image_s` with and without it."""

from __future__ import annotations

import time
from dataclasses import replace

import psutil

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

BAR_SHARE = 0.5
BAR_RATIO = 1.03
WINDOW_S = 30.0
PASSES = 8


def rows(cache: Cache, pairs: int) -> list[Row]:
    """0.25 int8, one thread, the default kernels."""
    backend = registry.backend("cpu")
    options = backend.options_model().model_dump(mode="json")
    [artifact] = backend.prepare([PrepareRequest(Variant(0.25, "int8"), 1, options)], cache, print)
    assert isinstance(artifact, Artifact), artifact
    scene = shipped_scene(cache)
    plain = SessionSettings(1, options, Launch())
    watched = replace(plain, monitors=(TELEMETRY,))
    device = backend.open(Target(name="cpu", device="cpu", options=options))
    try:
        share = _share(device, artifact, scene, watched)
        paired = abba(
            lambda: _image_s(device, artifact, scene, watched),
            lambda: _image_s(device, artifact, scene, plain),
            pairs,
        )
    finally:
        device.close()
    return [share, ratio_row("image_s with telemetry against without, 0.25 int8", paired, BAR_RATIO)]


def _share(device: Device, artifact: Artifact, scene: Scene, settings: SessionSettings) -> Row:
    """CPU time of the probe's process, its start included, over the time that it ran, in percent."""
    used_s = lasted_s = 0.0
    running_s, since = 0.0, time.monotonic()
    with device.session(artifact, settings) as session:
        probe = _probe()
        first_s = _cpu_s(probe)
        for _ in session.measure(MeasurePlan(scene, 10_000)):
            used_s, lasted_s = _cpu_s(probe), time.time() - probe.create_time()
            running_s = used_s - first_s
            if time.monotonic() - since > WINDOW_S:
                break
    details = {"cpu_s": used_s, "wall_s": lasted_s, "start_s": first_s, "after_start_s": running_s}
    return Row("telemetry's share of a core", 100 * used_s / lasted_s, "%", BAR_SHARE, None, details)


def _probe() -> psutil.Process:
    """The probe's process: the one below this one that runs the agent's part `probe`."""
    [probe] = [
        child
        for child in psutil.Process().children(recursive=True)
        if "probe" in child.cmdline()[:4] and any("telemetry" in part for part in child.cmdline())
    ]
    return probe


def _cpu_s(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system + times.children_user + times.children_system)


def _image_s(device: Device, artifact: Artifact, scene: Scene, settings: SessionSettings) -> float:
    """Seconds: the mean of the steady passes of one session, so that nothing in between is hidden."""
    with device.session(artifact, settings) as session:
        steady = [
            scene_pass.image_ns / 1e9
            for scene_pass in session.measure(MeasurePlan(scene, PASSES))
            if isinstance(scene_pass, Pass) and scene_pass.phase == "steady"
        ]
    return sum(steady) / len(steady)
