"""JSON and CSV of a judged result, and the schemas of its documents."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from typing import Any

from edgebench.judge.document import (
    Document,
    VerdictEntry,
    estimate_document,
    plain,
    trial_adapter,
    trial_document,
    verdict_entry,
)
from edgebench.judge.judged import Judged
from edgebench.judge.metrics import METRICS
from edgebench.judge.requirements.requirement import Requirement
from edgebench.judge.table import verdicts_by_trial, wide_rows
from edgebench.judge.trial import Estimate, Trial
from edgebench.judge.verdicts.decision import Decision
from edgebench.judge.verdicts.front import Front, fronts
from edgebench.judge.verdicts.next_steps import next_steps
from edgebench.judge.verdicts.verdict import Verdict, overall
from edgebench.records.described import Described, object_schema
from edgebench.records.stored import ExperimentRecord, RunRecord
from edgebench.report import words
from edgebench.report.missions import SEED, brief_missions, mission_entry, missions_schema
from edgebench.report.words import SCHEMA_VERSION
from edgebench.results.redaction import exported, exported_path

Schema = dict[str, Any]

# CSV: one row per trial, empty where an estimate is missing.


_LONGEST_CELL = 32_000
"""Longest text of a cell of CSV: a spreadsheet's holds 32,767 characters."""
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def export_csv(trials: Sequence[Trial], verdicts: Sequence[Verdict]) -> str:
    """Wide rows with full precision; for every profile its overall verdict, then that of each requirement.

    The heading of a wish ends in `:wanted`.
    """
    columns: dict[str, dict[str, str]] = {}  # verdicts by heading, then by trial
    for entry in overall(verdicts):
        heading = f"verdict:{entry.profile}"
        columns.setdefault(heading, {})[entry.trial] = entry.verdict
        for verdict in entry.verdicts:
            name = verdict.requirement.name + (":wanted" if verdict.requirement.wanted else "")
            columns.setdefault(f"{heading}:{name}", {})[entry.trial] = verdict.word
    rows = [
        row | {heading: by_trial.get(trial.key) for heading, by_trial in columns.items()}
        for trial, row in zip(trials, wide_rows(trials, verdicts), strict=True)
    ]
    return csv_text(list(rows[0]) if rows else ["trial"], rows)


def csv_text(headings: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> str:
    """Rows as CSV, without formulas; every row has the keys of the headings, in their order."""
    buffer = io.StringIO(newline="")
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(map(safe_cell, headings))
    writer.writerows([safe_cell(value) for value in row.values()] for row in rows)
    return buffer.getvalue()


def safe_cell(value: Any) -> Any:
    """Value as a cell; text that a spreadsheet would run as a formula gets an apostrophe."""
    if not isinstance(value, str):
        return plain(value)
    text = words.plain(value, _LONGEST_CELL)
    return f"'{text}" if text.startswith(_FORMULA) and text != words.MISSING else text


# The --json document.


def document(judged: Judged, axes: Sequence[Requirement] = ()) -> Document:
    """Document that `--json` prints, as plain data that `json.dumps(allow_nan=False)` takes.

    `edgebench schema result` describes its fields.

    Args:
        judged: judged result.
        axes: metrics of one Pareto front, in place of one front per profile.
    """
    results, trials, verdicts = judged.results, judged.trials, judged.verdicts
    by_key = {trial.key: trial for trial in trials}
    by_trial = verdicts_by_trial(verdicts)
    played = brief_missions(judged)
    record = exported(results.experiment).model_dump(mode="json", exclude=_PRIVATE)
    path = exported_path(results.path, results.experiment)
    document: Document = plain(
        {
            "schema_version": SCHEMA_VERSION,
            "experiment": {**record, "path": path},
            "run": None if results.run is None else results.run.model_dump(mode="json"),
            "trials": [trial_document(trial, by_trial.get(trial.key, ())) for trial in trials],
            "verdicts": [
                verdict_entry(verdict, next_steps(by_key[verdict.trial], verdict)) for verdict in verdicts
            ],
            "decisions": judged.decisions,
            "pareto": [_front(front) for front in fronts(trials, judged.profiles, axes)],
            "missions": [
                {"days": brief.days, "seed": SEED, **mission_entry(mission)}
                for brief in played
                for mission in brief.missions
            ],
            "missions_reasons": {brief.profile: brief.reason for brief in played if brief.reason},
        }
    )
    return document


def _front(front: Front) -> Document:
    """Front with its estimates in the units of its axes."""
    trials = []
    for trial in front.trials:
        estimates = [
            estimate_document(estimate.in_unit(METRICS[axis.metric].units[axis.unit]), axis.unit)
            for axis, estimate in zip(front.axes, trial.estimates, strict=True)
        ]
        trials.append({**plain(trial), "estimates": estimates})
    return {**plain(front), "trials": trials}


_PRIVATE: dict[str, Any] = {"trials": True, "scene": {"labels"}, "targets": {"__all__": {"host", "port"}}}
"""Fields of the experiment that its document leaves out: long or private ones."""


# Schemas (draft 2020-12), from the types and the declarations of the metrics.


def trial_properties() -> Schema:
    """Properties of the entry of a trial."""
    fields = object_schema(trial_adapter())["properties"]
    estimates = {"estimates": _estimates_schema()}
    for part in ("rails", "workers"):
        fields[part]["items"] = object_of({**fields[part]["items"]["properties"], **estimates})
    own = "Warnings that the device or its runtime gave itself."
    return {
        **fields,
        **estimates,
        "warnings": list_of({"type": "string"}, "Warnings, one sentence each.", "sessions"),
        "device_warnings": list_of({"type": "string"}, own, "sessions"),
    }


def _estimate_schema() -> Schema:
    fields = object_schema(Estimate)["properties"]
    fields["session_values"] = fields.pop("sessions")
    unit = Described("Base unit of the metric: 1 for shares.", "the catalogue of metrics")
    return object_of({**fields, "unit": unit.schema({"type": "string"})})


def _estimates_schema() -> Schema:
    entry = _estimate_schema()
    metrics = {
        metric.name: Described(metric.sentence, metric.source, metric.unit).schema(entry)
        for metric in METRICS.values()
    }
    text = (
        "Estimates by metric. Others are `<metric>_<statistic>` (image_s_p99), `<metric>_<stage>` "
        "(stages_ms_infer) and `<metric>_<profile>` for those that depend on a schedule."
    )
    return Described(text, "sessions").schema(
        {"type": "object", "properties": metrics, "additionalProperties": entry}
    )


def object_of(properties: Mapping[str, Any]) -> Schema:
    """Schema of an object; all properties are required."""
    return {"type": "object", "properties": dict(properties), "required": list(properties)}


def list_of(entry: Schema, text: str, source: str) -> Schema:
    """Schema of a list, described."""
    return Described(text, source).schema({"type": "array", "items": entry})


_EXPERIMENT = "The experiment: experiment.json without its trials and the scene's labels, and its folder."
_RUN = "The last run of the experiment, as run.json has it; null without one."
_VERDICTS = "One entry per trial, profile and requirement; empty when no profile was asked for."
_PARETO = "Trials that no other is better than in all metrics: one entry per profile."


def result_properties() -> Schema:
    """Properties of the `--json` document, without its version."""
    experiment = object_schema(ExperimentRecord)
    fields = experiment["properties"]
    del fields["trials"], fields["scene"]["properties"]["labels"]
    for private in ("host", "port"):
        del fields["targets"]["items"]["properties"][private]
    for part in (fields["scene"], fields["targets"]["items"]):
        part["required"] = [name for name in part["required"] if name in part["properties"]]
    fields["path"] = Described("The result folder.", "command line").schema({"type": "string"})
    front, run = object_schema(Front), {**object_schema(RunRecord), "type": ["object", "null"]}
    standings = front["properties"]["trials"]["items"]["properties"]
    standings["estimates"] = list_of(_estimate_schema(), "One entry per axis, in their order.", "trial")
    lists = {
        name: list_of(entry, text, "fit")
        for name, entry, text in (
            ("verdicts", object_schema(VerdictEntry), _VERDICTS),
            ("decisions", object_schema(Decision), "Answer to each profile: one entry per profile."),
            ("pareto", front, _PARETO),
        )
    }
    return {
        "experiment": Described(_EXPERIMENT, "experiment.json").schema(object_of(fields)),
        "run": Described(_RUN, "run.json").schema(run),
        "trials": list_of(object_of(trial_properties()), "One entry per planned trial.", "sessions"),
        **lists,
        **missions_schema(_estimate_schema()),
    }
