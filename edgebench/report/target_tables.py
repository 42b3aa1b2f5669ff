"""What `edgebench targets` prints: the declared targets, and a board's description with its findings."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console

from edgebench.link.board_facts import BoardFacts
from edgebench.report import words
from edgebench.report.console import cell, line, new_table
from edgebench.report.json_values import SCHEMA_VERSION, as_json, clean
from edgebench.report.listings import print_findings


def print_targets(
    console: Console, targets: Sequence[Mapping[str, Any]], file: str | None, *, as_json: bool = False
) -> None:
    """Print the targets of a file: name, device, host, meters, mass and size; power as it is declared.

    Args:
        console: where to print.
        targets: the declared ones as plain data (`edgebench.plan.targets.listed`).
        file: where they stand; None where there is no file.
        as_json: print one document instead.
    """
    if as_json:
        _print_json(console, {"file": file, "targets": [dict(target) for target in targets]})
        return
    if file is None:
        line(console, "There is no targets.toml, here or in the user's configuration folder.")
        return
    headings = ("target", "device", "host", "meters", "mass", "size")
    table = new_table(console, [(heading, heading == "mass") for heading in headings])
    for target in targets:
        table.add_row(*(cell(console, text) for text in _cells(target)))
    if targets:
        console.print(table)
    for target in targets:
        if target.get("device_error"):
            line(console, f"{target.get('name')} cannot be measured: {target['device_error']}", indent=2)
        if sweeps := target.get("sweeps"):
            line(console, f"{target.get('name')} sweeps {_sweeps_text(sweeps)}", indent=2)
        if source := _body_source(target):
            line(console, f"{target.get('name')}: {source}", indent=2)
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
    boot, temperature = target.get("boot_s"), target.get("temperature_c")
    return "; ".join(
        [
            *sources,
            *(f"declared {power['kind']} of {power['watts']:g} W by {power['source']}" for power in powers),
            *([f"declared {boot['kind']} boot of {boot['seconds']:g} s by {boot['source']}"] if boot else []),
            *([_temperature_range(temperature)] if temperature else []),
        ]
    )


def _temperature_range(stated: Mapping[str, Any]) -> str:
    return f"declared for {stated['low_c']:g} to {stated['high_c']:g} °C by {stated['source']}"


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
        _print_json(console, {"targets": [dict(check) for check in checks]})
        return
    for number, check in enumerate(checks):
        if number:
            console.print()
        line(console, f"{check.get('target')} ({check.get('device')})", "bold")
        facts = check.get("facts")
        for name, text in description(facts) if facts is not None else ():
            line(console, f"{name:<12} {text}", indent=2)
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


def _print_json(console: Console, value: Mapping[str, Any]) -> None:
    # Not through the console: it would wrap long strings.
    document: dict[str, Any] = clean({"schema_version": SCHEMA_VERSION, **value})
    console.file.write(as_json(document))
