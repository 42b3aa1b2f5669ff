"""Preparing the nine shipped variants, cold and warm, and how often int8 agrees with fp32 by both routes."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.row import Row
from edgebench import registry
from edgebench.prepare.cache import Cache
from edgebench.prepare.description import evaluate
from edgebench.records.model import Artifact, PrepareRequest
from edgebench.records.values import DEPTH_MULTIPLIERS, PRECISIONS, Variant

COLD_BAR_S = 60.0
WARM_BAR_S = 1.0
DISAGREEMENT_BAR = 3.0  # per cent of the test patches
ROUTES = {"cpu": "TFLite", "onnxruntime": "ONNX"}
# By hand what `run` does before it measures: every variant asked for of a cache that has it.
WARM = """
import json, sys, time
start_s = time.perf_counter()
from pathlib import Path
from edgebench import registry
from edgebench.contract import PrepareRequest
from edgebench.prepare.cache import Cache
from edgebench.records.values import DEPTH_MULTIPLIERS, PRECISIONS, Variant
imported_s = time.perf_counter()
backend = registry.backend("cpu")
requests = [PrepareRequest(Variant(d, p), 1, {}) for d in DEPTH_MULTIPLIERS for p in PRECISIONS]
made = backend.prepare(requests, Cache(Path(sys.argv[1])), sys.exit)  # nothing is to be made
heavy = sorted({"tensorflow", "keras", "onnx", "onnxruntime"} & sys.modules.keys())
print(json.dumps({
    "artifacts": [one.sha256 for one in made],
    "import_s": imported_s - start_s,
    "prepare_s": time.perf_counter() - imported_s,
    "heavy_modules": heavy,
}))
"""


def rows(cache: Cache, pairs: int) -> list[Row]:
    """Times on an empty cache of its own, then of a fresh process on the same; agreement on 1,000 patches."""
    result_rows: list[Row] = []
    with tempfile.TemporaryDirectory() as folder:
        own = Cache(Path(folder))
        prepared: dict[str, list[Artifact]] = {}
        for device, route in ROUTES.items():
            start_s = time.perf_counter()
            prepared[device] = _prepare(device, own)
            cold_s = time.perf_counter() - start_s
            bar = COLD_BAR_S if device == "cpu" else None
            result_rows.append(Row(f"nine variants as {route} from a cold cache", cold_s, "s", bar))
        result_rows.insert(1, _warm(folder, [artifact.sha256 for artifact in prepared["cpu"]]))
        for device, route in ROUTES.items():
            result_rows += _agreement(route, prepared[device], own)
    return result_rows


def _prepare(device: str, cache: Cache) -> list[Artifact]:
    backend = registry.backend(device)
    options = backend.options_model().model_dump(mode="json")
    variants = [Variant(depth, precision) for depth in DEPTH_MULTIPLIERS for precision in PRECISIONS]
    outcomes = backend.prepare([PrepareRequest(variant, 1, options) for variant in variants], cache, print)
    artifacts = [outcome for outcome in outcomes if isinstance(outcome, Artifact)]
    assert len(artifacts) == len(variants), outcomes
    return artifacts


def _warm(folder: str, expected: list[str]) -> Row:
    """The whole of a process: interpreter, imports, and finding all nine."""
    start_s = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", WARM, folder], check=True, capture_output=True, text=True, timeout=60
    )
    took_s = time.perf_counter() - start_s
    report = json.loads(done.stdout)
    assert report.pop("artifacts") == expected
    assert not report["heavy_modules"], report
    name = "nine variants from a warm cache, a whole process, TensorFlow not imported"
    return Row(name, took_s, "s", WARM_BAR_S, None, report)


def _agreement(route: str, artifacts: list[Artifact], cache: Cache) -> list[Row]:
    wanted = [artifact for artifact in artifacts if artifact.as_variant.precision in ("fp32", "int8")]
    result_rows = []
    for artifact in evaluate(wanted, cache, print):
        if artifact.agree_k is None or artifact.agree_n is None:
            continue
        per_cent = 100 * (artifact.agree_n - artifact.agree_k) / artifact.agree_n
        details = {
            "agree": artifact.agree_k,
            "of": artifact.agree_n,
            "right": artifact.k,
            "runtime": artifact.runtime,
        }
        name = f"int8 by {route} differs from fp32, {artifact.variant}"
        result_rows.append(Row(name, per_cent, "%", DISAGREEMENT_BAR, None, details))
    assert len(result_rows) == len(DEPTH_MULTIPLIERS), result_rows
    return result_rows
