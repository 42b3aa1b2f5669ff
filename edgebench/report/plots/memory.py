"""Memory by variant: the worker's peak in each trial, and the size of what it loads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.axes import Axes

from edgebench.fit.trial_summary import TrialSummary
from edgebench.report import drawing, tables, words
from edgebench.report.plots.panels import LONGEST_NAME, Place, by_target, open_panels, say_empty, title_panel

MAX_ROWS = 60
"""Trials in one panel."""

_BAR = 0.38  # of a row
_FILE: dict[str, Any] = {"color": drawing.ORANGE, "hatch": "///", "edgecolor": "white", "linewidth": 0}
_ALIKE = 8.0  # how much more one panel may need than another on one scale
_UNITS = ((1e9, "GB"), (1e6, "MB"), (1e3, "kB"))  # as in data sheets


def with_memory(summaries: Sequence[TrialSummary]) -> list[TrialSummary]:
    """The trials of which the peak or the artifact's size is known."""
    return [summary for summary in summaries if summary.memory_bytes or summary.artifact_bytes]


def memory(summaries: Sequence[TrialSummary], *, ax: Place = None) -> list[Axes]:
    """Peak memory of the worker, mean over sessions, and the artifact's size, in decimal units.

    Args:
        summaries: trials; those without either are left out, and those after the first 60 of a target.
        ax: where to draw, a panel a target; they have one scale unless one of them needs 8 times as much.
    """
    panels = {target: group[:MAX_ROWS] for target, group in by_target(with_memory(summaries)).items()}
    shown = [summary for group in panels.values() for summary in group]
    labels, names = words.labels(shown), tables.trial_names(shown)
    most = {target: max(max(_sizes(summary)) for summary in group) for target, group in panels.items()}
    if most and max(most.values()) <= _ALIKE * min(most.values()):
        most = dict.fromkeys(most, max(most.values()))
    longest = max(map(len, panels.values()), default=1)
    with drawing.style():
        opened = open_panels(ax, len(panels), height=1.5 + 0.34 * longest)
        if not panels:
            say_empty(opened.axes[0], "no trial has a figure of memory")
        for axes, (target, group) in zip(opened.axes, panels.items(), strict=False):
            scale, unit = next((each for each in _UNITS if most[target] >= each[0]), (1.0, "bytes"))
            _draw(axes, group, scale, names)
            drawing.name_ticks(
                axes.yaxis, range(len(group)), [labels[summary.key] for summary in group], LONGEST_NAME
            )
            axes.set_ylim(len(group) - 0.4, -0.6)
            axes.grid(visible=False, axis="y")
            axes.set_xlim(0, 1.3 * most[target] / scale)  # with room for the figures behind the bars
            has_bars = any(len(summary.memory_bytes_values) > 1 for summary in group)
            note = "\nthin bars: lowest to highest session" if has_bars else ""
            axes.set_xlabel(f"memory, {unit}{note}")
            title_panel(axes, target, len(panels))
        opened.legend("memory")
    return opened.axes


def _sizes(summary: TrialSummary) -> list[int]:
    sizes = (summary.memory_bytes, summary.artifact_bytes, *summary.memory_bytes_values)
    return [size for size in sizes if size]


def _draw(axes: Axes, group: Sequence[TrialSummary], scale: float, names: Mapping[str, str]) -> None:
    """The peak's bar above the file's in each row, each with its figure behind it."""
    rows = dict(enumerate(group))
    peaks = {row: summary.memory_bytes for row, summary in rows.items() if summary.memory_bytes}
    files = {row: summary.artifact_bytes for row, summary in rows.items() if summary.artifact_bytes}
    ends = {row: max(_sizes(group[row])) if row in peaks else size for row, size in (files | peaks).items()}
    for sizes, shift, what, label, style in (
        (peaks, -_BAR / 2, "peak memory", "peak while it runs", {"color": drawing.BLUE}),
        (files, _BAR / 2, "the model's file", "the model's file", _FILE),
    ):
        if not sizes:
            continue
        bars = axes.barh(
            [row + shift for row in sizes], [size / scale for size in sizes.values()], height=_BAR,
            label=label, **style,
        )  # fmt: skip
        for bar, (row, size) in zip(bars.patches, sizes.items(), strict=True):
            drawing.mark(bar, "trial", f"{names[group[row].key]}: {what} {words.size(size)}")
            end = ends[row] if sizes is peaks else size
            _write(axes, end / scale, row + shift, size)
    spread = {row: group[row].memory_bytes_values for row in peaks if len(group[row].memory_bytes_values) > 1}
    if spread:
        below = [max(0.0, peaks[row] - min(values)) / scale for row, values in spread.items()]
        above = [max(0.0, max(values) - peaks[row]) / scale for row, values in spread.items()]
        axes.errorbar(
            [peaks[row] / scale for row in spread], [row - _BAR / 2 for row in spread], xerr=[below, above],
            fmt="none", ecolor=drawing.INK, elinewidth=1.1, capsize=2,
        )  # fmt: skip


def _write(axes: Axes, end: float, place: float, size: int) -> None:
    axes.annotate(words.size(size), (end, place), xytext=(4, -3), textcoords="offset points", fontsize=8)
