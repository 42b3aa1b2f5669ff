"""A topic as a table on the terminal and as Markdown."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from rich import box
from rich.table import Table

from edgebench.errors import UsageError
from proofs.topic import Topic

BEGIN = "<!-- made by `make proof`: begin -->"
END = "<!-- made by `make proof`: end -->"


def table(topic: Topic) -> Table:
    """For a terminal of 80 columns."""
    terminal_table = Table(title=topic.title, box=box.SIMPLE_HEAD, pad_edge=False)
    for number, column in enumerate((*topic.columns, "")):
        terminal_table.add_column(column, justify="right" if 0 < number < len(topic.columns) else "left")
    for row in topic.rows:
        terminal_table.add_row(*row.cells, row.word, style="bold" if row.met is False else "")
    return terminal_table


def markdown(topics: Sequence[Topic], experiments: str) -> str:
    """All topics, a table each."""
    return "\n\n".join([experiments, *map(_section, topics)]) + "\n"


def _section(topic: Topic) -> str:
    lines = [f"### {topic.title}", "", topic.claim, ""]
    lines.append("| " + " | ".join((*topic.columns, "")) + " |")
    lines.append("| --- |" + " ---: |" * (len(topic.columns) - 1) + " --- |")
    lines += ["| " + " | ".join((*row.cells, row.word)) + " |" for row in topic.rows]
    return "\n".join(lines)


def renewed(path: Path, topics: Sequence[Topic], experiments: str) -> str:
    """These topics' tables among those that a file has of others.

    UsageError where these are of another number of experiments: one sentence says it of all.
    """
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    tables = text.partition(BEGIN)[2].partition(END)[0].strip()
    if not tables:
        return markdown(topics, experiments)
    size, *sections = re.split(r"\n\n(?=### )", tables)
    if size != experiments:
        raise UsageError(
            f"the tables of {path} are of another size",
            why=f"they say: {size}",
            fix="renew all of them, without --only, or give the same --size",
        )
    for topic in topics:
        heading = f"### {topic.title}\n"
        at = next((n for n, section in enumerate(sections) if section.startswith(heading)), len(sections))
        sections[at : at + 1] = [_section(topic)]
    return "\n\n".join([size, *sections]) + "\n"


def put(path: Path, markdown_tables: str) -> None:
    """Between the markers of a file that has them; else as a file of its own."""
    if not path.exists():
        path.write_text(markdown_tables, encoding="utf-8")
        return
    text = path.read_text(encoding="utf-8")
    head, begin, rest = text.partition(BEGIN)
    _, end, tail = rest.partition(END)
    if not (begin and end):
        raise UsageError(
            f"{path} has no place for the tables",
            why=f"the lines {BEGIN} and {END} are not there",
            fix="name a new file, or docs/statistics.md",
        )
    path.write_text(f"{head}{BEGIN}\n\n{markdown_tables}\n{END}{tail}", encoding="utf-8")
