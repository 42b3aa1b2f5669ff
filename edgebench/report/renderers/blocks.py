"""Blocks of a document: HTML, Markdown and the terminal each have their way to show a block."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from edgebench.report import words


@dataclass(frozen=True)
class Heading:
    """Above the blocks that follow it in a section."""

    text: str


@dataclass(frozen=True)
class Text:
    """A paragraph."""

    text: str


@dataclass(frozen=True)
class Note:
    """A sentence and the trials that it holds for.

    Attributes:
        text: the sentence; where the trials' figures differ, it has their range.
        who: the trials, counted and named as far as they fit; empty where it is of no trial.
        each: (names, own words) of all trials where `who` does not name them all or their words differ
            from the sentence; the words are empty where they are the sentence's.
    """

    text: str
    who: str = ""
    each: tuple[tuple[str, str], ...] = ()

    @property
    def line(self) -> str:
        """Trials and sentence."""
        return f"{self.who}: {self.text}" if self.who else self.text


@dataclass(frozen=True)
class Notes:
    """A list of sentences."""

    notes: Sequence[Note]

    @classmethod
    def of(cls, sentences: Iterable[str]) -> Notes:
        """Sentences without trials; empty ones are left out."""
        return cls([Note(sentence) for sentence in sentences if sentence])


@dataclass(frozen=True)
class Plot:
    """The place of a plot; `name` as in `report.plots.pictures.pictures`; it may be missing."""

    name: str
    profile: str = ""


@dataclass(frozen=True)
class Column:
    """Heading of a column, and the kind of its cells: numbers, verdict words, or sentences.

    Attributes:
        about: description of the numbers.
        numbers: numbers of the cells, by which the column sorts; empty where their texts say enough.
    """

    heading: str
    figures: bool = False
    verdict: bool = False
    long: bool = False
    about: str = ""
    numbers: tuple[float | None, ...] = ()

    def sort_value(self, row: int, text: str) -> str:
        """Number by which a cell sorts, as text; empty where it has none."""
        if not self.numbers:
            return words.sort_value(text)
        number = self.numbers[row]
        return "" if number is None else repr(float(number))


@dataclass(frozen=True)
class Table:
    """Rows of text under columns; the first cell of a row names it.

    Attributes:
        look: `facts` are a name and what it is, without headings; a `matrix` counts a class against another;
            `plain` has no rule below the headings.
    """

    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[str, ...], ...]
    caption: str = ""
    look: Literal["rows", "facts", "matrix", "plain"] = "rows"

    @classmethod
    def of_columns(
        cls, title: str, heading: str, names: Sequence[str], columns: Iterable[tuple[Column, Sequence[str]]]
    ) -> Table:
        """Table of columns with their cells, one per name; `heading` is that of the names."""
        columns = list(columns)
        rows = zip(names, *(texts for _, texts in columns), strict=True)
        return cls(title, (Column(heading), *(column for column, _ in columns)), tuple(rows))


def of_figures(name: str, *headings: str) -> tuple[Column, ...]:
    """A column of names, and one of figures for each heading."""
    return (Column(name), *(Column(heading, figures=True) for heading in headings))


def facts(title: str, rows: Iterable[tuple[str, str]]) -> Table:
    """A table of names and what they are."""
    return Table(title, (Column("fact"), Column("value", long=True)), tuple(rows), look="facts")


@dataclass(frozen=True)
class Fold:
    """A table that is seen when its title is chosen."""

    title: str
    tables: Sequence[Table]


@dataclass(frozen=True)
class Command:
    """A line for a shell, or a path: it is never broken."""

    text: str


@dataclass(frozen=True)
class Section:
    """Part of a report that is closed until it is opened; `gist` sums it up in one line."""

    anchor: str
    title: str
    gist: str
    blocks: Sequence[Block]


Block = Heading | Text | Notes | Plot | Fold | Command | Table
"""Text in them comes from anywhere: the renderer escapes it."""
