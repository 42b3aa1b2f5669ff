"""Every field of a profile's file, described once: for editors (JSON Schema) and for docs/profiles.md."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel

from edgebench.fit.metric import Metric
from edgebench.fit.metrics import required_metrics
from edgebench.fit.profile import Profile
from edgebench.fit.requirement import Requirement
from edgebench.fit.schedule import Budget, Schedule
from edgebench.fit.units import TEXT_PATTERN

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
        "TOML file, sought beside this one.",
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
    "statistic": (
        "Which statistic of it; the quantity's first unless said, which temperature_c asks for.",
        {"type": "string"},
    ),
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
    "weight": ("How much it counts beside the others where targets are ranked.", {}),
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
        "limit": {"exclusiveMinimum": metric.above},  # of a number, as of no text
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
