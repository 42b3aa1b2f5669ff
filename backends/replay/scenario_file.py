"""SCENARIO.toml read: bounded, the default under each variant, errors with the line and the known keys."""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from edgebench.errors import UsageError
from edgebench.refusals import names_at, refusal
from edgebench.suggest import choose
from edgebench.toml_files import read_toml
from edgebench.vocabulary.variant import Variant

from .scenario import Scenario


def read_scenario(path: Path) -> tuple[Scenario, str]:
    """A scenario and the SHA-256 of its file; UsageError, with the line where one is known."""
    read = read_toml(path, "the scenario", fix="name another .toml file")
    return parse(read.tables, read.text, str(path)), hashlib.sha256(read.data).hexdigest()


def parse(tables: dict[str, Any], text: str, where: str) -> Scenario:
    """The scenario in these tables; `text` is what they were read from, for the lines of errors."""
    common = tables.pop("default", {})
    variants = tables.get("variants", {})
    if not isinstance(common, dict) or not isinstance(variants, dict):
        raise UsageError(
            f"{where}: default and variants are tables", fix='write [variants."mobilenet_v1-0.25-int8"]'
        )
    try:
        for name in variants:
            Variant.parse(name)
    except UsageError as error:
        line = _line_of(text, ("variants", name))
        raise UsageError(f"{where}, {line}{error.what}", fix=error.fix) from error
    merged = {
        name: _merged(common, variant) if isinstance(variant, dict) else variant
        for name, variant in variants.items()
    }
    document = {**tables, "variants": merged}
    try:
        return Scenario.model_validate(document)
    except ValidationError as error:
        raise _refusal(error, document, variants, text, where) from error


def _merged(common: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    """The variant's own over the default, table by table."""
    # One way to say how long it takes replaces the other.
    times = {"image_s", "patch_ms"}
    kept = {key: value for key, value in common.items() if not (key in times and times & own.keys())}
    both = {
        key: _merged(kept[key], value)
        if isinstance(value, dict) and isinstance(kept.get(key), dict)
        else value
        for key, value in own.items()
    }
    return {**kept, **both}


def _refusal(
    error: ValidationError, document: Mapping[str, Any], variants: Mapping[str, Any], text: str, where: str
) -> UsageError:
    refused = refusal(error, document, Scenario)
    keys = tuple(str(part) for part in refused.place)
    own = len(keys) < 2 or _holds(variants, refused.place[1:])
    line = _line_of(text, keys) if own else ""
    if not line and keys[:1] == ("variants",):
        line = _line_of(text, ("default", *keys[2:]))
    line = line or _line_of(text, keys)
    fix = refused.fix or "see backends/replay/README.md for every key"
    if len(keys) == 1 and refused.names_place and keys[0] in document:
        fix = choose(keys[0], ["default", *names_at(Scenario, ())])
    return UsageError(f"{where}, {line}{refused.sentence()[:500]}", fix=fix)


def _holds(tables: Any, place: Sequence[int | str]) -> bool:
    for part in place:
        if isinstance(tables, list):
            tables = dict(enumerate(tables))
        if not isinstance(tables, Mapping) or part not in tables:
            return False
        tables = tables[part]
    return True


def _line_of(text: str, keys: tuple[str, ...]) -> str:
    """`line 12: ` of the longest part of a key's place that the text spells out; else nothing."""
    best, place = 0, ""
    table: tuple[str, ...] = ()
    for number, line in enumerate(text.splitlines(), 1):
        try:
            if line.lstrip().startswith("["):
                table = _path(tomllib.loads(line))
                here = table
            elif "=" in line and not line.lstrip().startswith("#"):
                here = (*table, *_path(tomllib.loads(f"{line.partition('=')[0]} = 0")))
            else:
                continue
        except (ValueError, RecursionError):
            continue
        plain = tuple(key for key in keys if not key.isdigit())
        if len(here) > best and plain[: len(here)] == here:
            best, place = len(here), f"line {number}: "
    return place


def _path(tables: Any) -> tuple[str, ...]:
    path = []
    while isinstance(tables, dict | list) and tables:
        if isinstance(tables, list):
            tables = tables[0]
            continue
        key, tables = next(iter(tables.items()))
        path.append(key)
    return tuple(path)
