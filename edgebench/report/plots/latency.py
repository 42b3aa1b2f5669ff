"""Latency against the depth multiplier, or against the model: a panel a target, a series a precision."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.container import BarContainer
from matplotlib.figure import FigureBase

from edgebench.judge.trial_summary import TrialSummary
from edgebench.report import drawing, tables, words
from edgebench.report.plots.accuracy import series_of
from edgebench.report.plots.limits import draw_limits, inside, limit_lines
from edgebench.report.plots.panels import (
    LONGEST_NAME,
    Place,
    bars_note,
    by_target,
    ends_of,
    error_bars,
    open_panels,
    say_empty,
    title_panel,
)
from edgebench.stats.compare import ratios
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


# All targets on one axis: the latency of each trial, and its ratio to that of the quickest.


MAX_ROWS = 36
"""Trials up to which each has a row; of more it is the quickest of each target, and the first 36 of those."""

_ROW = 0.24  # inches
_LONGEST_NAME = 38  # characters in a line


@dataclass(frozen=True)
class Ratio:
    """A trial's latency over the quickest one's; low and high are None where sessions are too few."""

    value: float
    low: float | None
    high: float | None

    @property
    def text(self) -> str:
        """As it stands beside a row: `2.31 (2.20 to 2.43)`."""
        if self.low is None or self.high is None:
            return words.number(self.value)
        return f"{words.number(self.value)} ({words.number(self.low)} to {words.number(self.high)})"


def quickest_first(summaries: Sequence[TrialSummary]) -> list[TrialSummary]:
    """The trials that the figure draws: those that are timed alike, from the quickest to the slowest."""
    timed = sorted(words.alike_timed(summaries), key=_median_s)
    if len(timed) > MAX_ROWS:
        of_targets: dict[str, TrialSummary] = {}
        for summary in timed:
            of_targets.setdefault(summary.target, summary)
        timed = list(of_targets.values())
    return timed[:MAX_ROWS]


def ratios_to_quickest(ordered: Sequence[TrialSummary]) -> dict[str, Ratio]:
    """Each trial's latency over the first one's, by key, with the interval over their sessions' medians."""
    medians_s = {summary.key: np.array(session_medians(summary.latency_values)) for summary in ordered}
    ratio_of: dict[str, Ratio] = {}
    for summary in ordered[1:]:
        quickest_s, trial_s = medians_s[ordered[0].key], medians_s[summary.key]
        if min(quickest_s.size, trial_s.size) < MIN_SESSIONS:
            ratio_of[summary.key] = Ratio(_median_s(summary) / _median_s(ordered[0]), None, None)
        else:
            ratio = ratios(quickest_s, trial_s)
            ratio_of[summary.key] = Ratio(float(ratio.ratio), float(ratio.low), float(ratio.high))
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
    with drawing.style():
        lines_of_text = max((name.count("\n") + 1 for name in names), default=1)
        opened = open_panels(
            ax, 1, width=8.4, height=1.4 + _ROW * max(3, len(rows)) * (0.6 + 0.4 * lines_of_text)
        )
        [axes] = opened.axes
        if not rows:
            say_empty(axes, "no trial has a time")
            return axes
        _draw_rows(axes, rows)
        drawing.scale_axis(axes, "x", [*ends, *inside(lines)], log)
        draw_limits(axes, "x", lines, "s")
        axes.set_yticks(range(len(rows)), names, fontsize=8.5, parse_math=False)
        axes.set_ylim(len(rows) - 0.4, -0.6)
        axes.grid(visible=False, axis="y")
        note = bars_note([summary.latency for summary in rows], "bars: 95 % intervals over sessions")
        axes.set_xlabel(f"{words.latency_names(rows)}, seconds a scene" + (" (log)" if log else "") + note)
    return axes


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
        if summary.latency is None:
            continue
        ratio = ratio_of.get(summary.key)
        point = axes.errorbar(
            [summary.latency.median],
            [row],
            xerr=error_bars(summary.latency),
            fmt=markers[series[summary.key]],
            color=colours[series[summary.key]],
            markersize=6,
            linewidth=1.4,
            capsize=3,
        )
        timed = f"{words.latency_names(rows)} {words.interval(summary.latency)} s"
        beside = "the quickest" if ratio is None else f"{ratio.text} times the quickest"
        drawing.mark(point.lines[0], "trial", f"{names[summary.key]}: {timed}, {beside}")
        _write_beside(axes, row, "quickest" if ratio is None else ratio.text)


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
    panels = {target: group[:MOST_BARS] for target, group in by_target(shown).items()}
    names, labels = tables.trial_names(shown), words.labels(shown)
    stage_names = list(dict.fromkeys(stage for summary in shown for stage in summary.stages_ms))
    totals = [_patch_ms(summary) for group in panels.values() for summary in group]
    longest = max(map(len, panels.values()), default=1)
    with drawing.style():
        opened = open_panels(ax, len(panels), height=1.4 + 0.27 * longest)
        if not panels:
            say_empty(opened.axes[0], "no trial has a time of its stages")
        for axes, (target, group) in zip(opened.axes, panels.items(), strict=False):
            _draw_bars(axes, group, stage_names, names)
            drawing.name_ticks(
                axes.yaxis, range(len(group)), [labels[summary.key] for summary in group], LONGEST_NAME
            )
            axes.set_ylim(len(group) - 0.4, -0.6)
            axes.grid(visible=False, axis="y")
            drawing.scale_axis(axes, "x", totals, log=False)
            axes.set_xlabel("milliseconds a patch, mean of session medians")
            title_panel(axes, target, len(panels))
        opened.legend("stage")
    return opened.axes


def _draw_bars(
    axes: Axes, group: Sequence[TrialSummary], stage_names: Sequence[str], names: Mapping[str, str]
) -> None:
    rows, ends = range(len(group)), [_patch_ms(summary) for summary in group]
    left = [0.0] * len(group)
    for stage in (stage for stage in STACKED_STAGES if stage in stage_names):
        widths = [summary.stages_ms.get(stage, 0.0) for summary in group]
        bars = axes.barh(
            rows, widths, left=left, color=STACKED_STAGES[stage], hatch=_HATCHES[stage], edgecolor="white",
            linewidth=0, label=drawing.label(stage),
        )  # fmt: skip
        _mark(bars, stage, group, names)
        left = [start + width for start, width in zip(left, widths, strict=True)]
    others = [colour for colour in drawing.PALETTE if colour not in STACKED_STAGES.values()]
    for number, stage in enumerate(stage for stage in stage_names if stage not in STACKED_STAGES):
        widths = [summary.stages_ms.get(stage, 0.0) for summary in group]
        starts = [max(0.0, end - width) for end, width in zip(ends, widths, strict=True)]
        colour = others[number % len(others)]
        bars = axes.barh(
            rows, widths, height=0.3, left=starts, color=colour, linewidth=0, label=drawing.label(stage)
        )
        _mark(bars, stage, group, names)
    for row, total in enumerate(ends):
        axes.annotate(
            words.number(total), (total, row), xytext=(4, -3), textcoords="offset points", fontsize=8
        )


def _mark(bars: BarContainer, stage: str, group: Sequence[TrialSummary], names: Mapping[str, str]) -> None:
    for bar, summary in zip(bars.patches, group, strict=True):
        if stage in summary.stages_ms:
            time = words.number(summary.stages_ms[stage])
            drawing.mark(bar, "trial", f"{names[summary.key]}: {stage} {time} ms a patch")


def _patch_ms(summary: TrialSummary) -> float:
    """Milliseconds of a patch in the stages that follow each other."""
    return sum(summary.stages_ms.get(name, 0.0) for name in STACKED_STAGES)
