"""A profile's file: its JSON Schema for editors, and the text of a new one."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

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


# The file of a new profile, with comments, from what a user says of it; as it is written, it is taken.


ASKED: Mapping[str, str] = {
    "image_s": "4.42 s",
    "power_peak_w": "5 W",
    "accuracy": "90 %",
    "memory_bytes": "512 MB",
    "mass_g": "150 g",
    "size_mm": "65 x 30 x 8 mm",
}
"""The quantities that a user is asked about, each with an example of a limit."""

_NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?")


@dataclass(frozen=True)
class Limit:
    """A limit as a user types it.

    Attributes:
        quantity: one of the catalogue's.
        statistic: one of the quantity's.
        text: a number with its unit, a number alone, or nothing: a latency's of the schedule.
    """

    quantity: str
    statistic: str
    text: str


@dataclass(frozen=True)
class Draft:
    """What a new profile says. Empty texts are not said."""

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
    about, equals, limit = text.partition("=")
    if not equals or not limit.strip():
        raise UsageError(f"--limit {short(text)} says no limit", fix="write --limit power_peak_w='5 W'")
    metric, statistic = metric_asked(about, "--limit")
    return Limit(metric.name, statistic, limit.strip())


def profile_text(draft: Draft, folder: Path = Path()) -> str:
    """The text of a file in a folder; UsageError, as for a file of that text, where it is no profile."""
    limits = draft.limits
    has_schedule = any((draft.cycle, draft.images is not None, draft.burst, draft.deadline))
    if has_schedule and not draft.extends and not any(limit.quantity == "image_s" for limit in limits):
        limits = (Limit("image_s", "median", ""), *limits)
    if not limits and not draft.extends:
        raise UsageError(
            "a profile takes a limit",
            fix="add --limit image_s='4.42 s', or --cycle and --images, or --extends",
        )
    burst = f"{_quoted(draft.burst)}  # over so long" if draft.burst else '"6 min"  # over so long'
    deadline = f"{_quoted(draft.deadline or '1 h')}  # after which"
    schedule = (
        "[schedule]  # when images come; a latency's limit without a number is what it allows an image",
        f"cycle = {_quoted(draft.cycle)}" if draft.cycle else "",
        "" if draft.images is None else f"images = {draft.images}  # of a cycle, evenly, or:",
        f"{'' if draft.burst else '# '}burst = {burst} from the cycle's start",
        f"{'' if draft.deadline else '# '}deadline = {deadline} an image's result is worth nothing",
    )
    head = (
        "# What a target has to meet. `edgebench profiles check FILE` says what is wrong with this file, and",
        "# `edgebench fit latest --profile FILE` judges by it. docs/profiles.md describes every field.",
        "schema_version = 1",
        f"name = {_quoted(draft.name)}",
        f"title = {_quoted(draft.title)}" if draft.title else '# title = "One line for the heads of reports"',
        '# description = "What it is for."',
        '# source = "Where the limits come from."',
        f"extends = {_quoted(draft.extends)}  # whose schedule and requirements it takes"
        if draft.extends
        else '# extends = "disco-realtime"  # would take the schedule and requirements of that profile',
    )
    blocks = [head, *([schedule] if has_schedule else []), *map(_requirement, limits)]
    text = "\n".join("".join(f"{line}\n" for line in block if line) for block in blocks)
    parse_profile(text.encode(), draft.name, folder)
    return text


def _requirement(limit: Limit) -> tuple[str, ...]:
    metric = required_metrics()[limit.quantity]
    first, *others = metric.statistics
    name = limit.quantity if limit.statistic == first else f"{limit.quantity} {limit.statistic}"
    bound = "at least" if metric.at_least else "at most"
    bare = _NUMBER.fullmatch(limit.text)
    value = limit.text if bare else _quoted(limit.text)
    return (
        f"# {metric.sentence}",
        "[[requirements]]",
        f"name = {_quoted(name)}",
        f"quantity = {_quoted(limit.quantity)}",
        f"statistic = {_quoted(limit.statistic)}" + (f"  # or {', '.join(others)}" if others else ""),
        f"limit = {value}  # {bound}; in {', '.join(fitting_units(metric.units))}"
        if limit.text
        else f'# limit = "{ASKED[limit.quantity]}"  # {bound}; default: the schedule\'s',
        f"unit = {_quoted(metric.unit)}" if bare else "",
        "# averaging_s = 1.0  # the time over which the limit means the average" if metric.is_power else "",
        "# wanted = true  # a wish: missed, it is shown and spoils nothing",
    )


def _quoted(text: str) -> str:
    """A TOML string; JSON escapes as TOML does."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
