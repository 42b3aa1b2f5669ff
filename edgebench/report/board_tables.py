"""What `edgebench boards` prints: the boards that are known, and one with the source of each figure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from rich.console import Console

from edgebench.report import words
from edgebench.report.console import cell, line, new_table
from edgebench.report.model_tables import write_json
from edgebench.vocabulary.declared_power import KINDS
from edgebench.vocabulary.target import BODY_FACTS, Body

UNKNOWN = "not known"
_UNITS = {"mass_g": "g", "size_mm": "mm", "boot_s": "s", "temperature_c": "°C"}


def board_record(name: str, body: Body) -> dict[str, Any]:
    """A board as plain data: each fact with value and source, or None; `power` has a list of figures."""
    facts = {fact: getattr(body, fact) for fact in BODY_FACTS}
    return {
        "name": name,
        "title": body.title,
        "models": list(body.models),
        "plugged_in": body.plugged_in,
        **{
            fact: None if value in (None, "") else {"value": value, "source": body.source_of(fact)}
            for fact, value in facts.items()
        },
        "boot_kind": None if body.boot_s is None else body.boot_kind,
        "power": [asdict(power) for power in body.power],
        "note": body.note,
    }


def print_boards(console: Console, boards: Mapping[str, Body], *, as_json: bool = False) -> None:
    """Print the boards by name: mass, size and declared power."""
    if as_json:
        write_json(console, {"boards": [board_record(name, body) for name, body in boards.items()]})
        return
    table = new_table(console, [("board", False), ("mass", True), ("size", False), ("declared power", False)])
    for name, body in boards.items():
        power = ", ".join(f"{power.watts:g} W {power.kind}" for power in body.power) or words.MISSING
        table.add_row(
            *(cell(console, text) for text in (name, _text(body, "mass_g"), _text(body, "size_mm"), power))
        )
    console.print(table)
    if plugged_in := [name for name, body in boards.items() if body.plugged_in]:
        line(
            console, f"plugged into a host, which is named with a --board of its own: {', '.join(plugged_in)}"
        )
    line(console, f"{words.counted(len(boards), 'board')}; `edgebench boards show NAME` has their sources")


def print_board(console: Console, name: str, body: Body, *, as_json: bool = False) -> None:
    """Print one board: each figure with where it is from, or that it is not known."""
    if as_json:
        write_json(console, {"board": board_record(name, body)})
        return
    line(console, name, "bold")
    line(console, body.title, indent=2)
    if body.plugged_in:
        line(console, "plugged into a host, which has a --board of its own", indent=2)
    if body.models:
        line(console, f"calls itself: {'; '.join(body.models)}", indent=2)
    console.print()
    table = new_table(console, [("figure", False), ("value", False), ("source", False)])
    for fact, word in BODY_FACTS.items():
        text = _text(body, fact)
        source = "" if text == words.MISSING else body.source_of(fact)
        table.add_row(*(cell(console, part) for part in (word, text if source else UNKNOWN, source)))
    by_kind = {power.kind: power for power in body.power}
    for kind in KINDS:
        given = by_kind.get(kind)
        row = (f"{given.watts:g} W", given.source) if given else (UNKNOWN, "")
        table.add_row(*(cell(console, part) for part in (f"{kind} power", *row)))
    console.print(table)
    if body.note:
        line(console, f"note: {body.note}")


def _text(body: Body, fact: str) -> str:
    """A fact with its unit; a dash where it is not known."""
    value, unit = getattr(body, fact), _UNITS.get(fact, "")
    if value in (None, ""):
        return words.MISSING
    if fact == "boot_s":
        return f"{value:g} {unit}, {body.boot_kind}"
    if fact == "temperature_c":
        return f"{value[0]:g} to {value[1]:g} {unit}"
    if isinstance(value, tuple):
        return f"{words.quantity(value)} {unit}"
    return f"{value:g} {unit}" if unit else str(value)
