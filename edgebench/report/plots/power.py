"""Power over time: a panel per trial and scope, with steady passes and idle windows shaded."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from numpy.typing import NDArray

from edgebench.judge.power.trace import PowerTrace, RailTrace, power_traces
from edgebench.judge.requirements.profile import Profile
from edgebench.judge.trial import Estimate, Trial
from edgebench.report import tables, words
from edgebench.report.plots import drawing, panels
from edgebench.report.tables import meter_text, rail_text
from edgebench.results.load import StoredResults
from edgebench.stats.power import power_line

MAX_RAILS = 4  # lines in one panel
_COLUMNS = 330  # about the pixels of a panel's width
_SPANS: Mapping[str, dict[str, Any]] = {
    "steady passes": {"facecolor": "#d3e5f1", "edgecolor": "none", "linewidth": 0},
    "idle": {"facecolor": "#ececec", "edgecolor": "#d0d0d0", "hatch": "///", "linewidth": 0},
}
_MEAN: dict[str, Any] = {"color": drawing.INK, "linewidth": 1.2, "linestyle": (0, (1.5, 1.2))}


def drawn_traces(results: StoredResults, trials: Sequence[Trial]) -> list[PowerTrace]:
    """Traces of as many trials as one figure draws, in their order; some of every target."""
    by_target = words.grouped((trial.target, trial) for trial in trials if trial.rails)
    turns = itertools.zip_longest(*by_target.values())
    traces: dict[str, list[PowerTrace]] = {}
    for trial in (trial for turn in turns for trial in turn if trial is not None):
        if sum(map(len, traces.values())) >= drawing.MAX_PANELS:
            break
        traces[trial.key] = power_traces(results, trial)
    in_order = [trace for trial in trials for trace in traces.get(trial.key, ())]
    return in_order[: drawing.MAX_PANELS]


def power_limits(profiles: Sequence[Profile]) -> dict[str, float]:
    """Limits of the profiles for power in W, by profile and metric: `disco-realtime, peak power over 1 s`."""
    return {
        f"{words.plain(profile.name, 40)}, {words.subject(requirement)}": requirement.base_limit
        for profile in profiles
        for requirement in profile.requirements
        if requirement.quantity in ("power_peak_w", "power_mean_w")
    }


def _scale(traces: Sequence[PowerTrace], limits: Mapping[str, float] | None) -> panels.Scale:
    """Axis of the highest sample, if that is above zero, with the limits in W by name."""
    highest_w = max((float(np.nanmax(rail.watts)) for trace in traces for rail in trace.rails), default=0.0)
    return panels.Scale("", "W", [Estimate(highest_w)] if highest_w > 0 else [], limits or {})


def power_over_time(
    traces: Sequence[PowerTrace],
    names: Mapping[str, str],
    limits: Mapping[str, float] | None = None,
    *,
    ax: panels.Place = None,
) -> list[Axes]:
    """Draw power in W over the seconds of a session, a panel per trace; panels of one scope have one scale.

    Args:
        traces: at most `drawing.MAX_PANELS` traces.
        names: names of the trials by key.
        limits: limits in W by name, drawn as lines in all panels; those that are far off are left out.
        ax: place of the plot, a panel per trace.
    """
    scale, is_single = _scale(traces, limits), len(traces) == 1
    rails = list(dict.fromkeys(meter_text(rail.rail) for trace in traces for rail in trace.rails[:MAX_RAILS]))
    colours = {name: drawing.PALETTE[place % len(drawing.PALETTE)] for place, name in enumerate(rails)}

    def draw(axes: Axes, trace: PowerTrace) -> None:
        _shade(axes, trace)
        for rail in trace.rails[:MAX_RAILS]:
            _draw(axes, rail, trace, colours[meter_text(rail.rail)])
        alike = (rail for other in traces if other.scope == trace.scope for rail in other.rails[:MAX_RAILS])
        watts = np.concatenate([rail.watts for rail in alike])
        label = f"{drawing.label(words.power_of(trace.scope))}, W"
        drawing.scale_axis(axes, "y", [0.0, float(np.nanmax(watts)), *scale.lines], label)
        axes.set_ylim(bottom=min(0.0, 1.12 * float(np.nanmin(watts))))
        scale.draw_limits(axes, "y", named=trace is traces[0])
        title = f"{names[trace.trial]}, session {trace.session:03}"
        panels.set_title(axes, drawing.label(title, 120), 90 if is_single else 34)
        axes.set_xlabel("time in the session, s")

    has_idle = any(len(trace.idle_s) for trace in traces)
    handles = [
        *(Line2D([], [], color=colour, label=drawing.label(name)) for name, colour in colours.items()),
        Line2D([], [], **_MEAN, label="mean within\nsteady passes"),
        *(Patch(label=name, **style) for name, style in _SPANS.items() if name != "idle" or has_idle),
    ]
    return panels.draw_panels(
        ax, [("", trace) for trace in traces], draw, "no meter gave a sample", handles=handles,
        height=3.2 if is_single else 2.1, columns=1 if is_single else 2, width=8.4,
    )  # fmt: skip


def _shade(axes: Axes, trace: PowerTrace) -> None:
    """Shade passes and idle windows from the bottom to the top of a panel."""
    times_s = [trace.steady_s.ravel(), trace.idle_s.ravel(), *(rail.t_s for rail in trace.rails)]
    first_s, last_s = (float(end(np.concatenate(times_s))) for end in (np.min, np.max))
    axes.set_xlim(first_s, last_s if last_s > first_s else first_s + 1)
    for (name, style), spans_s in zip(_SPANS.items(), (trace.steady_s, trace.idle_s), strict=True):
        seen_s = merged_spans(spans_s, (last_s - first_s) / _COLUMNS)
        shaded = axes.broken_barh(
            np.column_stack((seen_s[:, 0], seen_s[:, 1] - seen_s[:, 0])).tolist(), (0.0, 1.0),
            transform=axes.get_xaxis_transform(), zorder=0.1, **style,
        )  # fmt: skip
        drawing.mark(shaded, name.partition(" ")[0])


def merged_spans(spans: NDArray[np.float64], least_gap: float) -> NDArray[np.float64]:
    """Merge spans, float64 [n, 2] in order, with less than `least_gap` between them."""
    if len(spans) < 2:
        return spans
    gaps = np.flatnonzero(spans[1:, 0] - spans[:-1, 1] >= least_gap)
    firsts, lasts = np.concatenate(([0], gaps + 1)), np.concatenate((gaps, [len(spans) - 1]))
    return np.stack((spans[firsts, 0], spans[lasts, 1]), axis=1)


def _draw(axes: Axes, rail: RailTrace, trace: PowerTrace, colour: str) -> None:
    """Draw a rail's line, a dot for a lone sample, and its mean within the steady passes."""
    t_s, watts = power_line(rail.t_s, rail.watts, _COLUMNS)
    [line] = axes.plot(t_s, watts, color=colour, linewidth=0.9)
    drawing.mark(line, "power", rail_words(rail))
    broken = np.concatenate(([True], np.isnan(watts), [True]))
    lone = broken[:-2] & broken[2:] & ~broken[1:-1]
    axes.plot(t_s[lone], watts[lone], color=colour, linestyle="", marker=".", markersize=3)
    if rail.mean_w is not None and len(trace.steady_s):
        [mean] = axes.plot([trace.steady_s[0, 0], trace.steady_s[-1, 1]], [rail.mean_w] * 2, **_MEAN)
        drawing.mark(mean, "mean", f"mean {words.number(rail.mean_w)} W within the steady passes")


def rail_words(rail: RailTrace) -> str:
    """Meter, mean, lowest and highest sample of a rail in words."""
    mean = "no mean" if rail.mean_w is None else f"mean {words.number(rail.mean_w)} W"
    low, high = words.number(float(np.nanmin(rail.watts))), words.number(float(np.nanmax(rail.watts)))
    seconds = words.number(float(rail.t_s[-1] - rail.t_s[0]))
    return (
        f"{rail_text(rail.rail)}: {mean}, "
        f"{low} to {high} W in {words.counted(len(rail.watts), 'sample')} over {seconds} s"
    )


def power_over_time_picture(
    results: StoredResults, trials: Sequence[Trial], profiles: Sequence[Profile]
) -> panels.Picture | None:
    """Power over the time of one session per trial; None without a meter."""
    metered = [trial for trial in trials if trial.rails]
    if not metered:
        return None
    traces = drawn_traces(results, trials)
    if not traces:
        return panels.Picture("There is no figure of power over time: no meter gave a sample.")
    limits, names = power_limits(profiles), tables.trial_names(trials)
    undrawn = len(metered) - len({trace.trial for trace in traces})
    is_full = len(traces) >= drawing.MAX_PANELS
    hidden = sum(max(0, len(trace.rails) - MAX_RAILS) for trace in traces)
    return panels.picture(
        partial(power_over_time, traces, names, limits),
        "Power over the time of a session",
        "Power over the time of a session: of each trial the one in the middle by mean power, with its "
        "steady passes and idle windows shaded. Panels of one scope have one scale. Where samples are closer "
        "than pixels the line spans the lowest to the highest; where it is broken the meter gave no reading.",
        "With --period the pauses are part of the steady time."
        if any(trial.period_s for trial in metered)
        else "",
        panels.limits_note(_scale(traces, limits)),
        panels.not_drawn(
            undrawn, "; the figure is full" if is_full else "; no reading came in these sessions"
        ),
        f"A panel holds {MAX_RAILS} rails at most: {hidden} are in the table alone." if hidden else "",
        panels=len(traces),
    )
