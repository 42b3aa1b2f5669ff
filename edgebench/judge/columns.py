"""A trial as a row: every figure of its summary under a heading, with what the column holds.

The CSV and the table of `Results.summaries()` have these columns. Metrics say their own (`Metric.csv`); each
other field of `TrialSummary` gives one by itself, or one a field where it is a record, unless `NO_COLUMN`
says why there is none.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from operator import attrgetter
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from edgebench.judge.metric import DECLARED, Metric
from edgebench.judge.metrics import METRICS
from edgebench.judge.trial_summary import PowerFigure, Published, RequestLatency, TrialSummary
from edgebench.records.described import Described, texts_of
from edgebench.run.targets import whole_settings_text
from edgebench.stats.interval import Interval

Cell = str | int | float | bool | None
"""What a row holds; None for a figure that is missing."""

Kind = Literal["number", "flag", "text", "any"]

_BY_PASS = "one value a pass, which the JSON document has"
_BY_SESSION = "one value a session, which the JSON document has"
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
    "power.primary": "power's columns are of the primary rail",
    "paced.by_session": _BY_SESSION,
    "sustained.minutes": "one value a minute, which the JSON document has",
    "accuracy.confusion": _MATRIX,
    "accuracy.class_names": _MATRIX,
    "scene_accuracy.confusion": _MATRIX,
    "scene_accuracy.class_names": _MATRIX,
    "scene_accuracy.overlapping": "the patches of a scene are cut beside one another",
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
    for name in _fields():
        if name not in {*_IDENTITY, *held, *NO_COLUMN, "cold", "power", "published", "workers"}:
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
    record = _record_in(_fields()[name])
    get: Callable[[TrialSummary], Any] = attrgetter(name) if name != "settings" else _settings_text
    for heading, part in _parts(name).items():
        described = _described(record or TrialSummary, part or name)
        text = f"{name}: {described.text}" if part else described.text
        kind = _kind(get_type_hints(record)[part] if record else _fields()[name])
        yield Column(heading, text, described.unit, described.source, partial(_value_of, get, part), kind)


def _settings_text(trial: TrialSummary) -> str:
    return whole_settings_text(trial.settings)


def _parts(name: str) -> Mapping[str, str]:
    """Heading -> which field of its record, empty without one, of the columns of a field of the summary."""
    record = _record_in(_fields().get(name))
    if record is None:
        return {name: ""}
    parts = (field.name for field in dataclasses.fields(record))
    return {f"{name}_{part}": part for part in parts if f"{name}.{part}" not in NO_COLUMN}


def csv_fields(metric: Metric) -> Mapping[str, str]:
    """Heading -> which field of the value, the value itself where that is empty."""
    return _parts(metric.name) if metric.csv is None else metric.csv


def _of_metric(metric: Metric, summaries: Sequence[TrialSummary]) -> Iterator[Column]:
    """The columns of a metric; one a key where its values are mappings."""
    for heading, part in csv_fields(metric).items():
        text, unit, source = _description_of(metric, heading, part)
        kind = _kind_of(metric, part)
        if not metric.keyed:
            get = attrgetter("primary_rail") if part and metric.rail else metric.value
            yield Column(heading, text, unit, source, partial(_value_of, get, part), kind)
            continue
        keys = dict.fromkeys(key for summary in summaries for key in metric.value(summary) or {})
        taken = {fixed.heading for fixed in _columns(())} if keys else set()
        for key in keys:
            keyed = heading.format(key=key)
            keyed += "_" * (keyed in taken)  # a stage, named by its device, that is called as a figure is
            yield Column(keyed, text, unit, source, partial(_value_of, metric.value, key), kind)


def _description_of(metric: Metric, heading: str, part: str) -> tuple[str, str, str]:
    """Text, unit and source of a metric's column; of a figure's first part also what the figure is."""
    if not part and heading != metric.name and heading in _fields():  # a field that the metric is made of
        described = _described(TrialSummary, heading)
        return described.text, described.unit, described.source
    if not part or part.isdigit():
        return metric.sentence, metric.unit_text, metric.source
    described = _described(_record_of(metric), part)
    if metric.rail:
        return f"Of the primary meter and rail: {described.text}", described.unit, described.source
    first = part == next(iter(csv_fields(metric).values()))
    text = f"{metric.sentence} {described.text}" if first else f"{metric.name}: {described.text}"
    return text, described.unit, metric.source


def _record_of(metric: Metric) -> Any:
    """The record that a metric's figure has its parts in."""
    return PowerFigure if metric.rail else _record_in(_fields()[metric.json_place])


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
            _described(TrialSummary, "settings").source,
            partial(_value_of, attrgetter("settings"), name),
            "any",
        )


def _of_other_rails(summaries: Sequence[TrialSummary]) -> Iterator[Column]:
    """What each meter and rail sees that is not the primary one; their figures are never added up."""
    parts = dict.fromkeys(
        part for metric in METRICS.values() for part in (metric.rail, *metric.rail_bounds) if part
    )
    rails = [rail for summary in summaries for rail in summary.power or () if not rail.primary]
    for place in dict.fromkeys((rail.meter, rail.channel) for rail in rails):
        meter, channel = place
        for part in parts:
            described = _described(PowerFigure, part)
            yield Column(
                f"rail:{meter}:{channel}:{part}",
                f"As {meter} sees it on {channel}, which is not the primary rail: {described.text}",
                described.unit,
                described.source,
                partial(_value_of, partial(_other_rail, place), part),
                "number",
            )


def _other_rail(place: tuple[str, str], trial: TrialSummary) -> PowerFigure | None:
    rails = {(rail.meter, rail.channel): rail for rail in trial.power or () if not rail.primary}
    return rails.get(place)


def _of_published(summaries: Sequence[TrialSummary]) -> Iterator[Column]:
    for quantity in dict.fromkeys(figure.quantity for summary in summaries for figure in summary.published):
        metric = METRICS.get(quantity)
        for part, described in texts_of(Published).items():
            if part == "quantity":  # the heading has it
                continue
            is_figure = part in ("value", "low", "high")
            yield Column(
                f"published:{quantity}" + ("" if part == "value" else f":{part}"),
                f"As published of {quantity}: {described.text}",
                metric.unit_text if metric is not None and is_figure else "",
                described.source,
                partial(_value_of, partial(_published, quantity), part),
                _kind(get_type_hints(Published)[part]),
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
def _fields() -> Mapping[str, Any]:
    """The type of each field of a summary, by name."""
    hints = get_type_hints(TrialSummary)
    return {field.name: hints[field.name] for field in dataclasses.fields(TrialSummary)}


def _record_in(hint: Any) -> Any:
    """The dataclass of a field, be it optional or one of several; None for what holds none."""
    if isinstance(hint, type) and dataclasses.is_dataclass(hint):
        return hint
    return next((record for part in get_args(hint) if (record := _record_in(part)) is not None), None)


def _kind_of(metric: Metric, part: str) -> Kind:
    """What a metric's column holds; of one that is no field of the summary numbers."""
    if metric.keyed and metric.source == DECLARED:  # watts and their sources
        return "any"
    if not part or part.isdigit():
        return "number"
    return _kind(get_type_hints(_record_of(metric))[part])


def _kind(hint: Any) -> Kind:
    """What cells of a type are."""
    if get_origin(hint) in (Union, UnionType):
        kinds = {_kind(part) for part in get_args(hint) if part is not NoneType}
        return kinds.pop() if len(kinds) == 1 else "any"
    return "flag" if hint is bool else "number" if hint in (int, float) else "text"


def _described(record: type, name: str) -> Described:
    """The text of a field of a record; KeyError where it has none."""
    metric = METRICS.get(name) if record is TrialSummary else None
    if metric is not None:
        return Described(metric.sentence, metric.source, metric.unit_text)
    return texts_of(record)[name]


# What a trial comes to, metric by metric: the fields of its document, and why some of them are missing.


def document_names() -> list[str]:
    """The fields of a trial's document that hold metrics, each once."""
    return list(dict.fromkeys(metric.json_place for metric in METRICS.values()))


def document_fields(trial: TrialSummary) -> dict[str, Any]:
    """What a trial's document holds of the metrics, by field: the summary's own, else the metric's value."""
    own = vars(trial)
    return {
        metric.json_place: own[metric.json_place] if metric.json_place in own else metric.value(trial)
        for metric in METRICS.values()
    }


def missing_reasons(trial: TrialSummary) -> dict[str, str]:
    """Why each field of a trial's document, and each interval, is missing, by the field's name."""
    unmeasured = (
        trial.unpooled
        or trial.reason
        or {
            "unsupported": "the target does not take this variant",
            "not_run": "no session of this trial has run yet",
            "failed": "every session of this trial failed",
        }.get(trial.status, "no finished session holds it")
    )
    reasons: dict[str, str] = {}
    held = document_fields(trial)
    for metric in METRICS.values():
        name = metric.json_place
        value = held[name]
        if value is None:
            reasons.setdefault(name, trial.unpublished(metric.name) or metric.missing(trial) or unmeasured)
        elif isinstance(value, Interval) and (value.low is None or value.high is None):
            few = f"too few sessions for an interval: {value.sessions}"
            reasons[f"{name}.interval"] = "none was published" if trial.published else few
        elif isinstance(value, RequestLatency) and value.p99 is None:
            reasons[f"{name}.p99"] = value.reason
    return reasons
