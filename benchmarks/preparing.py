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
from edgebench.cache.objects import Cache
from edgebench.models.evaluate import evaluate
from edgebench.vocabulary.artifact import Artifact
from edgebench.vocabulary.preparation import PrepareRequest
from edgebench.vocabulary.variant import DEPTH_MULTIPLIERS, PRECISIONS, Variant

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
from edgebench.cache.objects import Cache
from edgebench.vocabulary.variant import DEPTH_MULTIPLIERS, PRECISIONS, Variant
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
    found: list[Row] = []
    with tempfile.TemporaryDirectory() as folder:
        own = Cache(Path(folder))
        made: dict[str, list[Artifact]] = {}
        for device, route in ROUTES.items():
            start_s = time.perf_counter()
            made[device] = _prepare(device, own)
            cold_s = time.perf_counter() - start_s
            bar = COLD_BAR_S if device == "cpu" else None
            found.append(Row(f"nine variants as {route} from a cold cache", cold_s, "s", bar))
        found.insert(1, _warm(folder, [one.sha256 for one in made["cpu"]]))
        for device, route in ROUTES.items():
            found += _agreement(route, made[device], own)
    return found


def _prepare(device: str, cache: Cache) -> list[Artifact]:
    backend = registry.backend(device)
    options = backend.options_model().model_dump(mode="json")
    variants = [Variant(depth, precision) for depth in DEPTH_MULTIPLIERS for precision in PRECISIONS]
    outcomes = backend.prepare([PrepareRequest(one, 1, options) for one in variants], cache, print)
    artifacts = [one for one in outcomes if isinstance(one, Artifact)]
    assert len(artifacts) == len(variants), outcomes
    return artifacts


def _warm(folder: str, expected: list[str]) -> Row:
    """The whole of a process: interpreter, imports, and finding all nine."""
    start_s = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", WARM, folder], check=True, capture_output=True, text=True, timeout=60
    )
    took_s = time.perf_counter() - start_s
    told = json.loads(done.stdout)
    assert told.pop("artifacts") == expected
    assert not told["heavy_modules"], told
    name = "nine variants from a warm cache, a whole process, TensorFlow not imported"
    return Row(name, took_s, "s", WARM_BAR_S, None, told)


def _agreement(route: str, artifacts: list[Artifact], cache: Cache) -> list[Row]:
    wanted = [one for one in artifacts if one.as_variant.precision in ("fp32", "int8")]
    found = []
    for one in evaluate(wanted, cache, print):
        if one.agree_k is None or one.agree_n is None:
            continue
        per_cent = 100 * (one.agree_n - one.agree_k) / one.agree_n
        details = {"agree": one.agree_k, "of": one.agree_n, "right": one.k, "runtime": one.runtime}
        name = f"int8 by {route} differs from fp32, {one.variant}"
        found.append(Row(name, per_cent, "%", DISAGREEMENT_BAR, None, details))
    assert len(found) == len(DEPTH_MULTIPLIERS), found
    return found
