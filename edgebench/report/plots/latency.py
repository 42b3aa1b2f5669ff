"""Latency against the depth multiplier, or against the model: a panel a target, a series a precision."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from matplotlib.axes import Axes

from edgebench.fit.trial_summary import TrialSummary
from edgebench.report import drawing, tables, words
from edgebench.report.plots.limit_lines import draw_limits, inside, limit_lines
from edgebench.report.plots.panels import (
    Place,
    bars_note,
    by_target,
    ends_of,
    error_bars,
    open_panels,
    say_empty,
    title_panel,
)

_LONGEST_TICK = 32  # characters of a model's name under its place
_TICK_CHARACTERS = 70  # in all that stand beside each other; more are turned

By = Literal["depth", "model"]


def level_axis(summaries: Sequence[TrialSummary]) -> By:
    """What these trials are drawn against: their depth where they are of one family, else their model."""
    timed = words.alike_timed(summaries)
    families = {words.families([summary]) for summary in timed}
    return "model" if len(families) > 1 or not timed or timed[0].depth_multiplier is None else "depth"


def latency(
    summaries: Sequence[TrialSummary],
    limits: Mapping[str, float] | None = None,
    *,
    by: By | None = None,
    ax: Place = None,
) -> list[Axes]:
    """Median latency of each trial with its interval, and the limits of it.

    It is image_s; infer_s where no trial has that.

    Args:
        summaries: trials; those without that time are left out, and against depth those without a depth.
        limits: profile -> limit of it in seconds; one that is far off stands at the edge (`limit_lines`).
        by: `depth`, or `model` with a place for each in the order of the trials. Default: `level_axis`.
        ax: where to draw, a panel a target.
    """
    shown = words.alike_timed(summaries)
    if (by or level_axis(summaries)) == "depth":
        shown = [summary for summary in shown if summary.depth_multiplier is not None]
        depths = sorted(
            {summary.depth_multiplier for summary in shown if summary.depth_multiplier is not None}
        )
        ticks, axis = [words.depth(depth) for depth in depths], "depth multiplier"
        at = {summary.key: ticks.index(words.depth(summary.depth_multiplier)) for summary in shown}
    else:
        ticks, axis = list(dict.fromkeys(words.model(summary) for summary in shown)), "model"
        at = {summary.key: ticks.index(words.model(summary)) for summary in shown}
    panels = by_target(shown)
    ends = [end for summary in shown for end in ends_of(summary.latency)]
    lines = limit_lines(limits or {}, [summary.latency.median for summary in shown if summary.latency])
    log = drawing.wants_log(ends)
    note = bars_note([summary.latency for summary in shown], "bars: 95 % intervals over sessions")
    with drawing.style():
        opened = open_panels(ax, len(panels))
        if not panels:
            say_empty(opened.axes[0], "no trial has a time")
        for axes, (target, group) in zip(opened.axes, panels.items(), strict=False):
            _draw_series(axes, group, at, shown)
            drawing.scale_axis(axes, "y", [*ends, *inside(lines)], log)
            draw_limits(axes, "y", lines, "s")
            _name_places(axes, ticks)
            axes.set_xlabel(axis)
            unit = f"{words.latency_names(shown)}, seconds a scene" + (" (log)" if log else "")
            axes.set_ylabel(unit + note)
            title_panel(axes, target, len(panels))
        opened.legend("precision")
    return opened.axes


def _draw_series(
    axes: Axes, group: Sequence[TrialSummary], at: Mapping[str, int], shown: Sequence[TrialSummary]
) -> None:
    """The points of one target; precisions side by side, so that their bars do not cover each other."""
    precisions = _precisions(shown)
    colours, markers = drawing.colours(precisions), drawing.markers(precisions)
    names = tables.trial_names(shown)
    for summary in sorted(group, key=lambda summary: (precisions.index(summary.precision), at[summary.key])):
        if summary.latency is None:
            continue
        shift = (precisions.index(summary.precision) - (len(precisions) - 1) / 2) * 0.09
        point = axes.errorbar(
            [at[summary.key] + shift],
            [summary.latency.median],
            yerr=error_bars(summary.latency),
            fmt=markers[summary.precision],
            color=colours[summary.precision],
            markersize=6,
            linewidth=1.2,
            capsize=3,
            label=drawing.label(summary.precision),
        )
        timed = f"{words.latency_names(shown)} {words.interval(summary.latency)} s"
        drawing.mark(point.lines[0], "trial", f"{names[summary.key]}: {timed}")


def _name_places(axes: Axes, ticks: Sequence[str]) -> None:
    turned = sum(len(tick) for tick in ticks) > _TICK_CHARACTERS
    text = {"rotation": 30, "horizontalalignment": "right"} if turned else {}
    drawing.name_ticks(axes.xaxis, range(len(ticks)), ticks, _LONGEST_TICK, **text)
    if ticks:
        axes.set_xlim(-0.5, len(ticks) - 0.5)
    axes.grid(visible=False, axis="x")


def _precisions(summaries: Sequence[TrialSummary]) -> list[str]:
    precisions = dict.fromkeys(summary.precision for summary in summaries)
    return sorted(precisions, key=lambda name: list(drawing.colours(precisions)).index(name))
