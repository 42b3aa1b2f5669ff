"""`image_s` on a Coral's usual runtime, tflite-runtime 2.14.0 on Python 3.8, against a plain script there.

Without an Edge TPU: the model runs on the processor, by the Coral's runner and by the script alike.
"""

from __future__ import annotations

import statistics
import subprocess
import sys

from benchmarks.image_s import PLAIN, THREADS, ours, strip
from benchmarks.pairs import abba
from benchmarks.row import Row, ratio_row
from edgebench import registry
from edgebench.prepare.cache import Cache
from edgebench.records.model import Artifact, PrepareRequest
from edgebench.records.target import Launch, Target
from edgebench.records.values import Scene, Variant
from tests.link.old_python import Board, python_of

RUNTIME = Board("3.8", ("tflite-runtime==2.14.0",), "import tflite_runtime.interpreter")
BAR = 1.03
PASSES = 3
ROWS = 4  # of the scene's 20: that runtime takes 10 to 25 ms a patch, and a pass is to be over in 2 s


def rows(cache: Cache, pairs: int) -> list[Row]:
    """0.25 int8 on one thread; no row, with the reason, where there is no such Python."""
    python, why = python_of(RUNTIME)
    if python is None:
        print(f"coral: not taken: {why}", file=sys.stderr)
        return []
    backend = registry.backend("coral")
    options = backend.options_model.model_validate({"threads": THREADS, "allow_cpu": True})
    chosen = options.model_dump(mode="json")
    variant = Variant(0.25, "int8")
    [artifact] = registry.backend("cpu").prepare([PrepareRequest(variant, 1, {})], cache, print)
    assert isinstance(artifact, Artifact), artifact
    scene = strip(cache, ROWS)
    target = Target(name="coral", device="coral", options=chosen, launch=Launch(python=python))
    device = backend.open(target)
    try:
        paired = abba(
            lambda: ours(device, artifact, scene, chosen, PASSES),
            lambda: _plain(python, artifact, scene),
            pairs,
        )
    finally:
        device.close()
    name = f"image_s against a plain script, {variant.name}, tflite-runtime 2.14.0 on Python 3.8"
    return [ratio_row(name, paired, BAR, patches=scene.patches)]


def _plain(python: str, artifact: Artifact, scene: Scene) -> float:
    """Seconds: the median of the same number of passes by the script, on the same interpreter."""
    command = [python, str(PLAIN), str(artifact.path), str(scene.path), str(THREADS), str(PASSES)]
    output = subprocess.run(command, check=True, capture_output=True, text=True, timeout=300).stdout
    return statistics.median(float(line) for line in output.split())
