"""The JSON Schemas of what is written and printed (draft 2020-12), made from the classes that hold it.

`edgebench schema NAME` prints one. Fields and their texts come from records, summaries and documents, and for
metrics from their catalogue; only what a document puts around them is described here.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from importlib import resources
from typing import Any

from edgebench.judge.answers import Answers
from edgebench.judge.columns import summary_schema
from edgebench.judge.comparison import ResultsComparison
from edgebench.judge.metric import BYTE_UNITS
from edgebench.judge.metrics import METRICS
from edgebench.judge.trial_summary import Verdict, WorkerSummary
from edgebench.records.described import Described, object_schema
from edgebench.records.stored import ExperimentRecord, ImagePathsRecord, RunRecord, SessionRecord
from edgebench.report.forms import CONDITIONS, IDENTITY
from edgebench.report.history import HistoryDocument, ResultsDocument
from edgebench.report.listings.meters import CheckedMeter, ListedMeter, RecordedMeter
from edgebench.report.missions import missions_schema
from edgebench.report.words import SCHEMA_VERSION
from edgebench.results.layout import SCHEMA_VERSION as RECORD_VERSION
from edgebench.results.parquet import table_schemas

Schema = dict[str, Any]

_TEXTS = {"type": "array", "items": {"type": "string"}}
_STORED = {"experiment", "run", "images", "session", "trial"}
"""Those of the records on disk, which have a version of their own."""
_VERSION = Described("Version of this document's layout; a reader refuses a newer one.", "EdgeBench").schema(
    {"const": SCHEMA_VERSION}
)
_RECORD_VERSION = Described(
    "Version of this document's layout; a reader refuses every other one.", "EdgeBench"
).schema({"const": RECORD_VERSION})
_WARNINGS = {
    "warnings": Described("What a reader should mind, one sentence each.", "sessions").schema(_TEXTS),
    "said": Described(
        "Those of the warnings that the device or its runtime gave itself, such as an accelerator on a "
        "slow bus.",
        "sessions",
    ).schema(_TEXTS),
}
"""What trial.json holds in place of the summary's cautions."""


@cache
def schema(name: str) -> Schema:
    """One of `NAMES` as plain data; ValueError for another name."""
    if name not in _MAKERS:
        raise ValueError(f"there is no schema {name!r}; there are {', '.join(_MAKERS)}")
    return _MAKERS[name]()


def _document(name: str, title: str, text: str, whole: Mapping[str, Any]) -> Schema:
    version = RECORD_VERSION if name in _STORED else SCHEMA_VERSION
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:edgebench:{name}:{version}",
        "title": title,
        "description": text,
        **whole,
    }


def _written(name: str, type_: type) -> Schema:
    """A record on disk, of a file of this name."""
    return _document(name, f"{name}.json", _about(type_), object_schema(type_))


def _printed(name: str, command: str, type_: type) -> Schema:
    """A document that a command prints."""
    whole = object_schema(type_)
    whole["properties"] = {"schema_version": _VERSION, **whole["properties"]}
    whole["required"] = ["schema_version", *whole["required"]]
    return _document(name, f"the document of `edgebench {command}`", _about(type_), whole)


def _about(type_: type) -> str:
    """The first paragraph of a class's docstring."""
    return " ".join((inspect.getdoc(type_) or "").partition("\n\n")[0].split())


def _object(properties: Mapping[str, Any], required: Iterable[str] | None = None) -> Schema:
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties if required is None else required),
    }


def _list_of(entry: Schema, text: str, source: str) -> Schema:
    return Described(text, source).schema({"type": "array", "items": entry})


def _trial() -> Schema:
    fields = {name: dict(field) for name, field in summary_schema().items()}
    for name, metric in METRICS.items():
        if metric.json_place == name and name not in fields:
            described = Described(metric.sentence, metric.source, metric.unit_text)
            fields[name] = described.schema({"type": ["number", "null"]})
        if metric.json_place == name and metric.units is BYTE_UNITS:
            fields[name]["minimum"] = 0
    return _document(
        "trial",
        "trial.json",
        "One trial summed up from its sessions; derived, and can be made again at any time.",
        _object({"schema_version": _RECORD_VERSION, **fields, **_WARNINGS}),
    )


def _result() -> Schema:
    trial = _trial()["properties"]
    held = (metric.json_place for metric in METRICS.values())
    names = dict.fromkeys([*IDENTITY, *held, *CONDITIONS])
    reasons = {"type": "object", "additionalProperties": {"type": "string"}}
    entry = _object(
        {name: trial[name] for name in names}
        | {"reasons": Described("Why a figure is null, by the figure's name.", "sessions").schema(reasons)}
    )
    experiment = object_schema(ExperimentRecord)
    del experiment["properties"]["trials"]
    del experiment["properties"]["scene"]["properties"]["labels"]
    for private in ("host", "port"):
        del experiment["properties"]["targets"]["items"]["properties"][private]
    for part in (experiment["properties"]["scene"], experiment["properties"]["targets"]["items"]):
        part["required"] = [name for name in part["required"] if name in part["properties"]]
    experiment["properties"]["path"] = Described("The result folder.", "command line").schema(
        {"type": "string"}
    )
    run = object_schema(RunRecord)
    parts = {
        "schema_version": _VERSION,
        "experiment": Described(
            "The experiment: what experiment.json has, without its trials and the scene's labels, and its "
            "folder.",
            "experiment.json",
        ).schema(_object(experiment["properties"])),
        "run": Described(
            "The last run of the experiment, as run.json has it; null without one.", "run.json"
        ).schema({**run, "type": ["object", "null"]}),
        "trials": _list_of(entry, "One entry a planned trial.", "sessions"),
        "workers": _list_of(
            object_schema(WorkerSummary),
            "One entry a worker of the trials with several; empty where one worker had the device.",
            "sessions",
        ),
        "verdicts": _list_of(
            object_schema(Verdict),
            "One entry a trial, profile and requirement; empty when no profile was asked for.",
            "fit",
        ),
        **object_schema(Answers)["properties"],
        **missions_schema(),
    }
    return _document(
        "result",
        "the document of --json",
        "What `edgebench run`, `show` and `fit` print with --json.",
        _object(parts, ["schema_version", "experiment", "trials", "verdicts"]),
    )


def _meters() -> Schema:
    """Fields that a check adds are optional: other entries lack them."""
    entry = object_schema(CheckedMeter)
    entry["required"] = object_schema(ListedMeter)["required"]
    meters = _list_of(entry, "One entry a meter.", "probes")
    return _document(
        "meters",
        "the document of `edgebench meters list` and `check`",
        "Power meters: which can be read and, where they were checked, what they show.",
        {**_object({"schema_version": _VERSION, "meters": meters}), "additionalProperties": False},
    )


def _error() -> Schema:
    text = resources.files("edgebench.results").joinpath("schemas", "error.schema.json").read_text("utf-8")
    error: Schema = json.loads(text)
    return error


_MAKERS: Mapping[str, Callable[[], Schema]] = {
    "experiment": lambda: _written("experiment", ExperimentRecord),
    "run": lambda: _written("run", RunRecord),
    "images": lambda: _written("images", ImagePathsRecord),
    "session": lambda: _written("session", SessionRecord),
    "trial": _trial,
    "result": _result,
    "comparison": lambda: _printed("comparison", "compare", ResultsComparison),
    "history": lambda: _printed("history", "history", HistoryDocument),
    "results": lambda: _printed("results", "results", ResultsDocument),
    "error": _error,
    "meters": _meters,
    "recording": lambda: _printed("recording", "meters record", RecordedMeter),
    "tables": table_schemas,
}
NAMES = tuple(_MAKERS)
"""`tables` describes the Parquet columns; the others are schemas of a JSON document."""
