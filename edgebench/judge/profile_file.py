"""A profile's file: its fields for editors and for the documentation, and the text of a new one."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from edgebench.errors import UsageError
from edgebench.judge.metric import Metric
from edgebench.judge.metrics import required_metrics
from edgebench.judge.profile import Profile, parse_profile
from edgebench.judge.requirement import Requirement, metric_asked
from edgebench.judge.schedule import Budget, Schedule
from edgebench.judge.units import TEXT_PATTERN, fitting_units
from edgebench.suggest import short

# Every field of a profile's file, described once: for editors (JSON Schema) and for docs/profiles.md.


_TIME = {"type": "string", "pattern": TEXT_PATTERN}
_RATE = {
    "anyOf": [
        {"type": "number", "exclusiveMinimum": 0},
        {"type": "string", "pattern": TEXT_PATTERN},
    ]
}
_LIMIT = {
    "anyOf": [
        {"type": "number"},
        {"type": "string", "pattern": TEXT_PATTERN},
        {
            "type": "array",
            "items": {"type": "number", "exclusiveMinimum": 0},
            "minItems": 3,
            "maxItems": 3,
        },
    ]
}

Fields = Mapping[str, tuple[str, Mapping[str, Any]]]
"""By name: what a field says, and where its model does not tell, its JSON Schema."""

PROFILE: Fields = {
    "schema_version": ("Version of this layout: 1, as without it.", {}),
    "name": ("What verdicts call it.", {}),
    "title": ("One line for the heads of reports.", {}),
    "description": ("What it is for; several lines are fine.", {}),
    "source": ("Where its limits come from, such as a paper.", {}),
    "extends": (
        "Another profile, of which it takes source, schedule and requirements: a shipped one by name, or a "
        "TOML file, sought beside this one. That one extends none.",
        {"type": "string", "minLength": 1},
    ),
    "without": (
        "Names of inherited requirements that it does not have.",
        {"type": "array", "items": {"type": "string"}},
    ),
    "schedule": ("When images come.", {"$ref": "#/$defs/schedule"}),
    "uplink_bps": (
        'What reaches the device from outside, in bits a second, or as text such as "9.6 kbit/s"; update_s '
        "follows from it.",
        _RATE,
    ),
    "requirements": (
        "Its limits. One on the same quantity and statistic takes the whole place of an inherited one, a "
        "wish that of a wish; any other is added.",
        {"type": "array", "items": {"$ref": "#/$defs/requirement"}, "minItems": 1},
    ),
}

SCHEDULE: Fields = {
    "cycle": ('After how long it begins again, with its unit, such as "95.65 min".', _TIME),
    "images": ("How many come in a cycle; left out beside times.", {}),
    "times": (
        "A CSV file, sought beside this one, with the times at which images come, in s from the cycle's "
        "start: one column, or that headed time_s.",
        {"type": "string", "minLength": 1},
    ),
    "burst": (
        "Over how long from the cycle's start its images come, evenly; over all of it unless said.",
        _TIME,
    ),
    "deadline": (
        "How long after an image came its result is still worth something; for ever unless said.",
        _TIME,
    ),
    "cycle_s": ("cycle as a number, in s.", {}),
    "times_s": ("The times themselves, in s, in order and within the cycle.", {}),
    "burst_s": ("burst as a number, in s.", {}),
    "deadline_s": ("deadline as a number, in s.", {}),
}

REQUIREMENT: Fields = {
    "name": ("What verdicts call it.", {}),
    "quantity": ("What is limited; image_s unless said.", {"type": "string"}),
    "statistic": ("Which statistic of it; the quantity's first unless said.", {"type": "string"}),
    "limit": (
        'A number in unit, or text with a unit of its own, such as "500 mW" or "65 x 30 x 8 mm"; three '
        "numbers for a size. image_s and infer_s take it from the schedule where it is left out: the cycle "
        "divided by its images, or the deadline where that is shorter.",
        _LIMIT,
    ),
    "unit": ("Of limit; the quantity's first unless said.", {"type": "string"}),
    "comparison": ("Given by the quantity; need not be said.", {}),
    "budget": (
        "The limit of a time as so many images in so long a cycle, for this requirement alone; a [schedule] "
        "says it for all.",
        {"$ref": "#/$defs/budget"},
    ),
    "averaging_s": ("Of power: the time in s over which the limit means its average.", {}),
    "uplink_bps": ("Of update_s: bits a second for this requirement alone.", {}),
    "schedule": (
        "Of what a mission comes to: when images come, for this requirement; [schedule] says it for all.",
        {"$ref": "#/$defs/schedule"},
    ),
    "wanted": (
        "Whether it is a wish: missed or unknown, it is shown and spoils nothing. It may stand beside a "
        "requirement on the same statistic, of which it asks for more.",
        {},
    ),
    "weight": ("Ignored, with a warning. Trials were once ranked by it.", {}),
}

BUDGET: Fields = {
    "cycle_s": ("Length of the cycle in s.", {}),
    "images": ("How many are to be done in it.", {}),
}


def profile_schema() -> dict[str, Any]:
    """The JSON Schema of a profile's file, as editors take it for completion and marks."""
    requirement = _table(Requirement, REQUIREMENT, ["name"])
    known = required_metrics()
    requirement["properties"]["quantity"] |= {"enum": list(known), "default": "image_s"}
    requirement["allOf"] = [
        {"if": _is_about(name), "then": {"properties": _shapes(metric)}} for name, metric in known.items()
    ]
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "urn:edgebench:profile:1",
        "title": "EdgeBench profile",
        "description": "A named set of requirements, as `edgebench run --profile FILE` takes it (TOML).",
        **_table(Profile, PROFILE, ["name"]),
        "anyOf": [{"required": ["requirements"]}, {"required": ["extends"]}],
        "$defs": {
            "schedule": _table(Schedule, SCHEDULE, [])
            | {"anyOf": [{"required": ["cycle"]}, {"required": ["cycle_s"]}]},
            "requirement": requirement,
            "budget": _table(Budget, BUDGET, ["cycle_s", "images"]),
        },
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


def _table(model: type[BaseModel], fields: Fields, required: list[str]) -> dict[str, Any]:
    """A table's schema: what the model says of each field, and what is said here."""
    of_model = model.model_json_schema()["properties"]
    properties = {
        name: {**(shape or _plain(of_model[name])), "description": text}
        for name, (text, shape) in fields.items()
    }
    return {
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }


def _plain(schema: Mapping[str, Any]) -> dict[str, Any]:
    """A field's schema without pydantic's title, and without null, which TOML has not."""
    kinds = [kind for kind in schema.get("anyOf", ()) if kind.get("type") != "null"]
    whole = {**schema, **kinds[0]} if len(kinds) == 1 else dict(schema)
    left_out = ("title", "form", "anyOf" if len(kinds) == 1 else "")
    return {name: value for name, value in whole.items() if name not in left_out and value is not None}


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
    """The limit in `QUANTITY[:STATISTIC]=LIMIT`; UsageError for a quantity or statistic that is none."""
    about, equals, limit = text.partition("=")
    if not equals or not limit.strip():
        raise UsageError(f"--limit {short(text)} says no limit", fix="write --limit power_peak_w='5 W'")
    metric, statistic = metric_asked(about, "--limit")
    return Limit(metric.name, statistic, limit.strip())


def profile_text(draft: Draft, folder: Path = Path()) -> str:
    """The file's text, to lie in a folder; UsageError, as of a file of that text, for what is no profile."""
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
        "" if draft.images is None else f"images = {draft.images}  # of a cycle, evenly unless said:",
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
        else f'# limit = "{ASKED[limit.quantity]}"  # {bound}; the schedule\'s unless said',
        f"unit = {_quoted(metric.unit)}" if bare else "",
        "# averaging_s = 1.0  # the time over which the limit means the average" if metric.is_power else "",
        "# wanted = true  # a wish: missed, it is shown and spoils nothing",
    )


def _quoted(text: str) -> str:
    """A TOML string; JSON escapes as TOML does."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
