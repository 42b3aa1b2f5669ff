"""Folders of many results for tests: records and trial.json, and no tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from edgebench.judge.document import trial_document
from edgebench.judge.sessions import over_values
from edgebench.judge.trial import Trial
from edgebench.judge.trials import trials_of
from edgebench.records.stored import ExperimentRecord, RunRecord, SessionTables
from edgebench.results.layout import SCHEMA_VERSION
from edgebench.results.load import load
from edgebench.results.writing import ExperimentStore
from tests.synthetic_results import experiment_id, made_experiment

VARIANT = "mobilenet_v1-0.25-int8"
FP32 = "mobilenet_v1-0.25-fp32"


def template(folder: Path) -> tuple[ExperimentRecord, list[Trial]]:
    """One made experiment, whose tables are written once for all results."""
    path = made_experiment(
        folder, name="template", variants=(VARIANT, FP32), sessions=3, passes=2, rows=1, columns=2, images=10
    )
    results = load(path)
    return results.experiment, trials_of(results)


def put_result(
    output_dir: Path,
    made: tuple[ExperimentRecord, list[Trial]],
    name: str,
    *,
    factor: float = 1.0,
    day: int = 1,
    run: RunRecord | None = None,
    runtime: Mapping[str, Any] | None = None,
    with_trial_json: bool = True,
    **changes: Any,
) -> Path:
    """Write a result with the latencies of the template times `factor`, on a `day` of 2025."""
    experiment, trials = made
    record = experiment.model_copy(
        update={
            "id": experiment_id(name),
            "name": name,
            "created_utc": f"2025-{1 + day // 28:02}-{1 + day % 28:02}T02:00:00Z",
        }
        | changes
    )
    source = load(output_dir.parent / "made" / "template")
    with ExperimentStore.create(output_dir, name, record) as store:
        for planned, trial in zip(record.trials, trials, strict=True):
            for session in source.session_records(planned.key):
                kept = {"tables": {}, "runtime": {**session.runtime, **(runtime or {})}}
                store.write_session(session.model_copy(update=kept), SessionTables())
            if with_trial_json:
                document = trial_document(scaled(trial, factor))
                store.write_trial(planned.key, {"schema_version": SCHEMA_VERSION, **document})
        if run is not None:
            store.write_run(run)
        return store.path


def scaled(trial: Trial, factor: float) -> Trial:
    """Trial of a device that takes `factor` times as long."""
    key, _ = next(trial.estimates_of("image_s"))
    values = [[factor * value for value in session] for session in trial.values_of("image_s")]
    return replace(trial, estimates={**trial.estimates, key: over_values(values, "passes", "median")})


def put_series(
    output_dir: Path, made: tuple[ExperimentRecord, list[Trial]], factors: Sequence[float]
) -> None:
    """Write a result for each factor, `r00` the oldest."""
    for number, factor in enumerate(factors):
        put_result(output_dir, made, f"r{number:02}", factor=factor, day=number)
