"""Power over time: a panel a trial and scope, with steady passes and idle windows shaded."""

from __future__ import annotations

import itertools
import textwrap
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.patheffects import withStroke
from numpy.typing import NDArray

from edgebench.judge.power_metrics import rail_interval
from edgebench.judge.power_trace import PowerTrace, RailTrace, power_traces
from edgebench.judge.profile import Profile
from edgebench.judge.trial_summary import PowerFigure, TrialSummary
from edgebench.report import drawing, tables, words
from edgebench.report.metric_text import meter_text, scope_text
from edgebench.report.plots.limits import LimitLine, draw_limits, limit_lines
from edgebench.report.plots.panels import (
    LONGEST_NAME,
    Panels,
    Place,
    error_bars,
    open_panels,
    say_empty,
    set_title,
    title_panel,
)
from edgebench.results.load import StoredResults
from edgebench.stats.power import power_line

MAX_RAILS = 4  # lines in one panel
_COLUMNS = {1: 640, 2: 330}  # about the pixels of a panel's width, by panels beside each other
_STEADY, _IDLE = "#d3e5f1", "#ececec"
_PANEL_TITLE = {1: 90, 2: 42}  # characters in a line above a panel
_LEGEND_CHARACTERS, _LEGEND_ENTRY = 110, 8  # in a line of the legend, and what a sample of a line takes
_LEGEND_LINE = 0.18  # inches by which the figure grows for each, so that the panels keep their height
_STATISTICS = {"power_peak_w": "peak", "power_mean_w": "mean"}


def drawn_traces(results: StoredResults, summaries: Sequence[TrialSummary]) -> list[PowerTrace]:
    """The traces of as many trials as one figure draws, in their order; some of every target."""
    by_target: dict[str, list[TrialSummary]] = {}
    for summary in summaries:
        if summary.primary_rail is not None:
            by_target.setdefault(summary.target, []).append(summary)
    turns = itertools.zip_longest(*by_target.values())
    traces: dict[str, list[PowerTrace]] = {}
    for summary in (trial for turn in turns for trial in turn if trial is not None):
        if sum(map(len, traces.values())) >= drawing.MAX_PANELS:
            break
        traces[summary.key] = power_traces(results, summary)
    in_order = [trace for summary in summaries for trace in traces.get(summary.key, ())]
    return in_order[: drawing.MAX_PANELS]


def power_limits(profiles: Sequence[Profile]) -> dict[str, float]:
    """What the profiles allow for power, in words -> in W: `disco-realtime: peak ≤ 5 W`.

    One entry for all profiles that ask for the same.
    """
    who: dict[tuple[str, float, float | None], list[str]] = {}
    for profile in profiles:
        for requirement in profile.requirements:
            if requirement.quantity in _STATISTICS and isinstance(requirement.limit, float):
                watts = requirement.limit * requirement.scale
                asked = (_STATISTICS[requirement.quantity], watts, requirement.averaging_s)
                who.setdefault(asked, []).append(words.plain(profile.name, 40))
    limits = {}
    for (statistic, watts, averaging_s), names in who.items():
        averaged = "" if averaging_s is None else f", averaged over {averaging_s:g} s"
        named = names[0] if len(names) == 1 else words.counted(len(names), "profile")
        limits[f"{named}: {statistic} ≤ {watts:g} W{averaged}"] = watts
    return limits


def lines_of_limits(traces: Sequence[PowerTrace], limits: Mapping[str, float]) -> list[LimitLine]:
    """Where the limits stand, given the highest sample of these traces."""
    highest_w = max((float(np.nanmax(rail.watts)) for trace in traces for rail in trace.rails), default=0.0)
    return limit_lines(limits, [highest_w] if highest_w > 0 else [])


def power_over_time(
    traces: Sequence[PowerTrace],
    names: Mapping[str, str],
    limits: Mapping[str, float] | None = None,
    *,
    ax: Place = None,
) -> list[Axes]:
    """Power in W over the seconds of a session, a panel a trace; panels of one scope have one scale.

    Args:
        traces: at most `drawing.MAX_PANELS`.
        names: what the trials are called, by key.
        limits: in words -> in W, drawn as lines in all panels; one that is far off stands at the edge.
        ax: where to draw, a panel a trace.
    """
    limits = limits or {}
    lines = lines_of_limits(traces, limits)
    inside_w = [line.value for line in lines if line.side != "above"]
    rails = list(dict.fromkeys(meter_text(rail.rail) for trace in traces for rail in trace.rails[:MAX_RAILS]))
    colours = {name: drawing.PALETTE[at % len(drawing.PALETTE)] for at, name in enumerate(rails)}
    beside = 1 if len(traces) == 1 else 2
    with drawing.style():
        opened = open_panels(ax, len(traces), height=3.2 if beside == 1 else 2.1)
        if not traces:
            say_empty(opened.axes[0], "no meter gave a sample")
        for axes, trace in zip(opened.axes, traces, strict=False):
            _shade(axes, trace, _COLUMNS[beside])
            for rail in trace.rails[:MAX_RAILS]:
                _draw(axes, rail, trace, colours[meter_text(rail.rail)], _COLUMNS[beside])
            alike = [other for other in traces if other.scope == trace.scope]
            _bound(axes, [rail.watts for other in alike for rail in other.rails[:MAX_RAILS]], inside_w)
            draw_limits(axes, "y", lines, "W", named=False, colour=drawing.VERMILION)
            title = f"{names[trace.trial]}, session {trace.session:03}"
            set_title(axes, "\n".join(textwrap.wrap(drawing.label(title, 120), _PANEL_TITLE[beside])))
            axes.set_xlabel("time in the session, s")
            axes.set_ylabel(f"{drawing.label(words.power_of(trace.scope))}, W")
        if traces:
            _add_legend(opened, colours, limits, any(len(trace.idle_s) for trace in traces))
    return opened.axes


def _shade(axes: Axes, trace: PowerTrace, columns: int) -> None:
    """Passes and idle windows from the bottom to the top of a panel."""
    ends_s = [trace.steady_s, trace.idle_s, *(rail.t_s[[0, -1]].reshape(1, 2) for rail in trace.rails)]
    first_s = min(float(spans_s.min()) for spans_s in ends_s if spans_s.size)
    last_s = max(float(spans_s.max()) for spans_s in ends_s if spans_s.size)
    axes.set_xlim(first_s, last_s if last_s > first_s else first_s + 1)
    whole = axes.get_xaxis_transform()
    for kind, spans_s, colour, hatch in (
        ("steady", trace.steady_s, _STEADY, ""),
        ("idle", trace.idle_s, _IDLE, "///"),
    ):
        seen_s = merged_spans(spans_s, (last_s - first_s) / columns)
        shaded = axes.broken_barh(
            list(zip(seen_s[:, 0].tolist(), (seen_s[:, 1] - seen_s[:, 0]).tolist(), strict=True)),
            (0.0, 1.0),
            transform=whole,
            facecolor=colour,
            edgecolor="#d0d0d0" if hatch else "none",
            hatch=hatch,
            linewidth=0,
            zorder=0.1,
        )  # fmt: skip
        drawing.mark(shaded, kind)


def merged_spans(spans: NDArray[np.float64], least_gap: float) -> NDArray[np.float64]:
    """Spans [n, 2] in order, those with less than `least_gap` between them as one."""
    if len(spans) < 2:
        return spans
    gaps = np.flatnonzero(spans[1:, 0] - spans[:-1, 1] >= least_gap)
    firsts, lasts = np.concatenate(([0], gaps + 1)), np.concatenate((gaps, [len(spans) - 1]))
    return np.stack((spans[firsts, 0], spans[lasts, 1]), axis=1)


def _draw(axes: Axes, rail: RailTrace, trace: PowerTrace, colour: str, columns: int) -> None:
    """A rail's line, a dot for a sample that stands alone, and its mean within the steady passes."""
    t_s, watts = power_line(rail.t_s, rail.watts, columns)
    [line] = axes.plot(t_s, watts, color=colour, linewidth=0.9)
    drawing.mark(line, "power", rail_words(rail))
    broken = np.concatenate(([True], np.isnan(watts), [True]))
    alone = broken[:-2] & broken[2:] & ~broken[1:-1]
    axes.plot(t_s[alone], watts[alone], color=colour, linestyle="", marker=".", markersize=3)
    if rail.mean_w is not None and len(trace.steady_s):
        [mean] = axes.plot(
            [trace.steady_s[0, 0], trace.steady_s[-1, 1]],
            [rail.mean_w, rail.mean_w],
            color=drawing.INK,
            linewidth=1.2,
            linestyle=(0, (1.5, 1.2)),
            path_effects=[withStroke(linewidth=2.8, foreground="white")],
        )
        drawing.mark(mean, "mean", f"mean {words.number(rail.mean_w)} W within the steady passes")


def _bound(axes: Axes, watts: Sequence[NDArray[np.float64]], limits_w: Iterable[float]) -> None:
    """From zero, or below it where samples are, to above the highest."""
    drawing.scale_axis(axes, "y", [*(float(np.nanmax(values)) for values in watts), *limits_w], log=False)
    lowest_w = min(float(np.nanmin(values)) for values in watts)
    if lowest_w < 0:
        axes.set_ylim(bottom=1.12 * lowest_w)


def rail_words(rail: RailTrace) -> str:
    """One rail of a trace: its meter, mean, and between what its samples lie."""
    mean = "no mean" if rail.mean_w is None else f"mean {words.number(rail.mean_w)} W"
    low, high = words.number(float(np.nanmin(rail.watts))), words.number(float(np.nanmax(rail.watts)))
    seconds = words.number(float(rail.t_s[-1] - rail.t_s[0]))
    return (
        f"{meter_text(rail.rail)} ({scope_text(rail.rail)}) {mean}, "
        f"{low} to {high} W in {words.counted(len(rail.watts), 'sample')} over {seconds} s"
    )


def _add_legend(
    opened: Panels, colours: Mapping[str, str], limits: Mapping[str, float], has_idle: bool
) -> None:
    handles: list[Artist] = [
        Line2D([], [], color=colour, linewidth=1.2, label=drawing.label(name))
        for name, colour in colours.items()
    ]
    handles.append(
        Line2D(
            [],
            [],
            color=drawing.INK,
            linewidth=1.2,
            linestyle=(0, (1.5, 1.2)),
            label="mean within steady passes",
        )
    )
    handles.append(Patch(facecolor=_STEADY, label="steady passes"))
    if has_idle:
        handles.append(Patch(facecolor=_IDLE, edgecolor="#d0d0d0", hatch="///", linewidth=0, label="idle"))
    handles += [
        Line2D(
            [],
            [],
            color=drawing.VERMILION,
            linewidth=1.1,
            linestyle=(0, (6, 3)),
            label=drawing.label(name, 80),
        )
        for name in limits
    ]
    if opened.figure is None:
        opened.legend_of(handles, "")
        return
    columns = _legend_columns([str(handle.get_label()) for handle in handles])
    opened.figure.legend(handles=handles, loc="outside upper left", ncols=columns, fontsize=8.5)
    if isinstance(opened.figure, Figure):
        opened.figure.set_figheight(
            opened.figure.get_figheight() + _LEGEND_LINE * -(-len(handles) // columns)
        )


def _legend_columns(texts: Sequence[str]) -> int:
    """As many columns, up to three, as the entries fill without leaving the figure."""
    for columns in (3, 2):
        rows = -(-len(texts) // columns)
        longest = [max(map(len, texts[first : first + rows])) for first in range(0, len(texts), rows)]
        if sum(longest) + _LEGEND_ENTRY * columns <= _LEGEND_CHARACTERS:
            return columns
    return 1


# Idle against active power: a pair of bars a trial.


_MAX_ROWS = 60
_IDLE_COLOUR = "#c4c4c4"
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
                    _draw_idle_power(axes, row, summary.primary_rail, names[summary.key])
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


def _draw_idle_power(axes: Axes, row: int, rail: PowerFigure, name: str) -> None:
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
            [row - _BAR / 2], [rail.idle_w], height=_BAR, color=_IDLE_COLOUR, edgecolor=drawing.QUIET,
            hatch="///", linewidth=0.5, label="idle",
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
