"""Why outside data is refused, in EdgeBench's words: the place, the value, and what would do.

The only module that knows pydantic's wording. Profiles, the targets file, settings, options and scenarios are
all validated by pydantic models; its own sentences name neither the value nor the key that was meant.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails, PydanticCustomError

from edgebench.suggest import choose, short

Place = tuple[int | str, ...]
"""Keys and list indices from the top of a document to a value in it."""

_PROBLEM = "edgebench"
_NAMED = "named"
_FORM = "form"
_ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")


def problem(what: str, fix: str, *, named: bool = False) -> PydanticCustomError:
    """What a validator raises, with the two texts that the user is to see.

    Args:
        what: is wrong.
        fix: what would do.
        named: whether `what` names the key itself, so that its place is not said again.
    """
    return PydanticCustomError(_PROBLEM, "{what}", {"what": what, "fix": fix, _NAMED: named})


Check = tuple[object, str, str]
"""Whether something is wrong, what, and what would do."""


def refuse(*checks: Check) -> None:
    """Raise the first `problem` that there is."""
    for is_wrong, what, fix in checks:
        if is_wrong:
            raise problem(what, fix)


def attempt(read: Callable[..., Any], *args: Any) -> Any:
    """What a function returns, or the `problem` that it raises.

    A problem may take the place of a value: the model's field raises it there.
    """
    try:
        return read(*args)
    except PydanticCustomError as error:
        return error


def require_value(value: Any) -> Any:
    """A value as it is; raise the `problem` that has taken its place."""
    if isinstance(value, PydanticCustomError):
        context = value.context or {}
        raise problem(context["what"], context["fix"], named=True)
    return value


def form(words: str) -> dict[str, Any]:
    """What a field takes as `json_schema_extra`: the form of its value in words, the fix of whatever is not.

    It also holds for what lies in the value, where that has no form of its own.
    """
    return {_FORM: words}


@dataclass(frozen=True)
class Refusal:
    """The first thing that is wrong with a document.

    Attributes:
        place: where it is; empty for the document as a whole.
        what: what is wrong there, without the place.
        fix: what would do; empty where only the reader knows.
        names_place: whether `what` names the key itself, such as an unknown one.
        numeric: whether a number is wrong.
    """

    place: Place
    what: str
    fix: str = ""
    names_place: bool = False
    numeric: bool = False

    def sentence(self, skip: int = 0) -> str:
        """Place and fault: `size_mm, third number: 'x' is not a number`; the first `skip` parts left out."""
        place = self.place[skip:-1] if self.names_place else self.place[skip:]
        where = in_words(place, "number" if self.numeric else "entry")
        return f"{where}: {self.what}" if place else self.what


def refusal(error: ValidationError, document: Any, model: type[object]) -> Refusal:
    """What a validation found first, where an unknown key comes before what it leaves missing."""
    return refusals(error, document, model)[0]


def refusals(error: ValidationError, document: Any, model: type[object]) -> list[Refusal]:
    """What a validation found, unknown keys first: they may be what is missing.

    Args:
        error: of validating `document` with `model`.
        document: as it came from outside.
        model: knows the keys that an unknown one could have been meant for.
    """
    faults = [(_place(fault, document), fault) for fault in error.errors(include_url=False)]
    unknown = [(place, fault) for place, fault in faults if fault["type"] == "extra_forbidden"]
    found = [_refusal(*fault, model) for fault in sorted(unknown, key=lambda fault: -len(fault[1]["loc"]))]
    faults = [fault for fault in faults if fault not in unknown]
    while faults:
        first = faults[0][0]
        # Whatever is wrong with a whole document has nothing else within it.
        alike = [fault for fault in faults if fault[0][: len(first) or None] == first]
        # A value of several kinds has a fault by kind: the deepest is of the kind that it came nearest to.
        found.append(_refusal(*max(alike, key=lambda fault: len(fault[1]["loc"])), model))
        faults = [fault for fault in faults if fault not in alike]
    return found


def _refusal(place: Place, fault: ErrorDetails, model: type[object]) -> Refusal:
    key = str(place[-1]) if place else ""
    if fault["type"] == "extra_forbidden":
        known = choose(key, names_at(model, place[:-1]))
        return Refusal(place, f"unknown key {short(key)}", known, names_place=True)
    if fault["type"] == "missing" and not isinstance(place[-1], str):
        what = f"{short(fault['input'])} has too few entries"
        return Refusal(place[:-1], what, form_at(model, place[:-1]))
    if fault["type"] == "missing":
        return Refusal(place, f"{key} is missing", f"add {key} =", names_place=True)
    what, fix = _fault(fault)
    if fault["type"] != _PROBLEM:  # that knows best
        is_key = fault["loc"][-1:] == ("[key]",)  # and not what lies under it
        fix = form_at(model, place[:-1] if is_key else place) or fix
    named = fault.get("ctx", {}).get(_NAMED, False)
    return Refusal(place, what, fix, names_place=named, numeric=fault["type"] in _NUMERIC)


def in_words(place: Place, noun: str = "entry") -> str:
    """A place as a reader names it: `launch.env`, `size_mm, third number`, `crashes, first entry, kind`.

    `noun` is what the last part is where that is an index.
    """
    words: list[str] = []
    for at, part in enumerate(place):
        if isinstance(part, int):
            entry = noun if at == len(place) - 1 else "entry"
            words.append(f"{_ORDINALS[part]} {entry}" if part < len(_ORDINALS) else f"{entry} {part + 1}")
        elif at and isinstance(place[at - 1], str):
            words[-1] += f".{_printable(part)}"
        else:
            words.append(_printable(part))
    return ", ".join(words)


def names_at(model: Any, place: Place) -> list[str]:
    """The keys that the table at a place may have, under the names that a document gives them."""
    if place:
        names = [name for inner in _inside(model, place[0]) for name in names_at(inner, place[1:])]
    else:
        tables = [kind for kind, _ in _kinds(model) if _is_table(kind)]
        names = [field.alias or name for table in tables for name, field in table.model_fields.items()]
    return list(dict.fromkeys(names))


def form_at(model: Any, place: Place) -> str:
    """The form in words of the value at a place, else of the nearest value around it; "" for none."""
    inner = [form_at(inside, place[1:]) for inside in _inside(model, place[0])] if place else []
    return next((words for words in [*inner, *(form for _, form in _kinds(model))] if words), "")


def _inside(annotation: Any, part: int | str) -> Iterator[Any]:
    """The annotations of what a key or an index leads to, by alternative."""
    for kind, _ in _kinds(annotation):
        if _is_table(kind):
            for name, field in kind.model_fields.items():
                if part in (name, field.alias):
                    yield Annotated[field.annotation, field]
        elif arguments := get_args(kind):
            # A dict's values, a list's entries; the entries of a tuple are alike wherever they are tables.
            yield arguments[1] if get_origin(kind) is dict else arguments[0]


def _kinds(annotation: Any, form: str = "") -> list[tuple[Any, str]]:
    """The alternatives of an annotation, each with its form in words, else with that of the whole."""
    if _is_union(annotation):
        return [kind for alternative in get_args(annotation) for kind in _kinds(alternative, form)]
    if not hasattr(annotation, "__metadata__"):
        return [(annotation, form)]
    for item in annotation.__metadata__:
        if isinstance(item, FieldInfo) and isinstance(item.json_schema_extra, dict):
            form = form or str(item.json_schema_extra.get(_FORM, ""))
    return _kinds(get_args(annotation)[0], form)


def _is_union(annotation: Any) -> bool:
    return get_origin(annotation) is Union or type(annotation).__name__ == "UnionType"


def _is_table(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, BaseModel)


def _place(fault: ErrorDetails, document: Any) -> Place:
    """Where the document has the fault: pydantic's place has the model's alternatives among its parts."""
    parts: list[int | str] = []
    value = document
    for part in fault["loc"]:
        inside = dict(enumerate(value)) if isinstance(value, list | tuple) else value
        if isinstance(inside, Mapping) and part in inside:
            value = inside[part]
            parts.append(part)
    named = fault.get("ctx", {}).get(_NAMED) and fault["loc"][-1:] != tuple(parts[-1:])
    return (*parts, fault["loc"][-1]) if fault["type"] == "missing" or named else tuple(parts)


def _fault(fault: ErrorDetails) -> tuple[str, str]:
    """What is wrong with the value, and what would do."""
    context = fault.get("ctx", {})
    kind, value = fault["type"], short(fault["input"])
    if kind == _PROBLEM:
        return str(context["what"]), str(context["fix"])
    if kind in ("value_error", "assertion_error"):
        return str(context.get("error", fault["msg"])), ""
    if kind == "literal_error":
        return f"{value} is not known", choose(fault["input"], _expected(str(context["expected"])))
    if kind in _BOUNDS:
        word, bound = _BOUNDS[kind]
        limit = f"{word} {float(context[bound]):g}"
        return f"{value} is not {limit}", f"write a number that is {limit}"
    if kind in _LENGTHS:
        word, bound, noun, nouns = _LENGTHS[kind]
        length = context[bound]
        return f"{value} does not have {word} {length} {noun if length == 1 else nouns}", ""
    if kind == "string_pattern_mismatch":
        return f"{value} does not have the form that is taken", ""
    noun, fix = _SHAPES.get(kind, ("taken", ""))
    return f"{value} is not {noun}", _UNQUOTE if _is_quoted_number(fault) else fix


def _is_quoted_number(fault: ErrorDetails) -> bool:
    """Return True if a number is in quotes where quotes make it text."""
    return (
        fault["type"] in ("float_type", "int_type")
        and isinstance(fault["input"], str)
        and re.fullmatch(r"[+-]?[0-9.]+(e[+-]?[0-9]+)?", fault["input"]) is not None
    )


def _expected(literals: str) -> list[str]:
    """The values of a Literal, from pydantic's list of them: `'a', 'b' or 'c'`."""
    return [part.strip("'") for part in literals.replace(" or ", ", ").split(", ")]


def _printable(part: object) -> str:
    """A key as it may be printed: quoted where it is none of the usual ones."""
    text = str(part)
    plain = text.isascii() and all(char.isalnum() or char in "._-" for char in text)
    return text if plain and 0 < len(text) <= 60 else short(text)


_BOUNDS: Mapping[str, tuple[str, str]] = {
    "greater_than": ("above", "gt"),
    "greater_than_equal": ("at least", "ge"),
    "less_than": ("below", "lt"),
    "less_than_equal": ("at most", "le"),
}
_LENGTHS: Mapping[str, tuple[str, str, str, str]] = {
    "too_short": ("at least", "min_length", "entry", "entries"),
    "too_long": ("at most", "max_length", "entry", "entries"),
    "string_too_short": ("at least", "min_length", "character", "characters"),
    "string_too_long": ("at most", "max_length", "character", "characters"),
}
_UNQUOTE = "write it without quotes"
_NUMBER = ("float_type", "float_parsing")
_WHOLE = ("int_type", "int_parsing", "int_from_float", "int_parsing_size")
_SHAPES: Mapping[str, tuple[str, str]] = {
    **dict.fromkeys(_NUMBER, ("a number", "write a number, such as 1.5")),
    **dict.fromkeys(_WHOLE, ("a whole number", "write a whole number, such as 2")),
    "finite_number": ("a finite number", "write a number that is neither nan nor inf"),
    **dict.fromkeys(("bool_type", "bool_parsing"), ("true or false", "write true or false, without quotes")),
    **dict.fromkeys(("string_type", "path_type"), ("text", "write it in quotes")),
    **dict.fromkeys(("list_type", "tuple_type"), ("a list", "write a list: [...]")),
    **dict.fromkeys(("dict_type", "model_type", "mapping_type"), ("a table", "write a table: { ... }")),
}
_NUMERIC = {*_BOUNDS, *_NUMBER, *_WHOLE, "finite_number"}
