"""Blocks of a document: HTML, Markdown and the terminal each have their way to show a block."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
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
class Judgement:
    """One requirement of a profile for one trial.

    Attributes:
        word: the verdict.
        name: of the requirement, as the profile's author wrote it.
        limit: the requirement as a formula.
        value: that was judged, with its interval; empty where nothing was measured.
        margin: what is left to the limit; empty if unknown.
        excess: by how much a limit is missed, or the interval that contains it; empty for the other verdicts.
        reason: why, and what would settle an open verdict.
    """

    word: str
    name: str
    limit: str
    value: str
    margin: str
    excess: str
    reason: str

    @property
    def text(self) -> str:
        """`latency per image ≤ 4.42 s: 0.883 ±0.025 s, 3.54 s to spare`; of a miss what it is over by."""
        margin = f", margin {self.margin}" if self.margin else ""
        if self.word == "fail" and self.margin:
            margin = f", {self.excess}"
        elif self.word == "pass" and self.margin.startswith("+"):
            margin = f", {self.margin[1:]} to spare"
        return f"{self.limit}: {self.value or 'not measured'}{margin}"

    @property
    def short(self) -> str:
        """`✓ +3.54 s`; without a margin the bound, or the word."""
        return f"{words.SYMBOLS[self.word]} {self.margin or self.excess or words.screen_word(self.word)}"


@dataclass(frozen=True)
class Standing:
    """One trial against one profile.

    Attributes:
        word: as in `words.STANDINGS`; `so far` where all that was measured passes and the rest is unknown.
        decided_by: the requirement that decides; None where no single one does.
        judgements: of all requirements, in the profile's order.
    """

    word: str
    decided_by: Judgement | None
    judgements: tuple[Judgement, ...]

    @property
    def short(self) -> str:
        """`✕ latency`, `○ so far`: the symbol, and what decides."""
        text = self.decided_by.name if self.decided_by else words.screen_word(self.word)
        return f"{words.STANDINGS[self.word]} {text}"


@dataclass(frozen=True)
class Row:
    """A trial: a text for each column of figures, and a standing for each profile, None where not judged."""

    name: str
    figures: tuple[str, ...]
    standings: tuple[Standing | None, ...]


LONGEST_WORD = 14
"""Characters of a heading that are never broken."""

_SCREEN, _WIDE_SCREEN = 150, 200  # characters side by side
_GAP = 2  # between two columns, in characters
_ROOMY_COLUMNS = 8
_ROOMY_NAME = 16  # characters


def _longest_word(texts: Iterable[str]) -> int:
    return min(LONGEST_WORD, max((len(word) for text in texts for word in text.split()), default=0))


@dataclass(frozen=True)
class Matrix:
    """Trials with their figures and their standing by each profile, the best first.

    Attributes:
        columns: of figures.
        profiles: the title of each profile, and its requirements as the explanation.
        rows: as many as are seen at once, of every target its best ones.
        folded: the others.
    """

    columns: tuple[Column, ...]
    profiles: tuple[Column, ...]
    rows: tuple[Row, ...]
    folded: tuple[Row, ...] = ()

    @property
    def roomy(self) -> bool:
        """True if names and figures need no second line on a wide screen."""
        few = len(self.columns) + len(self.profiles) <= _ROOMY_COLUMNS
        return few and all(len(row.name) <= _ROOMY_NAME for row in (*self.rows, *self.folded))

    @property
    def width(self) -> Literal["", "packed", "stacked"]:
        """Room for headings and verdicts: enough (empty), on wide screens (`packed`), on none (`stacked`)."""
        rows = (*self.rows, *self.folded)
        longest = [_longest_word([column.heading]) for column in self.columns]
        for at, profile in enumerate(self.profiles):
            standings = {words.screen_word(each.word) for row in rows if (each := row.standings[at])}
            longest.append(max(_longest_word([profile.heading]), *(len(word) + 2 for word in standings), 0))
        least = sum(each + _GAP for each in (_longest_word([row.name for row in rows]), *longest))
        return "" if least <= _SCREEN else "packed" if least <= _WIDE_SCREEN else "stacked"

    @cached_property
    def unknown(self) -> tuple[tuple[Judgement, ...], ...]:
        """Requirements, by profile, that are unknown for all of several trials for the same reason."""
        by_profile = []
        for at in range(len(self.profiles)):
            trials = [each.judgements for row in (*self.rows, *self.folded) if (each := row.standings[at])]
            shared = [each for each in trials[0] if each.word == "unknown"] if len(trials) > 1 else []
            by_profile.append(tuple(each for each in shared if all(each in trial for trial in trials)))
        return tuple(by_profile)

    @property
    def unknown_texts(self) -> list[str]:
        """`peak power ≤ 5 W unknown: no meter`, with the profiles where not all have it."""
        profiles = words.grouped(
            (f"{each.limit} unknown: {each.reason}", profile.heading)
            for profile, of_profile in zip(self.profiles, self.unknown, strict=True)
            for each in of_profile
        )
        return [
            text if len(of) == len(self.profiles) else f"{words.together(of)}: {text}"
            for text, of in profiles.items()
        ]

    @property
    def rest(self) -> str:
        """`92 more trials`."""
        return f"{words.counted(len(self.folded), 'more trial')}"


Block = Heading | Text | Notes | Plot | Fold | Command | Table | Matrix
"""Text in them comes from anywhere: the renderer escapes it."""
