"""Latency by depth multiplier or model, of all targets on one axis, and by stage."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import FigureBase

from edgebench.judge.metrics import METRICS
from edgebench.judge.trial_summary import TrialSummary, Verdict
from edgebench.report import tables, words
from edgebench.report.plots import drawing, panels
from edgebench.report.plots.accuracy import series_of
from edgebench.stats.compare import ratios
from edgebench.stats.interval import Interval
from edgebench.stats.intervals import MIN_SESSIONS, session_medians

By = Literal["depth", "model"]


def level_axis(summaries: Sequence[TrialSummary]) -> By:
    """Axis of these trials: their depth where they are of one family, else their model."""
    timed = words.alike_timed(summaries)
    families = {words.families([summary]) for summary in timed}
    return "model" if len(families) > 1 or not timed or timed[0].depth_multiplier is None else "depth"


def latency(
    summaries: Sequence[TrialSummary],
    limits: Mapping[str, float] | None = None,
    *,
    by: By | None = None,
    ax: panels.Place = None,
) -> list[Axes]:
    """Median latency of each trial with its interval, and the limits of it.

    It is image_s; infer_s where no trial has that.

    Args:
        summaries: trials; those without that time are left out, and against depth those without a depth.
        limits: profile -> limit of it in seconds; one that is far off is not drawn (`near_limits`).
        by: `depth`, or `model` with a place for each in the order of the trials. Default: `level_axis`.
        ax: where to draw, a panel a target.
    """
    shown = words.alike_timed(summaries)
    if (by or level_axis(summaries)) == "depth":
        shown = [summary for summary in shown if summary.depth_multiplier is not None]
        axis, tick_of = "Depth multiplier", {each.key: words.depth(each.depth_multiplier) for each in shown}
        ticks = sorted(set(tick_of.values()), key=float)
    else:
        axis, tick_of = "Model", {each.key: words.model(each) for each in shown}
        ticks = list(dict.fromkeys(tick_of.values()))
    at = {key: ticks.index(tick) for key, tick in tick_of.items()}
    names, latencies = tables.trial_names(shown), [summary.latency for summary in shown]
    lines = panels.near_limits(limits or {}, [_median_s(summary) for summary in shown])
    series, quantity = words.series(shown), words.latency_names(shown)
    styles = drawing.styles(series.values())
    order = list(styles)

    def point(summary: TrialSummary) -> panels.Point:
        # Series are side by side, so that their bars do not cover each other.
        shift = (order.index(series[summary.key]) - (len(order) - 1) / 2) * 0.09
        text = f"{names[summary.key]}: {words.interval(summary.latency)} s"
        x, y_ends = at[summary.key] + shift, panels.ends_of(summary.latency)
        return panels.Point(x, _median_s(summary), series[summary.key], text, y_ends=y_ends)

    def draw(axes: Axes, group: Sequence[TrialSummary]) -> None:
        in_order = sorted(group, key=lambda each: (order.index(series[each.key]), at[each.key]))
        name, note = METRICS[quantity].titled, panels.bars_note(latencies)
        drawing.scale_axis(axes, "y", [*panels.all_ends(latencies), *lines], name, note)
        panels.name_places(axes, ticks)
        axes.set(xlim=(-0.5, len(ticks) - 0.5), xlabel=axis)
        panels.draw_limits(axes, "y", lines, "s")
        panels.draw_points(axes, list(map(point, in_order)), styles)

    return panels.draw_panels(ax, panels.by_target(shown), draw, "no trial has a time", "precision")


def limits_of(verdicts: Sequence[Verdict], quantity: str, statistic: str = "median") -> dict[str, float]:
    """Map a profile to its limit of a quantity's statistic, in the quantity's base unit.

    Of a wish and a requirement it is the requirement's.
    """
    return {
        verdict.profile: verdict.limit * METRICS[quantity].units[verdict.unit]
        for verdict in sorted(verdicts, key=lambda verdict: not verdict.wanted)
        if verdict.quantity == quantity
        and verdict.statistic == statistic
        and isinstance(verdict.limit, float | int)
    }


def depth_picture(summaries: Sequence[TrialSummary], limits: Mapping[str, float]) -> panels.Picture:
    """Latency by depth multiplier and precision, for trials of one family; else by model and precision.

    It is image_s; infer_s where no trial has that. `limits` are of it, in seconds, by profile.
    """
    measured = words.alike_timed(summaries)
    if not measured:
        return panels.Picture("There is no figure of latency: no trial has a time.")
    axis = level_axis(measured)
    by = {"depth": "depth multiplier", "model": "model"}[axis]
    quantity = METRICS[words.latency_names(measured)].words
    is_published = any(summary.published for summary in measured)
    bars = "as published, without intervals" if is_published else "bars are 95 % intervals over sessions"
    return panels.picture(
        partial(latency, measured, limits, by=axis),
        f"{quantity} by {by} and precision for {words.counted(len(measured), 'trial')}",
        f"{quantity} by {by} and precision; {bars}.",
        panels.limits_note(limits, [_median_s(summary) for summary in measured], "s"),
        panels.not_drawn(
            sum(summary.latency is not None for summary in summaries) - len(measured), " of inference alone"
        ),
        panels=len({summary.target for summary in measured}),
    )


# All targets on one axis: the latency of each trial, and its ratio to that of the quickest.


MAX_ROWS = 36
"""Trials up to which each has a row; of more it is the quickest of each target, and the first 36 of those."""

_ROW = 0.24  # inches
_LONGEST_NAME = 38  # characters in a line


def quickest_first(summaries: Sequence[TrialSummary]) -> list[TrialSummary]:
    """The trials that the figure draws: those that are timed alike, from the quickest to the slowest."""
    timed = sorted(words.alike_timed(summaries), key=_median_s)
    if len(timed) > MAX_ROWS:
        timed = [group[0] for group in words.grouped((each.target, each) for each in timed).values()]
    return timed[:MAX_ROWS]


def ratios_to_quickest(ordered: Sequence[TrialSummary]) -> dict[str, Interval]:
    """Ratios to the first trial with the same scene by key, with intervals over session medians."""
    medians_s = {summary.key: np.array(session_medians(summary.latency_values)) for summary in ordered}
    first_of: dict[str, TrialSummary] = {}
    ratio_of: dict[str, Interval] = {}
    for summary in ordered:
        quickest = first_of.setdefault(summary.timed, summary)
        if quickest is summary:
            continue
        quickest_s, trial_s = medians_s[quickest.key], medians_s[summary.key]
        if min(quickest_s.size, trial_s.size) < MIN_SESSIONS:
            ratio_of[summary.key] = Interval(_median_s(summary) / _median_s(quickest), None, None, 0, 0)
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
    """A row a trial, the quickest on top: median latency with its interval, and the ratio to the quickest
    with the same scene.

    It is image_s; infer_s where no trial has that. The ratio is of the means of session medians, its interval
    that of `edgebench.stats.compare`.

    Args:
        summaries: trials; those without that time are left out (see MAX_ROWS).
        limits: profile -> limit of it in seconds, as lines.
        ax: where to draw.
    """
    rows = quickest_first(summaries)
    names, ratio_of = tables.trial_names(rows), ratios_to_quickest(rows)
    row_names = [_row_name(names[summary.key]) for summary in rows]
    latencies = [summary.latency for summary in rows]
    lines, series = (
        panels.near_limits(limits or {}, [_median_s(summary) for summary in rows]),
        series_of(rows),
    )
    styles, quantity = drawing.styles(getattr(each, series) for each in rows), words.latency_names(rows)
    several_scenes = len({summary.timed for summary in rows}) > 1
    note = "\nof its scene" if several_scenes else panels.bars_note(ratio_of.values(), "\n(95 % interval)")
    heading = f"times the quickest{note}"

    def point(row: int, summary: TrialSummary) -> panels.Point:
        ratio = ratio_of.get(summary.key)
        behind = "the quickest" if ratio is None else f"{words.interval(ratio)} times the quickest"
        text = f"{names[summary.key]}: {words.interval(summary.latency)} s, {behind}"
        return panels.Point(
            _median_s(summary), row, getattr(summary, series), text, panels.ends_of(summary.latency)
        )

    def draw(axes: Axes, rows: Sequence[TrialSummary]) -> None:
        name, note = METRICS[quantity].titled, panels.bars_note(latencies)
        drawing.scale_axis(axes, "x", [*panels.all_ends(latencies), *lines], name, note)
        panels.name_rows(axes, row_names, _LONGEST_NAME)
        panels.draw_limits(axes, "x", lines, "s")
        panels.draw_points(axes, [point(*each) for each in enumerate(rows)], styles)
        ratio_texts = {key: words.interval(ratio) for key, ratio in ratio_of.items()}
        texts = (ratio_texts.get(summary.key, "quickest") for summary in rows)
        for row, text in enumerate([heading, *texts], -1):
            axes.annotate(
                text, (1.02, max(row, -0.6)), xycoords=axes.get_yaxis_transform(), fontsize=8.5,
                annotation_clip=False, va="bottom" if row < 0 else "center",
                color=drawing.QUIET if row < 0 else drawing.INK,
            )  # fmt: skip

    lines_of_text = max((name.count("\n") + 1 for name in row_names), default=1)
    height = 1.4 + _ROW * max(3, len(rows)) * (0.6 + 0.4 * lines_of_text)
    [axes] = panels.draw_panels(
        ax, [("", rows)] if rows else [], draw, "no trial has a time", width=8.4, height=height,
        above=max(panels.above_limits(lines), 0.35), right=1.7,
    )  # fmt: skip
    return axes


def targets_picture(summaries: Sequence[TrialSummary], limits: Mapping[str, float]) -> panels.Picture:
    """All targets on one axis, with the ratio to the quickest.

    `limits` are of the time that is drawn, in seconds, by profile.
    """
    rows = quickest_first(summaries)
    if not rows:
        return panels.Picture("There is no figure of all targets on one axis: no trial has a time.")
    ratio_of = ratios_to_quickest(rows)
    timed, quantity = words.alike_timed(summaries), words.latency_words(rows)
    has_interval = {ratio.low is not None for ratio in ratio_of.values()}
    interval = " with its 95 % interval over both trials' session medians (Welch, on the logarithm)"
    drawn = "the quickest of each target" + (f", the first {MAX_ROWS}" if len(rows) == MAX_ROWS else "")
    return panels.picture(
        partial(targets, summaries, limits),
        f"Median {quantity} from the quickest to the slowest",
        f"Median {quantity} of each trial, the quickest on top, and its ratio to that"
        f"{interval if True in has_interval else ''}.",
        "A ratio without an interval: published, or too few sessions." if False in has_interval else "",
        panels.limits_note(limits, [_median_s(summary) for summary in rows], "s"),
        f"Drawn of {words.counted(len(timed), 'trial')}: {drawn}." if len(rows) < len(timed) else "",
    )


def _row_name(name: str) -> str:
    """Break a long name into two lines: the target, and what is measured on it."""
    if len(name) <= _LONGEST_NAME:
        return name
    target, _, trial = name.rpartition(": ")
    return "\n".join(filter(None, (target, trial)))


def _median_s(summary: TrialSummary) -> float:
    assert summary.latency is not None
    return summary.latency.median


# Where the time of a patch goes: one stacked bar a trial.


STACKED_STAGES = {"patchify": drawing.SKY, "preprocess": drawing.ORANGE, "infer": drawing.BLUE}
"""Those that follow each other in time, in their order, with their colours."""

_OWN_COLOURS = [colour for colour in drawing.PALETTE if colour not in STACKED_STAGES.values()]
MOST_BARS = 60
"""Bars in one panel."""


def stages(summaries: Sequence[TrialSummary], *, ax: panels.Place = None) -> list[Axes]:
    """Milliseconds a patch, stage upon stage; means over the sessions of each session's median.

    A device's own stage is part of inference: it is a narrow bar upon it, which ends where inference ends.
    With several requests in flight the stages before inference overlap it: they are narrow bars too, and the
    bar is as long as the time of the image.

    Args:
        summaries: trials; those without stages are left out, and those after the first 60 of a target.
        ax: where to draw, a panel a target, all on one scale.
    """
    shown = [summary for summary in summaries if summary.stages_ms]
    groups = [(target, group[:MOST_BARS]) for target, group in panels.by_target(shown)]
    names, labels = tables.trial_names(shown), words.labels(shown)
    present = dict.fromkeys(stage for summary in shown for stage in summary.stages_ms)
    own = [stage for stage in present if stage not in STACKED_STAGES]
    totals = [_patch_ms(summary) for _, group in groups for summary in group]

    def draw(axes: Axes, group: Sequence[TrialSummary]) -> None:
        ends = np.zeros(len(group))
        heights = np.array([0.3 if summary.concurrency > 1 else 0.8 for summary in group])
        for stage in [stage for stage in STACKED_STAGES if stage in present] + own:
            widths = np.array([summary.stages_ms.get(stage, 0.0) for summary in group])
            if stage in own:
                starts = np.maximum(0.0, ends - widths)
                style: dict[str, Any] = {"color": _OWN_COLOURS[own.index(stage) % len(_OWN_COLOURS)]}
                style |= {"height": 0.3, "zorder": 2}
            else:
                starts, ends = ends, ends + widths
                style = {"color": STACKED_STAGES[stage], "edgecolor": "white", "height": heights, "zorder": 2}
                if stage == "infer":
                    ends = np.array([_patch_ms(summary) for summary in group])
                    starts, style["height"], style["zorder"] = ends - widths, 0.8, 1
                style["hatch"] = "///" if stage == "preprocess" else ""  # distinct without its colour too
            bars = axes.barh(
                range(len(group)), widths, left=starts, linewidth=0, label=drawing.label(stage), **style
            )
            for bar, summary in zip(bars.patches, group, strict=True):
                if stage in summary.stages_ms:
                    time = words.number(summary.stages_ms[stage])
                    drawing.mark(bar, "trial", f"{names[summary.key]}: {stage} {time} ms a patch")
        for row, end in enumerate(ends):
            axes.annotate(
                words.number(end), (end, row), xytext=(4, -3), textcoords="offset points", fontsize=8
            )
        panels.name_rows(axes, [labels[summary.key] for summary in group])
        drawing.scale_axis(axes, "x", [0.0, *totals], "Time per patch, ms\nmean of session medians")

    height = 1.4 + 0.27 * max((len(group) for _, group in groups), default=1)
    return panels.draw_panels(ax, groups, draw, "no trial has a time of its stages", "stage", height=height)


def stages_picture(summaries: Sequence[TrialSummary]) -> panels.Picture:
    """Draw the share of each stage in a patch's time."""
    shown = [summary for summary in summaries if summary.stages_ms]
    if not shown:
        return panels.Picture("There is no figure of the stages: no trial has a time.")
    own = {stage for summary in shown for stage in summary.stages_ms} - set(STACKED_STAGES)
    own_stages = " and ".join(words.plain(stage, 40) for stage in sorted(own))
    return panels.picture(
        partial(stages, summaries),
        "Milliseconds a patch by stage",
        "Milliseconds a patch, stage upon stage; means over the sessions of each session's median.",
        f"The narrow bar is {own_stages}, the device's own time within infer." if own else "",
        "With several requests in flight the stages before infer overlap it: they are narrow bars upon it."
        if any(summary.concurrency > 1 for summary in shown)
        else "",
        panels=len({summary.target for summary in summaries}),
    )


def _patch_ms(summary: TrialSummary) -> float:
    """Milliseconds of a patch: in the stages that follow each other, of the image where they overlap."""
    if summary.concurrency > 1 and summary.image_s and summary.infer_s:
        return summary.stages_ms.get("infer", 0.0) * summary.image_s.median / summary.infer_s.median
    return sum(summary.stages_ms.get(name, 0.0) for name in STACKED_STAGES)
