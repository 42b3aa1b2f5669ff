"""Text and documents on the terminal: nothing wider than the console, made for 80 columns without colour."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import IO, TYPE_CHECKING

from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text as RichText

from edgebench.report import words
from edgebench.report.blocks import Block, Column, Command, Fold, Heading, Matrix, Notes, Row, Table, Text

if TYPE_CHECKING:
    from edgebench.report.page import Front, Section


# Where text meets the terminal: no markup, no control characters.


_ASCII = str.maketrans(
    {"±": "+-", "≤": "<=", "≥": ">=", "…": "...", "·": "-", "×": "x", "–": "-", "\ufffd": "?"}
    | {"✓": "P", "✕": "F", "≈": "~", "○": "o", "▲": "^", "▼": "v"}
    | dict(zip("▁▂▃▄▅▆▇█", "._-:=+*#", strict=True))
)

_UNBOUNDED = 10_000  # columns


def make_console(file: IO[str] | None = None) -> Console:
    """A console on stdout that obeys NO_COLOR, TERM=dumb and COLUMNS, and reads no markup in its text."""
    return Console(file=file or sys.stdout, markup=False, emoji=False, highlight=False, soft_wrap=False)


def cell(console: Console, text: str, style: str = "") -> RichText:
    """Text for this console: no markup, no control characters, plain ASCII where it takes nothing else."""
    cleaned = "\n".join(words.plain(line, 2000) for line in text.split("\n"))
    if console.options.ascii_only:
        cleaned = cleaned.translate(_ASCII).encode("ascii", "replace").decode("ascii")
    return RichText(cleaned, style=style, overflow="fold")


def line(console: Console, text: str, style: str = "", indent: int = 0) -> None:
    """One paragraph, wrapped to the console, its continuation lines indented."""
    width = max(8, console.width - indent)
    wrapped = cell(console, text, style).wrap(console, width, overflow="fold")
    for number, part in enumerate(wrapped):
        part.rstrip()
        console.print(RichText(" " * (indent if number else max(0, indent - 2))) + part)


def lines(console: Console, texts: Iterable[str], indent: int = 0) -> None:
    """A paragraph for each text; an empty text is left out."""
    for text in filter(None, texts):
        line(console, text, indent=indent)


def new_table(console: Console, columns: Sequence[tuple[str, bool]]) -> RichTable:
    """A plain table; each column a heading and whether it holds figures (right-aligned, never folded)."""
    style = box.ASCII if console.options.ascii_only else box.SIMPLE_HEAD
    table = RichTable(box=style, pad_edge=False, show_edge=False, header_style="bold")
    for heading, is_figure in columns:
        table.add_column(
            cell(console, heading),
            justify="right" if is_figure else "left",
            no_wrap=is_figure,
            overflow="fold",
            vertical="top",
        )
    return table


def fits(console: Console, table: RichTable) -> bool:
    """Whether all of a table's columns can be shown in full."""
    measured = console.measure(table, options=console.options.update(max_width=_UNBOUNDED))
    return measured.maximum <= console.width


# Documents.


STYLES = {
    "✓": "green", "○": "blue", "✕": "bold red", "≈": "yellow", "?": "magenta", "▲": "green", "▼": "bold red",
}  # fmt: skip
"""Colours of verdicts and of comparisons, by the symbol before the word."""

_FOLDS: tuple[tuple[str, ...], ...] = ((), ("(",), ("(", "±"))
"""What a second line of a figure begins with, the roomiest layout first."""

_INTERVAL = re.compile(r" ±\S+| \(\S+ to \S+\)|, (from|up to) \S+")
_GAP = 2  # between two columns
_FOLDED = 10  # columns of a text that folds
_LONGEST_NAME = 28  # of a trial or a profile, in columns; a longer one folds


def print_front(console: Console, front: Front, *, details: bool = False) -> None:
    """Print title, machines, decisions, what is missing or disturbed, and the matrix.

    `details` prints all of its rows.
    """
    line(console, front.title, "bold")
    about = [front.subtitle, *front.machines]
    for text in [" · ".join(about)] if len(about) == 2 else about:
        line(console, text, "dim")
    for answer in front.answers:
        line(console, f"{answer.title}: {answer.text()}", indent=2)
    for fact in front.lines:
        command = f"Run it again with {fact.added}" if fact.added else f"Run: {fact.command}"
        line(console, " ".join([f"{fact.label}:", fact.text, *([command] if fact.command else [])]), indent=2)
    if front.matrix.rows:
        _print_matrix(console, front.matrix, details)


def print_sections(console: Console, sections: Iterable[Section]) -> None:
    """Print everything below the matrix."""
    for section in sections:
        console.print()
        line(console, f"{section.title}: {section.gist}" if section.gist else section.title, "bold underline")
        print_blocks(console, section.blocks, opened=True)


def print_blocks(console: Console, blocks: Iterable[Block], *, opened: bool = False) -> None:
    """Print blocks below each other; nothing is wider than the console. Of a fold its title, or all of it."""
    for number, block in enumerate(blocks):
        match block:
            case Heading(text):
                if number:
                    console.print()
                line(console, text, "bold")
            case Text(text):
                line(console, text, indent=2)
            case Fold(title, tables):
                line(console, title, "bold" if opened else "", indent=2)
                for table in tables if opened else ():
                    if table.title != title:
                        line(console, table.title, indent=2)
                    print_table(console, table)
            case Command(text):
                console.print(cell(console, text), soft_wrap=True)
            case Notes(notes):
                for note in notes:
                    line(console, note.line, indent=2)
            case Table():
                print_table(console, block)


def print_table(console: Console, table: Table) -> None:
    """Print a table; sentences fold, figures never do.

    Where figures are too wide the ends of their intervals stand on a second line, else every row is a block
    of lines. A figure is never cut: what is left of 0.307 would be read as another one.
    """
    if table.look == "facts":
        grid = RichTable.grid(padding=(0, 2, 0, 0))
        for row in table.rows:
            grid.add_row(*(cell(console, text) for text in row))
        console.print(grid)
        return
    has_words = any(column.long for column in table.columns)
    for folds in _FOLDS[:1] if has_words else _FOLDS:
        shown = _rich_table(console, table, folds)
        if _least_width(table) <= console.width if has_words else fits(console, shown):
            console.print(shown)
            return
    for row in table.rows:
        console.print(cell(console, row[0], "bold"))
        for column, text in zip(table.columns[1:], row[1:], strict=True):
            lines(console, [f"{column.heading}: {text}" if text else ""], indent=4)


def _least_width(table: Table) -> int:
    """In which it can be read: figures and verdicts in full, and some words of what folds."""
    width = 0
    for at, column in enumerate(table.columns):
        texts = (column.heading, *(row[at] for row in table.rows))
        longest = max(cell_len(line) for text in texts for line in text.split("\n"))
        width += _GAP + (longest if column.figures or column.verdict else min(longest, _FOLDED))
    return width - _GAP


def _rich_table(console: Console, table: Table, folds: Sequence[str]) -> RichTable:
    """The table with its verdicts in their colours."""
    headings = [column.heading.replace(" ", "\n", 1) if folds else column.heading for column in table.columns]
    kinds = [column.figures for column in table.columns]
    shown = new_table(console, list(zip(headings, kinds, strict=True)))
    for column, of_rich in zip(table.columns, shown.columns, strict=True):
        of_rich.no_wrap = column.figures or column.verdict
    for row in table.rows:
        styles = [
            STYLES.get(text[:1], "") if column.verdict else ""
            for column, text in zip(table.columns, row, strict=True)
        ]
        for sign in folds:
            row = tuple(text.replace(f" {sign}", f"\n{sign}") for text in row)
        shown.add_row(*(cell(console, text, style) for text, style in zip(row, styles, strict=True)))
    return shown


_Shown = tuple[list[str], list[str]]  # the lines of a heading, and the cells below it


def _print_matrix(console: Console, matrix: Matrix, details: bool) -> None:
    """Print it: with the first intervals that fit, else the figures; profiles without room come below.

    No cell is cut, and every part begins with the trials' names.
    """
    rows = (*matrix.rows, *matrix.folded) if details else matrix.rows
    longest = max(cell_len(row.name) for row in rows)
    names = min(_LONGEST_NAME, longest, console.width // 2)
    room = console.width - names
    figures = [
        (_heading(column, 12), [row.figures[at] for row in rows]) for at, column in enumerate(matrix.columns)
    ]
    standings = [
        [standing.short if (standing := row.standings[at]) else "" for row in rows]
        for at in range(len(matrix.profiles))
    ]
    for width in (14, 9):  # of a heading: narrow ones leave room for an interval
        headings = [_heading(column, width) for column in matrix.profiles]
        profiles = list(zip(headings, standings, strict=True))
        if _width([*figures, *profiles]) <= room:
            break
    # The first figure, which decides most, keeps its interval longest.
    for least in (1, 0):
        for at in reversed(range(least, len(figures))):
            if _width([*figures, *profiles]) > room:
                heading, cells = figures[at]
                figures[at] = (heading, list(map(_alone, cells)))
        while len(figures) > 1 + least and _width([*figures, *profiles]) > room:
            figures.pop()
    for number, part in enumerate(_parts([*figures, *profiles], room)):
        if number:
            console.print()
        _print_part(console, names, rows, part)
    if matrix.folded and not details:
        line(console, f"{matrix.rest} with --details.")


def _heading(column: Column, width: int) -> list[str]:
    """The words of a heading in lines of about that width."""
    lines: list[str] = []
    for word in column.heading.split():
        if lines and cell_len(f"{lines[-1]} {word}") <= width:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    return lines


def _alone(text: str) -> str:
    """A figure without its interval, in three digits."""
    alone = _INTERVAL.sub("", text)
    return words.number(text.value) if isinstance(text, words.FigureText) and alone != text else alone


def _width(columns: Sequence[_Shown]) -> int:
    return sum(max(map(cell_len, [*heading, *cells]), default=0) + _GAP for heading, cells in columns)


def _parts(columns: Sequence[_Shown], room: int) -> Iterator[list[_Shown]]:
    """As many columns a part as there is room for; one at least."""
    part: list[_Shown] = []
    for column in columns:
        if part and _width([*part, column]) > room:
            yield part
            part = []
        part.append(column)
    yield part


def _print_part(console: Console, names: int, rows: Sequence[Row], part: Sequence[_Shown]) -> None:
    grid = RichTable.grid(padding=(0, _GAP, 0, 0))
    grid.add_column(width=names, overflow="fold")
    for _, cells in part:
        is_figure = not any(text[:1] in STYLES for text in cells)
        grid.add_column(justify="right" if is_figure else "left", no_wrap=is_figure, overflow="fold")
    grid.add_row("", *(cell(console, "\n".join(heading), "bold") for heading, _ in part))
    for at, row in enumerate(rows):
        texts = (cell(console, cells[at], STYLES.get(cells[at][:1], "")) for _, cells in part)
        grid.add_row(cell(console, row.name), *texts)
    console.print(grid)
