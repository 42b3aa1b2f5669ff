"""Make the shipped .tflite files again.

Run as `python -m benchmarks.shipped.make_tflite [--folder DIR]`.

Takes about a minute and needs TensorFlow in the version of constraints.txt. What it writes is what lies in
`edgebench/prepare/tflite_files`; only the weights, the recipe, the calibration images or the pinned tools
changing is a reason to run it.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from pathlib import Path

from edgebench.prepare.cache import Cache
from edgebench.prepare.families import TFLITE_FOLDER as FOLDER
from edgebench.prepare.families import Manifest, ShippedArtifact, write_manifest
from edgebench.prepare.tflite import TfliteChain
from edgebench.records.model import Artifact, PrepareRequest
from edgebench.records.values import PRECISIONS, Variant

DEPTHS = (0.25, 0.5)
"""Those of 1.0 are 23 MB, and are made where they are needed."""


def make(folder: Path, cache: Cache) -> Manifest:
    """Convert the variants into `folder`, with its manifest; the first error of one that fails is raised."""
    requests = [
        PrepareRequest(Variant(depth, precision), 1, {}) for depth in DEPTHS for precision in PRECISIONS
    ]
    chain = TfliteChain(use_shipped=False)
    outcomes = chain.prepare(requests, cache, lambda text: print(text, file=sys.stderr))
    artifacts: list[ShippedArtifact] = []
    for request, outcome in zip(requests, outcomes, strict=True):
        if not isinstance(outcome, Artifact):
            raise outcome
        recipe = chain.recipe(request)
        converted = recipe.find(cache)
        assert converted is not None
        file = folder / f"{request.variant.name}.tflite"
        shutil.copyfile(converted.path, file)
        file.chmod(0o644)
        artifacts.append(
            ShippedArtifact(
                file=file.name,
                sha256=converted.sha256,
                size_bytes=converted.size_bytes,
                inputs=recipe.inputs,
                note=dict(converted.note),
            )
        )
    manifest = Manifest(artifacts=tuple(artifacts))
    write_manifest(folder, manifest)
    return manifest


def main() -> None:
    """Convert in a cache of its own, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where to write (default: the package)")
    folder: Path = parser.parse_args().folder
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="edgebench-") as cache:
        make(folder, Cache(Path(cache)))


if __name__ == "__main__":
    main()
