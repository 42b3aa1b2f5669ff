"""A profile's file: its JSON Schema for editors, and the text of a new one."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from edgebench.errors import UsageError
from edgebench.judge.metric import Metric
from edgebench.judge.metrics import required_metrics
from edgebench.judge.profile import Profile, parse_profile
from edgebench.judge.requirement import Requirement, metric_asked
from edgebench.judge.schedule import Budget, Schedule
from edgebench.judge.units import fitting_units
from edgebench.records.described import texts_of
from edgebench.suggest import short


def profile_schema() -> dict[str, Any]:
    """The JSON Schema of a profile's file, as editors take it for completion and marks."""
    whole = Profile.model_json_schema()
    tables = whole["$defs"]
    for model, required in (
        (Profile, ["name"]),
        (Requirement, ["name"]),
        (Schedule, []),
        (Budget, ["cycle_s", "images"]),
    ):
        table = whole if model is Profile else tables[model.__name__]
        fields = table["properties"]
        table["properties"] = {
            name: _plain(fields[name]) | {"description": text.text} for name, text in texts_of(model).items()
        }
        table["required"] = required
    known = required_metrics()
    tables["Schedule"]["anyOf"] = [{"required": ["cycle"]}, {"required": ["cycle_s"]}]
    tables["Requirement"]["properties"]["quantity"] |= {"enum": list(known)}
    tables["Requirement"]["allOf"] = [
        {"if": _is_about(name), "then": {"properties": _shapes(metric)}} for name, metric in known.items()
    ]
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "urn:edgebench:profile:1",
        **whole,
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


@dataclass(frozen=True)
class Draft:
    """What a new profile says. Empty texts are left out."""

    name: str
    title: str = ""
    extends: str = ""
    cycle: str = ""
    images: int | None = None
    burst: str = ""
    deadline: str = ""
    limits: tuple[Limit, ...] = ()


def limit_of(text: str) -> Limit:
    """The limit in `QUANTITY[:STATISTIC]=LIMIT`; UsageError for an unknown quantity or statistic."""
    about, _, limit = text.partition("=")
    if not limit.strip():
        raise UsageError(f"--limit {short(text)} says no limit", fix="write --limit power_peak_w='5 W'")
    return Limit(*metric_asked(about, "--limit"), limit.strip())


_HEAD = """\
# What a target has to meet. `edgebench profiles check FILE` says what is wrong with this file, and
# `edgebench fit latest --profile FILE` judges by it. docs/profiles.md describes every field.
schema_version = 1
"""


def profile_text(draft: Draft, folder: Path = Path()) -> str:
    """The text of a file in a folder; UsageError, as for a file of that text, where it is no profile."""
    limits = draft.limits
    has_schedule = any((draft.cycle, draft.images is not None, draft.burst, draft.deadline))
    if has_schedule and not draft.extends and not any(limit.metric.is_latency for limit in limits):
        limits = (Limit(*metric_asked("image_s", ""), ""), *limits)
    if not limits and not draft.extends:
        raise UsageError(
            "a profile takes a limit",
            fix="add --limit image_s='4.42 s', or --cycle and --images, or --extends",
        )
    text = _HEAD + "".join(
        (
            _line("name", draft.name),
            _line("title", draft.title, "One line for the heads of reports."),
            _line("description", "", "What it is for."),
            _line("source", "", "Where the limits come from."),
            _line("extends", draft.extends, "disco-realtime", "whose schedule and requirements it takes"),
        )
    )
    if has_schedule:
        text += "\n[schedule]  # when images come; a latency without a limit has what it allows an image\n"
        text += _line("cycle", draft.cycle)
        text += "" if draft.images is None else f"images = {draft.images}  # of a cycle, evenly, or:\n"
        text += _line("burst", draft.burst, "6 min", "within this time from the cycle's start")
        text += _line("deadline", draft.deadline, "1 h", "after which an image's result is worth nothing")
    text += "".join(map(_requirement, limits))
    parse_profile(text.encode(), draft.name, folder)
    return text


def _line(key: str, value: str, example: str = "", comment: str = "") -> str:
    """`key = "value"`, or the example as a comment; empty without either."""
    written = f"{'' if value else '# '}{key} = {_quoted(value or example)}"
    return f"{written}{f'  # {comment}' if comment else ''}\n" if value or example else ""


def _requirement(limit: Limit) -> str:
    metric, (first, *others) = limit.metric, limit.metric.statistics
    name = metric.name if limit.statistic == first else f"{metric.name} {limit.statistic}"
    bare = re.fullmatch(r"-?[0-9]+(\.[0-9]+)?", limit.text)
    units = "" if bare else f"; in {', '.join(fitting_units(metric.units))}"
    bound = f"{'at least' if metric.at_least else 'at most'}{units}"
    lines = (
        f"\n# {metric.sentence}",
        "[[requirements]]",
        f"name = {_quoted(name)}",
        f"quantity = {_quoted(metric.name)}",
        f"statistic = {_quoted(limit.statistic)}" + (f"  # or {', '.join(others)}" if others else ""),
        f"limit = {limit.text if bare else _quoted(limit.text)}  # {bound}" if limit.text else "",
        f"unit = {_quoted(metric.unit)}" if bare else "",
        "# averaging_s = 1.0  # the time over which the limit means the average" if metric.is_power else "",
        "# wanted = true  # a wish: missed, it is shown and spoils nothing",
    )
    return "".join(f"{line}\n" for line in lines if line)


def _quoted(text: str) -> str:
    """A TOML string; JSON escapes as TOML does."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
