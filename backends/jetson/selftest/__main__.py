"""`python -m edgebench.backends.jetson.selftest`: try a Jetson step by step, and write a report to send."""

from __future__ import annotations

from collections.abc import Mapping

from edgebench.selftest.kind import Kind, Outcome
from edgebench.selftest.program import main
from edgebench.vocabulary.artifact import Artifact
from edgebench.vocabulary.values import Json
from edgebench.vocabulary.variant import Variant

VARIANT = Variant(0.25, "fp16")  # what a Jetson is measured at unless another precision is named


def _prepared(artifact: Artifact) -> tuple[Outcome, str]:
    files = [artifact.path, *(companion.path for companion in artifact.companions.values())]
    size_bytes = sum(file.stat().st_size for file in files)
    return "ok", f"{len(files)} files of {size_bytes / 1e6:.1f} MB, for an engine that the board builds"


def _loaded(runtime: Mapping[str, Json]) -> tuple[Outcome, str]:
    """On which GPU, and in what the layers with weights compute; a warning where that cannot be read back."""
    place = f"on {runtime.get('gpu') or 'a GPU without a name'}"
    counts = runtime.get("weight_layer_precisions")
    if not isinstance(counts, Mapping) or not counts:
        return "warning", f"{place}; TensorRT does not say what its layers compute in"
    layers = ", ".join(f"{count} in {precision}" for precision, count in counts.items())
    outcome: Outcome = "ok" if set(counts) == {VARIANT.precision} else "warning"
    return outcome, f"{place}; layers with weights: {layers}"


KIND = Kind("jetson", "Jetson self-test", VARIANT, _prepared, _loaded)

if __name__ == "__main__":
    raise SystemExit(main(KIND, "python -m edgebench.backends.jetson.selftest"))
