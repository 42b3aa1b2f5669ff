"""Accuracy against latency: what a quicker model costs in right answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from matplotlib.axes import Axes
from matplotlib.patheffects import withStroke

from edgebench.judge.metrics.power import rail_interval
from edgebench.judge.trial_summary import TrialSummary
from edgebench.report import drawing, tables, words
from edgebench.report.plots.panels import (
    Picture,
    Place,
    bar_ends,
    by_target,
    draw_panels,
    draw_point,
    ends_of,
    not_drawn,
    picture,
)
from edgebench.stats.interval import Interval

# Accuracy against what it costs, as points with both intervals: what its two figures share.


_LABEL_OFFSETS = (
    (5, 5),
    (5, -12),
    (5, 15),
    (5, -22),
)  # points; from the cheapest on in turn, so that the names of neighbours stand above each other


_LONGEST_NAME = 22  # characters beside a point, which may lie at the edge


@dataclass(frozen=True)
class Point:
    """A trial that has an accuracy, and what it costs.

    Attributes:
        summary: the trial.
        cost: on the level axis, in its unit.
        series: whose colour and marker it has; the legend names it.
        label: what stands beside it.
    """

    summary: TrialSummary
    cost: Interval
    series: str
    label: str


def point_label(summary: TrialSummary) -> str:
    """What stands beside a trial's point: its depth multiplier, or its model's name where it has none."""
    if summary.depth_multiplier is None:
        return drawing.label(words.model(summary), _LONGEST_NAME)
    return words.depth(summary.depth_multiplier)


def draw_against_accuracy(
    panels: Sequence[tuple[str, Sequence[Point]]], axis: str, unit: str, bars: str, legend: str, ax: Place
) -> list[Axes]:
    """Wilson intervals upwards, those of the cost sideways; one scale for all panels.

    Args:
        panels: the points, and what stands above their panel.
        axis: what the cost is.
        unit: of the cost.
        bars: what the cost's intervals are over.
        legend: what the series are.
        ax: where to draw.
    """
    points = [point for _, group in panels for point in group]
    series = drawing.by_colour(point.series for point in points)
    colours, markers = drawing.colours(series), drawing.markers(series)
    costs = [end for point in points for end in ends_of(point.cost)]
    log = drawing.wants_log(costs)
    rates = [
        100 * end
        for point in points
        if point.summary.accuracy
        for end in (point.summary.accuracy.low, point.summary.accuracy.high)
    ]
    names = tables.trial_names([point.summary for point in points])
    has_bars = any(point.cost.low is not None for point in points)
    note = f"\nbars: 95 % intervals {bars}" if has_bars else ""

    def draw(axes: Axes, group: Sequence[Point]) -> None:
        in_order = sorted(group, key=lambda point: point.cost.median)
        for point in group:
            offset = _LABEL_OFFSETS[in_order.index(point) % len(_LABEL_OFFSETS)]
            _draw(axes, point, colours[point.series], markers[point.series], offset, unit, names)
        drawing.scale_axis(axes, "x", costs, log)
        if rates:
            room = 0.08 * max(1.0, max(rates) - min(rates))
            axes.set_ylim(max(0.0, min(rates) - room), min(100.5, max(rates) + room))
        axes.set_xlabel(f"{axis}, {unit}" + (" (log)" if log else "") + note)
        axes.set_ylabel("top-1 on the images, %\nbars: 95 % Wilson intervals")

    return draw_panels(ax, panels, draw, f"no trial has both accuracy and {axis}", legend)


def _draw(
    axes: Axes,
    point: Point,
    colour: str,
    marker: str,
    offset: tuple[int, int],
    unit: str,
    names: Mapping[str, str],
) -> None:
    accuracy, cost = point.summary.accuracy, point.cost
    if accuracy is None:
        return
    rate = 100 * accuracy.k / accuracy.n if accuracy.n else 0.0
    bars = [(ends, (rate, rate)) for ends in bar_ends(cost)]
    upright = ((cost.median, cost.median), (100 * accuracy.low, 100 * accuracy.high))
    drawn = draw_point(
        axes, (cost.median, rate), upright, *bars, colour=colour, marker=marker, label=point.series
    )
    cost_text = f"{words.interval(cost)} {unit}"
    drawing.mark(drawn, "trial", f"{names[point.summary.key]}: {words.right_of(accuracy)} at {cost_text}")
    text = axes.annotate(
        drawing.label(point.label),
        (cost.median, rate),
        xytext=offset,
        textcoords="offset points",
        fontsize=8,
        path_effects=[withStroke(linewidth=2.0, foreground="white")],
    )
    text.set_in_layout(False)


def accuracy(summaries: Sequence[TrialSummary], *, ax: Place = None) -> list[Axes]:
    """Top-1 on the images against image_s, or against infer_s where no trial has that.

    Args:
        summaries: trials; those without that latency or accuracy are left out.
        ax: where to draw, a panel a target.
    """
    shown = words.alike_timed([summary for summary in summaries if summary.accuracy is not None])
    panels = [
        (
            target,
            [
                Point(summary, summary.latency, summary.precision, point_label(summary))
                for summary in group
                if summary.latency is not None
            ],
        )
        for target, group in by_target(shown)
    ]
    return draw_against_accuracy(
        panels, words.latency_names(shown), "seconds a scene", "over sessions", "precision", ax
    )


def accuracy_picture(summaries: Sequence[TrialSummary]) -> Picture:
    """Accuracy against image_s; against infer_s where no trial has that."""
    able = [summary for summary in summaries if summary.accuracy is not None]
    shown = words.alike_timed(able)
    if not shown:
        return Picture("There is no figure of accuracy against latency: no trial has both.")
    quantity = words.latency_names(shown)
    return picture(
        partial(accuracy, summaries),
        f"Accuracy against {quantity}",
        f"Top-1 on the images against {quantity}; beside the points stand depth multipliers or models.",
        "Upright bars are Wilson intervals, level ones are intervals over sessions, both 95 %.",
        not_drawn(sum(each.latency is not None for each in able) - len(shown), " with infer_s alone"),
        panels=len({summary.target for summary in summaries}),
    )


# What the colours and markers of a figure's points stand for.


def series_of(summaries: Sequence[TrialSummary]) -> tuple[str, dict[str, str]]:
    """What tells the points of a figure apart, and each trial's, by key: targets where there are several."""
    if len({summary.target for summary in summaries}) > 1:
        return "target", {summary.key: summary.target for summary in summaries}
    return "precision", {summary.key: summary.precision for summary in summaries}


# Accuracy against energy an image: a panel for what the meters see.


def energy(summaries: Sequence[TrialSummary], *, ax: Place = None) -> list[Axes]:
    """Top-1 on the images against energy an image.

    Colours are precisions where all trials are of one target, else targets.

    Args:
        summaries: trials; those without accuracy or energy of their primary rail are left out.
        ax: where to draw, a panel a scope: meters of different scopes do not compare.
    """
    panels = list(energy_panels(summaries).items())[: drawing.MAX_PANELS]
    return draw_against_accuracy(
        panels, "energy an image", "J", "over sessions and samples", series_of(summaries)[0], ax
    )


def energy_panels(summaries: Sequence[TrialSummary]) -> dict[str, list[Point]]:
    """The points of each scope, by what its meters see."""
    kind, series = series_of(summaries)
    names = words.labels(summaries)
    panels: dict[str, list[Point]] = {}
    for summary in summaries:
        rail = summary.primary_rail
        energy_j = None if rail is None else rail_interval(rail, "energy_j")
        if rail is None or energy_j is None or summary.accuracy is None:
            continue
        label = point_label(summary) if kind == "precision" else names[summary.key]
        point = Point(summary, energy_j, series[summary.key], label)
        panels.setdefault(words.power_of(rail.scope), []).append(point)
    return panels


def energy_picture(summaries: Sequence[TrialSummary]) -> Picture | None:
    """Accuracy against energy an image; None without a meter."""
    metered = [summary for summary in summaries if summary.power]
    if not metered:
        return None
    panels = energy_panels(summaries)
    if not panels:
        return Picture("There is no figure of accuracy against energy: no trial has both.")
    points = [point for group in panels.values() for point in group]
    return picture(
        partial(energy, summaries),
        "Accuracy against energy an image",
        "Top-1 on the images against energy an image, as the primary meter and rail of each trial see it; "
        "beside the points stand depth multipliers or models. Upright bars are Wilson intervals, level ones "
        "those of the energy over sessions and samples, both 95 %.",
        "With --period it is the energy of the whole period, pauses included."
        if any(summary.paced for summary in metered)
        else "",
        f"All meters see the {next(iter(panels))}."
        if len(panels) == 1
        else "Meters of different scopes have a panel each: their figures do not compare.",
        not_drawn(len(metered) - len(points), " without energy or accuracy"),
        panels=len(panels),
        noun="scope",
    )
