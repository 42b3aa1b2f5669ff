"""Accuracy against latency and against energy: what a quicker or thriftier model costs in right answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from matplotlib.axes import Axes

from edgebench.judge.metrics import METRICS
from edgebench.judge.metrics.power import rail_interval
from edgebench.judge.trial_summary import TrialSummary
from edgebench.report import tables, words
from edgebench.report.plots import drawing, panels
from edgebench.stats.interval import Interval

_MOST_NAMED = 24
"""Points of a panel up to which each has its name next to it."""

_LONGEST_NAME = 20  # characters next to a point, which may be at the edge
_SINGLE: dict[str, Any] = {
    "width": 4.7,
    "height": 3.0,
}  # inches, with the legend: type that a phone's screen shows readably

Costs = Sequence[tuple[TrialSummary, Interval]]
"""Trials that have an accuracy, each with what it costs."""


def accuracy(
    summaries: Sequence[TrialSummary],
    limits: Mapping[str, float] | None = None,
    shares: Mapping[str, float] | None = None,
    *,
    ax: panels.Place = None,
) -> list[Axes]:
    """Top-1 on the images against image_s, or against infer_s where no trial has that.

    Args:
        summaries: trials; those without that latency or accuracy are left out.
        limits: profile -> limit of the latency in seconds, as lines; one that is far off is not drawn.
        shares: profile -> limit of the accuracy, as a share, likewise.
        ax: where to draw, a panel a target.
    """
    shown = words.alike_timed([summary for summary in summaries if summary.accuracy is not None])
    groups = [
        (target, [(summary, summary.latency) for summary in group if summary.latency is not None])
        for target, group in panels.by_target(shown)
    ]
    axis = METRICS[words.latency_names(shown)].titled
    return _against_accuracy(groups, axis, "s", "precision", limits or {}, shares or {}, ax)


def _against_accuracy(
    groups: Sequence[tuple[str, Costs]],
    axis: str,
    unit: str,
    legend: str,
    limits: Mapping[str, float],
    shares: Mapping[str, float],
    ax: panels.Place,
) -> list[Axes]:
    """Wilson intervals upwards, those of the cost sideways; one scale for all panels."""
    costs = [cost for _, group in groups for _, cost in group]
    summaries = [summary for _, group in groups for summary, _ in group]
    ends, names, labels = panels.all_ends(costs), tables.trial_names(summaries), words.labels(summaries)
    rates = _rates(summaries)
    series = words.series(summaries)
    if legend == "target":
        series = {summary.key: summary.target for summary in summaries}
    styles = drawing.styles(series.values())
    lines = panels.near_limits(limits, [cost.median for cost in costs])
    levels = panels.near_limits(_per_cent(shares), rates)

    def point(summary: TrialSummary, cost: Interval, is_named: bool) -> panels.Point:
        seen = summary.accuracy
        assert seen is not None
        name = labels[summary.key] if legend == "target" else point_name(summary)
        return panels.Point(
            cost.median,
            100 * seen.k / seen.n if seen.n else 0.0,
            series[summary.key],
            f"{names[summary.key]}: {words.right_of(seen)} at {words.interval(cost)} {unit}",
            panels.ends_of(cost),
            (100 * seen.low, 100 * seen.high),
            drawing.label(name) if is_named else "",
        )

    def draw(axes: Axes, group: Costs) -> None:
        is_named = len(group) <= _MOST_NAMED
        drawing.scale_axis(axes, "x", [*ends, *lines], axis, panels.bars_note(costs))
        low, high = min([*rates, *levels]), max([*rates, *levels])
        room = 0.08 * max(1.0, high - low)
        axes.set_ylim(max(0.0, low - room), min(100.5, high + room))
        axes.set_ylabel("Accuracy on the images, %")
        panels.draw_limits(axes, "x", lines, unit, named=len(groups) == 1)
        panels.draw_limits(axes, "y", levels, "%", named=len(groups) == 1)
        panels.draw_points(axes, [point(*each, is_named) for each in group], styles)

    return panels.draw_panels(
        ax,
        groups,
        draw,
        "no trial has both",
        legend,
        above=panels.above_limits(lines) if len(groups) == 1 else 0.0,
        **_SINGLE if len(groups) == 1 else {},
    )


def _rates(summaries: Sequence[TrialSummary]) -> list[float]:
    """Return the ends of all intervals of accuracy, in per cent."""
    return [
        100 * end for each in summaries if each.accuracy for end in (each.accuracy.low, each.accuracy.high)
    ]


def _per_cent(shares: Mapping[str, float]) -> dict[str, float]:
    return {name: 100 * share for name, share in shares.items()}


def point_name(summary: TrialSummary) -> str:
    """Name next to a trial's point: its depth multiplier, or its model's name where it has none."""
    if summary.depth_multiplier is None:
        return drawing.label(words.model(summary), _LONGEST_NAME)
    return words.depth(summary.depth_multiplier)


def accuracy_picture(
    summaries: Sequence[TrialSummary],
    limits: Mapping[str, float] | None = None,
    shares: Mapping[str, float] | None = None,
) -> panels.Picture:
    """Draw accuracy against image_s, or infer_s where no trial has that; limits as for `accuracy`."""
    able = [summary for summary in summaries if summary.accuracy is not None]
    shown = words.alike_timed(able)
    if not shown:
        return panels.Picture("There is no figure of accuracy against latency: no trial has both.")
    medians_s = [summary.latency.median for summary in shown if summary.latency]
    of_latency = panels.limits_note(limits or {}, medians_s, "s")
    of_accuracy = panels.limits_note(_per_cent(shares or {}), _rates(shown), "%")
    if of_latency.startswith(panels.DASHED):  # once for both
        of_accuracy = of_accuracy.removeprefix(panels.DASHED).strip()
    return panels.picture(
        partial(accuracy, summaries, limits, shares),
        f"Accuracy against {words.latency_words(shown)}",
        "Accuracy on the images against latency, with 95 % intervals; names are depth multipliers or models.",
        of_latency,
        of_accuracy,
        panels.not_drawn(sum(each.latency is not None for each in able) - len(shown), " of inference alone"),
        panels=len({summary.target for summary in summaries}),
    )


# Accuracy against energy an image: a panel for what the meters see.


def energy(summaries: Sequence[TrialSummary], *, ax: panels.Place = None) -> list[Axes]:
    """Top-1 on the images against energy an image.

    Colours are precisions where all trials are of one target, else targets.

    Args:
        summaries: trials; those without accuracy or energy of their primary rail are left out.
        ax: where to draw, a panel a scope: meters of different scopes do not compare.
    """
    groups = list(_energy_panels(summaries).items())[: drawing.MAX_PANELS]
    return _against_accuracy(groups, "Energy per image, J", "J", series_of(summaries), {}, {}, ax)


def series_of(summaries: Sequence[TrialSummary]) -> str:
    """Property that distinguishes points: the target where there are several, else the precision."""
    return "target" if len({summary.target for summary in summaries}) > 1 else "precision"


def _energy_panels(summaries: Sequence[TrialSummary]) -> dict[str, list[tuple[TrialSummary, Interval]]]:
    """The trials of each scope with their energy, by what its meters see."""
    return words.grouped(
        (words.power_of(rail.scope), (summary, energy_j))
        for summary in summaries
        if summary.accuracy is not None
        and (rail := summary.primary_rail) is not None
        and (energy_j := rail_interval(rail, "energy_j")) is not None
    )


def energy_picture(summaries: Sequence[TrialSummary]) -> panels.Picture | None:
    """Accuracy against energy an image; None without a meter."""
    metered = [summary for summary in summaries if summary.power]
    if not metered:
        return None
    groups = _energy_panels(summaries)
    if not groups:
        return panels.Picture("There is no figure of accuracy against energy: no trial has both.")
    return panels.picture(
        partial(energy, summaries),
        "Accuracy against energy per image",
        "Accuracy on the images against energy per image, by the primary meter and rail of each trial, with "
        "95 % intervals.",
        "With --period it is the energy of the whole period, pauses included."
        if any(summary.paced for summary in metered)
        else "",
        f"All meters see the {next(iter(groups))}."
        if len(groups) == 1
        else "Meters of different scopes have a panel each: their figures do not compare.",
        panels.not_drawn(len(metered) - sum(map(len, groups.values())), " without energy or accuracy"),
        panels=len(groups),
        noun="scope",
    )
