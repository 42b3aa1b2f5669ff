"""The report as Markdown, for a README or an issue."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from edgebench.judge.profile import Profile
from edgebench.judge.trial_summary import TrialSummary, Verdict
from edgebench.report import words
from edgebench.report.blocks import Block, Command, Fold, Heading, Matrix, Notes, Plot, Row, Table, Text
from edgebench.report.page import report
from edgebench.results.load import StoredResults

_SPECIAL = str.maketrans(
    {char: f"\\{char}" for char in "\\`*_{}[]()#|~$@"} | {"<": "&lt;", ">": "&gt;", "&": "&amp;"}
)


def export_markdown(
    results: StoredResults,
    summaries: Sequence[TrialSummary],
    verdicts: Sequence[Verdict],
    profiles: Sequence[Profile] = (),
) -> str:
    """Everything but what is drawn, as GitHub's Markdown."""
    document = report(results, summaries, verdicts, profiles)
    parts = [f"# {escape(document.title)}", escape(document.subtitle)]
    for card in document.cards:
        parts += [f"**{escape(card.title)}**", escape(" ".join(card.answer.sentences))]
    parts.append(blocks_text(document.cautions))
    for section in document.sections:
        if any(not isinstance(block, Plot) for block in section.blocks):
            parts += [f"## {escape(section.title)}", blocks_text(section.blocks)]
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
            return _fold(title, *map(table_rows, tables))
        case Table():
            return "\n\n".join(filter(None, [escape(block.caption), table_rows(block)]))
        case Matrix():
            folded = _fold(block.rest, _matrix_rows(block, block.folded)) if block.folded else ""
            return "\n\n".join(filter(None, [_matrix_rows(block, block.rows), folded]))
    return ""  # a plot


def _fold(title: str, *parts: str) -> str:
    return "\n\n".join([f"<details><summary>{escape(title)}</summary>", *parts, "</details>"])


def escape(text: str) -> str:
    """Text that Markdown and the HTML in it show as it is."""
    return " ".join(text.translate(_SPECIAL).split())


def _matrix_rows(matrix: Matrix, rows: Sequence[Row]) -> str:
    """Symbol and margin a cell; what would settle a verdict, where it is open."""
    headings = [
        f"{each.formula}; to settle: {each.by}" if each.by else each.formula for each in matrix.columns
    ]
    head = _line(["trial", "all together", *headings])
    above = ["", *(column.by for column in matrix.columns)]  # stands in the heading
    lines = []
    for row in rows:
        cells = zip((row.whole, *row.cells), above, strict=True)
        texts = (
            words.MISSING if each is None else f"{each.text}: {each.by}" if each.by and not by else each.text
            for each, by in cells
        )
        lines.append(_line([row.name, *texts]))
    return "\n".join([head, "|" + "---|" * (2 + len(headings)), *lines])


def _line(texts: Sequence[str]) -> str:
    return "| " + " | ".join(map(escape, texts)) + " |"


def table_rows(table: Table) -> str:
    """A table without its title and caption, every cell escaped."""
    head = _line([column.heading for column in table.columns])
    rule = "|" + "|".join("---:" if column.figures else "---" for column in table.columns) + "|"
    return "\n".join([head, rule, *map(_line, table.rows)])
