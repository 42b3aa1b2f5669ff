"""Documents on the terminal, made to read well at 80 columns and without colour."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table as RichTable

from edgebench.report.blocks import Block, Cell, Command, Fold, Heading, Matrix, Notes, Table, Text
from edgebench.report.console import cell, fits, line, new_table

STYLES = {"✓": "green", "✕": "bold red", "≈": "yellow", "?": "magenta", "▲": "green", "▼": "bold red"}
"""Colours of verdicts and of comparisons, by the symbol before the word."""

_FOLDS: tuple[tuple[str, ...], ...] = ((), ("(",), ("(", "±"))
"""What a second line of a figure begins with, the roomiest layout first."""

_GAP = 3  # between two columns
_LONGEST_NAME = 28  # of a trial or target, in columns; a longer one folds


def print_blocks(console: Console, blocks: Iterable[Block]) -> None:
    """Print blocks below each other; nothing is wider than the console."""
    for number, block in enumerate(blocks):
        match block:
            case Heading(text):
                if number:
                    console.print()
                line(console, text, "bold")
            case Text(text) | Fold(text):
                line(console, text, indent=2)
            case Command(text):
                console.print(cell(console, text), soft_wrap=True)
            case Notes(notes):
                for note in notes:
                    line(console, note.line, indent=2)
            case Matrix():
                _print_matrix(console, block)
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
    has_words = any(column.long or column.verdict for column in table.columns)
    for folds in _FOLDS[:1] if has_words else _FOLDS:
        shown = _rich_table(console, table, folds)
        if has_words or fits(console, shown):
            console.print(shown)
            return
    for row in table.rows:
        console.print(cell(console, row[0], "bold"))
        for column, text in zip(table.columns[1:], row[1:], strict=True):
            line(console, f"{column.heading}: {text}", indent=4)


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


_MatrixColumn = tuple[str, Sequence[Cell | None]]


def _print_matrix(console: Console, matrix: Matrix) -> None:
    """Print it; columns that have no room stand in parts below each other.

    Every part begins with the trials' names, so that no cell is cut and none is read in another's row.
    """
    names = min(_LONGEST_NAME, max((cell_len(row.name) for row in matrix.rows), default=0))
    columns: list[_MatrixColumn] = [("all\ntogether", [row.whole for row in matrix.rows])]
    for at, column in enumerate(matrix.columns):
        heading = "\n".join([*column.quantity.split(" ", 1), column.bound.replace(" x ", "\nx ")])
        columns.append((heading, [row.cells[at] for row in matrix.rows]))
    for part in _parts(columns, console.width - names):
        table = new_table(console, [("", False), *((heading, False) for heading, _ in part)])
        table.columns[0].width = table.columns[0].max_width = min(names, console.width // 2)
        for at, row in enumerate(matrix.rows):
            of_row = [cells[at] for _, cells in part]
            texts = (cell(console, each.short, STYLES[each.short[0]]) if each else "" for each in of_row)
            table.add_row(cell(console, row.name), *texts)
        console.print(table)
    if matrix.folded:
        line(console, f"{matrix.rest}.", indent=2)


def _parts(columns: Sequence[_MatrixColumn], room: int) -> Iterator[list[_MatrixColumn]]:
    """As many columns a part as there is room for beside the names; one at least."""
    part: list[_MatrixColumn] = []
    taken = 0
    for heading, cells in columns:
        texts = [*heading.split("\n"), *(each.short for each in cells if each)]
        width = max(map(cell_len, texts)) + _GAP
        if part and taken + width > room:
            yield part
            part, taken = [], 0
        part.append((heading, cells))
        taken += width
    yield part
