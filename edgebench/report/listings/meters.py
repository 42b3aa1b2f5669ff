"""The documents of `edgebench meters`: what each meter is, what a check saw of it, what was recorded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rich.console import Console

from edgebench.report import words
from edgebench.report.listings import write_json
from edgebench.report.renderers.blocks import Table, of_figures
from edgebench.report.renderers.terminal import line, lines, print_table


@dataclass(frozen=True)
class ListedRail:
    """The figures of one power or energy channel; None for a missing one."""

    channel: str
    """The rail's name, or that of their sum. Source: probe."""
    total: bool
    """Whether it is all that the board or module draws. Source: probe."""
    mean_w: float | None
    """Mean power, by the trapezoid rule; null with its reason. Unit: W. Source: samples."""
    peak_w: float | None
    """The highest sample. Unit: W. Source: samples."""
    energy_j: float | None
    """Energy from the first sample to the last. Unit: J. Source: samples."""
    rate_hz: float
    """The probe's stated rate. Unit: Hz. Source: probe."""
    effective_hz: float | None
    """Samples a second, as they came. Unit: Hz. Source: samples."""
    longest_gap_s: float | None
    """The longest time between two samples. Unit: s. Source: samples."""
    samples: int
    """How many samples there are. Source: samples."""
    read_s: float
    """From the first reading to the last; without the longest hole where that leaves no mean. Unit: s.
    Source: samples."""
    reason: str
    """Why there is no mean, and of how much of the recorded time there is no reading, and so no energy; empty
    where neither is missing. Source: samples."""


@dataclass(frozen=True)
class ListedMeter:
    """A meter, and whether it can be read."""

    meter: str
    """The meter, KIND[:ADDRESS]. Source: command line."""
    description: str
    """What it is, in a line. Source: probe."""
    place: str
    """Where it samples: board, or host for one that is plugged in here. Source: probe."""
    rate_hz: float | None
    """Its stated rate; null where only its address decides. Unit: Hz. Source: probe."""
    readable: bool
    """Whether it can be read there. Source: probe."""
    reason: str
    """Why not; empty where it can be. Source: probe."""
    fix: str
    """What helps; empty where it can be read. Source: probe."""
    port: str
    """What it is read from: a node, a file, a program or a library; empty where that is not known. Source:
    probe."""
    permission: str
    """Mode, owner and group of that, as crw-rw---- root:dialout; or empty. Source: probe."""
    held_by: tuple[str, ...]
    """Other processes that have a device's node open; those that this user sees. Source: probe."""


@dataclass(frozen=True)
class CheckedMeter(ListedMeter):
    """A meter that was listened to for a moment."""

    scope: str
    """What it measures: chip, module, board, usb or wall. Source: probe."""
    averaging_ms: float | None
    """The time before its stamp that a reading is the mean over; null where it is unknown. Unit: ms.
    Source: probe."""
    resolution: str
    """What a reading is exact to, in words. Source: probe."""
    channels: tuple[str, ...]
    """All that it samples, by name. Source: probe."""
    absent: Mapping[str, str]
    """What it did not find, and why. Source: probe."""
    rejected: int
    """Readings that could not be parsed or were out of their channel's range. Source: probe."""
    rejected_first: tuple[str, ...]
    """The first of them, verbatim. Source: probe."""
    rails: tuple[ListedRail, ...]
    """One entry a power or energy channel. Source: probe."""


@dataclass(frozen=True)
class RecordedMeter:
    """Readings of a power meter that was recorded on its own."""

    meter: str
    """The meter, KIND[:ADDRESS]. Source: command line."""
    scope: str
    """What it measures: chip, module, board, usb or wall. Source: probe."""
    duration_s: float
    """From the first sample to the last. Unit: s. Source: samples."""
    recorded_s: float
    """How long it was recorded, also without samples. Unit: s. Source: host clock."""
    rejected: int
    """Readings that could not be parsed or were out of their channel's range. Source: probe."""
    rails: tuple[ListedRail, ...]
    """One entry a power or energy channel. Source: probe."""


# The terminal's tables of meters on their own: which there are, what they are, what one of them recorded.


def print_meters(console: Console, rows: Sequence[Mapping[str, Any]], *, as_json: bool = False) -> None:
    """Print meters, each with the fields of `ListedMeter`.

    Of one that was checked `scope`, `averaging_ms`, `resolution`, `channels`, `total`, `absent`, `rejected`,
    `rejected_first` and `rails` as well.
    """
    if as_json:
        return write_json(console, {"meters": list(rows)})
    for row in rows:
        state = "readable" if row["readable"] else "not readable"
        line(console, f"{row['meter']}: {state}", "bold")
        permission = f" ({row['permission']})" if row["permission"] else ""
        about = [
            row["description"],
            row["port"] and f"read from {row['port']}{permission}",
            f"open in {', '.join(row['held_by'])} as well" if row["held_by"] else "",
        ]
        why = [f"why: {row['reason']}", f"fix: {row['fix'] or 'use another meter'}"]
        lines(console, about if row["readable"] else [*about, *why], indent=4)
        if "rails" in row:
            _print_checked(console, row)
    lines(console, [] if rows else ["No meter is installed."])


def print_recording(console: Console, recording: Mapping[str, Any], *, as_json: bool = False) -> None:
    """Print what was recorded: the fields of `RecordedMeter`."""
    if as_json:
        return write_json(console, recording)
    read_s = max((rail["read_s"] for rail in recording["rails"]), default=0.0)
    times = f"readings for {read_s:.1f} s of {recording['recorded_s']:.1f} s"
    line(console, f"{recording['meter']} ({recording['scope']}), {times}", "bold")
    _print_rails(console, recording["rails"])
    lines(console, [_rejected(recording)])


def _print_checked(console: Console, row: Mapping[str, Any]) -> None:
    others = [name for name in row["channels"] if name not in {rail["channel"] for rail in row["rails"]}]
    line(console, f"{row['scope']}, {row['rate_hz']:g} samples a second, {row['resolution']}", indent=4)
    _print_rails(console, row["rails"])
    first = f", the first was {row['rejected_first'][0]!r}" if row["rejected_first"] else ""
    missing = [f"missing: {name}: {reason}" for name, reason in row["absent"].items()]
    channels = f"other channels: {', '.join(others)}" if others else ""
    lines(console, [channels, *missing, _rejected(row) and _rejected(row) + first], indent=4)


def _rejected(meter: Mapping[str, Any]) -> str:
    return f"{words.counted(meter['rejected'], 'reading')} rejected" if meter["rejected"] else ""


_RAIL_FIGURES = {
    "mean, W": "mean_w",
    "peak, W": "peak_w",
    "energy, J": "energy_j",
    "samples": "samples",
    "Hz": "effective_hz",
    "gap, s": "longest_gap_s",
}


def _print_rails(console: Console, rails: Sequence[Mapping[str, Any]]) -> None:
    rows = tuple(
        (
            f"{rail['channel']} (total)" if rail["total"] else str(rail["channel"]),
            *(_figure(rail[name]) for name in _RAIL_FIGURES.values()),
        )
        for rail in rails
    )
    print_table(console, Table("rails", of_figures("rail", *_RAIL_FIGURES), rows))
    lines(console, [rail["reason"] and f"{rail['channel']}: {rail['reason']}" for rail in rails], indent=4)


def _figure(value: int | float | None) -> str:
    if isinstance(value, int):
        return str(value)
    return words.MISSING if value is None else f"{value:.4g}"
