"""The report as Markdown, for a README or an issue."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from edgebench.judge.judged import Judged
from edgebench.judge.verdicts.front import fronts
from edgebench.report import words
from edgebench.report.matrix import Matrix, ProfileCell, Row
from edgebench.report.missions import brief_missions
from edgebench.report.page import first_screen
from edgebench.report.renderers.blocks import Block, Command, Fold, Heading, Notes, Plot, Table, Text
from edgebench.report.sections import margins, sections

_SPECIAL = str.maketrans(
    {char: f"\\{char}" for char in "\\`*_{}[]()#|~$@"} | {"<": "&lt;", ">": "&gt;", "&": "&amp;"}
)


def export_markdown(judged: Judged) -> str:
    """Everything but the plots, as GitHub's Markdown."""
    screen = first_screen(judged)
    parts = [f"# {escape(screen.title)}", *map(escape, [screen.subtitle, *screen.machines])]
    parts += [escape(answer.text(answer.title)) for answer in screen.answers]
    for fact in screen.facts:
        parts.append(f"**{escape(fact.label)}:** {escape(fact.text)}")
        parts += [_block(Command(fact.command))] if fact.command else []
    parts.append(_matrix(screen.matrix))
    missions = brief_missions(judged)
    for section in sections(judged, fronts(judged.trials, judged.profiles), missions):
        if any(not isinstance(block, Plot) for block in section.blocks):
            parts += [f"## {escape(section.title)}", escape(section.gist), blocks_text(section.blocks)]
    return "\n\n".join(filter(None, parts)) + "\n"


def blocks_text(blocks: Iterable[Block]) -> str:
    """Blocks below each other; what has nothing to show, as a plot, is left out."""
    return "\n\n".join(filter(None, map(_block, blocks)))


def _block(block: Block) -> str:
    match block:
        case Heading(text):
            return f"### {escape(text)}"
        case Text(text):
            return escape(text)
        case Notes(notes):
            return "\n".join(f"- {escape(note.line)}" for note in notes)
        case Command(text):
            fence = "`" * (3 + text.count("`"))
            return f"{fence}sh\n{text}\n{fence}"
        case Fold(title, tables):
            return _fold(title, *map(_titled, tables))
        case Table():
            return "\n\n".join(filter(None, [escape(block.caption), table_rows(block)]))
    return ""  # a plot


def _titled(table: Table) -> str:
    title = f"**{escape(table.title)}**" if table.title else ""
    return "\n\n".join(filter(None, [title, escape(table.caption), table_rows(table)]))


def _fold(title: str, *parts: str) -> str:
    return "\n\n".join([f"<details><summary>{escape(title)}</summary>", *parts, "</details>"])


def escape(text: str) -> str:
    """Text that Markdown and the HTML in it show as it is."""
    return " ".join(text.translate(_SPECIAL).split())


def _matrix(matrix: Matrix) -> str:
    parts = [_matrix_rows(matrix, matrix.rows)] if matrix.rows else []
    parts += [_fold(matrix.rest, _matrix_rows(matrix, matrix.folded))] if matrix.folded else []
    if matrix.rows and (section := margins(matrix)).blocks:
        parts.append(_fold(section.title, blocks_text(section.blocks)))
    return "\n\n".join(parts)


def _matrix_rows(matrix: Matrix, rows: Sequence[Row]) -> str:
    profiles = [f"{column.heading}: {column.about}" for column in matrix.profiles]
    head = _line(["Trial", *(column.heading for column in matrix.columns), *profiles])
    rule = "|---|" + "---:|" * len(matrix.columns) + "---|" * len(profiles)
    lines = [
        _line([row.name, *(cell.text for cell in row.estimates), *map(_profile, row.profiles)])
        for row in rows
    ]
    return "\n".join([head, rule, *lines])


def _profile(cell: ProfileCell | None) -> str:
    if cell is None:
        return words.MISSING
    return f"{cell.short} {cell.decided_by.excess}" if cell.decided_by else cell.short


def _line(texts: Sequence[str]) -> str:
    return "| " + " | ".join(map(escape, texts)) + " |"


def table_rows(table: Table) -> str:
    """A table without its title and caption, every cell escaped."""
    head = _line([column.heading for column in table.columns])
    rule = "|" + "|".join("---:" if column.figures else "---" for column in table.columns) + "|"
    return "\n".join([head, rule, *map(_line, table.rows)])
