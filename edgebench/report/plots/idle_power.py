"""Idle against active power: a pair of bars a trial."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes

from edgebench.fit.power_metrics import rail_interval
from edgebench.fit.trial_summary import PowerFigure, TrialSummary
from edgebench.report import drawing, tables, words
from edgebench.report.plots.panels import LONGEST_NAME, Place, error_bars, open_panels, say_empty, title_panel

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


def idle_power(summaries: Sequence[TrialSummary], *, ax: Place = None) -> list[Axes]:
    """Mean power of the idle windows and within the steady passes; panels of one scope have one scale.

    Args:
        summaries: trials; those without mean power of their primary rail are left out, and an idle power
            that is missing has no bar.
        ax: where to draw, a panel a target and scope.
    """
    panels = dict(list(idle_panels(summaries).items())[: drawing.MAX_PANELS])
    labels, names = words.labels(summaries), tables.trial_names(summaries)
    longest = max((len(group[:_MAX_ROWS]) for group in panels.values()), default=1)
    with drawing.style():
        opened = open_panels(ax, len(panels), height=1.4 + 0.36 * longest)
        if not panels:
            say_empty(opened.axes[0], "no trial has a mean power")
        for axes, ((target, seen), group) in zip(opened.axes, panels.items(), strict=False):
            shown = group[:_MAX_ROWS]
            for row, summary in enumerate(shown):
                if summary.primary_rail is not None:
                    _draw(axes, row, summary.primary_rail, names[summary.key])
            drawing.name_ticks(
                axes.yaxis, range(len(shown)), [labels[summary.key] for summary in shown], LONGEST_NAME
            )
            axes.set_ylim(len(shown) - 0.4, -0.6)
            axes.grid(visible=False, axis="y")
            alike = [trial for (_, other), trials in panels.items() if other == seen for trial in trials]
            drawing.scale_axis(axes, "x", _ends_w(alike), log=False)
            has_bars = any(rail.mean_low_w is not None for trial in shown if (rail := trial.primary_rail))
            note = "\nthin bars: 95 % intervals" if has_bars else ""
            axes.set_xlabel(f"{drawing.label(seen)}, W{note}")
            title_panel(axes, target, len(panels))
        opened.legend("mean power")
    return opened.axes


def _draw(axes: Axes, row: int, rail: PowerFigure, name: str) -> None:
    """The idle bar above the active one, each with its figure behind it."""
    active = rail_interval(rail, "power_mean_w")
    if active is None:
        return
    ends_w = [active.median if active.high is None else active.high]
    places, values = [row + _BAR / 2], [active.median]
    [bar] = axes.barh(places, values, height=_BAR, color=drawing.BLUE, label="active")
    drawing.mark(bar, "active", f"{name}: active {words.interval(active)} W")
    if active.low is not None and active.high is not None:
        axes.errorbar(
            [active.median],
            places,
            xerr=error_bars(active),
            fmt="none",
            ecolor=drawing.INK,
            elinewidth=1.1,
            capsize=2,
        )
    if rail.idle_w is not None:
        [bar] = axes.barh(
            [row - _BAR / 2], [rail.idle_w], height=_BAR, color=_IDLE, edgecolor=drawing.QUIET, hatch="///",
            linewidth=0.5, label="idle",
        )  # fmt: skip
        drawing.mark(bar, "idle", f"{name}: idle {words.number(rail.idle_w)} W")
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
