"""A comparison on the terminal: what differs, a table a metric, what has no partner, what it comes to."""

from __future__ import annotations

from rich.console import Console

from edgebench.fit.compared_metric import Word
from edgebench.fit.result_comparison import ComparedResult, ResultsComparison
from edgebench.report import comparison_words
from edgebench.report.comparison_tables import differences_table, metric_tables
from edgebench.report.console import cell, line, new_table
from edgebench.report.tables import Table

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
        style = _STYLES.get(word, "")
        shown.add_row(*(cell(console, text) for text in texts), cell(console, word, style))
    console.print(shown)
