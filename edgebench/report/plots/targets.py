"""All targets on one axis: the latency of each trial, and its ratio to that of the quickest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import FigureBase

from edgebench.fit.trial_summary import TrialSummary
from edgebench.report import drawing, tables, words
from edgebench.report.plots.limit_lines import draw_limits, inside, limit_lines
from edgebench.report.plots.panels import bars_note, ends_of, error_bars, open_panels, say_empty
from edgebench.report.plots.series import series_of
from edgebench.stats.compare import ratios
from edgebench.stats.intervals import MIN_SESSIONS, session_medians

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
