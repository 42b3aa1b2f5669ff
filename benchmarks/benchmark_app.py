"""OpenVINO's own benchmark_app against EdgeBench, a fresh process each; and four requests against one.

Both sides have the same .onnx, device, execution precision, hint, requests and threads. benchmark_app fills
its inputs once, before it measures; so does EdgeBench here, in the worker's timed loop (`prefilled.py`). One
of the processor's cores is kept for Python, and the others are the device's, on both sides.
"""

from __future__ import annotations

import importlib.util
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from benchmarks.image_s import MONITORS, strip
from benchmarks.pairs import abba
from benchmarks.row import Row, agreement_row, ratio_row
from edgebench import registry
from edgebench.agent.children import end_with_parent
from edgebench.contract import Device
from edgebench.prepare.cache import Cache
from edgebench.records.model import Artifact, PrepareRequest
from edgebench.records.session import MeasurePlan, Pass, SessionSettings
from edgebench.records.target import Launch, Target
from edgebench.records.values import Json, Scene, Variant
from edgebench.results.tables import pass_rows

VARIANTS = (Variant(0.25, "fp32"), Variant(0.25, "int8"), Variant(1.0, "int8"))
ROWS = 5  # of the scene's 20
REQUESTS = 4
AGREE_PERCENT = 3.0
IMAGE_BAR = 1.0
PASSES = 3
INPUTS = {"float32": "f32", "int8": "i8"}  # as benchmark_app calls them
EXECUTION_PRECISION = "f32"
# A package of OpenVINO's reports to its maker when it is imported, unless openvino_telemetry is missing.
PROGRAM = (
    "import sys; sys.modules['openvino_telemetry'] = None; "
    "from openvino.tools.benchmark.main import main; main()"
)
LATENCY = re.compile(r"Average: +([0-9.]+) (us|ms)$", re.MULTILINE)
THROUGHPUT = re.compile(r"Throughput: +([0-9.]+) FPS$", re.MULTILINE)
TIMEOUT_S = 120


@dataclass(frozen=True)
class Mode:
    """How the device is used; 0 threads are as many as the library takes."""

    requests: int
    hint: str
    threads: int = 0

    @property
    def options(self) -> dict[str, Json]:
        """Of EdgeBench's backend."""
        options = {
            "requests": self.requests,
            "hint": self.hint,
            "threads": self.threads,
            "execution_precision": EXECUTION_PRECISION,
        }
        return registry.backend("openvino").options_model.model_validate(options).model_dump(mode="json")

    @property
    def properties(self) -> dict[str, str]:
        """Of the library."""
        threads = {"INFERENCE_NUM_THREADS": str(self.threads)} if self.threads else {}
        return {"PERFORMANCE_HINT": self.hint.upper(), **threads}


@dataclass(frozen=True)
class Subject:
    """What is measured, by EdgeBench on a device that is open."""

    device: Device
    variant: Variant
    artifact: Artifact
    scene: Scene


def rows(cache: Cache, pairs: int) -> list[Row]:
    """Three rows a variant; none, with the reason, where there is no OpenVINO."""
    if importlib.util.find_spec("openvino") is None:
        print("openvino: not taken: openvino is not installed", file=sys.stderr)
        return []
    backend = registry.backend("openvino")
    artifacts = backend.prepare([PrepareRequest(variant, 1, {}) for variant in VARIANTS], cache, print)
    scene = strip(cache, ROWS)
    device = backend.open(Target(name="openvino", device="openvino", options={}))
    try:
        measured: list[Row] = []
        for variant, artifact in zip(VARIANTS, artifacts, strict=True):
            assert isinstance(artifact, Artifact), artifact
            measured += _rows_of(Subject(device, variant, artifact, scene), pairs)
        return measured
    finally:
        device.close()


def _rows_of(subject: Subject, pairs: int) -> Iterator[Row]:
    threads = max(1, len(os.sched_getaffinity(0)) - 1)
    of = f"{subject.variant.name}, threads={threads}"
    in_turn, in_flight = Mode(1, "latency", threads), Mode(REQUESTS, "throughput", threads)
    latency_ms = abba(lambda: infer_ms(subject, in_turn), lambda: app_latency_ms(subject, in_turn), pairs)
    yield agreement_row(f"latency of a request against benchmark_app, {of}", latency_ms, AGREE_PERCENT)
    per_s = abba(lambda: patches_per_s(subject, in_flight), lambda: app_per_s(subject, in_flight), pairs)
    yield agreement_row(
        f"throughput of {REQUESTS} requests against benchmark_app, {of}", per_s, AGREE_PERCENT
    )
    seconds = abba(
        lambda: image_s(subject, Mode(REQUESTS, "throughput")),
        lambda: image_s(subject, Mode(1, "latency")),
        pairs,
    )
    yield ratio_row(
        f"image_s of {REQUESTS} requests against one, {subject.variant.name}, all cores",
        seconds,
        IMAGE_BAR,
    )


def infer_ms(subject: Subject, mode: Mode) -> float:
    """Milliseconds a patch, as `stages_ms.infer`."""
    return statistics.median(_prefilled_ns(subject, mode)) / subject.scene.patches / 1e6


def patches_per_s(subject: Subject, mode: Mode) -> float:
    """Patches over `infer_s`."""
    return subject.scene.patches / statistics.median(_prefilled_ns(subject, mode)) * 1e9


def _prefilled_ns(subject: Subject, mode: Mode) -> list[int]:
    """Nanoseconds of inference of each pass, the inputs filled before."""
    artifact = subject.artifact
    asked = {
        "path": str(artifact.path),
        "options": {**mode.options, "precision": subject.variant.precision},
        "input": artifact.input.model_dump(mode="json"),
        "classes": len(artifact.golden.scores[0]),
        "patches": subject.scene.patches,
        "passes": PASSES,
    }
    command = [sys.executable, "-m", "benchmarks.prefilled", json.dumps(asked)]
    passes: list[int] = json.loads(_output_of(command))
    return passes


def image_s(subject: Subject, mode: Mode) -> float:
    """Seconds a pass."""
    return float(_steady(subject, mode)["image_ns"].median() / 1e9)


def _steady(subject: Subject, mode: Mode) -> pd.DataFrame:
    """The steady passes of one session, as they are stored."""
    settings = SessionSettings(1, mode.options, Launch(), monitors=MONITORS)
    with subject.device.session(subject.artifact, settings) as session:
        session.golden()
        measured = list(session.measure(MeasurePlan(subject.scene, PASSES)))
    passes, _ = pass_rows([scene_pass for scene_pass in measured if isinstance(scene_pass, Pass)])
    return passes[passes["phase"] == "steady"]


def app_latency_ms(subject: Subject, mode: Mode) -> float:
    """Milliseconds an inference: the mean."""
    latency, unit = _app_figure(LATENCY, subject, mode, "sync").groups()
    return float(latency) / (1e3 if unit == "us" else 1)


def app_per_s(subject: Subject, mode: Mode) -> float:
    """Inferences a second."""
    return float(_app_figure(THROUGHPUT, subject, mode, "async")[1])


def _app_figure(figure: re.Pattern[str], subject: Subject, mode: Mode, api: str) -> re.Match[str]:
    """What benchmark_app prints, after as many inferences as the steady passes have; RuntimeError without."""
    with tempfile.TemporaryDirectory() as folder:
        # Its command line has threads without a hint alone, a file has both.
        config = Path(folder) / "config.json"
        config.write_text(json.dumps({"CPU": mode.properties}))
        command = [sys.executable, "-c", PROGRAM, "-m", str(subject.artifact.path), "-d", "CPU", "-api", api]
        command += ["-nireq", str(mode.requests), "-load_config", str(config), "-inference_only"]
        command += ["-infer_precision", EXECUTION_PRECISION, "-ip", INPUTS[subject.artifact.input.dtype]]
        command += ["-niter", str(PASSES * subject.scene.patches)]
        output = _output_of(command)
    match = figure.search(output)
    if match is None:
        raise RuntimeError(f"benchmark_app gives no figure: {output}")
    return match


def _output_of(command: list[str]) -> str:
    """What it prints; RuntimeError where it fails."""
    process = subprocess.run(
        command,
        check=False,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        preexec_fn=end_with_parent(),
        start_new_session=True,  # as the worker: the kernel shares the processor out by session
    )
    if process.returncode:
        raise RuntimeError(f"{command} ended with {process.returncode}: {process.stdout}{process.stderr}")
    return process.stdout
