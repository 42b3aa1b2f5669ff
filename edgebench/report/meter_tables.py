"""The terminal's tables of meters on their own: which there are, what they are, what one of them recorded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console

from edgebench.report import words
from edgebench.report.console import cell, line, new_table
from edgebench.report.model_tables import write_json


def print_meters(console: Console, rows: Sequence[Mapping[str, Any]], *, as_json: bool = False) -> None:
    """Print meters, each with the fields of `meter_documents.Meter`.

    Of one that was checked `scope`, `averaging_ms`, `resolution`, `channels`, `total`, `absent`, `rejected`,
    `rejected_first` and `rails` as well.
    """
    if as_json:
        write_json(console, {"meters": list(rows)})
        return
    for row in rows:
        state = "readable" if row["readable"] else "not readable"
        console.print(cell(console, f"{row['meter']}: {state}", "bold"))
        line(console, row["description"], indent=4)
        if row["port"]:
            line(console, f"read from {row['port']}{_in_brackets(row['permission'])}", indent=4)
        if row["held_by"]:
            line(console, f"open in {', '.join(row['held_by'])} as well", indent=4)
        if not row["readable"]:
            line(console, f"why: {row['reason']}", indent=4)
            line(console, f"fix: {row['fix'] or 'use another meter'}", indent=4)
        if "rails" in row:
            _print_checked(console, row)
    if not rows:
        line(console, "No meter is installed.")


def print_recording(console: Console, recording: Mapping[str, Any], *, as_json: bool = False) -> None:
    """Print what was recorded: `meter`, `scope`, `duration_s`, `rejected` and `rails`."""
    if as_json:
        write_json(console, recording)
        return
    headline = f"{recording['meter']} ({recording['scope']}), {recording['duration_s']:.1f} s"
    console.print(cell(console, headline, "bold"))
    _print_rails(console, recording["rails"])
    if recording["rejected"]:
        line(console, f"{words.counted(recording['rejected'], 'reading')} rejected")


def _print_checked(console: Console, row: Mapping[str, Any]) -> None:
    others = [name for name in row["channels"] if name not in {rail["channel"] for rail in row["rails"]}]
    line(console, f"{row['scope']}, {row['rate_hz']:g} samples a second, {row['resolution']}", indent=4)
    _print_rails(console, row["rails"])
    if others:
        line(console, f"beside the power: {', '.join(others)}", indent=4)
    for name, reason in row["absent"].items():
        line(console, f"missing: {name}: {reason}", indent=4)
    if row["rejected"]:
        first = f", the first was {row['rejected_first'][0]!r}" if row["rejected_first"] else ""
        line(console, f"{words.counted(row['rejected'], 'reading')} rejected{first}", indent=4)


def _print_rails(console: Console, rails: Sequence[Mapping[str, Any]]) -> None:
    table = new_table(
        console,
        [
            ("rail", False),
            ("mean, W", True),
            ("peak, W", True),
            ("energy, J", True),
            ("samples", True),
            ("Hz", True),
            ("gap, s", True),
        ],
    )
    for rail in rails:
        name = f"{rail['channel']} (total)" if rail["total"] else str(rail["channel"])
        names = ("mean_w", "peak_w", "energy_j", "samples", "effective_hz", "longest_gap_s")
        cells = (name, *(_figure(rail[figure]) for figure in names))
        table.add_row(*(cell(console, text) for text in cells))
    console.print(table)
    for rail in rails:
        if rail["mean_w"] is None:
            line(console, f"{rail['channel']}: {rail['reason']}", indent=4)


def _in_brackets(text: str) -> str:
    return f" ({text})" if text else ""


def _figure(value: int | float | None) -> str:
    if isinstance(value, int):
        return str(value)
    return words.MISSING if value is None else f"{value:.4g}"
