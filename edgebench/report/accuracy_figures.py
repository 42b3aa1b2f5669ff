"""The figures that set accuracy against what it costs: latency, and energy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from edgebench.fit.power_metrics import rail_interval
from edgebench.fit.trial_summary import TrialSummary
from edgebench.report import drawing, figures, words
from edgebench.stats.interval import Interval

_LABEL_OFFSETS = (
    (-5, 5),
    (5, 5),
    (5, -12),
)  # where a point's name stands, so that those of a series do not cover another's


_LEAST_NET = 0.1
"""Of the gross energy: less is next to nothing, and would squeeze the figure on a logarithmic axis."""


@dataclass(frozen=True)
class Point:
    """A trial that has an accuracy, and what it costs.

    Attributes:
        summary: the trial.
        cost: on the level axis, in its unit.
        series: whose colour and marker it has; the legend names it.
        label: what stands beside it.
        net: a second cost, drawn as a hollow marker; None for none.
    """

    summary: TrialSummary
    cost: Interval
    series: str
    label: str
    net: float | None = None


def accuracy_against_latency(summaries: Sequence[TrialSummary]) -> Figure:
    """Top-1 on the images against latency, a panel a target: both with their intervals.

    Args:
        summaries: trials; those without that latency or accuracy are left out.
    """
    shown = words.alike_timed([summary for summary in summaries if summary.accuracy is not None])
    panels = {
        target: [
            Point(summary, summary.latency, summary.precision, figures.point_label(summary))
            for summary in group
            if summary.latency is not None
        ]
        for target, group in figures.panels_of(shown).items()
    }
    return _against_accuracy(panels, f"{words.latency_names(shown)}, seconds a scene", "precision")


def accuracy_against_energy(summaries: Sequence[TrialSummary]) -> Figure:
    """Top-1 on the images against energy an image, a panel a scope; hollow: above that of the idle device.

    Colours are precisions where all trials are of one target, else targets.

    Args:
        summaries: trials; those without accuracy or energy of their primary rail are left out.
    """
    return _against_accuracy(energy_panels(summaries), "energy an image, J", _series(summaries)[0])


def energy_panels(summaries: Sequence[TrialSummary]) -> dict[str, list[Point]]:
    """The points of each scope, by what its meters see: meters of different scopes do not compare."""
    kind, series = _series(summaries)
    names = words.labels(summaries)
    panels: dict[str, list[Point]] = {}
    for summary in summaries:
        rail = summary.primary_rail
        energy = None if rail is None else rail_interval(rail, "energy_j")
        if rail is None or energy is None or summary.accuracy is None:
            continue
        label = figures.point_label(summary) if kind == "precision" else names[summary.key]
        net = rail.net_energy_j
        if net is not None and net < _LEAST_NET * energy.median:
            net = None
        point = Point(summary, energy, series[summary.key], label, net)
        panels.setdefault(words.power_of(rail.scope), []).append(point)
    return panels


def _series(summaries: Sequence[TrialSummary]) -> tuple[str, dict[str, str]]:
    """What tells the points of a figure apart, and each trial's, by key."""
    if len({summary.target for summary in summaries}) > 1:
        return "target", {summary.key: summary.target for summary in summaries}
    return "precision", {summary.key: summary.precision for summary in summaries}


def _against_accuracy(panels: Mapping[str, Sequence[Point]], axis: str, legend: str) -> Figure:
    """Wilson intervals upwards, those of the cost sideways; one scale for all panels."""
    points = [point for group in panels.values() for point in group]
    names = list(dict.fromkeys(point.series for point in points))
    names = sorted(names, key=list(drawing.colours(names)).index)
    colours, markers = drawing.colours(names), drawing.markers(names)
    costs = [cost for point in points for cost in _costs(point)]
    log = drawing.wants_log(costs)
    rates = [
        100 * end
        for point in points
        if point.summary.accuracy
        for end in (point.summary.accuracy.low, point.summary.accuracy.high)
    ]
    with drawing.style():
        figure, all_axes = drawing.grid(max(1, len(panels)))
        for axes, (title, group) in zip(all_axes, panels.items(), strict=False):
            for point in group:
                offset = names.index(point.series) % len(_LABEL_OFFSETS)
                _draw(axes, point, colours[point.series], markers[point.series], offset)
            drawing.scale_axis(axes, "x", costs, log)
            if rates:
                room = 0.08 * max(1.0, max(rates) - min(rates))
                axes.set_ylim(max(0.0, min(rates) - room), min(100.5, max(rates) + room))
            axes.set_xlabel(axis + (" (log)" if log else ""))
            axes.set_ylabel("top-1 on the images, %")
            figures.title_panel(axes, title, panels)
        figures.shared_legend(figure, all_axes, legend)
    return figure


def _draw(axes: Axes, point: Point, colour: str, marker: str, offset: int) -> None:
    accuracy, cost = point.summary.accuracy, point.cost
    if accuracy is None:
        return
    rate = 100 * accuracy.k / accuracy.n if accuracy.n else 0.0
    axes.errorbar(
        [cost.median],
        [rate],
        xerr=figures.error_bars([cost]),
        yerr=[[max(0.0, rate - 100 * accuracy.low)], [max(0.0, 100 * accuracy.high - rate)]],
        fmt=marker,
        color=colour,
        markersize=6,
        linewidth=1.1,
        alpha=0.9,
        label=drawing.label(point.series),
        gid=f"trial-{drawing.label(point.summary.key, 16)}",
    )
    if point.net is not None:
        axes.plot(
            [point.net, cost.median],
            [rate, rate],
            color=colour,
            linewidth=0.6,
            linestyle=":",
            marker=marker,
            markersize=5,
            markerfacecolor="white",
            markevery=[0],
            zorder=1.9,
            gid="net",
        )
    axes.annotate(
        drawing.label(point.label),
        (cost.median, rate),
        xytext=_LABEL_OFFSETS[offset],
        textcoords="offset points",
        ha="right" if offset == 0 else "left",
        fontsize=8,
        color=colour,
    )


def _costs(point: Point) -> list[float]:
    ends = figures.ends_of(point.cost)
    return ends if point.net is None else [*ends, point.net]
