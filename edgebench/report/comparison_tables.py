"""A comparison as tables of text: what differs, and a table a metric."""

from __future__ import annotations

from edgebench.fit.result_comparison import ComparedResult, ResultsComparison
from edgebench.report import comparison_words, words
from edgebench.report.tables import Column, Table


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
                comparison_words.change(item, comparison.threshold),
                comparison_words.with_symbol(item.word),
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
