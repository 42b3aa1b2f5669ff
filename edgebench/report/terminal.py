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
from edgebench.report.blocks import Block, Command, Fold, Heading, Matrix, Notes, Row, Table, Text

if TYPE_CHECKING:
    from edgebench.report.page import Front, Section


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

_INTERVAL = re.compile(r" ±\S+| \(\S+ to \S+\)|, (from|up to) \S+")
_GAP = 2  # between two columns of the matrix
_TABLE_GAP = 3  # between two columns of a table
_FOLDED = 10  # least width of a text that folds
_LONGEST_NAME = 28  # columns of a trial's or a profile's name, or of one of its words; longer ones fold


_Shown = tuple[list[str], list[str]]  # the lines of a heading, and the cells below it


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
                console.print(cell(console, text), soft_wrap=True)
            case Notes(notes):
                for note in notes:
                    line(console, note.line, indent=2)
            case Table():
                print_table(console, block)


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
    for heading, *signs in _LAYOUTS[:2] if has_words else _LAYOUTS:
        folded = _folded(table, heading, signs)
        if _least_width(folded) <= console.width:
            console.print(_rich_table(console, folded))
            return
    parts = list(_column_parts(table, console.width))
    if all(_least_width(part) <= console.width for part in parts):
        for number, part in enumerate(parts):
            if number:
                console.print()
            console.print(_rich_table(console, part))
        return
    for row in table.rows:
        console.print(cell(console, row[0], "bold"))
        for column, text in zip(table.columns[1:], row[1:], strict=True):
            lines(console, [f"{column.heading}: {text}" if text else ""], indent=4)


def _folded(table: Table, heading: int, signs: Sequence[str] = ()) -> Table:
    """The table with headings about as wide as `heading` or their cells; `signs` begin lines of their own."""
    rows = table.rows
    for sign in signs:
        rows = tuple(tuple(text.replace(f" {sign}", f"\n{sign}") for text in row) for row in rows)
    columns = []
    for at, column in enumerate(table.columns):
        width = max([heading, *(cell_len(line) for row in rows for line in row[at].split("\n"))])
        parts = [part for line in column.heading.split("\n") for part in wrapped(line, width)]
        columns.append(replace(column, heading="\n".join(parts)))
    return replace(table, columns=tuple(columns), rows=rows)


def _column_parts(table: Table, width: int) -> Iterator[Table]:
    """Tables of as many columns as there is room for, each with the names; one at least."""

    def part(places: Sequence[int]) -> Table:
        rows = tuple(tuple(row[at] for at in (0, *places)) for row in table.rows)
        columns = tuple(table.columns[at] for at in (0, *places))
        return _folded(replace(table, columns=columns, rows=rows), _NARROW)

    places: list[int] = []
    for at in range(1, len(table.columns)):
        if places and _least_width(part([*places, at])) > width:
            yield part(places)
            places = []
        places.append(at)
    yield part(places)


def _widths(table: Table, *, least: bool = False) -> list[int]:
    """Width of each column, or the `least` in which figures, verdicts and words are whole."""
    widths = []
    for at, column in enumerate(table.columns):
        rows = [
            line for text in (column.heading, *(row[at] for row in table.rows)) for line in text.split("\n")
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
    return sum(_widths(table, least=True)) + _TABLE_GAP * (len(table.columns) - 1)


def _text_widths(table: Table, width: int) -> list[int]:
    """Width of each column if texts share what figures and verdicts leave of `width`."""
    widths, least = _widths(table), _widths(table, least=True)
    texts = [at for at, column in enumerate(table.columns) if not (column.figures or column.verdict)]
    room = width - _TABLE_GAP * (len(widths) - 1) - sum(widths) + sum(widths[at] for at in texts)
    for number, at in enumerate(sorted(texts, key=lambda at: widths[at])):
        widths[at] = min(widths[at], max(least[at], room // (len(texts) - number)))
        room -= widths[at]
    return widths


def _rich_table(console: Console, table: Table) -> RichTable:
    """The table with its verdicts in their colours; figures are right-aligned and never folded."""
    style = box.ASCII if console.options.ascii_only else box.SIMPLE_HEAD
    shown = RichTable(box=style, pad_edge=False, show_edge=False, header_style="bold")
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
    rows = (*matrix.rows, *matrix.folded) if details else matrix.rows
    longest = max(cell_len(row.name) for row in rows)
    names = min(_LONGEST_NAME, longest, console.width // 2)
    room = console.width - names
    figures = [
        (wrapped(column.heading, 12), [row.figures[at] for row in rows])
        for at, column in enumerate(matrix.columns)
    ]
    standings = [
        [standing.short if (standing := row.standings[at]) else "" for row in rows]
        for at in range(len(matrix.profiles))
    ]
    for width in (14, 9):  # of a heading: narrow ones leave room for an interval
        headings = [wrapped(column.heading, width) for column in matrix.profiles]
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
        grid.add_row(cell(console, "\n".join(wrapped(row.name, names))), *texts)
    console.print(grid)
