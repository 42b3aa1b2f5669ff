"""Descriptions of the fields of records and documents: JSON Schema, texts from attribute docstrings.

A field's text stands behind it in its class, and nowhere else::

    rows: int = Field(gt=0)
    \"\"\"Whole patches from top to bottom. Unit: patch. Source: plan.\"\"\"

Unit and source may be left out. A field whose text begins with "Internal:" is in no document. Texts are read
from the source file on demand, because reading them at import would double what importing records takes.
"""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from pydantic import GetJsonSchemaHandler, TypeAdapter
from pydantic.json_schema import GenerateJsonSchema
from pydantic_core import CoreSchema
from pydantic_core.core_schema import any_schema

_TEXT = re.compile(
    r"(?P<text>.*?)(?: Unit: (?P<unit>[^.]+)\.)?(?: Source: (?P<source>[^.]+(?:\.\w+[^.]*)*)\.)?", re.S
)
_INTERNAL = "Internal:"
_MISSING = "x-missing"


@dataclass(frozen=True)
class Described:
    """Description of a field or column, beyond its type.

    Attributes:
        text: what it is.
        source: the file, clock or program that it comes from; empty where that is not stated.
        unit: of its numbers; empty for none.
    """

    text: str
    source: str = ""
    unit: str = ""

    def schema(self, of_type: Mapping[str, Any]) -> dict[str, Any]:
        """The field's schema, from that of its type."""
        keywords = {"description": self.text, "x-unit": self.unit, "x-source": self.source}
        return {**of_type, **{name: value for name, value in keywords.items() if value}}


Texts = Mapping[str, Described]
"""By a field's name."""


@cache
def texts_of(type_: type) -> Texts:
    """The texts of a class's fields, in their order, those of its bases first; without internal fields.

    Raises:
        KeyError: a field has no text.
    """
    texts: dict[str, Described] = {}
    for base in reversed(type_.__mro__):
        if "__annotations__" in vars(base) and base.__module__.startswith(("edgebench", "tests")):
            texts |= _written_in(base)
    return {name: text for name, text in texts.items() if not text.text.startswith(_INTERNAL)}


def _written_in(type_: type) -> dict[str, Described]:
    [body] = [
        node.body
        for node in ast.parse(textwrap.dedent(inspect.getsource(type_))).body
        if isinstance(node, ast.ClassDef)
    ]
    texts = {}
    for statement, following in zip(body, [*body[1:], None], strict=True):
        if not isinstance(statement, ast.AnnAssign) or not isinstance(statement.target, ast.Name):
            continue
        if statement.target.id.startswith("_") or "ClassVar" in ast.unparse(statement.annotation):
            continue
        match following:
            case ast.Expr(value=ast.Constant(value=str(text))):
                texts[statement.target.id] = _parsed(text)
            case _:
                texts[statement.target.id] = Described("")
    return texts


def _parsed(text: str) -> Described:
    parts = _TEXT.fullmatch(" ".join(text.split()))
    assert parts is not None  # each part may be empty
    return Described(parts["text"], parts["source"] or "", parts["unit"] or "")


@dataclass(frozen=True)
class Keys:
    """Marks a mapping whose known keys a TypedDict or a dataclass describes: `Annotated[dict, Keys(Clock)]`.

    A key whose field has a default may be absent.
    """

    of: type

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        """The mapping's schema with the keys that are known."""
        known = object_schema(self.of)
        required = [name for name in known["required"] if not hasattr(self.of, name)]
        return {**handler(schema), "required": required, "properties": known["properties"]}


@dataclass(frozen=True)
class Private:
    """Marks a field that may name hosts, users or secrets: `Annotated[str, Private("texts")]`.

    Attributes:
        treatment: the method of `edgebench.results.redaction.PrivateNames` that takes them out.
    """

    treatment: str


class Unwritten:
    """Marks an internal field whose type no document can carry: `Annotated[PowerCurve, Unwritten()]`."""

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> CoreSchema:
        """Schema that takes anything."""
        return any_schema()


class _WithTexts(GenerateJsonSchema):
    """JSON Schema in which each field has its text; `x-internal` marks those that no document has."""

    more: Mapping[str, Texts] = {}

    def _described(self, schema: dict[str, Any], type_: type, total: bool = True) -> dict[str, Any]:
        texts = {**texts_of(type_), **self.more.get(type_.__name__, {})}
        schema.pop("description", None)  # the class's docstring
        for name in list(schema.get("properties", {})):
            if name not in texts:
                del schema["properties"][name]
                schema["required"] = [other for other in schema.get("required", []) if other != name]
            elif not texts[name].text:  # an error only where a document has it
                schema["properties"][name] = {_MISSING: f"{type_.__name__}.{name}"}
            else:
                schema["properties"][name] = texts[name].schema(schema["properties"][name])
        if total:
            schema["required"] = list(schema["properties"])
        return schema

    def dataclass_schema(self, schema: Any) -> dict[str, Any]:
        """Describe a dataclass."""
        return self._described(super().dataclass_schema(schema), schema["cls"])

    def model_schema(self, schema: Any) -> dict[str, Any]:
        """Describe a record."""
        return self._described(super().model_schema(schema), schema["cls"])

    def typed_dict_schema(self, schema: Any) -> dict[str, Any]:
        """Describe the known keys of a mapping."""
        return self._described(super().typed_dict_schema(schema), schema["cls"], total=False)


def object_schema(type_: Any, more: Mapping[str, Texts] | None = None) -> dict[str, Any]:
    """A record, dataclass or TypedDict as JSON Schema without references: each field with its text.

    Every field is required, as all are written, but for those of a TypedDict that is not total.

    Args:
        type_: the class, or its adapter.
        more: texts of fields that stand elsewhere, by class and field: those of metrics, in their catalogue.

    Raises:
        KeyError: a field has no text.
    """
    generator = type("WithTexts", (_WithTexts,), {"more": more or {}})
    adapter = type_ if isinstance(type_, TypeAdapter) else TypeAdapter(type_)
    whole = adapter.json_schema(schema_generator=generator)
    return _resolved(whole, whole.get("$defs", {}))


def _resolved(schema: Mapping[str, Any], definitions: Mapping[str, Any]) -> dict[str, Any]:
    """Without references, titles and defaults; what may be null has that in its type."""
    if field := schema.get(_MISSING):
        raise KeyError(f"{field} has no text: write a docstring below it")
    inner: Callable[[Mapping[str, Any]], dict[str, Any]] = lambda part: _resolved(part, definitions)  # noqa: E731
    kept = {
        name: value for name, value in schema.items() if name not in ("title", "default", "$defs", "anyOf")
    }
    if reference := kept.pop("$ref", None):
        return {**inner(definitions[reference.rpartition("/")[2]]), **kept}
    if "properties" in kept:
        kept["properties"] = {name: inner(field) for name, field in kept["properties"].items()}
        kept.setdefault("required", [])
        if not isinstance(kept.get("additionalProperties"), Mapping):
            kept["additionalProperties"] = kept.get("additionalProperties", False)
    elif kept.get("additionalProperties") is True:
        del kept["additionalProperties"]
    # Tuples here are of one kind of item each.
    items = kept.pop("prefixItems", [kept.get("items")])[0]
    if isinstance(items, Mapping):
        kept["items"] = inner(items)
    if isinstance(kept.get("additionalProperties"), Mapping):
        kept["additionalProperties"] = inner(kept["additionalProperties"])
    return {**_any_of(schema["anyOf"], inner), **kept} if "anyOf" in schema else kept


def _any_of(
    choices: list[Mapping[str, Any]], inner: Callable[[Mapping[str, Any]], dict[str, Any]]
) -> dict[str, Any]:
    others = [inner(choice) for choice in choices if choice.get("type") != "null"]
    if len(others) == 1 and len(choices) == 2 and isinstance(others[0].get("type"), str):
        nullable = {**others[0], "type": [others[0]["type"], "null"]}
        if "enum" in nullable:
            nullable["enum"] = [*nullable["enum"], None]
        return nullable
    return {"anyOf": [*others, *({"type": "null"} for _ in choices[len(others) :])]}
