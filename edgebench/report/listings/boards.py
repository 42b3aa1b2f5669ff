"""Boards with the sources of their figures, and targets with what is missing there."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console

from edgebench.board_catalogue import BOARD_FACTS, UNITS, Board, StatedBoot
from edgebench.records.board_facts import BoardFacts
from edgebench.records.target import KINDS
from edgebench.report import words
from edgebench.report.environment import flat, gathered
from edgebench.report.listings import CommandOutput, write_json
from edgebench.report.listings.devices import print_findings
from edgebench.report.renderers.blocks import Block, Column, Heading, Notes, Table, Text, facts, of_figures
from edgebench.report.renderers.terminal import line, lines, print_blocks

# What `edgebench boards` prints: the boards that are known, and one with the source of each figure.


UNKNOWN = "not known"


def board_record(name: str, board: Board) -> dict[str, Any]:
    """A board as plain data: each fact with value and source, else None; `power` is a list."""
    record = {"name": name, **board.model_dump(mode="json", exclude={"devices", "architecture"})}
    record["boot_kind"] = record["boot_s"] and record["boot_s"].pop("kind")
    return record


def boards_listing(boards: Mapping[str, Board]) -> CommandOutput:
    """Boards by name: mass, size and declared power."""
    rows = []
    for name, board in boards.items():
        powers = ", ".join(f"{power.watts:g} W {power.kind}" for power in board.power)
        rows.append((name, _text(board, "mass_g"), _text(board, "size_mm"), powers or words.MISSING))
    columns = (*of_figures("board", "mass"), Column("size"), Column("declared power", long=True))
    plugged_in = ", ".join(name for name, board in boards.items() if board.plugged_in)
    notes = [
        plugged_in and f"plugged into a host, which is named with a --board of its own: {plugged_in}",
        f"{words.counted(len(boards), 'board')}; `edgebench boards show NAME` has their sources",
    ]
    document = {"boards": [board_record(name, board) for name, board in boards.items()]}
    return CommandOutput(document, [Table("boards", columns, tuple(rows)), Notes.of(notes)])


def board_listing(name: str, board: Board) -> CommandOutput:
    """One board: each figure with where it is from, or that it is not known."""
    about = [
        board.title,
        "plugged into a host, which has a --board of its own" if board.plugged_in else "",
        f"calls itself: {'; '.join(board.models)}" if board.models else "",
    ]
    rows = [
        (word, _text(board, fact), stated.source) if (stated := getattr(board, fact)) else (word, UNKNOWN, "")
        for fact, word in BOARD_FACTS.items()
    ]
    powers = {power.kind: (f"{power.watts:g} W", power.source) for power in board.power}
    rows += [(f"{kind} power", *powers.get(kind, (UNKNOWN, ""))) for kind in KINDS]
    columns = (Column("figure"), Column("value"), Column("source", long=True))
    note = Notes.of([board.note and f"note: {board.note}"])
    blocks: list[Block] = [Heading(name), Notes.of(about), Table("figures", columns, tuple(rows)), note]
    return CommandOutput({"board": board_record(name, board)}, blocks)


def _text(board: Board, fact: str) -> str:
    """A fact with its unit; a dash where it is not known."""
    stated, unit = getattr(board, fact), UNITS.get(fact, "")
    if stated is None:
        return words.MISSING
    if isinstance(stated, StatedBoot):
        return f"{stated.value:g} {unit}, {stated.kind}"
    if isinstance(stated.value, tuple):
        return f"{words.quantity(stated.value)} {unit}"
    return f"{stated.value:g} {unit}" if unit else str(stated.value)


# What `edgebench targets` prints: the declared targets, and a board's description with its findings.


def targets_listing(targets: Sequence[Mapping[str, Any]], file: str | None) -> CommandOutput:
    """Targets of a file: name, device, host, meters, mass and size; power as it is declared.

    Args:
        targets: the declared ones as plain data (`edgebench.run.targets.listed`).
        file: where they stand; None where there is no file.
    """
    columns = (*map(Column, ("target", "device", "host")), Column("meters", long=True))
    columns += (Column("mass", figures=True), Column("size"))
    texts = []
    for target in targets:
        name, error, sweeps = target.get("name"), target.get("device_error"), target.get("sweeps")
        texts += [f"{name} cannot be measured: {error}"] if error else []
        texts += [f"{name} sweeps {_sweeps_text(sweeps)}"] if sweeps else []
        texts += [f"{name}: {source}"] if (source := _body_source(target)) else []
    blocks: list[Block] = [Table("targets", columns, tuple(map(_cells, targets)))] if targets else []
    blocks.append(Notes.of([*texts, f"{words.counted(len(targets), 'target')} in {file}"]))
    if file is None:
        blocks = [Text("There is no targets.toml, here or in the user's configuration folder.")]
    return CommandOutput({"file": file, "targets": [dict(target) for target in targets]}, blocks)


def _sweeps_text(sweeps: Mapping[str, Sequence[Any]]) -> str:
    """The settings of several values and how many targets they make: `threads=1, 2: 2 targets`."""
    texts = [
        f"{words.plain(name, 40)}={', '.join(words.plain(str(value), 60) for value in values)}"
        for name, values in sweeps.items()
    ]
    return f"{'; '.join(texts)}: {math.prod(map(len, sweeps.values()))} targets"


def _body_source(target: Mapping[str, Any]) -> str:
    """Source of mass, size and power: the file itself, or its boards."""
    if target.get("body_error"):
        return f"no figures by its board: {target['body_error']}"
    from_boards = set(target.get("from_boards", ()))
    names = {"mass_g": "mass", "size_mm": "size"}
    own = [word for key, word in names.items() if target.get(key) is not None and key not in from_boards]
    sources = [f"{' and '.join(own)} as the file says"] if own else []
    if target.get("body") and (from_boards or not own):
        added = " and ".join(word for key, word in names.items() if key in from_boards)
        sources.append(f"{added} of {target['body']}" if added else str(target["body"]))
    for power in target.get("declared_power") or ():
        sources.append(f"declared {power['kind']} of {power['watts']:g} W by {power['source']}")
    if boot := target.get("boot_s"):
        sources.append(f"declared {boot['kind']} boot of {boot['seconds']:g} s by {boot['source']}")
    return "; ".join(sources)


def _cells(target: Mapping[str, Any]) -> tuple[str, ...]:
    mass, size = target.get("mass_g"), target.get("size_mm")
    return (
        str(target.get("name", "")),
        str(target.get("device", "")),
        str(target.get("host") or target.get("port") or "this machine"),
        ", ".join(target.get("meters") or ()) or "none",
        words.MISSING if mass is None else f"{mass:g} g",
        words.MISSING if size is None else f"{words.quantity(size)} mm",
    )


def print_checks(console: Console, checks: Sequence[Mapping[str, Any]], *, as_json: bool = False) -> None:
    """Print each target's description and what is missing there.

    Args:
        console: where to print.
        checks: `target`, `device`, `facts` (of the board; None if it was not reached) and `findings` of each.
        as_json: print one document instead.
    """
    if as_json:
        return write_json(console, {"targets": [dict(check) for check in checks]})
    for check in checks:
        board_facts = BoardFacts.of(check.get("facts") or {})
        line(console, f"{check.get('target')} ({check.get('device')})", "bold")
        print_blocks(console, [facts("board", gathered(flat(board_facts.model_dump())))])
        print_findings(console, check.get("findings", ()))


def print_machines(console: Console, machines: Sequence[Mapping[str, Any]], *, as_json: bool = False) -> None:
    """Print a fleet's machines: what each measures, who waits, and its targets with what is missing there.

    Args:
        console: where to print.
        machines: `address`, `problem`, `measuring`, `waiting`, and `targets` with `target`, `device` and
            `findings` of each.
        as_json: print one document instead.
    """
    if as_json:
        return write_json(console, {"machines": [dict(machine) for machine in machines]})
    for machine in machines:
        line(console, str(machine["address"]), "bold")
        texts = [f"left out: {machine['problem']}"] if machine["problem"] else []
        texts += [f"measures: {machine['measuring'] or 'nothing'}"]
        lines(console, [*texts, *(f"waits: {who}" for who in machine["waiting"])], indent=2)
        for target in machine["targets"]:
            line(console, f"{target['target']} ({target['device']})", indent=2)
            if missing := [finding for finding in target["findings"] if finding["level"] != "ok"]:
                print_findings(console, missing)
    if not machines:
        line(console, "No machines.")
