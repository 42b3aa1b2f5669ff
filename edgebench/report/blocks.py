"""What a document is made of: HTML, Markdown and the terminal each have their way to show a block."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from edgebench.report.notes import Note
from edgebench.report.tables import Table
from edgebench.report.verdict_matrix import Matrix


@dataclass(frozen=True)
class Heading:
    """Above the blocks that follow it in a section."""

    text: str


@dataclass(frozen=True)
class Text:
    """A paragraph."""

    text: str


@dataclass(frozen=True)
class Notes:
    """A list of sentences."""

    notes: Sequence[Note]

    @classmethod
    def of(cls, sentences: Iterable[str]) -> Notes:
        """Of sentences that are of no trial."""
        return cls([Note(sentence) for sentence in sentences])


@dataclass(frozen=True)
class Plot:
    """The place of a plot; `name` as in `report.figure_files.pictures`, of which none may be there."""

    name: str
    profile: str = ""


@dataclass(frozen=True)
class Fold:
    """A table that is seen when its title is chosen."""

    title: str
    tables: Sequence[Table]


@dataclass(frozen=True)
class Command:
    """A line for a shell."""

    text: str


Block = Heading | Text | Notes | Plot | Fold | Command | Table | Matrix
"""Text in them comes from anywhere: what shows it escapes it."""
