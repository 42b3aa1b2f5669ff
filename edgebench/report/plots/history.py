"""A metric over results: values with their intervals, the levels between the changes, and the changes."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from itertools import pairwise
from math import nan

from matplotlib.axes import Axes
from matplotlib.dates import AutoDateLocator, ConciseDateFormatter, date2num

from edgebench.fit.history import HistoryPoint, TrialSeries
from edgebench.report import drawing
from edgebench.report.history_text import heading, ratio_text, series_names
from edgebench.report.plots.panels import Place, bars_note, open_panels, say_empty, set_title
from edgebench.stats.interval import Interval

_NAMED = 60  # characters of a series' name above its panel


def history(series: Sequence[TrialSeries], *, ax: Place = None) -> list[Axes]:
    """A panel a series: value against date, or against the place in the order where a date is not known.

    Args:
        series: as of `edgebench.fit.history.history`; those past drawing.MAX_PANELS are left out.
        ax: where to draw, a panel a series.
    """
    shown = series[: drawing.MAX_PANELS]
    names = series_names(series)
    several = len({each.target for each in series}) > 1  # then the names say which
    with drawing.style():
        opened = open_panels(ax, len(shown), columns=1 if len(shown) < 4 else 2, height=2.8)
        if not shown:
            say_empty(opened.axes[0], "no result has the metric")
        for axes, each, name in zip(opened.axes, shown, names, strict=False):
            _draw(axes, each)
            own = name if several else f"{each.target}: {name}"
            set_title(axes, drawing.label(own, _NAMED))
    return opened.axes


def _draw(axes: Axes, series: TrialSeries) -> None:
    scale = 100.0 if series.is_share else 1.0
    dated = all(point.begun_utc for point in series.points)
    places = [_place(point, number, dated) for number, point in enumerate(series.points)]
    figures = [point.figure for point in series.points]
    values = [scale * figure.value for figure in figures]
    # Not 0, which would draw the caps of an interval that there is not.
    below = [nan if figure.low is None else scale * max(0.0, figure.value - figure.low) for figure in figures]
    above = [
        nan if figure.high is None else scale * max(0.0, figure.high - figure.value) for figure in figures
    ]
    axes.errorbar(
        places, values, yerr=[below, above], fmt="o", color=drawing.BLUE, markersize=3.5, linewidth=1.0,
        capsize=2,
    )  # fmt: skip
    axes.margins(y=0.15)
    cuts = [change.point.at for change in series.changes]
    edges = [0, *cuts, len(values)]
    for first, end in pairwise(edges):
        level = sum(values[first:end]) / (end - first)
        axes.plot([places[first], places[end - 1]], [level, level], color=drawing.INK, linewidth=1.0)
    for change in series.changes:
        at = change.point.at
        between = (places[at - 1] + places[at]) / 2
        worse = change.word == "worse"
        is_late = between - places[0] > 0.6 * (places[-1] - places[0])  # its words stand before it then
        axes.axvline(
            between, color=drawing.VERMILION if worse else drawing.GREEN, linestyle="--", linewidth=1.2
        )
        axes.annotate(
            f"{ratio_text(change.point.ratio)} {change.word}",
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
    intervals = [Interval(figure.value, figure.low, figure.high, 0, 0) for figure in figures]
    note = "interval by Wilson" if series.is_share else "95 % interval over sessions"
    axes.set_ylabel(_axis_name(series) + bars_note(intervals, note))


def _axis_name(series: TrialSeries) -> str:
    return heading(series).replace(" [", ", ").rstrip("]")


def _place(point: HistoryPoint, number: int, dated: bool) -> float:
    if not dated:
        return float(number)
    return float(date2num(datetime.fromisoformat(point.begun_utc)))  # type: ignore[no-untyped-call]
