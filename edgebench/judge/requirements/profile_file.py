"""A profile's file: its JSON Schema for editors, and the text of a new one."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from edgebench.errors import UsageError
from edgebench.judge.metric import Metric
from edgebench.judge.metrics import required_metrics
from edgebench.judge.requirements.profile import Profile, parse_profile
from edgebench.judge.requirements.requirement import Requirement, default_name, metric_asked
from edgebench.judge.requirements.schedule import Budget, Schedule
from edgebench.judge.units import fitting_units
from edgebench.records.described import texts_of
from edgebench.suggest import short


def profile_schema() -> dict[str, Any]:
    """The JSON Schema of a profile's file, as editors take it for completion and marks."""
    schema = Profile.model_json_schema()
    tables = schema["$defs"]
    for model, required in (
        (Profile, ["name"]),
        (Requirement, []),
        (Schedule, []),
        (Budget, ["cycle_s", "images"]),
    ):
        table = schema if model is Profile else tables[model.__name__]
        fields = table["properties"]
        table["properties"] = {
            name: _plain(fields[name]) | {"description": text.text} for name, text in texts_of(model).items()
        }
        table["required"] = required
    metrics = required_metrics()
    tables["Schedule"]["anyOf"] = [{"required": ["cycle"]}, {"required": ["cycle_s"]}]
    tables["Requirement"]["properties"]["quantity"] |= {"enum": list(metrics)}
    tables["Requirement"]["allOf"] = [
        {"if": _is_about(name), "then": {"properties": _shapes(metric)}} for name, metric in metrics.items()
    ]
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "urn:edgebench:profile:1",
        **schema,
        "title": "EdgeBench profile",
        "anyOf": [{"required": ["requirements"]}, {"required": ["extends"]}],
    }


def _is_about(quantity: str) -> dict[str, Any]:
    asks = {"properties": {"quantity": {"const": quantity}}}
    return asks if quantity == "image_s" else asks | {"required": ["quantity"]}


def _shapes(metric: Metric) -> dict[str, Any]:
    return {
        "statistic": {"enum": list(metric.statistics)},
        "unit": {"enum": list(metric.units)},
        "limit": {"exclusiveMinimum": 0.0},  # of a number, as of no text
    }


def _plain(schema: Mapping[str, Any]) -> dict[str, Any]:
    """A field's schema without pydantic's title, and without null, which TOML has not."""
    kinds = [kind for kind in schema.get("anyOf", ()) if kind.get("type") != "null"]
    whole = {**schema, **kinds[0], "anyOf": None} if len(kinds) == 1 else schema
    return {
        name: value for name, value in whole.items() if name not in ("title", "form") and value is not None
    }


# The file of a new profile, with comments, from flags; as it is written, it is taken.


class Limit(NamedTuple):
    """A limit as a user types it: a number with its unit, or a number alone; empty for the schedule's."""

    metric: Metric
    statistic: str
    text: str


def limit_of(text: str) -> Limit:
    """The limit in `QUANTITY[:STATISTIC]=LIMIT`; UsageError for an unknown quantity or statistic."""
    subject, _, limit = text.partition("=")
    if not limit.strip():
        raise UsageError(f"--limit {short(text)} says no limit", fix="write --limit power_peak_w='5 W'")
    return Limit(*metric_asked(subject, "--limit"), limit.strip())


_HEAD = """\
# What a target has to meet. `edgebench profiles check FILE` says what is wrong with this file, and
# `edgebench fit latest --profile FILE` judges by it. docs/profiles.md describes every field.
schema_version = 1
"""
_KEYS = (
    ("name", "", ""),
    ("title", "One line for the heads of reports.", ""),
    ("description", "What it is for.", ""),
    ("source", "Where the limits come from.", ""),
    ("extends", "disco-realtime", "whose schedule and requirements it takes"),
)
_SCHEDULE = (
    ("cycle", "", ""),
    ("images", "", "of a cycle, evenly, or:"),
    ("burst", "6 min", "within this time from the cycle's start"),
    ("deadline", "1 h", "after which an image's result is worth nothing"),
)
"""Keys of the file, each with an example, which is a comment unless there is a value, and what it is."""


def profile_text(limits: Sequence[Limit] = (), folder: Path = Path(), **values: str | int | None) -> str:
    """The text of a file in a folder; UsageError, as for a file of that text, where it is no profile.

    Args:
        limits: its requirements. Default, with a schedule: what that allows an image.
        folder: in which the files that it names are sought.
        values: its name, title and so on by their keys, and those of its schedule.
    """
    values = {key: value for key, value in values.items() if value not in (None, "")}
    has_schedule = any(key in values for key, *_ in _SCHEDULE)
    if has_schedule and "extends" not in values and not any(limit.metric.is_latency for limit in limits):
        limits = (Limit(*metric_asked("image_s", ""), ""), *limits)
    if not limits and "extends" not in values:
        raise UsageError(
            "the profile has no requirement",
            fix="add --limit QUANTITY=LIMIT, --cycle and --images, or --extends P",
        )
    schedule = "\n[schedule]  # when images come; a latency without a limit has what it allows an image\n"
    parts = [_HEAD, *(_line(values, *key) for key in _KEYS)]
    parts += [schedule, *(_line(values, *key) for key in _SCHEDULE)] if has_schedule else []
    names = [default_name({"quantity": limit.metric.name, "statistic": limit.statistic}) for limit in limits]
    for index, (limit, name) in enumerate(zip(limits, names, strict=True)):
        parts.append(_requirement(limit, name if names.count(name) == 1 else limit.metric.name))
        if index == 0:
            parts.append("# wanted = true  # a wish: if missed, it is shown and decides nothing\n")
    text = "".join(parts)
    parse_profile(text.encode(), str(values["name"]), folder)
    return text


def _line(values: Mapping[str, str | int | None], key: str, example: str, comment: str) -> str:
    """`key = "value"`, or the example as a comment; empty without either."""
    sign = "" if key in values else "# "
    value = values.get(key, example)
    written = f"{sign}{key} = {_quoted(value) if isinstance(value, str) else value}"
    return f"{written}{f'  # {comment}' if comment else ''}\n" if value != "" else ""


def _requirement(limit: Limit, name: str) -> str:
    metric = limit.metric
    others = [statistic for statistic in metric.statistics if statistic != limit.statistic]
    bare = re.fullmatch(r"-?[0-9]+(\.[0-9]+)?", limit.text)
    text = f"{limit.text} {metric.unit}" if bare else limit.text
    written = limit.text if bare and metric.unit == "1" else _quoted(text)
    units = "" if written == limit.text else f"; in {', '.join(fitting_units(metric.units))}"
    bound = f"{'at least' if metric.at_least else 'at most'}{units}"
    lines = (
        f"\n# {re.split('[.:] ', metric.sentence)[0].rstrip('.')}.",
        "[[requirements]]",
        f"name = {_quoted(name)}",
        f"quantity = {_quoted(metric.name)}",
        f"statistic = {_quoted(limit.statistic)}" + (f"  # or {', '.join(others)}" if others else ""),
        f"limit = {written}  # {bound}" if limit.text else "# limit: what the schedule allows an image",
        "# averaging_s = 1.0  # the time over which the limit means the average" if metric.is_power else "",
    )
    return "".join(f"{line}\n" for line in lines if line)


def _quoted(text: str) -> str:
    """A TOML string; JSON escapes as TOML does."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
