"""`edgebench.compare`: results against a baseline, as frames, words and a figure."""

from __future__ import annotations

import io
from collections.abc import Iterable, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, get_args, get_type_hints

import pandas as pd
from matplotlib.axes import Axes

from edgebench.analysis.frames import several
from edgebench.analysis.results import Results, loaded, sentences_html, table_html
from edgebench.judge.comparison import (
    MINIMUM_POINTS,
    MetricComparison,
    ResultsComparison,
    Threshold,
    Word,
    compare_results,
)
from edgebench.report.blocks import Fold, Heading, Notes, Table, Text
from edgebench.report.comparison import blocks, comparison_rows, print_comparison, summary
from edgebench.report.plots.history import ratios
from edgebench.report.plots.panels import Place
from edgebench.report.terminal import make_console
from edgebench.results.frames import frame_of
from edgebench.stats.compare import MINIMUM_EFFECT

_WORST_FIRST: tuple[Word, ...] = ("worse", "undecided", "not compared", "better", "same")
_KINDS: Mapping[Any, str] = {bool: "bool", int: "int64", float | None: "float64", int | None: "Int64"}
"""By the type of a field."""
_CATEGORIES = {"baseline", "result", "target_a", "target_b", "variant", "metric", "unit", "scale", "test"}


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
        hints = get_type_hints(MetricComparison)
        kinds = {name: _KINDS.get(hints.get(name), "str") for name in (rows[0] if rows else ())}
        kinds |= dict.fromkeys(kinds.keys() & _CATEGORIES, "category")
        kinds |= dict.fromkeys(kinds.keys() & {"batch", "concurrency"}, "int64")
        frame = frame_of(rows, kinds)
        if rows:
            frame["word"] = pd.Categorical(frame["word"], categories=get_args(Word))
        return frame

    @property
    def word(self) -> Word:
        """The first of worse, undecided, not compared, better and same that any comparison has."""
        words = {comparison.word for comparison in self._compared.comparisons}
        return next((word for word in _WORST_FIRST if word in words), "not compared")

    @property
    def words(self) -> list[str]:
        """The outcome in sentences: how many of each word, and what is worst."""
        return summary(self._compared)

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
        """What the results differ in besides their figures: result, subject, fact, a, b."""
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
            (result.name, of, each.key, each.target, each.variant, each.reason)
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
        file = io.StringIO()
        print_comparison(make_console(file), self._compared)
        return file.getvalue()

    def _repr_html_(self) -> str:
        """A table of what differs and one a metric for each result, all text in them escaped."""
        parts = []
        for block in blocks(self._compared):
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
    """Results against a baseline: is each trial better, worse, or the same?

    Args:
        baseline: what the others are compared with; what `load` gave or takes.
        results: one result or several.
        metric: what to compare by, such as "image_s", "energy_j" or "accuracy", one or several; without it
            the latency, and accuracy and energy where both sides have them.
        pair: `A=B`, where target A of the baseline is called B in the others, one or several.
        minimum_effect: the smallest difference of times, power, energy and bytes that counts, as a share:
            0.03 is 3 %.
        minimum_points: of shares, such as accuracy, in points (hundredths).
        include_contaminated: whether `regressed` counts sessions that were disturbed, too.

    Raises:
        UsageError: no result besides the baseline, an unknown metric or target, or results without a trial in
            common.
        StoredResultError: a result cannot be read or has no finished session.
    """
    return Comparison(
        compare_results(
            [loaded(each) for each in (baseline, *results)],
            metrics=several(metric),
            against=several(pair),
            threshold=Threshold(minimum_effect, minimum_points, include_contaminated=include_contaminated),
        )
    )
