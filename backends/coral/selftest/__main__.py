"""`python -m edgebench.backends.coral.selftest`: try an Edge TPU step by step, and write a report to send."""

from __future__ import annotations

from collections.abc import Mapping

from edgebench.selftest.kind import Kind, Outcome
from edgebench.selftest.program import main
from edgebench.vocabulary.artifact import Artifact
from edgebench.vocabulary.values import Json
from edgebench.vocabulary.variant import Variant


def _placement(artifact: Artifact) -> tuple[Outcome, str]:
    operations = artifact.provenance.get("operations", {})
    on_cpu = sum(dict(operations.get("cpu", {})).values())
    subgraphs = operations.get("edgetpu", 0)
    text = (
        f"{subgraphs} part{'' if subgraphs == 1 else 's'} on the Edge TPU, "
        f"{on_cpu} operation{'' if on_cpu == 1 else 's'} on the processor"
    )
    return ("ok" if subgraphs else "warning"), text


def _runs_on(runtime: Mapping[str, Json]) -> tuple[Outcome, str]:
    runs_on = runtime.get("runs_on")
    return ("ok" if runs_on == "edgetpu" else "warning"), f"on the {runs_on}"


KIND = Kind("coral", "Edge TPU self-test", Variant(0.25, "int8"), _placement, _runs_on)

if __name__ == "__main__":
    raise SystemExit(main(KIND, "python -m edgebench.backends.coral.selftest"))
