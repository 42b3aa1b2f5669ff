"""`edgebench.compare`: results against a baseline, as frames, words and a figure."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from pathlib import Path
from typing import get_args, get_type_hints

import pandas as pd
from matplotlib.axes import Axes

from edgebench.analysis.results import Results, loaded, sentences_html, table_html
from edgebench.judge.comparison import MINIMUM_POINTS, MetricComparison, Threshold, Word
from edgebench.judge.result_comparison import ResultsComparison, compare_results, metrics_of
from edgebench.report import comparison as comparison_words
from edgebench.report.comparison import comparison_rows, differences_table, metric_tables
from edgebench.report.plots.history import ratios
from edgebench.report.plots.panels import Place
from edgebench.report.tables import Table
from edgebench.report.words import MISSING
from edgebench.stats.compare import MINIMUM_EFFECT

_WORST_FIRST: tuple[Word, ...] = ("worse", "undecided", "not compared", "better", "same")
_CATEGORIES = ("baseline", "result", "target_a", "target_b", "variant", "metric", "unit", "scale", "test")


class Comparison:
    """Results against the first of them, the baseline: B, each of the others, is better, worse or the same.

    Trials are paired by target, variant, batch and swept settings. Figures of times, power, energy and memory
    are compared by their sessions (Welch), accuracy image by image (McNemar); p is adjusted for all
    comparisons together (Holm).
    """

    def __init__(self, compared: ResultsComparison) -> None:
        self._compared = compared

    @cached_property
    def table(self) -> pd.DataFrame:
        """One row a pair of trials and metric, with the columns of `edgebench compare -o FILE.csv`.

        baseline, result, target_a, target_b, variant, batch, concurrency, trial_a, trial_b; metric, unit,
        word (of B: better, worse, same, undecided, not compared), a and b (the figures), scale (`difference`
        is the ratio B over A, or B less A in points), difference with the ends low and high of its 95 %
        interval, test, p of that test alone, adjusted_p among all of them, a_n and b_n (sessions or images),
        of (what these are), sessions_needed, identical (the very same sessions), reason, note, gate (why
        `--fail-on regression` decides nothing by it), warnings (what disturbed the sessions), in_words.
        """
        rows = comparison_rows(self._compared)
        names = list(rows[0]) if rows else []
        return pd.DataFrame({name: _column(name, [row[name] for row in rows]) for name in names})

    @property
    def word(self) -> Word:
        """The first of worse, undecided, not compared, better and same that a comparison comes to."""
        words = {comparison.word for comparison in self._compared.comparisons}
        return next((word for word in _WORST_FIRST if word in words), "not compared")

    @property
    def words(self) -> list[str]:
        """What it comes to in sentences: how many of each word, and what is worst."""
        return comparison_words.summary(self._compared)

    @property
    def regressed(self) -> bool:
        """Whether anything by which a gate decides is worse than in the baseline."""
        return self._compared.regressed

    @property
    def undecided(self) -> bool:
        """Whether something is left open: undecided, also by a gate, without figure or without partner."""
        return self._compared.undecided

    @cached_property
    def differences(self) -> pd.DataFrame:
        """What the results differ in beside their figures: result, subject, fact, a, b."""
        rows = [
            (result.name, each.subject, each.fact, each.a, each.b)
            for result in self._compared.results
            for each in result.differences
        ]
        return pd.DataFrame(rows, columns=["result", "subject", "fact", "a", "b"], dtype="str")

    @cached_property
    def unpaired(self) -> pd.DataFrame:
        """Trials without a partner: result, of (baseline or result), trial, target, variant, reason."""
        rows = [
            (result.name, of, each.trial.key, each.trial.target, each.trial.variant, each.reason)
            for result in self._compared.results
            for of, left_over in (("baseline", result.only_baseline), ("result", result.only_this))
            for each in left_over
        ]
        columns = ["result", "of", "trial", "target", "variant", "reason"]
        return pd.DataFrame(rows, columns=columns, dtype="str")

    def plot(self, *, ax: Place = None) -> list[Axes]:
        """B over A of each pair with its 95 % interval, a panel a metric; the same is shaded."""
        return ratios(self._compared, ax=ax)

    def __repr__(self) -> str:
        lines = []
        for result in self._compared.results:
            lines += comparison_words.titles(self._compared, result)
            for table in metric_tables(self._compared, result):
                lines.append(f"{table.title}:")
                lines += [
                    f"  {name}: {word}, {change}" if change != MISSING else f"  {name}: {word}"
                    for name, _, _, change, word in table.rows
                ]
            lines += [*comparison_words.remarks(result), *comparison_words.unpaired(result)]
        return "\n".join([*lines, *self.words])

    def _repr_html_(self) -> str:
        """A table of what differs and one a metric for each result, all text in them escaped."""
        parts = []
        for result in self._compared.results:
            notes = [*comparison_words.remarks(result), *comparison_words.unpaired(result)]
            tables = [differences_table(result), *metric_tables(self._compared, result)]
            parts.append(sentences_html(comparison_words.titles(self._compared, result)))
            parts += [_html(table) for table in tables if table.rows]
            parts.append(sentences_html(notes))
        return "".join([*parts, sentences_html(self.words)])


def _html(table: Table) -> str:
    return table_html(table.title, [column.heading for column in table.columns], table.rows)


def _column(name: str, values: list[object]) -> pd.Series:
    if name == "word":
        return pd.Series(pd.Categorical(values, categories=get_args(Word)))
    if name in _CATEGORIES:
        return pd.Series(pd.Categorical(values, categories=list(dict.fromkeys(values))))
    if name in ("batch", "concurrency"):
        return pd.Series(values, dtype="int64")
    hint = get_type_hints(MetricComparison).get(name, str)
    kinds = {bool: "bool", int: "int64", float | None: "float64", int | None: "Int64"}
    return pd.Series(values, dtype=kinds.get(hint, "str"))


def compare(
    baseline: Results | str | Path,
    *results: Results | str | Path,
    metric: str | Iterable[str] = (),
    pair: str | Iterable[str] = (),
    minimum_effect: float = MINIMUM_EFFECT,
    minimum_points: float = MINIMUM_POINTS,
    include_contaminated: bool = False,
) -> Comparison:
    """Results against a baseline: is each trial better, worse, or the same?

    Args:
        baseline: what the others are held against; what `load` gave or takes.
        results: one result or several.
        metric: what to compare by, such as "image_s", "energy_j" or "accuracy", one or several; without it
            the latency, and accuracy and energy where both sides have them.
        pair: `A=B`, where target A of the baseline is called B in the others, one or several.
        minimum_effect: the smallest difference of times, power, energy and bytes that counts, as a share:
            0.03 is 3 %.
        minimum_points: of shares, such as accuracy, in points (hundredths).
        include_contaminated: whether `regressed` counts sessions that were disturbed, too.

    Raises:
        UsageError: no result beside the baseline, an unknown metric or target, or results without a trial in
            common.
        StoredResultError: a result cannot be read or has no finished session.
    """
    metrics = metrics_of([metric] if isinstance(metric, str) else list(metric))
    return Comparison(
        compare_results(
            [loaded(each) for each in (baseline, *results)],
            metrics=metrics,
            against=[pair] if isinstance(pair, str) else list(pair),
            threshold=Threshold(minimum_effect, minimum_points, include_contaminated=include_contaminated),
        )
    )
