"""Text and documents on the terminal: nothing wider than the console, made for 80 columns without colour."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import IO, TYPE_CHECKING

from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text as RichText

from edgebench.report import words
from edgebench.report.renderers.blocks import (
    Block,
    Column,
    Command,
    Fold,
    Heading,
    Notes,
    Section,
    Table,
    Text,
)

if TYPE_CHECKING:
    from edgebench.report.matrix import Matrix
    from edgebench.report.page import FirstScreen


# Where text meets the terminal: no markup, no control characters.


_ASCII = str.maketrans(
    {"±": "+-", "≤": "<=", "≥": ">=", "…": "...", "·": "-", "×": "x", "–": "-", "\ufffd": "?"}
    | {"✓": "P", "✕": "F", "≈": "~", "○": "o", "▲": "^", "▼": "v"}
    | dict(zip("▁▂▃▄▅▆▇█", "._-:=+*#", strict=True))
)

_BREAK = re.compile(r"(?<=\s)(?=\S)|(?<=\w-)(?=\w)")
"""Places where a name or a heading may continue on the next line: after blanks and hyphens."""


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
    parts = cell(console, text, style).wrap(console, width, overflow="fold")
    for number, part in enumerate(parts):
        part.rstrip()
        console.print(RichText(" " * (indent if number else max(0, indent - 2))) + part)


def lines(console: Console, texts: Iterable[str], indent: int = 0, style: str = "") -> None:
    """A paragraph for each text; an empty text is left out."""
    for text in filter(None, texts):
        line(console, text, style, indent)


def wrapped(text: str, width: int) -> list[str]:
    """Lines of at most `width` columns, where its words allow that: no word is cut."""
    lines = [""]
    for word in _BREAK.split(text):
        if lines[-1] and cell_len((lines[-1] + word).rstrip()) > width:
            lines.append(word)
        else:
            lines[-1] += word
    return [line.rstrip() for line in lines]


# Documents.


STYLES = {
    "✓": "green", "○": "blue", "✕": "bold red", "≈": "yellow", "?": "magenta", "▲": "green", "▼": "bold red",
}  # fmt: skip
"""Colours of verdicts and of comparisons, by the symbol before the word."""

_NARROW = 6
_LAYOUTS: tuple[tuple[int, *tuple[str, ...]], ...] = ((16,), (_NARROW,), (_NARROW, "("), (_NARROW, "(", "±"))
"""Columns of a heading above narrower cells, and what begins a figure's second line; the roomiest first."""

_GAPS = {"plain": 2, "rows": 3, "matrix": 3}  # between two columns of a table, by its look
_FOLDED = 10  # least width of a text that folds
_LONGEST_NAME = 28  # columns of a trial's or a profile's name, or of one of its words; longer ones fold


def print_first_screen(console: Console, screen: FirstScreen, *, details: bool = False) -> None:
    """Print title, machines, decisions, facts and the matrix; `details` prints all of its rows."""
    line(console, screen.title, "bold")
    lines = [screen.subtitle, *screen.machines]
    for text in [" · ".join(lines)] if len(lines) == 2 else lines:
        line(console, text, "dim")
    for answer in screen.answers:
        line(console, f"{answer.title}: {answer.text()}", indent=2)
    for fact in screen.facts:
        command = f" Run it again with {fact.added}" if fact.added else " Run:" if fact.command else ""
        line(console, f"{fact.label}: {fact.text}{command}", indent=2)
        if fact.command and not fact.added:
            print_command(console, fact.command)
    if screen.matrix.rows:
        _print_matrix(console, screen.matrix, details)


def print_sections(console: Console, sections: Iterable[Section]) -> None:
    """Print everything below the matrix."""
    for section in sections:
        console.print()
        lines(console, [": ".join(filter(None, [section.title, section.gist]))], style="bold underline")
        print_blocks(console, section.blocks)


def print_blocks(console: Console, blocks: Iterable[Block]) -> None:
    """Print blocks below each other, of a fold its title; nothing is wider than the console."""
    for number, block in enumerate(blocks):
        match block:
            case Heading(text):
                if number:
                    console.print()
                line(console, text, "bold")
            case Text(text):
                line(console, text, indent=2)
            case Fold(title):
                line(console, title, indent=2)
            case Command(text):
                print_command(console, text)
            case Notes(notes):
                for note in notes:
                    line(console, note.line, indent=2)
            case Table():
                print_table(console, block)


def print_command(console: Console, command: str) -> None:
    """Print a command on one line of its own, however long it is, so that it can be copied."""
    console.print(cell(console, command), soft_wrap=True)


def print_table(console: Console, table: Table) -> None:
    """Print a table; names and sentences fold between words, figures never do.

    A table that is too wide has the ends of its intervals on a second line, else its columns are printed in
    parts that begin with the names. Columns without room for a figure become lines: what is left of a figure
    that was cut, such as 0.307, would be read as another one.
    """
    if table.look == "facts":
        grid = RichTable.grid(padding=(0, 2, 0, 0))
        for row in table.rows:
            grid.add_row(*(cell(console, text) for text in row))
        console.print(grid)
        return
    has_words = any(column.long for column in table.columns)
    layouts = (_folded(table, heading, signs) for heading, *signs in _LAYOUTS[: 2 if has_words else None])
    if _print_parts(console, layouts, table):
        return
    for row in table.rows:
        console.print(cell(console, row[0], "bold"))
        for column, text in zip(table.columns[1:], row[1:], strict=True):
            lines(console, [f"{column.heading}: {text}" if text else ""], indent=4)


def _print_parts(console: Console, layouts: Iterable[Table], table: Table, *, always: bool = False) -> bool:
    """Print the first layout that fits, else parts of the table; False if no part fits, unless `always`."""
    fitting = (layout for layout in layouts if _least_width(layout) <= console.width)
    parts = [layout] if (layout := next(fitting, None)) else list(_column_parts(table, console.width))
    if not always and any(_least_width(part) > console.width for part in parts):
        return False
    for number, part in enumerate(parts):
        if number:
            console.print()
        console.print(_rich_table(console, part))
    return True


def _folded(table: Table, heading: int, signs: Sequence[str] = ()) -> Table:
    """The table with headings about as wide as `heading` or their cells; `signs` begin lines of their own."""
    rows = table.rows
    for sign in signs:
        rows = tuple(tuple(text.replace(f" {sign}", f"\n{sign}") for text in row) for row in rows)
    columns = []
    for place, column in enumerate(table.columns):
        width = max([heading, *(cell_len(line) for row in rows for line in row[place].split("\n"))])
        parts = [part for line in column.heading.split("\n") for part in wrapped(line, width)]
        columns.append(replace(column, heading="\n".join(parts)))
    return replace(table, columns=tuple(columns), rows=rows)


def _column_parts(table: Table, width: int) -> Iterator[Table]:
    """Tables of as many columns as there is room for, each with the names; one at least."""

    def part(places: Sequence[int]) -> Table:
        rows = tuple(tuple(row[place] for place in (0, *places)) for row in table.rows)
        columns = tuple(table.columns[place] for place in (0, *places))
        return _folded(replace(table, columns=columns, rows=rows), _NARROW)

    places: list[int] = []
    for place in range(1, len(table.columns)):
        if places and _least_width(part([*places, place])) > width:
            yield part(places)
            places = []
        places.append(place)
    yield part(places)


def _widths(table: Table, *, least: bool = False) -> list[int]:
    """Width of each column, or the `least` in which figures, verdicts and words are whole."""
    widths = []
    for place, column in enumerate(table.columns):
        rows = [
            line
            for text in (column.heading, *(row[place] for row in table.rows))
            for line in text.split("\n")
        ]
        longest = max(map(cell_len, rows))
        if least and not (column.figures or column.verdict):
            words_in = [cell_len(word.strip()) for line in rows for word in _BREAK.split(line)]
            enough = max(_FOLDED, *words_in) if column.long else longest
            longest = min(longest, enough, _LONGEST_NAME)
        widths.append(longest)
    return widths


def _least_width(table: Table) -> int:
    """Least width in which figures, verdicts and the words of names are whole."""
    return sum(_widths(table, least=True)) + _GAPS[table.look] * (len(table.columns) - 1)


def _text_widths(table: Table, width: int) -> list[int]:
    """Width of each column if texts share what figures and verdicts leave of `width`."""
    widths, least = _widths(table), _widths(table, least=True)
    texts = [place for place, column in enumerate(table.columns) if not (column.figures or column.verdict)]
    room = width - _GAPS[table.look] * (len(widths) - 1) - sum(widths) + sum(widths[place] for place in texts)
    for number, place in enumerate(sorted(texts, key=lambda place: widths[place])):
        widths[place] = min(widths[place], max(least[place], room // (len(texts) - number)))
        room -= widths[place]
    return widths


def _rich_table(console: Console, table: Table) -> RichTable:
    """The table with its verdicts in their colours; figures are right-aligned and never folded."""
    rules = box.ASCII if console.options.ascii_only else box.SIMPLE_HEAD
    shown = RichTable(box=rules, pad_edge=False, show_edge=False, header_style="bold")
    if table.look == "plain":
        shown.box, shown.padding = None, (0, _GAPS["plain"], 0, 0)
    for column in table.columns:
        shown.add_column(
            cell(console, column.heading),
            justify="right" if column.figures else "left",
            no_wrap=column.figures or column.verdict,
            overflow="fold",
            vertical="top",
        )
    widths = _text_widths(table, console.width)
    for row in table.rows:
        cells = []
        for column, text, width in zip(table.columns, row, widths, strict=True):
            parts = [part for line in text.split("\n") for part in wrapped(line, width)]
            style = STYLES.get(text[:1], "") if column.verdict else ""
            cells.append(cell(console, "\n".join(parts), style))
        shown.add_row(*cells)
    return shown


def _print_matrix(console: Console, matrix: Matrix, details: bool) -> None:
    """Print it: with the first intervals that fit, else the figures; profiles without room come below.

    No cell is cut, and every part begins with the trials' names.
    """
    profiles = tuple(replace(column, verdict=True) for column in matrix.profiles)
    count = len(matrix.columns)
    # The first estimate, which decides most, keeps its interval longest.
    choices = [(kept, count) for kept in range(count, 0, -1)]
    choices += [(1, shown) for shown in range(count - 1, 1, -1)]
    tables = []
    for intervals, shown in (*choices, (0, min(count, 2)), (0, min(count, 1))):
        rows = tuple(
            (
                row.name,
                *(cell.text for cell in row.estimates[: min(intervals, shown)]),
                *(cell.value for cell in row.estimates[intervals:shown]),
                *(cell.short if cell else "" for cell in row.profiles),
            )
            for row in (matrix.all_rows if details else matrix.rows)
        )
        tables.append(Table("", (Column(""), *matrix.columns[:shown], *profiles), rows, look="plain"))
    layouts = (_folded(table, width) for table in tables for width in (14, 9))
    _print_parts(console, layouts, tables[-1], always=True)
    if matrix.folded and not details:
        line(console, f"{matrix.rest} with --details.")
