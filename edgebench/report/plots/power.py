"""Power over time: a panel a trial and scope, with steady passes and idle windows shaded."""

from __future__ import annotations

import itertools
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.patheffects import withStroke
from numpy.typing import NDArray

from edgebench.judge.power_trace import PowerTrace, RailTrace, power_traces
from edgebench.judge.profile import Profile
from edgebench.judge.trial_summary import TrialSummary
from edgebench.report import drawing, notes, tables, words
from edgebench.report.metric_text import meter_text, scope_text
from edgebench.report.plots.limits import LimitLine, draw_limits, limit_lines
from edgebench.report.plots.panels import (
    Panels,
    Picture,
    Place,
    draw_panels,
    not_drawn,
    picture,
    set_title,
)
from edgebench.results.load import StoredResults
from edgebench.stats.power import power_line

MAX_RAILS = 4  # lines in one panel
_COLUMNS = {1: 640, 2: 330}  # about the pixels of a panel's width, by panels beside each other
_STEADY, _IDLE = "#d3e5f1", "#ececec"
_PANEL_TITLE = {1: 90, 2: 42}  # characters in a line above a panel
_LEGEND_CHARACTERS, _LEGEND_ENTRY = 110, 8  # in a line of the legend, and what a sample of a line takes
_LEGEND_LINE = 0.18  # inches by which the figure grows for each, so that the panels keep their height
_MEAN: dict[str, Any] = {"color": drawing.INK, "linewidth": 1.2, "linestyle": (0, (1.5, 1.2))}
_STATISTICS = {"power_peak_w": "peak", "power_mean_w": "mean"}


def drawn_traces(results: StoredResults, summaries: Sequence[TrialSummary]) -> list[PowerTrace]:
    """The traces of as many trials as one figure draws, in their order; some of every target."""
    metered = notes.by_target(summary for summary in summaries if summary.primary_rail is not None)
    turns = itertools.zip_longest(*metered.values())
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
    who = words.grouped(
        (
            (_STATISTICS[asked.quantity], asked.limit * asked.scale, asked.averaging_s),
            words.plain(profile.name, 40),
        )
        for profile in profiles
        for asked in profile.requirements
        if asked.quantity in _STATISTICS and isinstance(asked.limit, float)
    )
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
        limits: in words -> in W, drawn as lines in all panels; none that is far off.
        ax: where to draw, a panel a trace.
    """
    lines = lines_of_limits(traces, limits or {})
    inside_w = [line.value for line in lines if line.side != "above"]
    rails = list(dict.fromkeys(meter_text(rail.rail) for trace in traces for rail in trace.rails[:MAX_RAILS]))
    colours = {name: drawing.PALETTE[at % len(drawing.PALETTE)] for at, name in enumerate(rails)}
    beside = 1 if len(traces) == 1 else 2

    def draw(axes: Axes, trace: PowerTrace) -> None:
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

    def legend(opened: Panels) -> None:
        _add_legend(opened, colours, limits or {}, any(len(trace.idle_s) for trace in traces))

    panels, height = [("", trace) for trace in traces], 3.2 if beside == 1 else 2.1
    return draw_panels(ax, panels, draw, "no meter gave a sample", legend, height=height)


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
            **_MEAN,
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
        *(
            Line2D([], [], color=colour, linewidth=1.2, label=drawing.label(name))
            for name, colour in colours.items()
        ),
        Line2D([], [], **_MEAN, label="mean within steady passes"),
        Patch(facecolor=_STEADY, label="steady passes"),
    ]
    if has_idle:
        handles.append(Patch(facecolor=_IDLE, edgecolor="#d0d0d0", hatch="///", linewidth=0, label="idle"))
    of_limits: dict[str, Any] = {"color": drawing.VERMILION, "linewidth": 1.1, "linestyle": (0, (6, 3))}
    handles += [Line2D([], [], **of_limits, label=drawing.label(name, 80)) for name in limits]
    if opened.figure is None:
        opened.legend_of(handles, "")
        return
    longest = max(len(str(handle.get_label())) for handle in handles)
    columns = max(1, min(3, _LEGEND_CHARACTERS // (longest + _LEGEND_ENTRY)))
    opened.figure.legend(handles=handles, loc="outside upper left", ncols=columns, fontsize=8.5)
    if isinstance(opened.figure, Figure):
        lines = -(-len(handles) // columns)
        opened.figure.set_figheight(opened.figure.get_figheight() + _LEGEND_LINE * lines)


def power_over_time_picture(
    results: StoredResults, summaries: Sequence[TrialSummary], profiles: Sequence[Profile]
) -> Picture | None:
    """Power over the time of one session a trial; None without a meter."""
    metered = [summary for summary in summaries if summary.power]
    if not metered:
        return None
    traces = drawn_traces(results, summaries)
    if not traces:
        return Picture("There is no figure of power over time: no meter gave a sample in these sessions.")
    limits, names = power_limits(profiles), tables.trial_names(summaries)
    far = [name for line in lines_of_limits(traces, limits) if line.side == "above" for name in line.names]
    undrawn = len(metered) - len({trace.trial for trace in traces})
    is_full = len(traces) >= drawing.MAX_PANELS
    hidden = sum(max(0, len(trace.rails) - MAX_RAILS) for trace in traces)
    return picture(
        partial(power_over_time, traces, names, limits),
        "Power over the time of a session",
        "Power over the time of a session: of each trial the one in the middle by mean power, with its "
        "steady passes and idle windows shaded. Panels of one scope have one scale. Where samples are closer "
        "than pixels the line spans the lowest to the highest; where it is broken the meter gave no reading.",
        "With --period the pauses are part of the steady time."
        if any(summary.paced for summary in metered)
        else "",
        f"Far above every sample: {words.listed(far)}." if far else "",
        not_drawn(undrawn, "; the figure is full" if is_full else "; no reading came in these sessions"),
        f"A panel holds {MAX_RAILS} rails at most: {hidden} are in the table alone." if hidden else "",
        panels=len(traces),
    )
