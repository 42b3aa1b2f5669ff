"""The schemas of what is written, from the records, the summaries and the catalogue of metrics.

`python -m edgebench.report.schema_documents` writes them beside the store; a test holds that they are there.
"""

from __future__ import annotations

import dataclasses
import json
from importlib import resources
from pathlib import Path
from typing import Any, get_type_hints

from pydantic import TypeAdapter

from edgebench.fit.answer_descriptions import DESCRIPTIONS as OF_ANSWERS
from edgebench.fit.decision import Decision
from edgebench.fit.excluded_by import ExcludedBy
from edgebench.fit.field_descriptions import DESCRIPTIONS as OF_SUMMARIES
from edgebench.fit.metric import BYTE_UNITS, Metric
from edgebench.fit.metrics import METRICS
from edgebench.fit.nearest import Nearest
from edgebench.fit.pareto import Front
from edgebench.fit.ranking import Ranking
from edgebench.fit.trial_metrics import document_names
from edgebench.fit.trial_summary import TrialSummary, Verdict
from edgebench.report.comparison_document import DESCRIPTIONS as OF_COMPARISONS
from edgebench.report.comparison_document import ComparisonDocument
from edgebench.report.document import CONDITIONS, IDENTITY
from edgebench.report.history_document import DESCRIPTIONS as OF_HISTORIES
from edgebench.report.history_document import HistoryDocument
from edgebench.report.meter_documents import DESCRIPTIONS as OF_METERS
from edgebench.report.meter_documents import CheckedMeter, Meter, RecordedMeter
from edgebench.report.mission_descriptions import MISSIONS
from edgebench.report.results_document import DESCRIPTIONS as OF_RESULTS
from edgebench.report.results_document import ResultsDocument
from edgebench.store.described import Described, Descriptions, fields_of, required_of
from edgebench.store.field_descriptions import DESCRIPTIONS as OF_RECORDS
from edgebench.store.records import ExperimentRecord, ImagePathsRecord, RunRecord, SessionRecord

_VERSION = Described(
    "Version of this document's layout; a reader refuses a newer one.", "EdgeBench", shape={"const": 1}
).schema({})
_REASONS = Described(
    "Why a figure is null, by the figure's name.",
    "sessions",
    shape={"type": "object", "additionalProperties": {"type": "string"}},
)
_PATH = Described("The result folder.", "command line", shape={"type": "string"})
_SENTENCES = {
    "warnings": Described(
        "What a reader should mind, one sentence each.",
        "sessions",
        shape={"type": "array", "items": {"type": "string"}},
    ),
    "said": Described(
        "Those of the warnings that the device or its runtime gave itself, such as an accelerator on a "
        "slow bus.",
        "sessions",
        shape={"type": "array", "items": {"type": "string"}},
    ),
}
"""What trial.json holds in place of the summary's cautions."""
_PARTS = {
    "experiment": Described(
        "The experiment: what experiment.json says, without its trials and the scene's labels, and "
        "where it lies.",
        "experiment.json",
    ),
    "run": Described(
        "The last run of the experiment, as run.json says; null in results of earlier versions.", "run.json"
    ),
    "trials": Described("One entry a planned trial.", "sessions"),
    "verdicts": Described(
        "One entry a trial, profile and requirement; empty when no profile was asked for.", "fit"
    ),
    "decisions": Described(
        "The answer to each profile: one entry a profile. Absent from documents of earlier versions.", "fit"
    ),
    "nearest": Described(
        "What would pass: one entry a profile and target that some trial of does not pass it. Absent from "
        "documents of earlier versions.",
        "fit",
    ),
    "pareto": Described(
        "The trials that no other is better than in all quantities of a profile, or of the command line. "
        "Absent from documents of earlier versions.",
        "fit",
    ),
    "ranking": Described(
        "The trials by the weighted margins to a profile's limits: one entry a profile. Absent from "
        "documents of earlier versions.",
        "fit",
    ),
    "excluded_by": Described(
        "Which requirement excludes which targets: a row a requirement, an entry a target. Absent from "
        "documents of earlier versions.",
        "fit",
    ),
}
_ALWAYS_IN_EXPERIMENT = (
    "path", "config", "images", "images_reason", "profiles", "host", "preflight", "warnings",
)  # fmt: skip
_ALWAYS_IN_DOCUMENTS = ("paced", "sustained", "reasons")
_LATER_IN_DOCUMENTS = ("mass_g", "size_mm")
"""Required in trial.json, and absent from documents of earlier versions."""


def schemas() -> dict[str, dict[str, Any]]:
    """Every schema that is generated, by its name."""
    return {
        "experiment": _record(
            "experiment",
            "experiment.json",
            "One `edgebench run`: its plan, its command and the machine it was started on. Written "
            "once, before "
            "the first session.",
            ExperimentRecord,
        ),
        "run": _record(
            "run",
            "run.json",
            "The last run of an experiment: how it ended. Absent in results of earlier versions.",
            RunRecord,
        ),
        "images": _record(
            "images",
            "images.json",
            "Which file each image was that accuracy is taken on. Absent where the images are no files, "
            "and in results of earlier versions.",
            ImagePathsRecord,
        ),
        "session": _record(
            "session",
            "session.json",
            "One fresh process's go at a trial, finished or failed. Its tables lie beside it, see "
            "tables.schema.json.",
            SessionRecord,
        ),
        "trial": _trial(),
        "result": _result(),
        "comparison": _whole_document(
            "comparison",
            "the document of `edgebench compare`",
            "Results against a baseline: trials in pairs, each by metrics, and what differs beside.",
            fields_of(ComparisonDocument, OF_COMPARISONS),
            required_of(ComparisonDocument, OF_COMPARISONS),
        ),
        "history": _whole_document(
            "history",
            "the document of `edgebench history`",
            "A metric over the results of a folder, and where its level changed.",
            fields_of(HistoryDocument, OF_HISTORIES),
            required_of(HistoryDocument, OF_HISTORIES),
        ),
        "results": _whole_document(
            "results",
            "the document of `edgebench results`",
            "The results of a folder, newest first.",
            fields_of(ResultsDocument, OF_RESULTS),
            required_of(ResultsDocument, OF_RESULTS),
        ),
        "meters": _meters(),
        "recording": _whole_document(
            "recording",
            "the document of `edgebench meters record`",
            "What a power meter said while it was recorded on its own.",
            fields_of(RecordedMeter, OF_METERS),
            required_of(RecordedMeter, OF_METERS),
        ),
    }


def write(folder: Path) -> None:
    """Write every generated schema into a folder."""
    for name, schema in schemas().items():
        (folder / f"{name}.schema.json").write_text(as_text(schema), encoding="utf-8")


def as_text(schema: dict[str, Any]) -> str:
    """A schema as it is checked in."""
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


def _document(
    name: str, title: str, description: str, properties: dict[str, Any], required: list[str]
) -> dict[str, Any]:
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:edgebench:{name}:1",
        "title": title,
        "description": description,
        "type": "object",
        "properties": properties,
        "required": required,
    }


def _record(name: str, title: str, description: str, type_: Any) -> dict[str, Any]:
    properties, required = fields_of(type_, OF_RECORDS), required_of(type_, OF_RECORDS)
    return _document(name, title, description, properties, required) | {"additionalProperties": False}


def _descriptions() -> Descriptions:
    """Those of the records and the summaries; what is a metric is described by the catalogue."""
    metrics = {name: _described(metric) for name, metric in METRICS.items() if metric.json_place == name}
    fields = {field.name for field in dataclasses.fields(TrialSummary)}
    held = {name: metric for name, metric in metrics.items() if name in fields}
    return {**OF_RECORDS, **OF_SUMMARIES, "TrialSummary": {**OF_SUMMARIES["TrialSummary"], **held}}


def _described(metric: Metric) -> Described:
    shape = {"minimum": 0} if metric.units is BYTE_UNITS else {}
    unit = {"1": "", "bytes": "byte"}.get(metric.unit, metric.unit)
    return Described(metric.sentence, metric.source, unit, shape=shape)


def _computed() -> dict[str, dict[str, Any]]:
    """The metrics that are no field of the summary; their type is what their function says it returns."""
    fields = {field.name for field in dataclasses.fields(TrialSummary)}
    return {
        name: _described(metric).schema(TypeAdapter(get_type_hints(metric.value)["return"]).json_schema())
        for name, metric in METRICS.items()
        if metric.json_place == name and name not in fields
    }


def _trial() -> dict[str, Any]:
    properties = {"schema_version": _VERSION, **fields_of(TrialSummary, _descriptions()), **_computed()}
    properties |= {name: field.schema({}) for name, field in _SENTENCES.items()}
    required = ["schema_version", *required_of(TrialSummary, _descriptions()), "warnings"]
    return _document(
        "trial",
        "trial.json",
        "One trial summed up from its sessions; derived, and can be made again at any time.",
        properties,
        required,
    )


def _result() -> dict[str, Any]:
    trial = _trial()
    names = dict.fromkeys([*IDENTITY, *document_names(), *CONDITIONS])
    properties = {name: trial["properties"][name] for name in names} | {"reasons": _REASONS.schema({})}
    required = [
        name
        for name in properties
        if name in _ALWAYS_IN_DOCUMENTS or (name in trial["required"] and name not in _LATER_IN_DOCUMENTS)
    ]
    experiment, written = fields_of(ExperimentRecord, OF_RECORDS), required_of(ExperimentRecord, OF_RECORDS)
    del experiment["trials"]
    experiment["scene"] = _without(experiment["scene"], "labels")
    experiment["targets"] = {
        **experiment["targets"],
        "items": _without(experiment["targets"]["items"], "host", "port"),
    }
    experiment["path"] = _PATH.schema({})
    run = {"properties": fields_of(RunRecord, OF_RECORDS), "required": required_of(RunRecord, OF_RECORDS)}
    parts: dict[str, dict[str, Any]] = {
        "experiment": {
            "type": "object",
            "properties": experiment,
            "required": [name for name in experiment if name in _ALWAYS_IN_EXPERIMENT or name in written],
        },
        "run": {"type": ["object", "null"], **run, "additionalProperties": False},
        "trials": {
            "type": "array",
            "items": {"type": "object", "properties": properties, "required": required},
        },
        "verdicts": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": fields_of(Verdict, _descriptions()),
                "required": required_of(Verdict, _descriptions()),
            },
        },
        "decisions": _list_of(Decision),
        "nearest": _list_of(Nearest),
        "pareto": _list_of(Front),
        "ranking": _list_of(Ranking),
        "excluded_by": _list_of(ExcludedBy),
    }
    return _document(
        "result",
        "the document of --json",
        "What `edgebench run`, `show` and `fit` print with --json.",
        {
            "schema_version": _VERSION,
            **{name: _PARTS[name].schema(part) for name, part in parts.items()},
            **MISSIONS,
        },
        ["schema_version", "experiment", "trials", "verdicts"],
    )


def _list_of(answer: Any) -> dict[str, Any]:
    entry = {
        "type": "object",
        "properties": fields_of(answer, OF_ANSWERS),
        "required": required_of(answer, OF_ANSWERS),
        "additionalProperties": False,
    }
    return {"type": "array", "items": entry}


def _meters() -> dict[str, Any]:
    """Of those that were not checked, or cannot be read, without what a check adds."""
    entry = {
        "type": "object",
        "properties": fields_of(CheckedMeter, OF_METERS),
        "required": required_of(Meter, OF_METERS),
        "additionalProperties": False,
    }
    entries = Described("One entry a meter.", "probes", shape={"type": "array", "items": entry})
    return _whole_document(
        "meters",
        "the document of `edgebench meters list` and `check`",
        "Power meters: which can be read and, of those that were checked, what they say.",
        {"meters": entries.schema({})},
        ["meters"],
    )


def _whole_document(
    name: str, title: str, description: str, properties: dict[str, Any], required: list[str]
) -> dict[str, Any]:
    document = _document(
        name, title, description, {"schema_version": _VERSION, **properties}, ["schema_version", *required]
    )
    return document | {"additionalProperties": False}


def _without(schema: dict[str, Any], *names: str) -> dict[str, Any]:
    properties = {name: field for name, field in schema["properties"].items() if name not in names}
    return {**schema, "properties": properties}


if __name__ == "__main__":
    write(Path(str(resources.files("edgebench.store") / "schemas")))
