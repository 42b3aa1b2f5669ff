"""What a document is made of: HTML, Markdown and the terminal each have their way to show a block."""

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
        """Of sentences that are of no trial; empty ones are left out."""
        return cls([Note(sentence) for sentence in sentences if sentence])


@dataclass(frozen=True)
class Plot:
    """The place of a plot; `name` as in `report.figure_files.pictures`, of which none may be there."""

    name: str
    profile: str = ""


@dataclass(frozen=True)
class Column:
    """A heading, what its cells hold (figures, one of the verdict words, or sentences), and what that is."""

    heading: str
    figures: bool = False
    verdict: bool = False
    long: bool = False
    about: str = ""


@dataclass(frozen=True)
class Table:
    """Rows of text under columns; the first cell of a row names it.

    Attributes:
        look: `facts` are a name and what it is, without headings; a `matrix` counts a class against another.
    """

    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[str, ...], ...]
    caption: str = ""
    look: Literal["rows", "facts", "matrix"] = "rows"


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
class Cell:
    """One requirement of one trial, or all of them together.

    Attributes:
        word: the verdict.
        formula: the requirement.
        margin: what is left to the limit, or the bound that alone is known; empty where there is neither.
        behind: the figure with its interval, and of power and energy what the meter covers.
        by: what would settle it; empty where it is settled, or nothing is known to.
        reason: why it is so.
        unit: of the margin, with its space.
    """

    word: str
    formula: str
    margin: str = ""
    behind: str = ""
    by: str = ""
    reason: str = ""
    unit: str = ""

    @property
    def short(self) -> str:
        """`✓ +1.40`, for below the unit; without a margin the word."""
        return f"{words.SYMBOLS[self.word]} {self.margin.removesuffix(self.unit) or self.word}"

    @property
    def text(self) -> str:
        """`✓ +1.40 s; 3.02 ±0.03 s`; without a margin the word."""
        behind = f"; {self.behind}" if self.behind else ""
        return f"{words.SYMBOLS[self.word]} {self.margin or self.word}{behind}"

    @property
    def hint(self) -> str:
        """Why it is so, and what would settle it."""
        return f"{self.reason}; to settle: {self.by}" if self.by else self.reason


@dataclass(frozen=True)
class Row:
    """A trial; None of a requirement that it was not judged by."""

    name: str
    whole: Cell
    cells: tuple[Cell | None, ...]


@dataclass(frozen=True)
class Asked:
    """A requirement: `image_s median`, `≤ 4.42 s`, and what would settle it wherever it is open.

    `by` is empty where it differs between trials, and where it is open of fewer than two of them.
    """

    quantity: str
    bound: str
    by: str
    formula: str


@dataclass(frozen=True)
class Matrix:
    """The trials of one profile, best first.

    Attributes:
        columns: the requirements, in the profile's order.
        rows: as many as are seen at once, of every target its best ones.
        folded: the others.
    """

    title: str
    columns: tuple[Asked, ...]
    rows: tuple[Row, ...]
    folded: tuple[Row, ...]

    @property
    def rest(self) -> str:
        """`The other 92 trials: 90 fail, 2 unknown`."""
        counts = {word: sum(row.whole.word == word for row in self.folded) for word in words.SYMBOLS}
        each = ", ".join(f"{count} {word}" for word, count in counts.items() if count)
        return f"The other {words.counted(len(self.folded), 'trial')}: {each}"


Block = Heading | Text | Notes | Plot | Fold | Command | Table | Matrix
"""Text in them comes from anywhere: what shows it escapes it."""
