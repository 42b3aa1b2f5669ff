"""What the commands on models, boards, targets and the cache print, for 80 columns or as JSON."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rich.console import Console

from edgebench.link.board_facts import BoardFacts
from edgebench.prepare.cache import KINDS as CACHE_KINDS
from edgebench.prepare.cache import KindTotal
from edgebench.records.target import KINDS
from edgebench.report import words
from edgebench.report.console import line, lines, print_table
from edgebench.report.listings import print_findings, write_json
from edgebench.run.boards import BOARD_FACTS, Board, StatedBoot

# What `edgebench boards` prints: the boards that are known, and one with the source of each figure.


UNKNOWN = "not known"
_UNITS = {"mass_g": "g", "size_mm": "mm", "boot_s": "s"}


def board_record(name: str, board: Board) -> dict[str, Any]:
    """A board as plain data: each fact with value and source, or None; `power` has a list of figures."""
    fields = board.model_dump(mode="json", exclude={"devices", "architecture"})
    facts = {fact: fields[fact] for fact in BOARD_FACTS}
    if board.boot_s:
        facts["boot_s"] = {"value": board.boot_s.value, "source": board.boot_s.source}
    return {
        "name": name,
        "title": board.title,
        "models": fields["models"],
        "plugged_in": board.plugged_in,
        **facts,
        "boot_kind": board.boot_s and board.boot_s.kind,
        "power": fields["power"],
        "note": board.note,
    }


def print_boards(console: Console, boards: Mapping[str, Board], *, as_json: bool = False) -> None:
    """Print the boards by name: mass, size and declared power."""
    if as_json:
        return write_json(console, {"boards": [board_record(name, board) for name, board in boards.items()]})
    rows = [
        (
            name,
            _text(board, "mass_g"),
            _text(board, "size_mm"),
            ", ".join(f"{power.watts:g} W {power.kind}" for power in board.power) or words.MISSING,
        )
        for name, board in boards.items()
    ]
    print_table(console, [("board", False), ("mass", True), ("size", False), ("declared power", False)], rows)
    plugged_in = ", ".join(name for name, board in boards.items() if board.plugged_in)
    lines(
        console,
        [
            plugged_in and f"plugged into a host, which is named with a --board of its own: {plugged_in}",
            f"{words.counted(len(boards), 'board')}; `edgebench boards show NAME` has their sources",
        ],
    )


def print_board(console: Console, name: str, board: Board, *, as_json: bool = False) -> None:
    """Print one board: each figure with where it is from, or that it is not known."""
    if as_json:
        return write_json(console, {"board": board_record(name, board)})
    line(console, name, "bold")
    lines(
        console,
        [
            board.title,
            "plugged into a host, which has a --board of its own" if board.plugged_in else "",
            f"calls itself: {'; '.join(board.models)}" if board.models else "",
        ],
        indent=2,
    )
    console.print()
    powers = {f"{power.kind} power": (f"{power.watts:g} W", power.source) for power in board.power}
    facts = {
        word: (_text(board, fact), stated.source)
        for fact, word in BOARD_FACTS.items()
        if (stated := getattr(board, fact))
    } | powers
    names = [*BOARD_FACTS.values(), *(f"{kind} power" for kind in KINDS)]
    print_table(
        console,
        [("figure", False), ("value", False), ("source", False)],
        [(name, *facts.get(name, (UNKNOWN, ""))) for name in names],
    )
    lines(console, [board.note and f"note: {board.note}"])


def _text(board: Board, fact: str) -> str:
    """A fact with its unit; a dash where it is not known."""
    stated, unit = getattr(board, fact), _UNITS.get(fact, "")
    if stated is None:
        return words.MISSING
    if isinstance(stated, StatedBoot):
        return f"{stated.value:g} {unit}, {stated.kind}"
    if isinstance(stated.value, tuple):
        return f"{words.quantity(stated.value)} {unit}"
    return f"{stated.value:g} {unit}" if unit else str(stated.value)


# What `edgebench cache` prints: the kinds of files in the cache, and what was removed.


def print_cache(
    console: Console, root: Path, kinds: Sequence[KindTotal], others: Sequence[str], *, as_json: bool = False
) -> None:
    """Print the kinds of files with their number, size and last use; `others` are names of foreign files."""
    if as_json:
        document = {**_sum(kinds), "kinds": _rows(kinds), "not_of_the_cache": list(others)}
        return write_json(console, {"folder": str(root), **document})
    line(console, f"{root}: {_counted(kinds)}")
    _print_kinds(console, kinds)
    lines(
        console,
        [
            _others(others),
            "remove it with `edgebench cache clean` (--older-than 30d, --dry-run)" if kinds else "",
        ],
    )


def print_cleaned(
    console: Console,
    root: Path,
    removed: Sequence[KindTotal],
    left: Sequence[KindTotal],
    others: Sequence[str],
    *,
    dry_run: bool,
    as_json: bool = False,
) -> None:
    """Print what was removed, or with `dry_run` would be, and what is left of the cache."""
    if as_json:
        return write_json(
            console,
            {
                "folder": str(root),
                "dry_run": dry_run,
                "removed": _sum(removed) | {"kinds": _rows(removed)},
                "left": _sum(left) | {"kinds": _rows(left)},
                "not_of_the_cache": list(others),
            },
        )
    line(console, f"{root}: {'would remove' if dry_run else 'removed'} {_counted(removed)}")
    _print_kinds(console, removed)
    lines(console, [f"{'would be left' if dry_run else 'left'}: {_counted(left)}", _others(others)])


def _print_kinds(console: Console, kinds: Sequence[KindTotal]) -> None:
    columns = [("kind", False), ("what", False), ("files", True), ("size", True), ("last used", True)]
    rows = [
        (
            total.kind,
            CACHE_KINDS.get(total.kind, ""),
            str(total.files),
            words.size(total.size_bytes),
            datetime.fromtimestamp(total.last_used_s).strftime("%Y-%m-%d"),
        )
        for total in kinds
    ]
    if rows:
        print_table(console, columns, rows)


def _others(names: Sequence[str]) -> str:
    shown = ", ".join(name if name.isprintable() else ascii(name) for name in names)
    return shown and f"not of the cache, and never touched: {shown}"


def _counted(kinds: Sequence[KindTotal]) -> str:
    total = _sum(kinds)
    return (
        f"{words.counted(total['files'], 'file')}, {words.size(total['size_bytes'])}" if kinds else "nothing"
    )


def _sum(kinds: Sequence[KindTotal]) -> dict[str, int]:
    return {
        "files": sum(total.files for total in kinds),
        "size_bytes": sum(total.size_bytes for total in kinds),
    }


def _rows(kinds: Sequence[KindTotal]) -> list[dict[str, Any]]:
    return [
        {
            "kind": total.kind,
            "what": CACHE_KINDS.get(total.kind, ""),
            "files": total.files,
            "size_bytes": total.size_bytes,
            "last_used_utc": datetime.fromtimestamp(total.last_used_s, UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        }
        for total in kinds
    ]


# What `edgebench targets` prints: the declared targets, and a board's description with its findings.


def print_targets(
    console: Console, targets: Sequence[Mapping[str, Any]], file: str | None, *, as_json: bool = False
) -> None:
    """Print the targets of a file: name, device, host, meters, mass and size; power as it is declared.

    Args:
        console: where to print.
        targets: the declared ones as plain data (`edgebench.run.targets.listed`).
        file: where they stand; None where there is no file.
        as_json: print one document instead.
    """
    if as_json:
        return write_json(console, {"file": file, "targets": [dict(target) for target in targets]})
    if file is None:
        return line(console, "There is no targets.toml, here or in the user's configuration folder.")
    headings = ("target", "device", "host", "meters", "mass", "size")
    if targets:
        print_table(console, [(heading, heading == "mass") for heading in headings], map(_cells, targets))
    for target in targets:
        name, error, sweeps = target.get("name"), target.get("device_error"), target.get("sweeps")
        source = _body_source(target)
        lines(
            console,
            [
                f"{name} cannot be measured: {error}" if error else "",
                f"{name} sweeps {_sweeps_text(sweeps)}" if sweeps else "",
                source and f"{name}: {source}",
            ],
            indent=2,
        )
    line(console, f"{words.counted(len(targets), 'target')} in {file}")


def _sweeps_text(sweeps: Mapping[str, Sequence[Any]]) -> str:
    """The settings of several values and how many targets they make: `threads=1, 2: 2 targets`."""
    texts = [
        f"{words.plain(name, 40)}={', '.join(words.plain(str(value), 60) for value in values)}"
        for name, values in sweeps.items()
    ]
    return f"{'; '.join(texts)}: {math.prod(map(len, sweeps.values()))} targets"


def _body_source(target: Mapping[str, Any]) -> str:
    """Where mass, size and power are from: the file itself, or what is known of its boards."""
    if target.get("body_error"):
        return f"no figures by its board: {target['body_error']}"
    from_boards = set(target.get("from_boards", ()))
    names = {"mass_g": "mass", "size_mm": "size"}
    own = [word for key, word in names.items() if target.get(key) is not None and key not in from_boards]
    sources = [f"{' and '.join(own)} as the file says"] if own else []
    if target.get("body") and (from_boards or not own):
        added = " and ".join(word for key, word in names.items() if key in from_boards)
        sources.append(f"{added} of {target['body']}" if added else str(target["body"]))
    powers = target.get("declared_power") or ()
    boot = target.get("boot_s")
    return "; ".join(
        [
            *sources,
            *(f"declared {power['kind']} of {power['watts']:g} W by {power['source']}" for power in powers),
            *([f"declared {boot['kind']} boot of {boot['seconds']:g} s by {boot['source']}"] if boot else []),
        ]
    )


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
        checks: `target`, `device`, `facts` (of the board, or None) and `findings` (as plain data) of each.
        as_json: print one document instead.
    """
    if as_json:
        return write_json(console, {"targets": [dict(check) for check in checks]})
    for number, check in enumerate(checks):
        if number:
            console.print()
        line(console, f"{check.get('target')} ({check.get('device')})", "bold")
        facts = check.get("facts")
        described = () if facts is None else description(facts)
        lines(console, [f"{name:<12} {text}" for name, text in described], indent=2)
        print_findings(console, check.get("findings", ()))


def description(facts: Mapping[str, Any]) -> list[tuple[str, str]]:
    """A board's facts in a dozen lines; what it does not say is `not known`."""
    known = BoardFacts.of(facts)
    return [
        ("board", _known_text(known.board)),
        ("SoC", _known_text(known.soc)),
        ("processor", f"{_known_text(known.cpu)}, {words.counted(known.cores or 0, 'core')}"),
        *([] if known.gpu is None else [("GPU", _known_text(known.gpu.name))]),
        ("memory", f"{words.size(known.memory_bytes)}, {words.size(known.memory_available_bytes)} available"),
        ("system", _joined_text(known.os, known.kernel, known.machine, known.l4t and f"L4T {known.l4t}")),
        ("Python", _joined_text(known.python, known.python_bits and f"{known.python_bits} bits")),
        ("", _known_text(known.python_executable)),
        (
            "packages",
            _joined_text(*(f"{name} {version}" for name, version in (known.packages or {}).items())),
        ),
        ("governor", _known_text(known.governor)),
        ("clock", _clocks(known)),
        ("power mode", _power_mode(known)),
        *([] if known.power_mode is None else [("clocks", _pinned_clocks(known))]),
        ("temperature", _temperature(known)),
        ("accelerator", _accelerators(known)),
    ]


def _known_text(value: str | None) -> str:
    return words.plain(value, 200) if value else "not known"


def _joined_text(*parts: Any) -> str:
    return words.plain(", ".join(str(part) for part in parts if part), 500) or "none found"


def _clocks(known: BoardFacts) -> str:
    if known.clock_now_mhz is None:
        return "not known"
    limits = (known.clock_min_mhz, known.clock_limit_mhz)
    between = "" if None in limits else f", held between {limits[0]:g} and {limits[1]:g}"
    most = "" if known.clock_max_mhz is None else f", at most {known.clock_max_mhz:g}"
    return f"{known.clock_now_mhz:g} MHz now{between}{most}"


def _power_mode(known: BoardFacts) -> str:
    modes = ", ".join(f"{key} ({mode})" for key, mode in (known.power_modes or {}).items())
    if known.power_mode is None:
        return f"unknown, of {words.plain(modes, 300)}" if modes else "none"
    now = f"{known.power_mode.id} ({known.power_mode.name or 'name unknown'})"
    return words.plain(f"{now} of {modes}" if modes else now, 300)


def _pinned_clocks(known: BoardFacts) -> str:
    """Which clocks are held at one frequency, as jetson_clocks leaves them."""
    if known.pinned_clocks is None:
        return "not known"
    clocks = {"CPU": known.pinned_clocks.cpu, "GPU": known.pinned_clocks.gpu}
    pinned = [name for name, is_pinned in clocks.items() if is_pinned]
    free = [name for name, is_pinned in clocks.items() if is_pinned is False]
    return _joined_text(
        pinned and f"{' and '.join(pinned)} pinned", free and f"{' and '.join(free)} change with the load"
    )


def _temperature(known: BoardFacts) -> str:
    sensors = sorted((known.temperatures_c or {}).items(), key=lambda item: -item[1])[:6]
    return words.plain(", ".join(f"{value:g} °C at {name}" for name, value in sensors), 300) or "not known"


def _accelerators(known: BoardFacts) -> str:
    if known.usb_accelerators is None:
        return "not known: USB cannot be read"
    accelerators = [
        f"{accelerator.name}, "
        + ("speed unknown" if accelerator.speed_mbps is None else f"{accelerator.speed_mbps:g} Mbit/s")
        for accelerator in known.usb_accelerators
    ]
    return words.plain("; ".join(accelerators), 300) or "none on USB"
