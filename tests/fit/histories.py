"""Folders of results for tests of what looks at many of them: records and summaries, and no tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from edgebench.judge.summarise import summarise, trial_json
from edgebench.judge.trial_summary import TrialSummary
from edgebench.records.stored import ExperimentRecord, RunRecord, SessionTables
from edgebench.results.load import load
from edgebench.results.writing import ExperimentStore
from edgebench.stats.intervals import session_interval
from tests.synthetic_results import experiment_id, made_experiment

VARIANT = "mobilenet_v1-0.25-int8"
FP32 = "mobilenet_v1-0.25-fp32"


def template(folder: Path) -> tuple[ExperimentRecord, list[TrialSummary]]:
    """One made experiment, whose sessions' tables nobody needs to write again for each result."""
    path = made_experiment(
        folder, name="template", variants=(VARIANT, FP32), sessions=3, passes=2, rows=1, columns=2, images=10
    )
    results = load(path)
    return results.experiment, summarise(results)


def put_result(
    output_dir: Path,
    made: tuple[ExperimentRecord, list[TrialSummary]],
    name: str,
    *,
    factor: float = 1.0,
    day: int = 1,
    run: RunRecord | None = None,
    runtime: Mapping[str, Any] | None = None,
    with_trial_json: bool = True,
    **changes: Any,
) -> Path:
    """A result with the template's figures times `factor`; `day` is of 2025, and `changes` the record's."""
    experiment, summaries = made
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
        for trial, summary in zip(record.trials, summaries, strict=True):
            for session in source.session_records(trial.key):
                kept = {"tables": {}, "runtime": {**session.runtime, **(runtime or {})}}
                store.write_session(session.model_copy(update=kept), SessionTables())
            if with_trial_json:
                store.write_trial(trial.key, trial_json(scaled(summary, factor)))
        if run is not None:
            store.write_run(run)
        return store.path


def scaled(summary: TrialSummary, factor: float) -> TrialSummary:
    """The summary of a device that takes `factor` times as long."""
    values = tuple(tuple(factor * value for value in session) for session in summary.image_s_values)
    return replace(summary, image_s_values=values, image_s=session_interval(values))


def put_series(
    output_dir: Path, made: tuple[ExperimentRecord, list[TrialSummary]], factors: Sequence[float]
) -> None:
    """A result for each factor, `r00` the oldest."""
    for number, factor in enumerate(factors):
        put_result(output_dir, made, f"r{number:02}", factor=factor, day=number)
