"""A comparison as tables of text: what differs, and a table a metric."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from rich.console import Console

from edgebench.errors import UsageError
from edgebench.files import require_file_name, write_output
from edgebench.judge.result_comparison import ComparedResult, ResultsComparison
from edgebench.report import comparison_document as comparison_words
from edgebench.report import words
from edgebench.report.blocks import Block, Fold, Heading, Notes, Text
from edgebench.report.comparison_document import comparison_document
from edgebench.report.console import line
from edgebench.report.forms import safe_cell
from edgebench.report.markdown import blocks_text, escape
from edgebench.report.tables import Column, Table
from edgebench.report.terminal import print_blocks
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


# A comparison as blocks, for the terminal and for a pull request: what differs, a table a metric, remarks.


MOST_DIFFERENCES = 24
"""Rows of what differs; a longer list hides what it is about."""


def _blocks(comparison: ResultsComparison) -> Iterator[Block]:
    for result in comparison.results:
        yield Heading(f"{words.plain(result.name, 100)} against {words.plain(comparison.baseline, 100)}")
        yield Notes.of(comparison_words.titles(comparison, result))
        table = differences_table(result)
        more = replace(table, rows=table.rows[MOST_DIFFERENCES:])
        yield Heading("What differs beside the figures")
        yield (
            replace(table, rows=table.rows[:MOST_DIFFERENCES])
            if table.rows
            else Text(comparison_words.NO_DIFFERENCE)
        )
        if more.rows:
            yield Fold(f"and {len(more.rows)} more: --json has all", [more])
        for of_metric in metric_tables(comparison, result):
            yield Heading(of_metric.title)
            yield of_metric
        yield Notes.of([*comparison_words.remarks(result), *comparison_words.unpaired(result)])


def print_comparison(console: Console, comparison: ResultsComparison) -> None:
    """Print each result against the baseline, and last what it comes to."""
    print_blocks(console, _blocks(comparison))
    for sentence in comparison_words.summary(comparison):
        line(console, sentence, "bold")
    line(console, comparison_words.rules(comparison), "dim")


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
    summary = [f"**{escape(text)}**" for text in comparison_words.summary(comparison)]
    rules = escape(comparison_words.rules(comparison))
    return "\n\n".join(["# Comparison", *summary, blocks_text(_blocks(comparison)), rules]) + "\n"


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
