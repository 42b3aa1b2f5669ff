"""Latency by depth multiplier or model, of all targets on one axis, and by stage."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import FigureBase

from edgebench.judge.metrics import METRICS
from edgebench.judge.trial import MISSING, Estimate, Trial
from edgebench.judge.verdicts.verdict import Verdict
from edgebench.report import tables, words
from edgebench.report.plots import drawing, panels
from edgebench.report.plots.accuracy import series_of
from edgebench.stats.compare import ratios
from edgebench.stats.intervals import MIN_SESSIONS, session_medians

By = Literal["depth", "model"]
_AXES: Mapping[By, str] = {"depth": "Depth multiplier", "model": "Model"}


def level_axis(trials: Sequence[Trial]) -> By:
    """Axis of these trials: their depth where they are of one family, else their model."""
    shown = words.alike_timed(trials)
    families = {words.families([trial]) for trial in shown}
    return "model" if len(families) > 1 or not shown or shown[0].depth_multiplier is None else "depth"


def latency(
    trials: Sequence[Trial],
    limits: Mapping[str, float] | None = None,
    *,
    by: By | None = None,
    ax: panels.Place = None,
) -> list[Axes]:
    """Draw the median latency of each trial with its interval, and its limits.

    It is image_s; infer_s where no trial has that.

    Args:
        trials: trials; those without that time are left out, and against depth those without a depth.
        limits: limit in seconds by profile; one that is far off is not drawn (`panels.NEAR`).
        by: `depth`, or `model` with a place for each in the order of the trials. Default: `level_axis`.
        ax: place of the plot, a panel per target.
    """
    by = by or level_axis(trials)
    shown = words.alike_timed(trials)
    if by == "model":
        tick_of = {trial.key: words.model(trial) for trial in shown}
        ticks = list(dict.fromkeys(tick_of.values()))
    else:
        shown = [trial for trial in shown if trial.depth_multiplier is not None]
        tick_of = {trial.key: words.depth(trial.depth_multiplier) for trial in shown}
        ticks = sorted(set(tick_of.values()), key=float)
    scale, series, point_text = panels.latency_scale(shown, limits), words.series(shown), _point_texts(shown)
    styles = drawing.styles(series.values())
    order = list(styles)

    def point(trial: Trial) -> panels.Point:
        # Series are side by side, so that their bars do not cover each other.
        shift = (order.index(series[trial.key]) - (len(order) - 1) / 2) * 0.09
        x = Estimate(ticks.index(tick_of[trial.key]) + shift)
        return panels.Point(x, trial.latency or MISSING, series[trial.key], point_text[trial.key])

    def draw(axes: Axes, group: Sequence[Trial]) -> None:
        panels.name_places(axes, ticks)
        axes.set(xlim=(-0.5, len(ticks) - 0.5), xlabel=_AXES[by])
        scale.draw(axes, "y")
        points = sorted(map(point, group), key=lambda point: (order.index(point.series), point.place))
        panels.draw_points(axes, points, styles)

    return panels.draw_panels(ax, panels.by_target(shown), draw, "no trial has a time", "precision")


def _point_texts(trials: Sequence[Trial]) -> dict[str, str]:
    """Names of the trials with their latencies, by key."""
    names, latencies = tables.trial_names(trials), {trial.key: trial.latency or MISSING for trial in trials}
    return {key: f"{names[key]}: {words.interval(latency)} s" for key, latency in latencies.items()}


def limits_of(verdicts: Sequence[Verdict], metric: str, statistic: str = "median") -> dict[str, float]:
    """Limit of a metric's statistic by profile in base units, that of a requirement before that of a wish."""
    return {
        verdict.profile: verdict.limit
        for verdict in sorted(verdicts, key=lambda verdict: not verdict.requirement.wanted)
        if (verdict.requirement.quantity, verdict.requirement.statistic) == (metric, statistic)
    }


def depth_picture(trials: Sequence[Trial], limits: Mapping[str, float]) -> panels.Picture:
    """Latency by depth multiplier and precision, for trials of one family; else by model and precision.

    It is image_s; infer_s where no trial has that. `limits` are its limits in seconds by profile.
    """
    measured = words.alike_timed(trials)
    if not measured:
        return panels.Picture("There is no figure of latency: no trial has a time.")
    axis = level_axis(measured)
    subject = METRICS[words.latency_names(measured)].words
    subject += f" by {'depth multiplier' if axis == 'depth' else 'model'} and precision"
    is_published = any(trial.is_published for trial in measured)
    bars = "as published, without intervals" if is_published else "bars are 95 % intervals over sessions"
    others = sum(trial.latency is not None for trial in trials) - len(measured)
    return panels.picture(
        partial(latency, measured, limits, by=axis),
        f"{subject} for {words.counted(len(measured), 'trial')}",
        f"{subject}; {bars}.",
        panels.limits_note(panels.latency_scale(measured, limits)),
        panels.not_drawn(others, " of inference alone"),
        panels=len({trial.target for trial in measured}),
    )


# All targets on one axis: the latency of each trial, and its ratio to that of the quickest.


MAX_ROWS = 36
"""Most rows. Of more trials the quickest of each target has one, and the first 36 of those are drawn."""

_ROW = 0.24  # inches
_LONGEST_NAME = 38  # characters in a line


def quickest_first(trials: Sequence[Trial]) -> list[Trial]:
    """Trials that are drawn on one axis, from the quickest to the slowest."""
    ordered = sorted(words.alike_timed(trials), key=lambda trial: panels.value_of(trial.latency))
    if len(ordered) > MAX_ROWS:
        ordered = [group[0] for group in words.grouped((trial.target, trial) for trial in ordered).values()]
    return ordered[:MAX_ROWS]


def ratios_to_quickest(ordered: Sequence[Trial]) -> dict[str, Estimate]:
    """Ratios to the first trial with the same scene by key, with intervals over session medians."""
    quickest: dict[str, Trial] = {}
    found_ratios: dict[str, Estimate] = {}
    for trial in ordered:
        first = quickest.setdefault(trial.scene.text, trial)
        if first is trial:
            continue
        first_s, trial_s = (np.array(session_medians(side.latency_values)) for side in (first, trial))
        if min(first_s.size, trial_s.size) < MIN_SESSIONS:
            ratio = Estimate(panels.value_of(trial.latency) / panels.value_of(first.latency))
        else:
            slower = ratios(first_s, trial_s)
            ratio = Estimate(float(slower.ratio), float(slower.low), float(slower.high))
        found_ratios[trial.key] = ratio
    return found_ratios


def targets(
    trials: Sequence[Trial],
    limits: Mapping[str, float] | None = None,
    *,
    ax: Axes | FigureBase | None = None,
) -> Axes:
    """Draw a row per trial, the quickest on top: median latency, and the ratio to the quickest of its scene.

    It is image_s; infer_s where no trial has that. The ratio is that of the means of session medians, its
    interval that of `edgebench.stats.compare`.

    Args:
        trials: trials; those without that time are left out (see MAX_ROWS).
        limits: limit in seconds by profile, as lines.
        ax: place of the plot.
    """
    rows = quickest_first(trials)
    names, ratio_of, point_text = tables.trial_names(rows), ratios_to_quickest(rows), _point_texts(rows)
    row_names = [_row_name(names[trial.key]) for trial in rows]
    scale, series = panels.latency_scale(rows, limits), series_of(rows)
    styles = drawing.styles(getattr(trial, series) for trial in rows)
    several_scenes = len({trial.scene.text for trial in rows}) > 1
    note = "\nof its scene" if several_scenes else panels.bars_note(ratio_of.values(), "\n(95 % interval)")
    texts = {key: words.interval(ratio) for key, ratio in ratio_of.items()}

    def point(row: int, trial: Trial) -> panels.Point:
        ratio = texts.get(trial.key)
        behind = f"{ratio} times the quickest" if ratio else "the quickest"
        text = f"{point_text[trial.key]}, {behind}"
        return panels.Point(trial.latency or MISSING, Estimate(row), getattr(trial, series), text)

    def draw(axes: Axes, rows: Sequence[Trial]) -> None:
        panels.name_rows(axes, row_names, _LONGEST_NAME)
        scale.draw(axes, "x")
        panels.draw_points(axes, [point(row, trial) for row, trial in enumerate(rows)], styles)
        column = [f"times the quickest{note}", *(texts.get(trial.key, "quickest") for trial in rows)]
        for row, text in enumerate(column, -1):
            axes.annotate(
                text, (1.02, max(row, -0.6)), xycoords=axes.get_yaxis_transform(), fontsize=8.5,
                annotation_clip=False, va="bottom" if row < 0 else "center",
                color=drawing.QUIET if row < 0 else drawing.INK,
            )  # fmt: skip

    lines_of_text = max((name.count("\n") + 1 for name in row_names), default=1)
    height = 1.4 + _ROW * max(3, len(rows)) * (0.6 + 0.4 * lines_of_text)
    [axes] = panels.draw_panels(
        ax, [("", rows)] if rows else [], draw, "no trial has a time", width=8.4, height=height,
        above=max(scale.names_height, 0.35), right=1.7,
    )  # fmt: skip
    return axes


def targets_picture(trials: Sequence[Trial], limits: Mapping[str, float]) -> panels.Picture:
    """All targets on one axis, with the ratio to the quickest; `limits` are in seconds by profile."""
    rows = quickest_first(trials)
    if not rows:
        return panels.Picture("There is no figure of all targets on one axis: no trial has a time.")
    able, subject = words.alike_timed(trials), f"Median {words.latency_words(rows)}"
    has_interval = {ratio.low is not None for ratio in ratios_to_quickest(rows).values()}
    interval = " with its 95 % interval over both trials' session medians (Welch, on the logarithm)"
    drawn = "the quickest of each target" + (f", the first {MAX_ROWS}" if len(rows) == MAX_ROWS else "")
    return panels.picture(
        partial(targets, trials, limits),
        f"{subject} from the quickest to the slowest",
        f"{subject} of each trial, the quickest on top, and its ratio to that"
        f"{interval if True in has_interval else ''}.",
        "A ratio without an interval: published, or too few sessions." if False in has_interval else "",
        panels.limits_note(panels.latency_scale(rows, limits)),
        f"Drawn of {words.counted(len(able), 'trial')}: {drawn}." if len(rows) < len(able) else "",
    )


def _row_name(name: str) -> str:
    """Break a long name into two lines: the target, and the trial on it."""
    if len(name) <= _LONGEST_NAME:
        return name
    target, _, trial = name.rpartition(": ")
    return "\n".join(filter(None, (target, trial)))


# Time of a patch by stage: one stacked bar per trial.


STACKED_STAGES = {"patchify": drawing.SKY, "preprocess": drawing.ORANGE, "infer": drawing.BLUE}
"""Colours of the stages that follow each other in time, in their order."""

_OWN_COLOURS = [colour for colour in drawing.PALETTE if colour not in STACKED_STAGES.values()]
MOST_BARS = 60
"""Most bars in one panel."""


def stages_of(trial: Trial) -> dict[str, float]:
    """Milliseconds of a patch by stage; empty where no stage was timed."""
    return {
        key.stage: estimate.value
        for key, estimate in trial.estimates_of("stages_ms")
        if key.worker is None and estimate.value is not None
    }


def stages(trials: Sequence[Trial], *, ax: panels.Place = None) -> list[Axes]:
    """Draw milliseconds per patch, stage upon stage; means over the sessions of each session's median.

    A device's own stage is part of inference: it is a narrow bar upon it, which ends where inference ends.
    With several requests in flight the stages before inference overlap it: they are narrow bars too, and the
    bar is as long as the time of the image.

    Args:
        trials: trials; those without stages are left out, and those after the first 60 of a target.
        ax: place of the plot, a panel per target, all on one scale.
    """
    stages_by_key = {trial.key: times for trial in trials if (times := stages_of(trial))}
    shown = [trial for trial in trials if trial.key in stages_by_key]
    groups = [(target, group[:MOST_BARS]) for target, group in panels.by_target(shown)]
    names, labels = tables.trial_names(shown), words.labels(shown)
    present = dict.fromkeys(stage for times in stages_by_key.values() for stage in times)
    colours = {stage: colour for stage, colour in STACKED_STAGES.items() if stage in present}
    colours |= zip((stage for stage in present if stage not in STACKED_STAGES), itertools.cycle(_OWN_COLOURS))
    scale = panels.Scale(
        "Time per patch, ms\nmean of session medians",
        "ms",
        [Estimate(0.0), *(Estimate(_patch_ms(trial)) for _, group in groups for trial in group)],
    )

    def draw(axes: Axes, group: Sequence[Trial]) -> None:
        reached, totals = np.zeros(len(group)), np.array(list(map(_patch_ms, group)))
        for stage, colour in colours.items():
            widths = np.array([stages_by_key[trial.key].get(stage, 0.0) for trial in group])
            is_narrow = [stage not in STACKED_STAGES or trial.concurrency > 1 for trial in group]
            if stage == "infer":
                starts, is_narrow = totals - widths, [False] * len(group)
            elif stage in STACKED_STAGES:
                starts, reached = reached, reached + widths
            else:
                starts = np.maximum(0.0, totals - widths)
            bars = axes.barh(
                range(len(group)),
                widths,
                np.where(is_narrow, 0.3, 0.8),
                starts,
                color=colour,
                edgecolor="white",
                linewidth=0,
                zorder=1 if stage == "infer" else 2,
                hatch="///" if stage == "preprocess" else "",
                label=drawing.label(stage),
            )
            for bar, trial in zip(bars.patches, group, strict=True):
                if stage in stages_by_key[trial.key]:
                    time = words.number(stages_by_key[trial.key][stage])
                    drawing.mark(bar, "trial", f"{names[trial.key]}: {stage} {time} ms a patch")
        for row, total in enumerate(totals):
            axes.annotate(
                words.number(total), (total, row), xytext=(4, -3), textcoords="offset points", fontsize=8
            )
        panels.name_rows(axes, [labels[trial.key] for trial in group])
        scale.draw(axes, "x")

    height = 1.4 + 0.27 * max((len(group) for _, group in groups), default=1)
    return panels.draw_panels(ax, groups, draw, "no trial has a time of its stages", "stage", height=height)


def stages_picture(trials: Sequence[Trial]) -> panels.Picture:
    """Milliseconds per patch by stage."""
    shown = [trial for trial in trials if stages_of(trial)]
    if not shown:
        return panels.Picture("There is no figure of the stages: no trial has a time.")
    own = {stage for trial in shown for stage in stages_of(trial)} - set(STACKED_STAGES)
    own_stages = " and ".join(words.plain(stage, 40) for stage in sorted(own))
    return panels.picture(
        partial(stages, trials),
        "Milliseconds a patch by stage",
        "Milliseconds a patch, stage upon stage; means over the sessions of each session's median.",
        f"The narrow bar is {own_stages}, the device's own time within infer." if own else "",
        "With several requests in flight the stages before infer overlap it: they are narrow bars upon it."
        if any(trial.concurrency > 1 for trial in shown)
        else "",
        panels=len({trial.target for trial in trials}),
    )


def _patch_ms(trial: Trial) -> float:
    """Milliseconds of a patch: of the stages that follow each other, or of the image where they overlap."""
    times, image_s, infer_s = stages_of(trial), trial.estimate("image_s"), trial.estimate("infer_s")
    if trial.concurrency > 1 and image_s.value and infer_s.value:
        return times.get("infer", 0.0) * image_s.value / infer_s.value
    return sum(times.get(name, 0.0) for name in STACKED_STAGES)
