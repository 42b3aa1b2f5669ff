"""The figure of idle against active power: a pair of bars a trial."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from edgebench.fit.power_metrics import rail_interval
from edgebench.fit.trial_summary import PowerFigure, TrialSummary
from edgebench.report import drawing, figures, words

_MAX_ROWS = 60
_IDLE = "#c4c4c4"
_BAR = 0.38  # of a row


def idle_panels(summaries: Sequence[TrialSummary]) -> dict[tuple[str, str], list[TrialSummary]]:
    """The trials with a mean power of their primary rail, by target and by what its meter sees."""
    panels: dict[tuple[str, str], list[TrialSummary]] = {}
    for summary in summaries:
        rail = summary.primary_rail
        if rail is not None and rail.mean_w is not None:
            panels.setdefault((summary.target, words.power_of(rail.scope)), []).append(summary)
    return panels


def idle_against_active(summaries: Sequence[TrialSummary]) -> Figure:
    """Mean power of the idle windows and within the steady passes; panels of one scope have one scale.

    Args:
        summaries: trials; those without mean power of their primary rail are left out, and an idle power
            that is missing has no bar.
    """
    panels = dict(list(idle_panels(summaries).items())[: drawing.MAX_PANELS])
    labels = words.labels(summaries)
    longest = max((len(group[:_MAX_ROWS]) for group in panels.values()), default=1)
    with drawing.style():
        figure, all_axes = drawing.grid(max(1, len(panels)), height=1.2 + 0.36 * longest)
        for axes, ((target, seen), group) in zip(all_axes, panels.items(), strict=False):
            shown = group[:_MAX_ROWS]
            for row, summary in enumerate(shown):
                if summary.primary_rail is not None:
                    _draw(axes, row, summary.primary_rail)
            axes.set_yticks(range(len(shown)), [drawing.label(labels[summary.key]) for summary in shown])
            axes.set_ylim(len(shown) - 0.4, -0.6)
            axes.grid(visible=False, axis="y")
            alike = [trial for (_, other), trials in panels.items() if other == seen for trial in trials]
            drawing.scale_axis(axes, "x", _ends_w(alike), log=False)
            axes.set_xlabel(f"{drawing.label(seen)}, W")
            figures.title_panel(axes, target, panels)
        figures.shared_legend(figure, all_axes, "mean power")
    return figure


def _draw(axes: Axes, row: int, rail: PowerFigure) -> None:
    """The idle bar above the active one, each with its figure behind it."""
    active = rail_interval(rail, "power_mean_w")
    if active is None:
        return
    ends_w = [active.median if active.high is None else active.high]
    places, values = [row + _BAR / 2], [active.median]
    axes.barh(places, values, height=_BAR, color=drawing.BLUE, label="active", gid="active")
    if active.low is not None and active.high is not None:
        axes.errorbar(
            [active.median],
            places,
            xerr=figures.error_bars([active]),
            fmt="none",
            ecolor=drawing.INK,
            elinewidth=1.1,
            capsize=2,
        )
    if rail.idle_w is not None:
        axes.barh(
            [row - _BAR / 2], [rail.idle_w], height=_BAR, color=_IDLE, edgecolor=drawing.QUIET, hatch="///",
            linewidth=0.5, label="idle", gid="idle",
        )  # fmt: skip
        places.append(row - _BAR / 2)
        values.append(rail.idle_w)
        ends_w.append(rail.idle_w)
    for place, value, end_w in zip(places, values, ends_w, strict=True):
        axes.annotate(
            words.number(value), (end_w, place), xytext=(4, -3), textcoords="offset points", fontsize=8
        )


def _ends_w(summaries: Sequence[TrialSummary]) -> list[float]:
    rails = [summary.primary_rail for summary in summaries if summary.primary_rail is not None]
    values = [(rail.mean_w, rail.mean_high_w, rail.idle_w) for rail in rails]
    return [value for of_rail in values for value in of_rail if value is not None]
