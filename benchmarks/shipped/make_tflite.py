"""Make the shipped .tflite files again.

Run as `python -m benchmarks.shipped.make_tflite [--folder DIR]`.

Takes two minutes and needs TensorFlow in the version of constraints.txt. It reads the weights from the
shipped fp32 files and writes the files of `edgebench/prepare/tflite_files`: fp32 and fp16 to the bit, int8
with ranges in which processors differ in the last digit. Run it only after a change of the recipe, the
calibration images or the pinned tools.
"""

from __future__ import annotations

import argparse
import lzma
import sys
import tempfile
from pathlib import Path

from edgebench.prepare.cache import Cache
from edgebench.prepare.shipped import TFLITE_FOLDER as FOLDER
from edgebench.prepare.shipped import Manifest, ShippedArtifact, write_manifest
from edgebench.prepare.tflite import TfliteChain
from edgebench.records.model import Artifact, PrepareRequest
from edgebench.records.values import DEPTH_MULTIPLIERS, PRECISIONS, Variant

LARGEST_BYTES = 10_000_000
"""A larger file is compressed."""

XZ_FILTER = {"id": lzma.FILTER_LZMA2, "preset": 9 | lzma.PRESET_EXTREME, "lc": 0, "lp": 2, "pb": 2}
"""LZMA2 for numbers of four bytes."""

_NOTED = dict.fromkeys(PRECISIONS, ("scores", "reference")) | {"int8": ("scores", "reference", "input")}


def make(folder: Path, cache: Cache) -> Manifest:
    """Convert the variants into `folder`, with its manifest; the first error of one that fails is raised."""
    requests = [
        PrepareRequest(Variant(depth, precision), 1, {})
        for depth in DEPTH_MULTIPLIERS
        for precision in PRECISIONS
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
        file, data = folder / f"{request.variant.name}.tflite", converted.path.read_bytes()
        if len(data) > LARGEST_BYTES:
            file, data = file.with_suffix(".tflite.xz"), lzma.compress(data, filters=[XZ_FILTER])
        file.write_bytes(data)
        artifacts.append(
            ShippedArtifact(
                file=file.name,
                sha256=converted.sha256,
                size_bytes=converted.size_bytes,
                inputs=recipe.inputs,
                note={name: converted.note[name] for name in _NOTED[request.variant.precision]},
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
