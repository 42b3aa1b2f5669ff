"""The report as Markdown: the tables of the HTML page, for a README or an issue."""

from __future__ import annotations

from collections.abc import Sequence

from edgebench.judge.profile import Profile
from edgebench.judge.trial_summary import TrialSummary, Verdict
from edgebench.report import tables, words
from edgebench.report.notes import Note
from edgebench.report.page import texts
from edgebench.report.tables import Table
from edgebench.report.verdict_matrix import Cell, Column, Matrix, Row
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
    """Headline, verdicts, latency, accuracy, memory, warnings and the command, as GitHub's Markdown."""
    page = texts(results, summaries, verdicts, profiles)
    parts = [f"# {escape(page['title'])}", escape(page["subtitle"]), "## Verdicts"]
    for card in page["cards"]:
        parts.append(f"### {escape(card['title'])}")
        parts.append(escape(" ".join(card["sentences"])))
        matrix = card["matrix"]
        parts.append(_matrix_rows(matrix, matrix.rows))
        if matrix.folded:
            parts += [
                f"<details><summary>{escape(matrix.rest)}</summary>",
                _matrix_rows(matrix, matrix.folded),
            ]
            parts.append("</details>")
    parts += [_table(table, f"### Every verdict: {escape(table.title)}") for table in page["verdict_tables"]]
    if not page["cards"]:
        parts.append("No profile was asked for.")
    for heading, sentences in page["changes"]:
        parts.append(f"### {heading}\n\n" + "\n".join(f"- {escape(sentence)}" for sentence in sentences))
    if any(page["mission_tables"]):
        parts.append("## Missions")
    for table in filter(None, page["mission_tables"]):
        parts += [_table(table, f"### {escape(table.title)}"), escape(table.caption)]
    for name, what, table in page["latency"]:
        parts.append(_table(table, f"## {escape(name)}: {escape(what)}"))
        if name == "image_s" and page["timed"]:
            parts.append(_bullet_list(page["timed"]))
    if page["ended"]:
        parts.append(f"## Why no more was measured\n\n{_bullet_list(page['ended'])}")
    for name, heading in (("paced", "## Paced"), ("sustained", "## Sustained")):
        if page[name].rows:
            parts.append(_table(page[name], heading))
    parts.append(_table(page["accuracy"], "## Accuracy"))
    parts += [escape(note.line) for note in page["accuracy_notes"]]
    if page["power"]:
        parts.append("## Power")
    parts += [escape(sentence) for sentence in page["power_reading"]]
    parts += [_table(table, f"### {escape(table.title)}") for table in page["power"]]
    parts += [escape(note.line) for note in page["power_notes"]]
    parts.append(_table(tables.memory(summaries), "## Memory"))
    notes = [*page["failures"], *page["warnings"], *([Note(page["unseen"])] if page["unseen"] else [])]
    parts.append(f"## Warnings\n\n{_bullet_list(notes) or 'None.'}")
    fence = "`" * (3 + page["command"].count("`"))
    parts.append(f"## Measure it again\n\n{fence}sh\n{page['command']}\n{fence}")
    return "\n\n".join(parts) + "\n"


def escape(text: str) -> str:
    """Text that Markdown and the HTML in it show as it is."""
    return " ".join(text.translate(_SPECIAL).split())


def _bullet_list(notes: Sequence[Note]) -> str:
    return "\n".join(f"- {escape(note.line)}" for note in notes)


def _table(table: Table, heading: str) -> str:
    return f"{heading}\n\n{table_rows(table)}"


def _matrix_rows(matrix: Matrix, rows: Sequence[Row]) -> str:
    """Symbol and margin a cell; what would settle a verdict, where it is open."""
    head = ["trial", "all together", *map(_column_heading, matrix.columns)]
    lines = [[row.name, _with_way(row.whole), *map(_cell, row.cells, matrix.columns)] for row in rows]
    rule = "|" + "---|" * len(head)
    return "\n".join([_line(head), rule, *map(_line, lines)])


def _column_heading(column: Column) -> str:
    return f"{column.formula}; to settle: {column.by}" if column.by else column.formula


def _cell(cell: Cell | None, column: Column) -> str:
    if cell is None:
        return words.MISSING
    return cell.text if column.by else _with_way(cell)


def _with_way(cell: Cell) -> str:
    return f"{cell.text}: {cell.by}" if cell.by else cell.text


def _line(texts: Sequence[str]) -> str:
    return "| " + " | ".join(map(escape, texts)) + " |"


def table_rows(table: Table) -> str:
    """A table without its title and caption, every cell escaped."""
    head = _line([column.heading for column in table.columns])
    rule = "|" + "|".join("---:" if column.figures else "---" for column in table.columns) + "|"
    return "\n".join([head, rule, *map(_line, table.rows)])
