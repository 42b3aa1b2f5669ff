"""One reading of a large experiment in a process of its own: `read_records.py HOW FOLDER [FILES]`.

HOW is `load` (edgebench.load), `pandas` (on the same Parquet files, whose paths FILES lists) or `resume`.
Prints seconds, the process's highest memory in bytes, and rows as JSON; imports are not counted.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, NoReturn

import pandas as pd
import pyarrow.parquet  # noqa: F401  # both sides have it imported

import edgebench
from edgebench import registry
from edgebench.records.model import PrepareRequest
from edgebench.records.stored import ExperimentRecord
from edgebench.records.target import Target
from edgebench.records.values import Variant
from edgebench.results.writing import ExperimentStore
from edgebench.run.measuring.host_queue import Experiment
from edgebench.run.measuring.progress import Observer
from edgebench.run.trials import Plan, PlannedTrial
from tests.fakes import machines_of, made_artifact, made_scene

DEVICE = "cpu"


class _Reached(BaseException):
    """The next session would begin."""


class _Device:
    """A device of which nothing is asked but the next session."""

    placement_cost: Literal["cheap", "slow", "manual"] = "cheap"

    def describe(self) -> dict[str, Any]:
        return {}

    def session(self, artifact: object, settings: object) -> NoReturn:
        raise _Reached

    def close(self) -> None:
        """There is nothing to close."""


def resume(folder: Path) -> int:
    """Open the experiment and go on as far as its next session; the sessions that are on disk."""
    with ExperimentStore.open(folder) as store:
        plan = _plan(store.record)
        artifact = made_artifact()
        experiment = Experiment(
            plan=plan,
            artifacts={trial.key: artifact for trial in plan.trials},
            machines=machines_of(lambda target: _Device(), DEVICE),
            store=store,
            observer=Observer(),
            times={},
        )
        try:
            experiment.run()
        except _Reached:
            return store.next_n(plan.trials[0].key)
    raise AssertionError("there was nothing left to measure")


def _plan(record: ExperimentRecord) -> Plan:
    target = Target(DEVICE, DEVICE)
    variant = Variant(0.25, "int8")
    trials = tuple(
        PlannedTrial(
            trial.key, target, variant, trial.batch, PrepareRequest(variant, trial.batch, {}), trial.inputs
        )
        for trial in record.trials
    )
    return Plan(trials, made_scene(), None, record.sessions + 1, record.passes, record.seed)


def main(how: str, folder: Path, files: Path | None = None) -> None:
    """Read once, and say what it took."""
    paths = [] if files is None else files.read_text().splitlines()
    registry.backend(DEVICE)  # its import is not counted either: a run has planned with it
    ways: dict[str, Callable[[], int]] = {
        "load": lambda: len(edgebench.load(folder).passes),
        "pandas": lambda: len(pd.read_parquet(paths)),  # type: ignore[call-overload]  # lists are taken too
        "resume": lambda: resume(folder),
    }
    start_s = time.perf_counter()
    rows = ways[how]()
    seconds = time.perf_counter() - start_s
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    print(json.dumps({"seconds": seconds, "peak_bytes": peak, "rows": rows}))


if __name__ == "__main__":
    main(sys.argv[1], *map(Path, sys.argv[2:]))
