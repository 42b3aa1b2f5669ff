"""Comparison of results with a baseline as frames, words and a plot: `edgebench.compare`."""

from __future__ import annotations

import io
from collections.abc import Iterable
from functools import cached_property
from pathlib import Path
from typing import get_args

import pandas as pd
from matplotlib.axes import Axes

from edgebench.analysis.frames import IDENTITY, dtypes_of, rows_frame, several
from edgebench.analysis.results import Results, loaded, sentences_html, table_html
from edgebench.judge.comparisons.comparison import (
    MINIMUM_POINTS,
    MetricComparison,
    ResultsComparison,
    Threshold,
    Word,
    compare_results,
)
from edgebench.report.comparison import blocks, comparison_rows, print_comparison, summary
from edgebench.report.plots.history import ratios
from edgebench.report.plots.panels import Place
from edgebench.report.renderers.blocks import Fold, Heading, Notes, Table, Text
from edgebench.report.renderers.terminal import make_console
from edgebench.stats.compare import MINIMUM_EFFECT

_CATEGORIES = ("baseline", "result", "target_a", "target_b", "variant", "metric", "unit", "scale", "test")
_WORST_FIRST: tuple[Word, ...] = ("worse", "undecided", "not compared", "better", "same")


class Comparison:
    """Comparison of results with a baseline, A: each other result, B, is better, worse or the same.

    Trials are paired by target, variant, batch and swept settings. Times, power, energy and memory are
    compared by their sessions (Welch), accuracy image by image (McNemar); p is adjusted for all comparisons
    together (Holm).
    """

    def __init__(self, compared: ResultsComparison) -> None:
        self._compared = compared

    @cached_property
    def table(self) -> pd.DataFrame:
        """One row per pair of trials and metric, with the columns of `edgebench compare -o FILE.csv`.

        baseline, result, target_a, target_b, variant, batch, concurrency, trial_a, trial_b; metric, unit,
        word (of B: better, worse, same, undecided, not compared), a and b (the values), scale (`difference`
        is the ratio B over A, or B less A in points), difference with the ends low and high of its 95 %
        interval, test, p of that test alone, adjusted_p among all of them, a_n and b_n with what
        they count in counted (sessions, images or patches), sessions_needed, identical (the same sessions),
        reason, note, gate (why `--fail-on regression` decides nothing by it), warnings (disturbances of the
        sessions), in_words.
        """
        dtypes = {**IDENTITY, **dtypes_of(MetricComparison)}
        frame = rows_frame(comparison_rows(self._compared), dtypes, *_CATEGORIES)
        frame["word"] = pd.Categorical(frame["word"], categories=get_args(Word))
        return frame

    @property
    def word(self) -> Word:
        """First of worse, undecided, not compared, better and same that any comparison has."""
        verdict_words = {comparison.word for comparison in self._compared.comparisons}
        return next((word for word in _WORST_FIRST if word in verdict_words), "not compared")

    @property
    def words(self) -> list[str]:
        """Outcome in sentences: the counts of words, and the worst comparison."""
        return summary(self._compared, gate=True)

    @property
    def regressed(self) -> bool:
        """True if a comparison that counts at a gate is worse."""
        return self._compared.regressed

    @property
    def undecided(self) -> bool:
        """True if something is open: undecided, also by a gate, without a value or without a partner."""
        return self._compared.undecided

    @cached_property
    def differences(self) -> pd.DataFrame:
        """Recorded facts in which the results differ: result, subject, fact, a, b."""
        rows = [
            (result.name, difference.subject, difference.fact, difference.a, difference.b)
            for result in self._compared.results
            for difference in result.differences
        ]
        return pd.DataFrame(rows, columns=["result", "subject", "fact", "a", "b"], dtype="str")

    @cached_property
    def unpaired(self) -> pd.DataFrame:
        """Trials without a partner: result, side (baseline or result), trial, target, variant, reason."""
        rows = [
            (result.name, side, trial.key, trial.target, trial.variant, trial.reason)
            for result in self._compared.results
            for side, left_over in (("baseline", result.only_baseline), ("result", result.only_this))
            for trial in left_over
        ]
        columns = ["result", "side", "trial", "target", "variant", "reason"]
        return pd.DataFrame(rows, columns=columns, dtype="str")

    def plot(self, *, ax: Place = None) -> list[Axes]:
        """Plot B over A of each pair with its 95 % interval, one panel per metric; the same is shaded."""
        return ratios(self._compared, ax=ax)

    def __repr__(self) -> str:
        file = io.StringIO()
        print_comparison(make_console(file), self._compared)
        return file.getvalue()

    def _repr_html_(self) -> str:
        """Table of differences and one table per metric for each result, all text escaped."""
        parts = []
        for block in blocks(self._compared, gate=True):
            match block:
                case Heading(text) | Text(text) | Fold(text):
                    parts.append(sentences_html([text]))
                case Notes(notes):
                    parts.append(sentences_html([note.line for note in notes]))
                case Table(title, columns, rows):
                    parts.append(table_html(title, [column.heading for column in columns], rows))
        return "".join([*parts, sentences_html(self.words)])


def compare(
    baseline: Results | str | Path,
    *results: Results | str | Path,
    metric: str | Iterable[str] = (),
    pair: str | Iterable[str] = (),
    minimum_effect: float = MINIMUM_EFFECT,
    minimum_points: float = MINIMUM_POINTS,
    include_contaminated: bool = False,
) -> Comparison:
    """Compare results with a baseline: each trial is better, worse, or the same.

    Args:
        baseline: result that the others are compared with, as `load` gives or takes it.
        results: one result or several.
        metric: metrics to compare by, such as "image_s", "energy_j" or "accuracy", one or several. Default:
            the latency, and accuracy and energy where a side has them.
        pair: `A=B`, where target A of the baseline is called B in the others, one or several.
        minimum_effect: smallest difference of times, power, energy and bytes that counts, as a share:
            0.03 is 3 %.
        minimum_points: smallest difference of shares, such as accuracy, in points (hundredths).
        include_contaminated: whether `regressed` also counts disturbed sessions.

    Raises:
        UsageError: no result besides the baseline, an unknown metric or target, or results without a trial in
            common.
        StoredResultError: a result cannot be read or has no finished session.
    """
    return Comparison(
        compare_results(
            [loaded(result) for result in (baseline, *results)],
            metrics=several(metric),
            against=several(pair),
            threshold=Threshold(minimum_effect, minimum_points, include_contaminated=include_contaminated),
        )
    )
