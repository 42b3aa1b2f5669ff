"""Where text meets the terminal: no markup, no control characters, nothing wider than the console."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from typing import IO

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from edgebench.report import words

_ASCII = str.maketrans(
    {"±": "+-", "≤": "<=", "≥": ">=", "…": "...", "·": "-", "×": "x", "–": "-", "\ufffd": "?"}
    | {"✓": "P", "✕": "F", "≈": "~", "○": "o", "▲": "^", "▼": "v"}
    | dict(zip("▁▂▃▄▅▆▇█", "._-:=+*#", strict=True))
)

_UNBOUNDED = 10_000  # columns


def make_console(file: IO[str] | None = None) -> Console:
    """A console on stdout that obeys NO_COLOR, TERM=dumb and COLUMNS, and reads no markup in its text."""
    return Console(file=file or sys.stdout, markup=False, emoji=False, highlight=False, soft_wrap=False)


def cell(console: Console, text: str, style: str = "") -> Text:
    """Text for this console: no markup, no control characters, plain ASCII where it takes nothing else."""
    cleaned = "\n".join(words.plain(line, 2000) for line in text.split("\n"))
    if console.options.ascii_only:
        cleaned = cleaned.translate(_ASCII).encode("ascii", "replace").decode("ascii")
    return Text(cleaned, style=style, overflow="fold")


def line(console: Console, text: str, style: str = "", indent: int = 0) -> None:
    """One paragraph, wrapped to the console, its continuation lines indented."""
    width = max(8, console.width - indent)
    wrapped = cell(console, text, style).wrap(console, width, overflow="fold")
    for number, part in enumerate(wrapped):
        part.rstrip()
        console.print(Text(" " * (indent if number else max(0, indent - 2))) + part)


def lines(console: Console, texts: Iterable[str], indent: int = 0) -> None:
    """A paragraph for each text; an empty text is left out."""
    for text in filter(None, texts):
        line(console, text, indent=indent)


def new_table(console: Console, columns: Sequence[tuple[str, bool]]) -> Table:
    """A plain table; each column a heading and whether it holds figures (right-aligned, never folded)."""
    style = box.ASCII if console.options.ascii_only else box.SIMPLE_HEAD
    table = Table(box=style, pad_edge=False, show_edge=False, header_style="bold")
    for heading, is_figure in columns:
        table.add_column(
            cell(console, heading),
            justify="right" if is_figure else "left",
            no_wrap=is_figure,
            overflow="fold",
            vertical="top",
        )
    return table


def fits(console: Console, table: Table) -> bool:
    """Whether all of a table's columns can be shown in full."""
    measured = console.measure(table, options=console.options.update(max_width=_UNBOUNDED))
    return measured.maximum <= console.width
