"""A comparison as Markdown for a pull request, as CSV with a row a comparison, or as the JSON document."""

from __future__ import annotations

import csv
import io
from dataclasses import asdict
from pathlib import Path
from typing import Any

from edgebench.atomic import require_folder, write_output
from edgebench.errors import UsageError
from edgebench.fit.result_comparison import ComparedResult, ResultsComparison
from edgebench.report import comparison_words
from edgebench.report.comparison_document import comparison_document
from edgebench.report.comparison_tables import differences_table, metric_tables
from edgebench.report.json_values import as_json
from edgebench.report.markdown import escape, table_rows
from edgebench.report.spreadsheet import safe_cell

FORMS = ("md", "json", "csv")


def require_output(path: Path) -> str:
    """The form that a file's ending says; UsageError for another ending, or a folder that is not there."""
    form = path.suffix.lower().removeprefix(".")
    if form not in FORMS:
        raise UsageError(
            f"{path.name!r} does not say in which form to write the comparison",
            fix=f"end the file's name in one of {', '.join(f'.{form}' for form in FORMS)}",
        )
    require_folder(path.parent, "-o")
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
            "in_words": comparison_words.change(item, comparison.threshold),
        }
        for result in comparison.results
        for pair in result.pairs
        for item in pair.comparisons
    ]
