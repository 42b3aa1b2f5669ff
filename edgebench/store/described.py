"""Fields of records as JSON Schema: the types of the records, and what is said of each field."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import TypeAdapter


@dataclass(frozen=True)
class Described:
    """What is said of a field that its type does not say.

    Attributes:
        text: what it is.
        source: the file, clock or program that it comes from.
        unit: of its numbers; empty for none.
        always: whether every result has it, those of the first version too, although it has a default.
        shape: keywords of JSON Schema that its type does not give, such as what a mapping holds.
    """

    text: str
    source: str
    unit: str = ""
    always: bool = False
    shape: Mapping[str, Any] = field(default_factory=dict)

    def schema(self, of_type: Mapping[str, Any]) -> dict[str, Any]:
        """The field's schema, from that of its type."""
        keywords = {"description": self.text, "x-unit": self.unit, "x-source": self.source}
        return {**of_type, **{name: value for name, value in keywords.items() if value}, **self.shape}


Descriptions = Mapping[str, Mapping[str, Described | None]]
"""By type and field; None for a field that no document holds."""


def fields_of(type_: Any, descriptions: Descriptions) -> dict[str, dict[str, Any]]:
    """The schema of each field of a record or dataclass, by name.

    Raises KeyError for a field that nothing is said of.
    """
    whole = TypeAdapter(type_).json_schema()
    resolved = _Resolved(whole.get("$defs", {}), descriptions).of(whole)
    properties: dict[str, dict[str, Any]] = resolved["properties"]
    return properties


def required_of(type_: Any, descriptions: Descriptions) -> list[str]:
    """The fields that a stored result always has."""
    whole = TypeAdapter(type_).json_schema()
    return _required(whole, descriptions[whole["title"]])


def _required(schema: Mapping[str, Any], described: Mapping[str, Described | None]) -> list[str]:
    without_default = schema.get("required", [])
    return [
        name
        for name in schema["properties"]
        if (field_ := described[name]) is not None and (name in without_default or field_.always)
    ]


@dataclass(frozen=True)
class _Resolved:
    """Schemas without references, titles and defaults; what may be null says so in its type."""

    definitions: Mapping[str, Any]
    descriptions: Descriptions

    def of(self, schema: Mapping[str, Any]) -> dict[str, Any]:
        if reference := schema.get("$ref"):
            return self.of(self.definitions[reference.rpartition("/")[2]])
        if "properties" in schema:
            return self._object(schema)
        kept = {name: value for name, value in schema.items() if name not in ("title", "default", "anyOf")}
        if kept.get("additionalProperties") is True:
            del kept["additionalProperties"]
        # Tuples here are of one kind of item each.
        items = kept.pop("prefixItems", [kept.get("items")])[0]
        if isinstance(items, Mapping):
            kept["items"] = self.of(items)
        if isinstance(kept.get("additionalProperties"), Mapping):
            kept["additionalProperties"] = self.of(kept["additionalProperties"])
        return {**kept, **self._any_of(schema["anyOf"])} if "anyOf" in schema else kept

    def _object(self, schema: Mapping[str, Any]) -> dict[str, Any]:
        described = self.descriptions[schema["title"]]
        return {
            "type": "object",
            "properties": {
                name: description.schema(self.of(field_schema))
                for name, field_schema in schema["properties"].items()
                if (description := described[name]) is not None
            },
            "required": _required(schema, described),
            "additionalProperties": False,
        }

    def _any_of(self, choices: list[Mapping[str, Any]]) -> dict[str, Any]:
        others = [self.of(choice) for choice in choices if choice.get("type") != "null"]
        if len(others) == 1 and len(choices) == 2 and isinstance(others[0].get("type"), str):
            nullable = {**others[0], "type": [others[0]["type"], "null"]}
            if "enum" in nullable:
                nullable["enum"] = [*nullable["enum"], None]
            return nullable
        return {"anyOf": [*others, *({"type": "null"} for _ in choices[len(others) :])]}
