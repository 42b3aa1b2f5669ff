"""TOML files of users, valid and mutated: accepted with what they say, or refused with the place."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.frozen.console import Outcome, carry_out
from tests.frozen.goldens import lines_of, normalised

INPUTS = Path(__file__).parent / "inputs"

COMMANDS: dict[str, tuple[tuple[str, ...], int]] = {
    "camera": (("profiles", "show", "FILE", "--json"), 150),
    "everything": (("profiles", "show", "FILE", "--json"), 60),
    "targets": (("targets", "list", "--targets-file", "FILE", "--json"), 90),
    "board": (("boards", "show", "FILE", "--json"), 50),
    "scenario": (("run", "--device", "replay", "--set", "source=FILE", "--dry-run", "--json"), 60),
}
"""By the name of a valid file: the command that reads it, and how many mutations of it are tried."""

VALUES = (
    *("-1", "0", "1", "3.5", "1e400", "nan", "true", '""', '"x"', '"5 W"', '"-20 ms"', '"1,5 s"', '"3 kg"'),
    *(
        "[]",
        "[1, 2]",
        '["a", "b"]',
        "{}",
        "{ value = 3 }",
        '"' + "a" * 300 + '"',
        "99999999999999999999",
        "[",
    ),
)
_INNER = re.compile(r"(?<==) [^,{}]+(?=[,}]| }}|$)")
_KEY = re.compile(r"^\s*([\w-]+)\s*=")


def mutations(text: str, count: int) -> Iterator[tuple[str, str, str]]:
    """So many mutations of a file: what was done, the key of its line and the text; the same ones always."""
    rng = random.Random(text)
    lines = text.splitlines()
    filled = [number for number, line in enumerate(lines) if line and not line.startswith("#")]
    for _ in range(count):
        number = rng.choice(filled)
        line, changed = lines[number], list(lines)
        found = _KEY.match(line)
        key = found[1] if found else ""
        what = rng.choice(("value", "value", "value", "value", "inner", "key", "unknown", "twice", "without"))
        if what == "value" and key:
            changed[number] = f"{key} = {rng.choice(VALUES)}"
        elif what == "inner":
            changed[number] = re.sub(
                r"(?<==) [^,{}]+(?=[,}]| }}|$)", lambda _: f" {rng.choice(VALUES)}", line
            )
        elif what == "key" and key:
            key, changed[number] = f"{key}s", line.replace(key, f"{key}s", 1)
        elif what == "twice":
            changed.insert(number, line)
        elif what == "without":
            del changed[number]
        else:
            what, key = "unknown", "quantum"
            changed.insert(number + 1, "quantum = 1")
        yield f"{what}.{number + 1}", key, "\n".join(changed) + "\n"


def outcomes(folder: Path) -> dict[str, Any]:
    """By file and mutation: what differs from the valid file's document, or the exit code, line and key."""
    names: list[tuple[str, str, str]] = []
    commands: list[list[str]] = []
    for name, (words, count) in COMMANDS.items():
        text = (INPUTS / f"{name}.toml").read_text(encoding="utf-8")
        for number, (what, key, mutated) in enumerate([("valid", "", text), *mutations(text, count)]):
            path = folder / f"{name}-{number}.toml"
            path.write_text(mutated, encoding="utf-8")
            names.append((name, f"{number:03}.{what}.{key}".rstrip("."), key))
            commands.append(
                [path.name if word == "FILE" else word.replace("FILE", path.name) for word in words]
            )
    found: dict[str, Any] = {}
    valid: dict[str, Any] = {}
    for (name, what, key), outcome in zip(names, carry_out(folder, commands), strict=True):
        if outcome.code:
            found[f"{name}.{what}"] = [outcome.code, *_place(outcome, key)]
            continue
        entries = dict(lines_of(normalised(outcome.document), "", 20))
        entries = {path: value for path, value in entries.items() if path not in ("file", "board.name")}
        base = valid.setdefault(name, entries)
        found[f"{name}.{what}"] = entries if base is entries else _changes(base, entries)
    return found


def _place(outcome: Outcome, key: str) -> tuple[int | None, bool]:
    """The line that an error names, and whether it names the key that was changed."""
    error = outcome.document.get("error", {})
    text = f"{error.get('what')} {error.get('why')} {error.get('fix')}"
    line = re.search(r"line (\d+)|\.toml:(\d+)", text)
    return (int(line[1] or line[2]) if line else None), bool(key) and key in text


def _changes(base: dict[str, Any], entries: dict[str, Any]) -> dict[str, Any]:
    gone = dict.fromkeys(base.keys() - entries.keys(), "(gone)")
    return gone | {path: value for path, value in entries.items() if base.get(path) != value}
