"""`python -m edgebench.backends.openvino.selftest`: try a Neural Compute Stick 2 step by step."""

from __future__ import annotations

from collections.abc import Mapping

from edgebench.selftest.kind import Kind, Outcome
from edgebench.selftest.program import main
from edgebench.vocabulary.artifact import Artifact
from edgebench.vocabulary.values import Json
from edgebench.vocabulary.variant import Variant


def _prepared(artifact: Artifact) -> tuple[Outcome, str]:
    return "ok", f"an .onnx file of {artifact.path.stat().st_size / 1e6:.1f} MB"


def _runs_on(runtime: Mapping[str, Json]) -> tuple[Outcome, str]:
    device = str(runtime.get("device"))
    return ("ok" if device.startswith("MYRIAD") else "warning"), f"on {device}"


KIND = Kind("ncs2", "Neural Compute Stick 2 self-test", Variant(0.25, "fp16"), _prepared, _runs_on)

if __name__ == "__main__":
    raise SystemExit(main(KIND, "python -m edgebench.backends.openvino.selftest"))
