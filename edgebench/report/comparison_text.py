"""A comparison as tables of text: what differs, and a table a metric."""

from __future__ import annotations

import csv
import io
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.console import Console

from edgebench.errors import UsageError
from edgebench.files import require_file_name, write_output
from edgebench.judge.comparison import Word
from edgebench.judge.result_comparison import ComparedResult, ResultsComparison
from edgebench.report import comparison_document as comparison_words
from edgebench.report import words
from edgebench.report.comparison_document import comparison_document
from edgebench.report.console import cell, line, new_table
from edgebench.report.forms import safe_cell
from edgebench.report.markdown import escape, table_rows
from edgebench.report.tables import Column, Table
from edgebench.report.words import as_json


def differences_table(result: ComparedResult) -> Table:
    """What the two results differ in beside their figures."""
    rows = tuple(
        (
            words.plain(f"{difference.subject}: {difference.fact}", 80),
            words.plain(difference.a, 200) or words.MISSING,
            words.plain(difference.b, 200) or words.MISSING,
        )
        for difference in result.differences
    )
    return Table("what differs", (Column("fact"), Column("A", long=True), Column("B", long=True)), rows)


def metric_tables(comparison: ResultsComparison, result: ComparedResult) -> list[Table]:
    """A table a metric: the pairs, their figures, the difference in words and its word."""
    names = comparison_words.pair_names(result.pairs)
    tables = []
    for metric in comparison.metrics:
        rows = tuple(
            (
                name,
                comparison_words.figure(item, item.a),
                comparison_words.figure(item, item.b),
                comparison_words.change_at_row(item, comparison.threshold),
                comparison_words.verdict(item),
            )
            for name, pair in zip(names, result.pairs, strict=True)
            for item in pair.comparisons
            if item.metric == metric
        )
        if rows:
            columns = (Column("trial"), Column("A", figures=True), Column("B", figures=True))
            tables.append(
                Table(
                    comparison_words.heading(metric),
                    (*columns, Column("B against A", long=True), Column("B is", verdict=True)),
                    rows,
                )
            )
    return tables


# A comparison on the terminal: what differs, a table a metric, what has no partner, what it comes to.


MOST_DIFFERENCES = 24
"""Rows of what differs; a longer list hides what it is about."""

_STYLES = {comparison_words.with_symbol(word): colour for word, colour in comparison_words.COLOURS.items()}
_LONGEST_VALUE = 60  # characters of a fact


def print_comparison(console: Console, comparison: ResultsComparison) -> None:
    """Print each result against the baseline; nothing is wider than the console."""
    for result in comparison.results:
        _print_result(console, comparison, result)
    for sentence in comparison_words.summary(comparison):
        line(console, sentence, _SUMMARY_STYLE.get(_gravest(comparison), ""))
    line(console, comparison_words.rules(comparison), "dim")


_SUMMARY_STYLE: dict[Word, str] = {"worse": "bold red", "better": "bold green"}


def _gravest(comparison: ResultsComparison) -> Word:
    order: tuple[Word, ...] = ("worse", "undecided", "better", "same", "not compared")
    return next(word for word in order if comparison.count(word))


def _print_result(console: Console, comparison: ResultsComparison, result: ComparedResult) -> None:
    for title in comparison_words.titles(comparison, result):
        line(console, title, "bold")
    console.print()
    _print_differences(console, result)
    for table in metric_tables(comparison, result):
        line(console, table.title, "bold")
        _print_table(console, table)
        console.print()
    notes = [*comparison_words.remarks(result), *comparison_words.unpaired(result)]
    for text in notes:
        line(console, text, indent=2)
    if notes:
        console.print()


def _print_differences(console: Console, result: ComparedResult) -> None:
    table = differences_table(result)
    if not table.rows:
        line(console, comparison_words.NO_DIFFERENCE)
        console.print()
        return
    line(console, "what differs beside the figures", "bold")
    shown = new_table(console, [(column.heading, False) for column in table.columns])
    for row in table.rows[:MOST_DIFFERENCES]:
        shown.add_row(*(cell(console, _cut(text)) for text in row))
    console.print(shown)
    if len(table.rows) > MOST_DIFFERENCES:
        line(console, f"and {len(table.rows) - MOST_DIFFERENCES} more: --json has all")
    console.print()


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST_VALUE else f"{text[: _LONGEST_VALUE - 1]}…"


def _print_table(console: Console, table: Table) -> None:
    shown = new_table(console, [(column.heading, column.figures) for column in table.columns])
    shown.columns[-1].no_wrap = True
    for row in table.rows:
        *texts, word = row
        style = _STYLES.get(word, comparison_words.COLOURS["undecided"])  # where a gate decides nothing
        shown.add_row(*(cell(console, text) for text in texts), cell(console, word, style))
    console.print(shown)


# A comparison as Markdown for a pull request, as CSV with a row a comparison, or as the JSON document.


FORMS = ("md", "json", "csv")


def require_output(path: Path) -> str:
    """The form that a file's ending says; UsageError for another ending, or a folder that is not there."""
    form = path.suffix.lower().removeprefix(".")
    if form not in FORMS:
        raise UsageError(
            f"{path.name!r} does not say in which form to write the comparison",
            fix=f"end the file's name in one of {', '.join(f'.{form}' for form in FORMS)}",
        )
    require_file_name(path, "-o")
    return form


def write_comparison(comparison: ResultsComparison, path: Path) -> Path:
    """Write it in one step, in the form of the file's ending, and return the path.

    Raises UsageError as `require_output`, StoredResultError where it cannot be written.
    """
    text = as_text(comparison, require_output(path))
    write_output(path, text.encode("utf-8", "replace"), "-o")
    return path


def as_text(comparison: ResultsComparison, form: str) -> str:
    """The comparison in one of FORMS; UsageError for another."""
    match form:
        case "md":
            return _markdown(comparison)
        case "csv":
            return _csv(comparison)
        case "json":
            return as_json(comparison_document(comparison))
    raise UsageError(f"--format {form[:20]!r} is no form", fix=f"known: {', '.join(FORMS)}")


def _markdown(comparison: ResultsComparison) -> str:
    parts = ["# Comparison", *(f"**{escape(text)}**" for text in comparison_words.summary(comparison))]
    for result in comparison.results:
        parts += _markdown_result(comparison, result)
    parts.append(escape(comparison_words.rules(comparison)))
    return "\n\n".join(parts) + "\n"


def _markdown_result(comparison: ResultsComparison, result: ComparedResult) -> list[str]:
    parts = [f"## {escape(result.name)} against {escape(comparison.baseline)}"]
    parts.append("\n".join(f"- {escape(title)}" for title in comparison_words.titles(comparison, result)))
    differences = differences_table(result)
    difference = table_rows(differences) if differences.rows else comparison_words.NO_DIFFERENCE
    parts.append(f"### What differs\n\n{difference}")
    for table in metric_tables(comparison, result):
        parts.append(f"### {escape(table.title)}\n\n{table_rows(table)}")
    notes = [*comparison_words.remarks(result), *comparison_words.unpaired(result)]
    if notes:
        parts.append("\n".join(f"- {escape(note)}" for note in notes))
    return parts


def _csv(comparison: ResultsComparison) -> str:
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    rows = comparison_rows(comparison)
    headings = list(rows[0]) if rows else []
    writer.writerow(headings)
    writer.writerows([safe_cell(row[heading]) for heading in headings] for row in rows)
    return file.getvalue()


def comparison_rows(comparison: ResultsComparison) -> list[dict[str, Any]]:
    """One row a comparison, by result, then pair, then metric: which trials, and what it comes to."""
    return [
        {
            "baseline": comparison.baseline,
            "result": result.name,
            "target_a": pair.a.target,
            "target_b": pair.b.target,
            "variant": pair.a.variant,
            "batch": pair.a.batch,
            "concurrency": pair.a.concurrency,
            "trial_a": pair.a.key,
            "trial_b": pair.b.key,
            **asdict(item),
            "warnings": "; ".join(item.warnings),
            "in_words": comparison_words.change(item, comparison.threshold),
        }
        for result in comparison.results
        for pair in result.pairs
        for item in pair.comparisons
    ]
