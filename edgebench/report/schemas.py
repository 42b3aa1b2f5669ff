"""JSON Schemas of all documents (draft 2020-12), made from the types and the metrics that they hold.

`edgebench schema NAME` prints one.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Mapping
from functools import cache
from importlib import resources

from edgebench.judge.comparisons.comparison import ResultsComparison
from edgebench.records.described import Described, object_schema
from edgebench.records.stored import ExperimentRecord, ImagePathsRecord, RunRecord, SessionRecord
from edgebench.report.documents import Schema, list_of, object_of, result_properties, trial_properties
from edgebench.report.history import HistoryDocument, ResultsDocument
from edgebench.report.listings.meters import CheckedMeter, ListedMeter, RecordedMeter
from edgebench.report.words import SCHEMA_VERSION
from edgebench.results.layout import SCHEMA_VERSION as RECORD_VERSION
from edgebench.results.parquet import table_schemas

_STORED = {"experiment", "run", "images", "session", "trial"}
"""Those of the records on disk, which have a version of their own."""


@cache
def schema(name: str) -> Schema:
    """One of `NAMES` as plain data; ValueError for another name."""
    if name not in _MAKERS:
        raise ValueError(f"there is no schema {name!r}; there are {', '.join(_MAKERS)}")
    return _MAKERS[name]()


def _document(name: str, title: str, text: str, content: Schema, *, has_version: bool = False) -> Schema:
    """Schema of a document; the field of its version is added unless its type has it."""
    is_stored = name in _STORED
    version = RECORD_VERSION if is_stored else SCHEMA_VERSION
    if not has_version:
        refused = "every other one" if is_stored else "a newer one"
        described = Described(f"Version of this document's layout; a reader refuses {refused}.", "EdgeBench")
        fields = {"schema_version": described.schema({"const": version}), **content["properties"]}
        content |= {"properties": fields, "required": ["schema_version", *content["required"]]}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:edgebench:{name}:{version}",
        "title": title,
        "description": text,
        **content,
    }


def _of_type(name: str, type_: type, command: str = "") -> Schema:
    """Schema of a record on disk, or of the document that a command prints."""
    title = f"the document of `edgebench {command}`" if command else f"{name}.json"
    text = " ".join((inspect.getdoc(type_) or "").partition("\n\n")[0].split())
    return _document(name, title, text, object_schema(type_), has_version=not command)


def _trial() -> Schema:
    text = "One trial with its estimates; derived from its sessions, and can be made again at any time."
    return _document("trial", "trial.json", text, object_of(trial_properties()))


def _result() -> Schema:
    text = "Result as `edgebench run`, `show` and `fit` print it with --json."
    return _document("result", "the document of --json", text, object_of(result_properties()))


def _meters() -> Schema:
    """Fields that a check adds are optional: other entries lack them."""
    entry = object_schema(CheckedMeter)
    entry["required"] = object_schema(ListedMeter)["required"]
    content = object_of({"meters": list_of(entry, "One entry a meter.", "probes")})
    return _document(
        "meters",
        "the document of `edgebench meters list` and `check`",
        "Power meters: which can be read and, where they were checked, what they show.",
        content | {"additionalProperties": False},
    )


def _error() -> Schema:
    text = resources.files("edgebench.results").joinpath("schemas", "error.schema.json").read_text("utf-8")
    error: Schema = json.loads(text)
    return error


_MAKERS: Mapping[str, Callable[[], Schema]] = {
    "experiment": lambda: _of_type("experiment", ExperimentRecord),
    "run": lambda: _of_type("run", RunRecord),
    "images": lambda: _of_type("images", ImagePathsRecord),
    "session": lambda: _of_type("session", SessionRecord),
    "trial": _trial,
    "result": _result,
    "comparison": lambda: _of_type("comparison", ResultsComparison, "compare"),
    "history": lambda: _of_type("history", HistoryDocument, "history"),
    "results": lambda: _of_type("results", ResultsDocument, "results"),
    "error": _error,
    "meters": _meters,
    "recording": lambda: _of_type("recording", RecordedMeter, "meters record"),
    "tables": table_schemas,
}
NAMES = tuple(_MAKERS)
"""`tables` describes the Parquet columns; the others are schemas of a JSON document."""
