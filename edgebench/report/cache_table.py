"""What `edgebench cache` prints: the kinds of files in the cache, and what was removed."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rich.console import Console

from edgebench.cache.contents import KINDS, KindTotal
from edgebench.report import words
from edgebench.report.console import cell, line, new_table
from edgebench.report.model_tables import write_json


def print_cache(
    console: Console, root: Path, kinds: Sequence[KindTotal], others: Sequence[str], *, as_json: bool = False
) -> None:
    """Print the kinds of files with their number, size and last use; `others` are names of foreign files."""
    if as_json:
        write_json(
            console,
            {
                "folder": str(root),
                **_sum(kinds),
                "kinds": _rows(kinds),
                "not_of_the_cache": list(others),
            },
        )
        return
    line(console, f"{root}: {_counted(kinds)}")
    _table(console, kinds)
    _print_others(console, others)
    if kinds:
        line(console, "remove it with `edgebench cache clean` (--older-than 30d, --dry-run)")


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
        write_json(
            console,
            {
                "folder": str(root),
                "dry_run": dry_run,
                "removed": _sum(removed) | {"kinds": _rows(removed)},
                "left": _sum(left) | {"kinds": _rows(left)},
                "not_of_the_cache": list(others),
            },
        )
        return
    line(console, f"{root}: {'would remove' if dry_run else 'removed'} {_counted(removed)}")
    _table(console, removed)
    line(console, f"{'would be left' if dry_run else 'left'}: {_counted(left)}")
    _print_others(console, others)


def _table(console: Console, kinds: Sequence[KindTotal]) -> None:
    if not kinds:
        return
    table = new_table(
        console, [("kind", False), ("what", False), ("files", True), ("size", True), ("last used", True)]
    )
    for total in kinds:
        used = datetime.fromtimestamp(total.last_used_s).strftime("%Y-%m-%d")
        row = (total.kind, KINDS.get(total.kind, ""), str(total.files), words.size(total.size_bytes), used)
        table.add_row(*(cell(console, text) for text in row))
    console.print(table)


def _print_others(console: Console, others: Sequence[str]) -> None:
    if others:
        line(console, f"not of the cache, and never touched: {', '.join(map(_displayable, others))}")


def _displayable(name: str) -> str:
    return name if name.isprintable() else ascii(name)


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
            "what": KINDS.get(total.kind, ""),
            "files": total.files,
            "size_bytes": total.size_bytes,
            "last_used_utc": datetime.fromtimestamp(total.last_used_s, UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        }
        for total in kinds
    ]
