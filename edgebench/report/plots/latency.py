"""Latency against the depth multiplier, or against the model: a panel a target, a series a precision."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import FigureBase

from edgebench.judge.metrics import METRICS
from edgebench.judge.trial_summary import TrialSummary, Verdict
from edgebench.report import drawing, notes, tables, words
from edgebench.report.plots.accuracy import series_of
from edgebench.report.plots.limits import draw_limits, inside, limit_lines, limits_note
from edgebench.report.plots.panels import (
    Picture,
    Place,
    bar_ends,
    bars_note,
    by_target,
    draw_panels,
    draw_point,
    ends_of,
    name_rows,
    not_drawn,
    picture,
    write_behind,
)
from edgebench.stats.compare import ratios
from edgebench.stats.interval import Interval
from edgebench.stats.intervals import MIN_SESSIONS, session_medians

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
        limits: profile -> limit of it in seconds; one that is far off is not drawn (`limit_lines`).
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
    ends = [end for summary in shown for end in ends_of(summary.latency)]
    lines = limit_lines(limits or {}, [summary.latency.median for summary in shown if summary.latency])
    log = drawing.wants_log(ends)
    note = bars_note([summary.latency for summary in shown], "bars: 95 % intervals over sessions")

    def draw(axes: Axes, group: Sequence[TrialSummary]) -> None:
        _draw_series(axes, group, at, shown)
        drawing.scale_axis(axes, "y", [*ends, *inside(lines)], log)
        draw_limits(axes, "y", lines, "s")
        _name_places(axes, ticks)
        axes.set_xlabel(axis)
        axes.set_ylabel(f"{words.latency_names(shown)}, seconds a scene" + (" (log)" if log else "") + note)

    return draw_panels(ax, by_target(shown), draw, "no trial has a time", "precision")


def latency_limits(verdicts: Sequence[Verdict], quantity: str) -> dict[str, float]:
    """Profile -> limit of image_s, or infer_s, in seconds, where the profile limits its median.

    Of a wish and a requirement it is the requirement's.
    """
    return {
        verdict.profile: verdict.limit * METRICS[quantity].units[verdict.unit]
        for verdict in sorted(verdicts, key=lambda verdict: not verdict.wanted)
        if verdict.quantity == quantity
        and verdict.statistic == "median"
        and isinstance(verdict.limit, float | int)
    }


def depth_picture(summaries: Sequence[TrialSummary], verdicts: Sequence[Verdict]) -> Picture:
    """Latency by depth multiplier and precision, for trials of one family; else by model and precision.

    It is image_s; infer_s where no trial has that.
    """
    measured = words.alike_timed(summaries)
    if not measured:
        return Picture("There is no figure of image_s: no trial has a time.")
    axis = level_axis(measured)
    by = {"depth": "depth multiplier", "model": "model"}[axis]
    quantity = words.latency_names(measured)
    limits = latency_limits(verdicts, quantity)
    is_published = any(summary.published for summary in measured)
    bars = "as published, without intervals" if is_published else "bars are 95 % intervals over sessions"
    return picture(
        partial(latency, measured, limits, by=axis),
        f"{quantity} by {by} and precision for {words.counted(len(measured), 'trial')}",
        f"{quantity} by {by} and precision; {bars}.",
        limits_note(limit_lines(limits, [_median_s(summary) for summary in measured])),
        not_drawn(
            sum(summary.latency is not None for summary in summaries) - len(measured), " with infer_s alone"
        ),
        panels=len({summary.target for summary in measured}),
    )


def _draw_series(
    axes: Axes, group: Sequence[TrialSummary], at: Mapping[str, int], shown: Sequence[TrialSummary]
) -> None:
    """The points of one target; precisions side by side, so that their bars do not cover each other."""
    precisions = drawing.by_colour(summary.precision for summary in shown)
    colours, markers = drawing.colours(precisions), drawing.markers(precisions)
    names = tables.trial_names(shown)
    for summary in sorted(group, key=lambda summary: (precisions.index(summary.precision), at[summary.key])):
        if summary.latency is None:
            continue
        shift = (precisions.index(summary.precision) - (len(precisions) - 1) / 2) * 0.09
        x, latency = at[summary.key] + shift, summary.latency
        bars = [((x, x), ends) for ends in bar_ends(latency)]
        colour, marker = colours[summary.precision], markers[summary.precision]
        point = draw_point(
            axes, (x, latency.median), *bars, colour=colour, marker=marker, label=summary.precision
        )
        timed = f"{words.latency_names(shown)} {words.interval(summary.latency)} s"
        drawing.mark(point, "trial", f"{names[summary.key]}: {timed}")


def _name_places(axes: Axes, ticks: Sequence[str]) -> None:
    turned = sum(len(tick) for tick in ticks) > _TICK_CHARACTERS
    text = {"rotation": 30, "horizontalalignment": "right"} if turned else {}
    drawing.name_ticks(axes.xaxis, range(len(ticks)), ticks, _LONGEST_TICK, **text)
    if ticks:
        axes.set_xlim(-0.5, len(ticks) - 0.5)
    axes.grid(visible=False, axis="x")


# All targets on one axis: the latency of each trial, and its ratio to that of the quickest.


MAX_ROWS = 36
"""Trials up to which each has a row; of more it is the quickest of each target, and the first 36 of those."""

_ROW = 0.24  # inches
_LONGEST_NAME = 38  # characters in a line


def quickest_first(summaries: Sequence[TrialSummary]) -> list[TrialSummary]:
    """The trials that the figure draws: those that are timed alike, from the quickest to the slowest."""
    timed = sorted(words.alike_timed(summaries), key=_median_s)
    if len(timed) > MAX_ROWS:
        timed = [group[0] for group in notes.by_target(timed).values()]
    return timed[:MAX_ROWS]


def ratios_to_quickest(ordered: Sequence[TrialSummary]) -> dict[str, Interval]:
    """Each trial's latency over the first one's, by key, with the interval over their sessions' medians."""
    medians_s = {summary.key: np.array(session_medians(summary.latency_values)) for summary in ordered}
    ratio_of: dict[str, Interval] = {}
    for summary in ordered[1:]:
        quickest_s, trial_s = medians_s[ordered[0].key], medians_s[summary.key]
        if min(quickest_s.size, trial_s.size) < MIN_SESSIONS:
            ratio_of[summary.key] = Interval(_median_s(summary) / _median_s(ordered[0]), None, None, 0, 0)
        else:
            ratio = ratios(quickest_s, trial_s)
            ratio_of[summary.key] = Interval(float(ratio.ratio), float(ratio.low), float(ratio.high), 0, 0)
    return ratio_of


def targets(
    summaries: Sequence[TrialSummary],
    limits: Mapping[str, float] | None = None,
    *,
    ax: Axes | FigureBase | None = None,
) -> Axes:
    """A row a trial, the quickest on top: median latency with its interval, and the ratio to the quickest.

    It is image_s; infer_s where no trial has that. The ratio is of the means of session medians, its interval
    that of `edgebench.stats.compare`.

    Args:
        summaries: trials; those without that time are left out (see MAX_ROWS).
        limits: profile -> limit of it in seconds, as lines.
        ax: where to draw.
    """
    rows = quickest_first(summaries)
    names = [_row_name(name) for name in tables.trial_names(rows).values()]
    ends = [end for summary in rows for end in ends_of(summary.latency)]
    lines = limit_lines(limits or {}, [_median_s(summary) for summary in rows])
    log = drawing.wants_log(ends)
    note = bars_note([summary.latency for summary in rows], "bars: 95 % intervals over sessions")

    def draw(axes: Axes, rows: Sequence[TrialSummary]) -> None:
        _draw_rows(axes, rows)
        drawing.scale_axis(axes, "x", [*ends, *inside(lines)], log)
        draw_limits(axes, "x", lines, "s")
        axes.set_yticks(range(len(rows)), names, fontsize=8.5, parse_math=False)
        axes.set_ylim(len(rows) - 0.4, -0.6)
        axes.grid(visible=False, axis="y")
        axes.set_xlabel(f"{words.latency_names(rows)}, seconds a scene" + (" (log)" if log else "") + note)

    lines_of_text = max((name.count("\n") + 1 for name in names), default=1)
    height = 1.4 + _ROW * max(3, len(rows)) * (0.6 + 0.4 * lines_of_text)
    shown = [("", rows)] if rows else []
    [axes] = draw_panels(ax, shown, draw, "no trial has a time", width=8.4, height=height)
    return axes


def targets_picture(summaries: Sequence[TrialSummary], limits: Mapping[str, float]) -> Picture:
    """All targets on one axis, with the ratio to the quickest.

    `limits` are of the time that is drawn, in seconds, by profile.
    """
    rows = quickest_first(summaries)
    if not rows:
        return Picture("There is no figure of all targets on one axis: no trial has a time.")
    ratio_of = ratios_to_quickest(rows)
    timed, quantity = words.alike_timed(summaries), words.latency_names(rows)
    has_interval = {ratio.low is not None for ratio in ratio_of.values()}
    interval = " with its 95 % interval over both trials' session medians (Welch, on the logarithm)"
    kept = "the quickest of each target" + (f", the first {MAX_ROWS}" if len(rows) == MAX_ROWS else "")
    return picture(
        partial(targets, summaries, limits),
        f"{quantity} from the quickest to the slowest",
        f"Median {quantity} of each trial, the quickest on top, and its ratio to that"
        f"{interval if True in has_interval else ''}.",
        "A ratio without an interval: published, or too few sessions." if False in has_interval else "",
        limits_note(limit_lines(limits, [_median_s(summary) for summary in rows])),
        f"Drawn of {words.counted(len(timed), 'trial')}: {kept}." if len(rows) < len(timed) else "",
    )


def _row_name(name: str) -> str:
    """In two lines where it is long: the target, and what is measured on it."""
    if len(name) <= _LONGEST_NAME:
        return drawing.label(name)
    target, _, trial = name.rpartition(": ")
    return "\n".join(drawing.label(part, _LONGEST_NAME) for part in (target, trial) if part)


def _draw_rows(axes: Axes, rows: Sequence[TrialSummary]) -> None:
    _, series = series_of(rows)
    names, ratio_of = tables.trial_names(rows), ratios_to_quickest(rows)
    colours, markers = drawing.colours(series.values()), drawing.markers(series.values())
    has_interval = any(ratio.low is not None for ratio in ratio_of.values())
    _write_beside(axes, -1, "times the quickest" + ("\n(95 % interval)" if has_interval else ""))
    for row, summary in enumerate(rows):
        assert summary.latency is not None
        ratio = ratio_of.get(summary.key)
        bars = [(ends, (row, row)) for ends in bar_ends(summary.latency)]
        kind = series[summary.key]
        point = draw_point(
            axes, (summary.latency.median, row), *bars, colour=colours[kind], marker=markers[kind]
        )
        timed = f"{words.latency_names(rows)} {words.interval(summary.latency)} s"
        beside = "the quickest" if ratio is None else f"{words.interval(ratio)} times the quickest"
        drawing.mark(point, "trial", f"{names[summary.key]}: {timed}, {beside}")
        _write_beside(axes, row, "quickest" if ratio is None else words.interval(ratio))


def _write_beside(axes: Axes, row: int, text: str) -> None:
    """In a column to the right of the axes; row -1 is its heading."""
    axes.annotate(
        text, (1.02, max(row, -0.6)), xycoords=axes.get_yaxis_transform(), xytext=(0, 3 if row < 0 else 0),
        textcoords="offset points", fontsize=8.5, annotation_clip=False, va="bottom" if row < 0 else "center",
        color=drawing.QUIET if row < 0 else drawing.INK,
    )  # fmt: skip


def _median_s(summary: TrialSummary) -> float:
    assert summary.latency is not None
    return summary.latency.median


# Where the time of a patch goes: one stacked bar a trial.


STACKED_STAGES = {"patchify": drawing.SKY, "preprocess": drawing.ORANGE, "infer": drawing.BLUE}
"""Those that follow each other in time, in their order, with their colours."""

_HATCHES = {"patchify": "", "preprocess": "///", "infer": ""}  # neighbours differ without their colours too
MOST_BARS = 60
"""Bars in one panel."""


def stages(summaries: Sequence[TrialSummary], *, ax: Place = None) -> list[Axes]:
    """Milliseconds a patch, stage upon stage; means over the sessions of each session's median.

    A device's own stage lies within inference: it is a narrow bar upon it, which ends where inference ends.

    Args:
        summaries: trials; those without stages are left out, and those after the first 60 of a target.
        ax: where to draw, a panel a target, all on one scale.
    """
    shown = [summary for summary in summaries if summary.stages_ms]
    panels = [(target, group[:MOST_BARS]) for target, group in by_target(shown)]
    names, labels = tables.trial_names(shown), words.labels(shown)
    stage_names = list(dict.fromkeys(stage for summary in shown for stage in summary.stages_ms))
    totals = [_patch_ms(summary) for _, group in panels for summary in group]
    longest = max((len(group) for _, group in panels), default=1)

    def draw(axes: Axes, group: Sequence[TrialSummary]) -> None:
        _draw_bars(axes, group, stage_names, names)
        name_rows(axes, [labels[summary.key] for summary in group])
        drawing.scale_axis(axes, "x", totals, log=False)
        axes.set_xlabel("milliseconds a patch, mean of session medians")

    height = 1.4 + 0.27 * longest
    return draw_panels(ax, panels, draw, "no trial has a time of its stages", "stage", height=height)


def stages_picture(summaries: Sequence[TrialSummary]) -> Picture:
    """Where a patch's time goes."""
    shown = [summary for summary in summaries if summary.stages_ms]
    if not shown:
        return Picture("There is no figure of the stages: no trial has a time.")
    own = {stage for summary in shown for stage in summary.stages_ms} - set(STACKED_STAGES)
    own_stages = " and ".join(words.plain(stage, 40) for stage in sorted(own))
    return picture(
        partial(stages, summaries),
        "Milliseconds a patch by stage",
        "Milliseconds a patch, stage upon stage; means over the sessions of each session's median.",
        f"The narrow bar is {own_stages}, the device's own time within infer." if own else "",
        panels=len({summary.target for summary in summaries}),
    )


def _draw_bars(
    axes: Axes, group: Sequence[TrialSummary], stage_names: Sequence[str], names: Mapping[str, str]
) -> None:
    ends = [_patch_ms(summary) for summary in group]
    left = [0.0] * len(group)
    others = [colour for colour in drawing.PALETTE if colour not in STACKED_STAGES.values()]
    own = [stage for stage in stage_names if stage not in STACKED_STAGES]
    for stage in (*(stage for stage in STACKED_STAGES if stage in stage_names), *own):
        widths = [summary.stages_ms.get(stage, 0.0) for summary in group]
        if stage in STACKED_STAGES:
            starts, left = left, [start + width for start, width in zip(left, widths, strict=True)]
            style: dict[str, Any] = {
                "color": STACKED_STAGES[stage],
                "hatch": _HATCHES[stage],
                "edgecolor": "white",
            }
        else:
            starts = [max(0.0, end - width) for end, width in zip(ends, widths, strict=True)]
            style = {"color": others[own.index(stage) % len(others)], "height": 0.3}
        bars = axes.barh(
            range(len(group)), widths, left=starts, linewidth=0, label=drawing.label(stage), **style
        )
        for bar, summary in zip(bars.patches, group, strict=True):
            if stage in summary.stages_ms:
                time = words.number(summary.stages_ms[stage])
                drawing.mark(bar, "trial", f"{names[summary.key]}: {stage} {time} ms a patch")
    for row, total in enumerate(ends):
        write_behind(axes, total, row, words.number(total))


def _patch_ms(summary: TrialSummary) -> float:
    """Milliseconds of a patch in the stages that follow each other."""
    return sum(summary.stages_ms.get(name, 0.0) for name in STACKED_STAGES)
