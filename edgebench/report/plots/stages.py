"""Where the time of a patch goes: one stacked bar a trial."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from matplotlib.axes import Axes
from matplotlib.container import BarContainer

from edgebench.fit.trial_summary import TrialSummary
from edgebench.report import drawing, tables, words
from edgebench.report.plots.panels import LONGEST_NAME, Place, by_target, open_panels, say_empty, title_panel

STACKED_STAGES = {"patchify": drawing.SKY, "preprocess": drawing.ORANGE, "infer": drawing.BLUE}
"""Those that follow each other in time, in their order, with their colours."""

_HATCHES = {"patchify": "", "preprocess": "///", "infer": ""}  # neighbours differ without their colours too
MAX_ROWS = 60
"""Bars in one panel."""


def stages(summaries: Sequence[TrialSummary], *, ax: Place = None) -> list[Axes]:
    """Milliseconds a patch, stage upon stage; means over the sessions of each session's median.

    A device's own stage lies within inference: it is a narrow bar upon it, which ends where inference ends.

    Args:
        summaries: trials; those without stages are left out, and those after the first 60 of a target.
        ax: where to draw, a panel a target, all on one scale.
    """
    shown = [summary for summary in summaries if summary.stages_ms]
    panels = {target: group[:MAX_ROWS] for target, group in by_target(shown).items()}
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
