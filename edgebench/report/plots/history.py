"""Plots over results: values with intervals, levels and changes; and results against a baseline."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from functools import partial
from itertools import pairwise

import numpy as np
from matplotlib.axes import Axes
from matplotlib.dates import AutoDateLocator, ConciseDateFormatter, date2num
from matplotlib.ticker import FuncFormatter

from edgebench.judge.comparisons.comparison import MetricComparison, ResultsComparison, Threshold
from edgebench.judge.comparisons.history import TrialSeries
from edgebench.judge.metrics import METRICS
from edgebench.judge.trial import Estimate
from edgebench.report.comparison import in_words, named_comparisons
from edgebench.report.history import ratio_text, series_names
from edgebench.report.plots import drawing, panels
from edgebench.report.tables import value_heading

MAX_SERIES = 12
"""Series in one plot."""

_NAMED = 60  # characters of a series' name above its panel


def history(series: Sequence[TrialSeries], *, ax: panels.Place = None) -> list[Axes]:
    """Plot one panel per series: values by date, or in their order where a date is not known.

    Args:
        series: series of `edgebench.judge.comparisons.history.history`; those beyond MAX_SERIES are left out.
        ax: place to draw, one panel per series.
    """
    shown = series[:MAX_SERIES]
    has_targets = len({entry.target for entry in series}) > 1  # in the names

    def draw(axes: Axes, panel: tuple[TrialSeries, str]) -> None:
        entry, name = panel
        _draw(axes, entry)
        title = name if has_targets else f"{entry.target}: {name}"
        panels.set_title(axes, drawing.label(title, _NAMED), _NAMED)

    named = [("", panel) for panel in zip(shown, series_names(series), strict=False)]
    columns = 1 if len(shown) < 4 else 2
    return panels.draw_panels(ax, named, draw, "no result has the metric", columns=columns, height=2.8)


def _draw(axes: Axes, series: TrialSeries) -> None:
    shown = series.results
    times = [datetime.fromisoformat(point.begun_utc) for point in shown if point.begun_utc]
    dated = len(times) == len(shown)
    places = np.asarray(date2num(times) if dated else range(len(shown)), float)  # type: ignore[no-untyped-call]
    numbers = np.array([(point.value, point.low, point.high) for point in shown], float)  # None is NaN
    values, lows, highs = (100.0 if series.is_share else 1.0) * numbers.T
    axes.errorbar(
        places, values, yerr=np.maximum(0.0, (values - lows, highs - values)), fmt="o", color=drawing.BLUE,
        markersize=3.5, linewidth=1.0, capsize=2,
    )  # fmt: skip
    axes.margins(y=0.15)
    cuts = [change.at for change in series.changes]
    edges = [0, *cuts, len(values)]
    for first, end in pairwise(edges):
        level = [values[first:end].mean()] * 2
        axes.plot([places[first], places[end - 1]], level, color=drawing.INK, linewidth=1.0)
    for cut, change in zip(cuts, series.changes, strict=True):
        between = (places[cut - 1] + places[cut]) / 2
        colour = drawing.VERMILION if change.word == "worse" else drawing.GREEN
        is_late = between - places[0] > 0.6 * (places[-1] - places[0])  # then the text goes before it
        axes.axvline(between, color=colour, linestyle="--", linewidth=1.2)
        axes.annotate(
            f"{ratio_text(change.ratio)} {change.word}",
            (between, 1.0), xycoords=("data", "axes fraction"), xytext=(-4 if is_late else 4, -4),
            textcoords="offset points", ha="right" if is_late else "left",
            va="top", fontsize=8.5,
            bbox={"facecolor": "white", "alpha": 0.8, "edgecolor": "none", "pad": 1.0},
        )  # fmt: skip
    if dated:
        locator = AutoDateLocator()  # type: ignore[no-untyped-call]
        axes.xaxis.set_major_locator(locator)
        axes.xaxis.set_major_formatter(ConciseDateFormatter(locator))  # type: ignore[no-untyped-call]
    axes.set_xlabel("begun (UTC)" if dated else "results, oldest first")
    intervals = [Estimate(point.value, point.low, point.high) for point in shown]
    heading = value_heading(METRICS[series.metric])
    axes.set_ylabel("\n".join(filter(None, (heading, panels.bars_note(intervals)))))


# Forest plot of results against a baseline: one panel per metric, one line per pair.


MOST_LINES = 60
"""Pairs in one panel; the tables have all."""

_LONGEST_NAME = 44  # characters of a pair's name beside its line
_LINE_IN = 0.26  # height of a line, inches
_STYLES: dict[str, tuple[str, str]] = {
    "better": (drawing.BLUE, "^"),
    "worse": (drawing.VERMILION, "v"),
    "same": (drawing.QUIET, "s"),
    "undecided": (drawing.ORANGE, "o"),
}


def ratios(comparison: ResultsComparison, *, ax: panels.Place = None) -> list[Axes]:
    """Plot B over A of each pair with its 95 % interval, shares in points; the same is shaded.

    Args:
        comparison: comparison of `compare_results`; pairs that were not compared are left out.
        ax: place to draw, one panel per metric.
    """
    has_several = len(comparison.results) > 1
    by_metric: dict[str, list[tuple[str, MetricComparison]]] = {name: [] for name in comparison.metrics}
    for result in comparison.results:
        for name, items in named_comparisons(result):
            for item in items:
                if item.difference is not None:
                    by_metric[item.metric].append((f"{result.name}: {name}" if has_several else name, item))
    shown = [("", lines[:MOST_LINES]) for lines in by_metric.values() if lines]
    heights = [1.1 + _LINE_IN * len(lines) for _, lines in shown] or 3.6
    draw = partial(_draw_ratios, threshold=comparison.threshold)
    return panels.draw_panels(ax, shown, draw, "nothing could be compared", "B is", height=heights, columns=1)


def _draw_ratios(axes: Axes, lines: Sequence[tuple[str, MetricComparison]], threshold: Threshold) -> None:
    items = [item for _, item in lines]
    metric, is_ratio = items[0].metric, items[0].scale == "ratio"
    nothing = 1.0 if is_ratio else 0.0
    width = threshold.minimum_effect if is_ratio else threshold.minimum_points
    axes.axvspan(nothing - width, nothing + width, color=drawing.QUIET, alpha=0.15, linewidth=0)
    axes.axvline(nothing, color=drawing.INK, linewidth=1)
    points = [
        panels.Point(
            Estimate(item.difference, item.low, item.high), Estimate(place), item.word,
            f"{name}: {metric} {in_words(item, threshold)}",
        )
        for place, (name, item) in enumerate(lines)
    ]  # fmt: skip
    panels.draw_points(axes, points, _STYLES)
    ends = [end for item in items for end in (item.low, item.difference, item.high) if end is not None]
    low, high = min(nothing - 2 * width, *ends), max(nothing + 2 * width, *ends)
    if is_ratio and min(ends) > 0 and drawing.wants_log(ends):
        axes.set_xscale("log")
        axes.set_xlim(low / 1.15, high * 1.15)
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    else:
        axes.set_xlim(low - 0.06 * (high - low), high + 0.06 * (high - low))
    panels.name_rows(axes, [name for name, _ in lines], _LONGEST_NAME)
    axis = "B over A" if is_ratio else "B less A, points"
    axes.set_xlabel(
        f"{axis} ({METRICS[metric].better} is better)\nbars: 95 % intervals; grey: counts as the same"
    )
    panels.set_title(axes, drawing.label(metric))
