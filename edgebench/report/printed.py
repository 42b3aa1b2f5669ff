"""What a printed report holds, block by block: the texts, tables and figures of the page, in its order.

PDF and LaTeX are made of it. Nothing is folded away, as nobody can unfold paper.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from edgebench.fit.judged_experiment import Judged
from edgebench.fit.verdict import WORDS
from edgebench.report import verdict_groups, words
from edgebench.report.captioned_figures import pictures
from edgebench.report.captioned_limits import limits_picture
from edgebench.report.figure_files import FIGURE_NAMES, profile_slugs
from edgebench.report.mission_pages import mission_picture
from edgebench.report.notes import Note
from edgebench.report.page import texts
from edgebench.report.picture import Picture
from edgebench.report.tables import Table
from edgebench.report.trial_matrix import Cell as MatrixCell
from edgebench.report.trial_matrix import Matrix

VERDICT_COLOURS = {"pass": "00664b", "fail": "a8330a", "inconclusive": "6b4c00", "unknown": "555555"}
"""Of a verdict's text on white paper, RRGGBB by its word."""


@dataclass(frozen=True)
class Heading:
    """A heading; level 1 begins a section."""

    text: str
    level: int


@dataclass(frozen=True)
class Paragraph:
    """A paragraph; `kind` says how it stands out."""

    text: str
    kind: str = ""  # answer, quiet


@dataclass(frozen=True)
class Bullets:
    """A list."""

    items: tuple[str, ...]


@dataclass(frozen=True)
class Terms:
    """Terms, each with what it means."""

    rows: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Command:
    """What was typed."""

    text: str


@dataclass(frozen=True)
class Cell:
    """The text of a cell; where it is a verdict, its word, by which it is coloured."""

    text: str
    word: str = ""


@dataclass(frozen=True)
class PrintedTable:
    """Cells under headings; the first cell of a row names it.

    Attributes:
        figures: by column, whether it holds figures, which are set to the right.
    """

    caption: str
    headings: tuple[str, ...]
    figures: tuple[bool, ...]
    rows: tuple[tuple[Cell, ...], ...]


@dataclass(frozen=True)
class PrintedFigure:
    """A figure under the name that its file has (`figure_files`), such as `latency`."""

    name: str
    picture: Picture


Block = Heading | Paragraph | Bullets | Terms | Command | PrintedTable | PrintedFigure


@dataclass(frozen=True)
class Printed:
    """A report to be printed."""

    title: str
    subtitle: str
    footer: str
    blocks: tuple[Block, ...]


def printed(judged: Judged) -> Printed:
    """The report of a result as blocks, as plain text that whatever prints it still has to escape."""
    page = texts(judged.results, judged.summaries, judged.verdicts, judged.profiles)
    return Printed(page["title"], page["subtitle"], page["footer"], tuple(_blocks(judged, page)))


def _blocks(judged: Judged, page: dict[str, Any]) -> Iterator[Block]:
    summaries, verdicts = judged.summaries, judged.verdicts
    drawn = pictures(judged.results, summaries, verdicts, judged.profiles)
    slugs = profile_slugs([profile.name for profile in judged.profiles] + verdict_groups.profiles(verdicts))
    yield from _answers(page)
    for card, profile in zip(page["cards"], verdict_groups.profiles(verdicts), strict=True):
        yield Heading(f"Verdicts by {card['profile']}", 1)
        yield _matrix(card["matrix"])
        yield from _figure(f"limits-{slugs[profile]}", limits_picture(summaries, verdicts, profile))
        yield from _bullets([_verdict_line(line) for line in card["lines"]])
    if page["changes"]:
        yield Heading("What would pass, and what is best", 1)
    for heading, sentences in page["changes"]:
        yield Heading(heading, 2)
        yield from _bullets(sentences)
    yield from _missions(judged, page, slugs)
    yield Heading("Latency", 1)
    yield from _figure("targets", drawn["targets"])
    yield from _figure("depth", drawn["depth"])
    for name, what, table in page["latency"]:
        yield Heading(f"{name}: {what}", 2)
        if name == "image_s":
            yield from notes_blocks(page["timed"])
        yield from _table(table)
    if page["ended"]:
        yield Heading("Why no more was measured", 2)
        yield from notes_blocks(page["ended"])
    yield from _figure("sessions", drawn["sessions"])
    yield from _under("Stages", page["stages"], ("stages", drawn["stages"]))
    yield from _under("Paced: a scene every so many seconds", page["paced"])
    yield from _under("Sustained: a median a minute", page["sustained"], ("minutes", drawn["minutes"]))
    yield from _under("Cold figures", page["cold"])
    yield Heading("Accuracy", 1)
    yield from notes_blocks(page["accuracy_notes"])
    yield from _table(page["accuracy"])
    yield from _figure("accuracy", drawn["accuracy"])
    yield from _under("Outputs compared with golden patches", page["golden"])
    yield Heading("The scene", 1)
    yield from _figure("scene", drawn["scene"])
    yield Heading("Power and memory", 1)
    yield from (Paragraph(sentence) for sentence in page["power_reading"])
    for table in page["power"]:
        yield from _under(table.title, table)
    yield from notes_blocks(page["power_notes"])
    for name in ("power_over_time", "energy", "idle"):
        yield from _figure(name, drawn[name])
    yield from _under("Memory", page["memory"], ("memory", drawn["memory"]))
    yield Heading("Warnings", 1)
    yield from notes_blocks(page["warnings"]) if page["warnings"] else [Paragraph("None.")]
    if page["unseen"]:
        yield Paragraph(page["unseen"], "quiet")
    if page["verdict_tables"]:
        yield Heading("Every verdict", 1)
    for table in page["verdict_tables"]:
        yield from _under(table.title, table)
    if page["matrices"]:
        yield Heading("Confusion matrices", 1)
    for matrix in page["matrices"]:
        yield Heading(matrix["title"], 2)
        yield _confusion(matrix)
    yield Heading("Environment", 1)
    yield from _under("Beside the sessions", page["telemetry"])
    for facts in page["environment"]:
        yield Heading(facts.title, 2)
        yield Terms(tuple(facts.rows))
    yield Heading("Measure it again", 1)
    yield Command(page["command"])
    if page["repeat_note"]:
        yield Paragraph(page["repeat_note"], "quiet")
    yield Heading("How the figures are defined", 1)
    yield Terms(tuple(page["definitions"]))


def _answers(page: dict[str, Any]) -> Iterator[Block]:
    """The first page: the answer to each profile, what would settle the rest, what was not measured."""
    yield Heading("The answer", 1)
    for card in page["cards"]:
        yield Heading(card["title"], 2)
        yield Paragraph(card["headline"], "answer")
        counts = ", ".join(f"{words.SYMBOLS[word]} {word} {count}" for count, word in card["counts"])
        yield Paragraph(f"Trials: {counts}.")
        if card["settling"]:
            yield Paragraph("To settle:")
        yield from _bullets(card["settling"])
    if not page["cards"]:
        yield Paragraph("No profile was asked for, so nothing was judged.")
    for heading, notes in (
        (page["failures_heading"], page["failures"]),
        ("What the devices say of their figures", page["said"]),
    ):
        if notes:
            yield Heading(heading, 2)
            yield from notes_blocks(notes)


def _missions(judged: Judged, page: dict[str, Any], slugs: Mapping[str, str]) -> Iterator[Block]:
    if page["missions"]:
        yield Heading("Missions", 1)
    for mission, table in zip(page["missions"], page["mission_tables"], strict=True):
        yield Heading(mission.profile, 2)
        yield from _figure(f"mission-{slugs[mission.profile]}", mission_picture(mission, judged.summaries))
        if table is not None:
            yield from _table(table)
        if mission.reason:
            yield Paragraph(f"None was played: {words.plain(mission.reason)}.", "quiet")


def _verdict_line(line: verdict_groups.Shared) -> str:
    return f"{words.SYMBOLS[line.word]} {line.sentence()}"


def _under(title: str, table: Table, picture: tuple[str, Picture | None] = ("", None)) -> Iterator[Block]:
    """A table and its figure under a heading; nothing where neither holds anything."""
    if table.rows or picture[1] is not None:
        yield Heading(title, 2)
        yield from _figure(*picture)
        yield from _table(table)


def _table(table: Table) -> Iterator[Block]:
    if not table.rows:
        return
    rows = tuple(
        tuple(_cell(text, column.verdict) for text, column in zip(row, table.columns, strict=True))
        for row in table.rows
    )
    yield PrintedTable(
        table.caption,
        tuple(column.heading for column in table.columns),
        tuple(column.figures for column in table.columns),
        rows,
    )
    # On the page the trials of a row that only counts them are folded into it.
    yield from _bullets(
        [f"{row[0]}: {names}" for row, names in zip(table.rows, table.trials, strict=False) if names]
    )


def _cell(text: str, is_verdict: bool) -> Cell:
    word = text.partition("\n")[0]
    if not is_verdict or word not in WORDS:
        return Cell(text)
    return Cell(_bound(f"{words.SYMBOLS[word]} {text}"), word)


def _matrix(matrix: Matrix) -> PrintedTable:
    """Symbol and margin a cell; what would settle what is open stands in the heading, or in the cell."""
    headings = [
        f"{column.formula}; to settle: {column.by}" if column.by else column.formula
        for column in matrix.columns
    ]
    rows = [
        (
            Cell(row.name),
            _matrix_cell(row.whole, False),
            *(
                _matrix_cell(cell, bool(column.by))
                for cell, column in zip(row.cells, matrix.columns, strict=True)
            ),
        )
        for row in (*matrix.rows, *matrix.folded)
    ]
    return PrintedTable("", ("trial", "all together", *headings), (False,) * (2 + len(headings)), tuple(rows))


def _matrix_cell(cell: MatrixCell | None, settled_above: bool) -> Cell:
    if cell is None:
        return Cell(words.MISSING)
    text = cell.text if settled_above or not cell.by else f"{cell.text}: {cell.by}"
    return Cell(_bound(text), cell.word)


def _bound(text: str) -> str:
    """A symbol and its word, on one line."""
    return text.replace(" ", "\N{NO-BREAK SPACE}", 1)


def _confusion(matrix: dict[str, Any]) -> PrintedTable:
    return PrintedTable(
        "",
        ("label \\ predicted", *matrix["names"]),
        (False, *(True for _ in matrix["names"])),
        tuple((Cell(name), *(Cell(str(count)) for count in counts)) for name, counts in matrix["rows"]),
    )


def notes_blocks(notes: Sequence[Note]) -> Iterator[Block]:
    """A list of notes; of trials with the same words of their own these stand once."""
    items = []
    for note in notes:
        together: dict[str, list[str]] = {}
        for name, own in note.each:
            together.setdefault(own, []).append(name)
        each = "; ".join(
            f"{words.listed(names)}: {own}" if own else words.listed(names) for own, names in together.items()
        )
        items.append(f"{note.line} ({each})" if each else note.line)
    yield from _bullets(items)


def _bullets(items: Sequence[str]) -> Iterator[Block]:
    if items:
        yield Bullets(tuple(items))


def _figure(name: str, picture: Picture | None) -> Iterator[Block]:
    if picture is not None:
        yield PrintedFigure(FIGURE_NAMES.get(name, name), picture)
