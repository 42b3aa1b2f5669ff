"""A trial as a row: every figure of its summary under a heading, with what the column holds.

The CSV and the table of `Results.summaries()` have these columns. Metrics say their own (`Metric.csv`); each
other field of `TrialSummary` gives one by itself, or one a field where it is a record, unless `NO_COLUMN`
gives the reason against it.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from operator import attrgetter
from typing import Any, Literal

from edgebench.judge.metric import DECLARED, Metric
from edgebench.judge.metrics import METRICS
from edgebench.judge.trial_summary import PowerFigure, Published, RequestLatency, TrialSummary
from edgebench.records.described import Described, object_schema
from edgebench.records.target import settings_text
from edgebench.stats.interval import Interval

Cell = str | int | float | bool | None
"""What a row holds; None for a figure that is missing."""

Kind = Literal["number", "flag", "text", "any"]
Schema = dict[str, Any]

_BY_PASS = "one value a pass, which the JSON document has"
_BY_SESSION = "one value a session, which the JSON document has"
_COUNTED = "how many values an interval is of, which the JSON document has"
_MATRIX = "the JSON document has the confusion matrix and its classes"

NO_COLUMN: Mapping[str, str] = {
    "image_s_values": _BY_PASS,
    "infer_s_values": _BY_PASS,
    "request_ms_values": "one value a request, which batches.parquet has",
    "load_s_values": _BY_SESSION,
    "cold_values": "one value a session, which session.json has",
    "start_s_values": _BY_SESSION,
    "memory_bytes_values": _BY_SESSION,
    "power.mean_w_sessions": _BY_SESSION,
    "power.energy_j_sessions": _BY_SESSION,
    "power.together_energy_j_sessions": _BY_SESSION,
    "ticks": "the ends of the intervals hold them",
    "interfered": "the warnings say it",
    "undisturbed": "what a verdict is judged again by",
    "sharing.share": "the target's settings have it",
    "sharing.images_per_s.sessions": _COUNTED,
    "sharing.images_per_s.n": _COUNTED,
    "sharing.images_per_s_values": _BY_SESSION,
    "sharing.slowdown.sessions": _COUNTED,
    "sharing.slowdown.n": _COUNTED,
    "sharing.slowdown_reason": "the reason of a missing figure, which reasons() has",
    "sharing.slowdown_values": _BY_SESSION,
    "sharing.together_bytes_values": _BY_SESSION,
    "power.primary": "power's columns are of the primary rail",
    "paced.by_session": _BY_SESSION,
    "sustained.minutes": "one value a minute, which the JSON document has",
    "accuracy.confusion": _MATRIX,
    "accuracy.class_names": _MATRIX,
    "accuracy.worst_classes": _MATRIX,
    "accuracy.confusions": _MATRIX,
    "scene_accuracy.confusion": _MATRIX,
    "scene_accuracy.class_names": _MATRIX,
    "scene_accuracy.worst_classes": _MATRIX,
    "scene_accuracy.confusions": _MATRIX,
    "scene_accuracy.overlapping": "the patches of a scene do not overlap",
    "power_curves": "samples, which probes.parquet has",
    "cautions": "they are sentences under warnings",
    "figures_of_values": "what was computed once, and nothing that is reported",
}
"""Fields of a summary, and of the records in it, without a column: why."""

_IDENTITY = (
    "key", "target", "variant", "depth_multiplier", "precision", "batch", "concurrency", "settings", "timed",
    "scene_covered", "mark", "measured_patches", "untimed_stages", "extrapolated", "emulated", "assumed",
    "requested", "status", "reason",
)  # fmt: skip
"""The fields that come before the metrics; all others come behind them."""


@dataclass(frozen=True)
class Column:
    """One column.

    Attributes:
        heading: its name, unique among the columns of a table.
        text: what it holds.
        unit: of its numbers; empty for none.
        source: the file or clock that its values come from.
        value: of a trial.
        kind: what its cells are, besides None; `any` where the trials decide.
    """

    heading: str
    text: str
    unit: str
    source: str
    value: Callable[[TrialSummary], Cell]
    kind: Kind


def trial_columns(summaries: Sequence[TrialSummary]) -> list[Column]:
    """The columns of a table of these trials, whose stages, settings and rails have one each.

    `column.value(summary)` gives a cell: a number in the column's unit, a text, a truth value, or None where
    the trial has no such figure.
    """
    return list(_columns(summaries))


def _columns(summaries: Sequence[TrialSummary]) -> Iterator[Column]:
    for name in _IDENTITY:
        yield from _of_field(name)
        if name == "settings":
            yield from _of_settings(summaries)
    yield Column(
        "measured_in",
        "What its latency is of: passes over the scene, or windows of one resident patch.",
        "",
        "sessions",
        lambda trial: None if trial.latency is None else "windows" if trial.has_windows else "passes",
        "text",
    )
    for metric in METRICS.values():
        yield from _of_metric(metric, summaries)
    yield from _of_other_rails(summaries)
    held = {heading for metric in METRICS.values() for heading in (metric.name, *csv_fields(metric))}
    for name in summary_schema():
        if name not in {*_IDENTITY, *held, *NO_COLUMN, "cold", "power", "published", "workers", "sharing"}:
            yield from _of_field(name)
    yield Column(
        "workers", "How many workers shared the sessions.", "", "session.json",
        lambda trial: len(trial.workers), "number",
    )  # fmt: skip
    yield from _of_published(summaries)
    yield Column(
        "warnings", "What a reader should mind, one sentence each.", "", "sessions",
        lambda trial: _cell(trial.warnings), "text",
    )  # fmt: skip


def _of_field(name: str) -> Iterator[Column]:
    """The column of a field of the summary; of a record one a field of it."""
    get: Callable[[TrialSummary], Any] = (
        attrgetter(name) if name != "settings" else lambda trial: settings_text(trial.settings)
    )
    for heading, part in _parts(name).items():
        of_part = _described(name, part)
        text = f"{name}: {of_part['description']}" if part else ""
        yield _column(heading, of_part, partial(_value_of, get, part), text)


def _column(heading: str, described: Schema, value: Callable[[TrialSummary], Cell], text: str = "") -> Column:
    """A column of what a schema describes."""
    unit, source = described.get("x-unit", ""), described["x-source"]
    return Column(heading, text or described["description"], unit, source, value, _kind(described))


def _parts(name: str) -> Mapping[str, str]:
    """Heading -> which field of its record, empty without one, of the columns of a field of the summary."""
    parts = summary_schema().get(name, {}).get("properties")
    if parts is None:
        return {name: ""}
    return {f"{name}_{part}": part for part in parts if f"{name}.{part}" not in NO_COLUMN}


def csv_fields(metric: Metric) -> Mapping[str, str]:
    """Heading -> which field of the value, the value itself where that is empty."""
    return _parts(metric.name) if metric.csv is None else metric.csv


def _of_metric(metric: Metric, summaries: Sequence[TrialSummary]) -> Iterator[Column]:
    """The columns of a metric; one a key where its values are mappings."""
    own = Described(metric.sentence, metric.source, metric.unit_text).schema({"type": "number"})
    for at, (heading, part) in enumerate(csv_fields(metric).items()):
        described, text = own, ""
        get: Callable[[TrialSummary], Any] = metric.value
        if not part and heading != metric.name and heading in summary_schema():
            described = _described(heading)  # a field that the metric is made of
        elif part and metric.rail:
            described, get = _described("power", part), attrgetter("primary_rail")
            text = f"By the primary meter and rail: {described['description']}"
        elif part and not part.isdigit():
            described = {**_described(metric.json_place, part, metric.name), "x-source": metric.source}
            # The figure's first part also says what the figure is.
            text = f"{metric.name}: {described['description']}"
            text = text if at else f"{metric.sentence} {described['description']}"
        elif metric.keyed and metric.source == DECLARED:
            described = own | {"type": ["number", "string"]}
        if not metric.keyed:
            yield _column(heading, described, partial(_value_of, get, part), text)
            continue
        keys = dict.fromkeys(key for summary in summaries for key in metric.value(summary) or {})
        taken = {fixed.heading for fixed in _columns(())} if keys else set()
        for key in keys:
            keyed = heading.format(key=key)
            keyed += "_" * (keyed in taken)  # a stage, named by its device, that is called as a figure is
            yield _column(keyed, described, partial(_value_of, metric.value, key))


def _value_of(get: Callable[[TrialSummary], Any], part: str, trial: TrialSummary) -> Cell:
    """What a trial has, or a part of it: a field, a place in a tuple or a key."""
    value = get(trial)
    if value is not None and part:
        if isinstance(value, Mapping):
            value = value.get(part)
            return json.dumps(value) if isinstance(value, list | dict) else _cell(value)
        value = value[int(part)] if part.isdigit() else getattr(value, part)
    return _cell(value)


def _of_settings(summaries: Sequence[TrialSummary]) -> Iterator[Column]:
    for name in dict.fromkeys(name for summary in summaries for name in summary.settings):
        yield Column(
            f"setting:{name}",
            f"Value of the setting {name}, in which targets of a sweep differ.",
            "",
            _described("settings")["x-source"],
            partial(_value_of, attrgetter("settings"), name),
            "any",
        )


def _of_other_rails(summaries: Sequence[TrialSummary]) -> Iterator[Column]:
    """What each meter and rail sees that is not the primary one; their figures are never added up."""
    is_shared = any(summary.sharing for summary in summaries)
    fields = [
        field
        for metric in METRICS.values()
        if is_shared or not metric.together
        for field in (metric.rail, *metric.rail_bounds)
        if field
    ]
    rails = [rail for summary in summaries for rail in summary.power or () if not rail.primary]
    for place in dict.fromkeys((rail.meter, rail.channel) for rail in rails):
        meter, channel = place
        for part in dict.fromkeys(fields):
            described = _described("power", part)
            text = f"As {meter} sees it on {channel}, which is not the primary rail: "
            value = partial(_value_of, partial(_other_rail, place), part)
            yield _column(f"rail:{meter}:{channel}:{part}", described, value, text + described["description"])


def _other_rail(place: tuple[str, str], trial: TrialSummary) -> PowerFigure | None:
    rails = {(rail.meter, rail.channel): rail for rail in trial.power or () if not rail.primary}
    return rails.get(place)


def _of_published(summaries: Sequence[TrialSummary]) -> Iterator[Column]:
    for quantity in dict.fromkeys(figure.quantity for summary in summaries for figure in summary.published):
        for part in summary_schema()["published"]["items"]["properties"]:
            if part == "quantity":  # the heading has it
                continue
            described = _described("published", part)
            if quantity in METRICS and part in ("value", "low", "high"):
                described |= {"x-unit": METRICS[quantity].unit_text}
            yield _column(
                f"published:{quantity}" + ("" if part == "value" else f":{part}"),
                described,
                partial(_value_of, partial(_published, quantity), part),
                f"As published of {quantity}: {described['description']}",
            )


def _published(quantity: str, trial: TrialSummary) -> Published | None:
    return next((figure for figure in trial.published if figure.quantity == quantity), None)


def _cell(value: Any) -> Cell:
    """A value as one cell: several texts in one, behind one another."""
    if isinstance(value, Mapping):
        return "; ".join(f"{name}: {text}" for name, text in value.items())
    if isinstance(value, tuple):
        return "; ".join(str(_cell(item)) for item in value)
    if dataclasses.is_dataclass(value):
        raise TypeError(
            f"a {type(value).__name__} is no cell: give its fields columns, or NO_COLUMN a reason"
        )
    cell: Cell = value
    return cell


@cache
def summary_schema() -> Mapping[str, Schema]:
    """The fields of a summary as JSON Schema, by name; those that are metrics with the catalogue's texts."""
    texts = {
        name: Described(metric.sentence, metric.source, metric.unit_text) for name, metric in METRICS.items()
    }
    more = {"TrialSummary": texts, "Sharing": texts}
    fields: Mapping[str, Schema] = object_schema(TrialSummary, more)["properties"]
    return fields


def _described(name: str, part: str = "", within: str = "") -> Schema:
    """The schema of a field of the summary, or of a part of the record, or of the records, in it.

    `within` names the record in that record, if there is such a one, that has the part.
    """
    field = summary_schema()[name]
    field = field.get("properties", {}).get(within, field)
    return dict(field.get("items", field)["properties"][part] if part else field)


_KINDS: Mapping[str, Kind] = {"boolean": "flag", "number": "number", "integer": "number"}


def _kind(described: Schema) -> Kind:
    """What cells of a schema's type are."""
    choices = described.get("anyOf", [described])
    types = [choice["type"] if isinstance(choice["type"], list) else [choice["type"]] for choice in choices]
    kinds = {_KINDS.get(name, "text") for of_choice in types for name in of_choice if name != "null"}
    return kinds.pop() if len(kinds) == 1 else "any"


# What a trial comes to, metric by metric: the fields of its document, and why some of them are missing.


def document_fields(trial: TrialSummary) -> dict[str, Any]:
    """What a trial's document holds of the metrics, by field: the summary's own, else the metric's value."""
    own = vars(trial)
    return {
        metric.json_place: own[metric.json_place] if metric.json_place in own else metric.value(trial)
        for metric in METRICS.values()
    }


def unmeasured_reason(trial: TrialSummary) -> str:
    """Why a trial lacks a figure of which nothing else is known."""
    return (
        trial.unpooled
        or trial.reason
        or {
            "unsupported": "the target does not take this variant",
            "not_run": "no session of this trial has run yet",
            "failed": "every session of this trial failed",
        }.get(trial.status, "no finished session holds it")
    )


def missing_reasons(trial: TrialSummary) -> dict[str, str]:
    """Why each field of a trial's document, and each interval, is missing, by the field's name."""
    unmeasured = unmeasured_reason(trial)
    reasons: dict[str, str] = {}
    held = document_fields(trial)
    for metric in METRICS.values():
        name = metric.json_place
        value = held[name]
        if name == "sharing" and value is not None:
            name, value = f"{name}.{metric.name}", metric.value(trial)
        if value is None:
            reasons.setdefault(name, trial.unpublished(metric.name) or metric.missing(trial) or unmeasured)
        elif isinstance(value, Interval) and (value.low is None or value.high is None):
            few = f"too few sessions for an interval: {value.sessions}"
            reasons[f"{name}.interval"] = "none was published" if trial.published else few
        elif isinstance(value, RequestLatency) and value.p99 is None:
            reasons[f"{name}.p99"] = value.reason
    if trial.scene_covered is None:
        reasons["scene_covered"] = "the model takes no picture and was timed with samples"
    return reasons
