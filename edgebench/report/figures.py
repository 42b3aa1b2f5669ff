"""The report's figures of measured trials, one function each; none of them opens a window or a file."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence, Sized

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from edgebench.fit.trial_summary import TrialSummary
from edgebench.report import drawing, words
from edgebench.stats.interval import Interval

_PANEL_TITLE = 28  # characters of a target's name in a line above its panel
_LONGEST_TICK = 32  # characters of a model's name under its place
_TICK_CHARACTERS = 70  # in all that stand beside each other; more are turned
STACKED_STAGES = {"patchify": drawing.SKY, "preprocess": drawing.ORANGE, "infer": drawing.BLUE}
"""Those that follow each other in time, in their order, with their colours."""

_NEAR = 3.0  # a limit further than this factor from every figure would flatten them: the caption has it


def limits_in_range(summaries: Sequence[TrialSummary], limits: Mapping[str, float]) -> dict[str, float]:
    """The limits (seconds) that lie near enough to the latency of these trials to be drawn with them."""
    values = [summary.latency.median for summary in summaries if summary.latency is not None]
    if not values:
        return {}
    low, high = min(values) / _NEAR, max(values) * _NEAR
    return {name: limit for name, limit in limits.items() if low <= limit <= high}


def latency_by_depth(summaries: Sequence[TrialSummary], limits: Mapping[str, float]) -> Figure:
    """Latency against the depth multiplier, a series a precision, with intervals and near limits.

    It is image_s; infer_s where no trial has that.

    Args:
        summaries: trials; those without that time or a depth multiplier are left out.
        limits: profile -> limit of it in seconds, drawn as lines where `limits_in_range`.
    """
    timed = words.alike_timed(summaries)
    depths = sorted({summary.depth_multiplier for summary in timed if summary.depth_multiplier is not None})
    places = {words.depth(depth): place for place, depth in enumerate(depths)}
    shown = [summary for summary in timed if summary.depth_multiplier is not None]
    at = {summary.key: places[words.depth(summary.depth_multiplier)] for summary in shown}
    return _latency(shown, at, list(places), "depth multiplier", limits)


def latency_by_model(summaries: Sequence[TrialSummary], limits: Mapping[str, float]) -> Figure:
    """The same with a place for each model, in the order of the trials: for models that differ otherwise."""
    shown = words.alike_timed(summaries)
    models = list(dict.fromkeys(words.model(summary) for summary in shown))
    at = {summary.key: models.index(words.model(summary)) for summary in shown}
    return _latency(shown, at, models, "model", limits)


def _latency(
    shown: Sequence[TrialSummary],
    at: Mapping[str, int],
    ticks: Sequence[str],
    axis: str,
    limits: Mapping[str, float],
) -> Figure:
    """Latency of trials that stand at the place `at` (by key) of an axis with those `ticks`."""
    panels = panels_of(shown)
    near = limits_in_range(shown, limits)
    precisions = _precisions(shown)
    colours, markers = drawing.colours(precisions), drawing.markers(precisions)
    ends = [end for summary in shown for end in ends_of(summary.latency)]
    log = drawing.wants_log(ends)
    with drawing.style():
        figure, all_axes = drawing.grid(max(1, len(panels)))
        for axes, (target, group) in zip(all_axes, panels.items(), strict=False):
            for number, precision in enumerate(precisions):
                shift = (number - (len(precisions) - 1) / 2) * 0.09  # side by side, so that bars do not cover
                _points(
                    axes,
                    [
                        (at[summary.key] + shift, summary.latency)
                        for summary in sorted(group, key=lambda summary: at[summary.key])
                        if summary.precision == precision and summary.latency is not None
                    ],
                    drawing.label(precision),
                    colours[precision],
                    markers[precision],
                )
            drawing.scale_axis(axes, "y", [*ends, *near.values()], log)
            for name, limit in near.items():
                axes.axhline(limit, color=drawing.INK, linewidth=1, linestyle=(0, (5, 3)), gid="limit")
                axes.annotate(
                    f"{drawing.label(name)}: {limit:g} s",
                    (0.01, limit),
                    xycoords=("axes fraction", "data"),
                    xytext=(0, 2),
                    textcoords="offset points",
                    fontsize=8.5,
                )
            axes.set_xticks(range(len(ticks)), [drawing.label(tick, _LONGEST_TICK) for tick in ticks])
            if sum(len(tick) for tick in ticks) > _TICK_CHARACTERS:
                axes.tick_params(axis="x", labelrotation=30)
                for text in axes.get_xticklabels():
                    text.set_horizontalalignment("right")
            axes.set_xlim(-0.5, len(ticks) - 0.5)
            axes.grid(visible=False, axis="x")
            axes.set_xlabel(axis)
            axes.set_ylabel(f"{words.latency_names(shown)}, seconds a scene" + (" (log)" if log else ""))
            title_panel(axes, target, panels)
        shared_legend(figure, all_axes, "precision")
    return figure


def stages(summaries: Sequence[TrialSummary]) -> Figure:
    """Where the time of a patch goes: one stacked bar a trial, in milliseconds.

    A device's own stage lies within inference: it is a narrow bar upon it, which ends where inference ends.

    Args:
        summaries: trials; those without stages are left out.
    """
    shown = [summary for summary in summaries if summary.stages_ms]
    panels = panels_of(shown)
    names = list(dict.fromkeys(stage for summary in shown for stage in summary.stages_ms))
    others = [colour for colour in drawing.PALETTE if colour not in STACKED_STAGES.values()]
    within_infer = [name for name in names if name not in STACKED_STAGES]
    labels = words.labels(shown)
    longest = max((len(group) for group in panels.values()), default=1)
    totals = [_patch_ms(summary) for group in panels.values() for summary in group[:60]]
    with drawing.style():
        figure, all_axes = drawing.grid(max(1, len(panels)), height=1.2 + 0.27 * min(longest, 60))
        for axes, (target, group) in zip(all_axes, panels.items(), strict=False):
            group = group[:60]
            rows, ends = range(len(group)), [_patch_ms(summary) for summary in group]
            left = [0.0] * len(group)
            for name in (name for name in STACKED_STAGES if name in names):
                widths = [summary.stages_ms.get(name, 0.0) for summary in group]
                axes.barh(rows, widths, left=left, color=STACKED_STAGES[name], label=drawing.label(name))
                left = [start + width for start, width in zip(left, widths, strict=True)]
            for number, name in enumerate(within_infer):
                widths = [summary.stages_ms.get(name, 0.0) for summary in group]
                starts = [max(0.0, end - width) for end, width in zip(ends, widths, strict=True)]
                colour = others[number % len(others)]
                axes.barh(rows, widths, height=0.3, left=starts, color=colour, label=drawing.label(name))
            for row, total in enumerate(ends):
                axes.annotate(
                    words.number(total), (total, row), xytext=(4, -3), textcoords="offset points", fontsize=8
                )
            axes.set_yticks(range(len(group)), [drawing.label(labels[summary.key]) for summary in group])
            axes.set_ylim(len(group) - 0.4, -0.6)
            axes.grid(visible=False, axis="y")
            drawing.scale_axis(axes, "x", totals, log=False)  # one for all targets: bars are compared
            axes.set_xlabel("milliseconds a patch")
            title_panel(axes, target, panels)
        shared_legend(figure, all_axes, "stage")
    return figure


def _patch_ms(summary: TrialSummary) -> float:
    """Milliseconds of a patch in the stages that follow each other."""
    return sum(summary.stages_ms.get(name, 0.0) for name in STACKED_STAGES)


def point_label(summary: TrialSummary) -> str:
    """What stands beside a trial's point: its depth multiplier, or its model's name where it has none."""
    if summary.depth_multiplier is None:
        return drawing.label(words.model(summary), _LONGEST_TICK)
    return words.depth(summary.depth_multiplier)


def panels_of(summaries: Sequence[TrialSummary]) -> dict[str, list[TrialSummary]]:
    """The trials of each target, for as many targets as one figure draws."""
    panels: dict[str, list[TrialSummary]] = {}
    for summary in summaries:
        panels.setdefault(summary.target, []).append(summary)
    return dict(list(panels.items())[: drawing.MAX_PANELS])


def _precisions(summaries: Sequence[TrialSummary]) -> list[str]:
    precisions = dict.fromkeys(summary.precision for summary in summaries)
    return sorted(precisions, key=lambda name: list(drawing.colours(precisions)).index(name))


def ends_of(figure: Interval | None) -> list[float]:
    """A figure and the ends of its interval, as far as it has any."""
    if figure is None:
        return []
    return [end for end in (figure.low, figure.median, figure.high) if end is not None]


def error_bars(figures: Sequence[Interval]) -> list[list[float]]:
    """Distances below and above the medians; 0 where there is no interval, which draws no bar."""
    return [
        [0.0 if figure.low is None else max(0.0, figure.median - figure.low) for figure in figures],
        [0.0 if figure.high is None else max(0.0, figure.high - figure.median) for figure in figures],
    ]


def _points(
    axes: Axes, points: Sequence[tuple[float, Interval]], label: str, colour: str, marker: str
) -> None:
    if points:
        axes.errorbar(
            [x for x, _ in points],
            [figure.median for _, figure in points],
            yerr=error_bars([figure for _, figure in points]),
            fmt=marker,
            color=colour,
            markersize=6,
            linewidth=1.2,
            capsize=3,
            label=label,
        )


def title_panel(axes: Axes, target: str, panels: Sized) -> None:
    """The target above its panel, where there is more than one."""
    if len(panels) > 1:
        axes.set_title("\n".join(textwrap.wrap(drawing.label(target), _PANEL_TITLE)), loc="left")


def shared_legend(figure: Figure, all_axes: Sequence[Axes], title: str) -> None:
    """One legend for all panels, each name once."""
    handles: dict[str, Artist] = {}
    for axes in all_axes:
        for handle, name in zip(*axes.get_legend_handles_labels(), strict=True):
            handles.setdefault(name, handle)
    if handles:
        figure.legend(handles.values(), handles, title=title, loc="outside right upper", alignment="left")
