"""The page of attacks, made of the marks on their tests."""

from __future__ import annotations

import contextlib
import io
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "attacks.md"
RENEW = "python -m tests.attacks"

HEAD = """# Attacks

What EdgeBench does when a device, a file or the machine around it is broken or hostile: {count} attacks, each
kept as a test that `make test-all` runs. A row says what is done to EdgeBench, what happens then, and in how
many ways the tests do it. The agent is EdgeBench's program on a board; a worker is the process that it starts
for a session; a runner is the part of a backend that calls the runtime there.

The page is generated from the marks on the tests: `{renew}` renews it.

Not tried: steps of a machine's real clock (tests shift and drift the agents' clocks instead), processors
that are taken offline during a measurement, and results or caches on NFS.
"""


@dataclass(frozen=True)
class Attack:
    """One marked test."""

    path: str  # of its module, from the project's root
    title: str  # of its module
    text: str  # what is done: what happens then


@dataclass
class _Collector:
    attacks: list[Attack] = field(default_factory=list)

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        self.attacks = attacks_of(session.items)


def attacks_of(items: Iterable[pytest.Item]) -> list[Attack]:
    """Those tests that are attacks."""
    attacks = []
    for item in items:
        mark = item.get_closest_marker("attack")
        module = item.getparent(pytest.Module)
        if mark is not None and module is not None:
            title = (module.obj.__doc__ or module.name).partition("\n")[0]
            attacks.append(Attack(item.path.relative_to(ROOT).as_posix(), title, *mark.args))
    return attacks


def collected() -> list[Attack]:
    """The attacks of all tests; imports the modules that may have some, and runs nothing."""
    # The mark itself may stand in a helper that a module of attacks imports.
    modules = [path for path in sorted((ROOT / "tests").rglob("test_*.py")) if "attack" in path.read_text()]
    collector = _Collector()
    with contextlib.redirect_stdout(io.StringIO()) as said:
        code = pytest.main(
            [f"--rootdir={ROOT}", "--collect-only", "-q", *map(str, modules)], plugins=[collector]
        )
    if code != pytest.ExitCode.OK:
        raise SystemExit(f"the tests cannot be collected: {said.getvalue()[-4000:]}")
    return collector.attacks


def page(attacks: Iterable[Attack]) -> str:
    """docs/attacks.md: a table a module, in the order of its tests."""
    by_module: dict[tuple[str, str], Counter[str]] = {}
    for attack in attacks:
        by_module.setdefault((attack.path, attack.title), Counter())[attack.text] += 1
    count = sum(rows.total() for rows in by_module.values())
    parts = [HEAD.format(count=count, renew=RENEW)]
    for (path, title), rows in sorted(by_module.items(), key=lambda item: item[0]):
        parts.append(f"## {_cell(title).rstrip('.')}\n\n[{path}](../{path}): {rows.total()}\n")
        lines = ["| what is done | what happens then | ways |", "| --- | --- | --- |"]
        for text, ways in rows.items():
            what, _, then = text.partition(": ")
            lines.append(f"| {_cell(what)} | {_cell(then)} | {ways} |")
        parts.append("\n".join(lines) + "\n")
    return "\n".join(parts)


def _cell(text: str) -> str:
    printable = "".join(char if char.isprintable() else " " for char in text)
    return re.sub(r"([|<>*_`\\])", r"\\\1", printable)
