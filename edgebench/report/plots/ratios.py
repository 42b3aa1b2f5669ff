"""Results against a baseline as a forest plot: a panel a metric, a line a pair with its interval."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter

from edgebench.fit.compared_metric import MetricComparison, Threshold, Word
from edgebench.fit.metrics import METRICS
from edgebench.fit.result_comparison import ResultsComparison
from edgebench.report import comparison_words, drawing
from edgebench.report.plots.panels import Place, open_panels, say_empty, set_title

MOST_LINES = 60
"""Pairs in one panel; the tables have all."""

_LONGEST_NAME = 44  # characters of a pair's name beside its line
_LINE_IN = 0.26  # inches that a line takes
_COLOURS: dict[Word, str] = {
    "better": drawing.BLUE,
    "worse": drawing.VERMILION,
    "same": drawing.QUIET,
    "undecided": drawing.ORANGE,
}
_MARKERS: dict[Word, str] = {"better": "^", "worse": "v", "same": "s", "undecided": "o"}


@dataclass(frozen=True)
class _Line:
    name: str
    item: MetricComparison


def ratios(comparison: ResultsComparison, *, ax: Place = None) -> list[Axes]:
    """B over A of each pair with its 95 % interval, in points for shares; what counts as the same is shaded.

    Args:
        comparison: as `compare_results` gives it; what was not compared is left out.
        ax: where to draw, a panel a metric.
    """
    panels = {name: lines for name in comparison.metrics if (lines := _lines(comparison, name))}
    heights = [1.1 + _LINE_IN * len(lines) for lines in panels.values()]
    with drawing.style():
        opened = open_panels(ax, len(panels), height=heights or 3.6, columns=1)
        if not panels:
            say_empty(opened.axes[0], "nothing could be compared")
        for axes, (name, lines) in zip(opened.axes, panels.items(), strict=False):
            _draw(axes, name, lines, comparison.threshold)
        opened.legend("B is")
    return opened.axes


def _lines(comparison: ResultsComparison, metric: str) -> list[_Line]:
    several = len(comparison.results) > 1
    lines = [
        _Line(f"{result.name}: {name}" if several else name, item)
        for result in comparison.results
        for name, pair in zip(comparison_words.pair_names(result.pairs), result.pairs, strict=True)
        for item in pair.comparisons
        if item.metric == metric and item.difference is not None
    ]
    return lines[:MOST_LINES]


def _draw(axes: Axes, metric: str, lines: Sequence[_Line], threshold: Threshold) -> None:
    is_ratio = lines[0].item.scale == "ratio"
    nothing = 1.0 if is_ratio else 0.0
    width = threshold.minimum_effect if is_ratio else threshold.minimum_points
    axes.axvspan(nothing - width, nothing + width, color=drawing.QUIET, alpha=0.15, linewidth=0)
    axes.axvline(nothing, color=drawing.INK, linewidth=1)
    for place, line in enumerate(lines):
        item = line.item
        difference = nothing if item.difference is None else item.difference
        low = difference if item.low is None else item.low
        high = difference if item.high is None else item.high
        drawn = axes.errorbar(
            [difference],
            [place],
            xerr=[[max(0.0, difference - low)], [max(0.0, high - difference)]],
            fmt=_MARKERS.get(item.word, "o"),
            color=_COLOURS.get(item.word, drawing.QUIET),
            markersize=6,
            linewidth=1.4,
            capsize=3,
            label=item.word,
        )
        difference_text = comparison_words.change(item, threshold)
        drawing.mark(drawn.lines[0], "trial", f"{line.name}: {metric} {difference_text}")
    ends = [
        end
        for line in lines
        for end in (line.item.low, line.item.difference, line.item.high)
        if end is not None
    ]
    low, high = min(nothing - 2 * width, *ends), max(nothing + 2 * width, *ends)
    if is_ratio and min(ends) > 0 and drawing.wants_log(ends):
        axes.set_xscale("log")
        axes.set_xlim(low / 1.15, high * 1.15)
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    else:
        axes.set_xlim(low - 0.06 * (high - low), high + 0.06 * (high - low))
    drawing.name_ticks(axes.yaxis, range(len(lines)), [line.name for line in lines], _LONGEST_NAME)
    axes.set_ylim(len(lines) - 0.5, -0.5)
    axes.grid(visible=False, axis="y")
    what = "B over A" if is_ratio else "B less A, points"
    axes.set_xlabel(
        f"{what} ({METRICS[metric].better} is better)\nbars: 95 % intervals; grey: counts as the same"
    )
    set_title(axes, drawing.label(metric))
