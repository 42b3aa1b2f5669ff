"""Accuracy against latency and against energy: the cost of right answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from matplotlib.axes import Axes

from edgebench.judge.metrics import METRICS
from edgebench.judge.trial import Estimate, Trial
from edgebench.report import tables, words
from edgebench.report.plots import drawing, panels

_MOST_NAMED = 24
"""Points of a panel up to which each has its name next to it."""

_LONGEST_NAME = 20  # characters next to a point, which may be at the edge
_PERCENT = METRICS["accuracy"].units["%"]
_SINGLE_SIZE = (4.7, 3.0)  # inches of one panel with the legend: readable type on a phone's screen

Costs = Sequence[tuple[Trial, Estimate]]
"""Trials that have an accuracy, each with its cost."""


def accuracy(
    trials: Sequence[Trial],
    limits: Mapping[str, float] | None = None,
    shares: Mapping[str, float] | None = None,
    *,
    ax: panels.Place = None,
) -> list[Axes]:
    """Draw accuracy on the images against image_s, or against infer_s where no trial has that.

    Args:
        trials: trials; those without that latency or accuracy are left out.
        limits: limit of the latency in seconds by profile, as lines; one that is far off is not drawn.
        shares: limit of the accuracy as a share by profile, likewise.
        ax: place of the plot, a panel per target.
    """
    shown = words.alike_timed(_with_accuracy(trials))
    groups = [
        (target, [(trial, trial.latency) for trial in group if trial.latency])
        for target, group in panels.by_target(shown)
    ]
    return _against_accuracy(groups, panels.latency_scale(shown, limits), "precision", shares or {}, ax)


def _with_accuracy(trials: Sequence[Trial]) -> list[Trial]:
    return [trial for trial in trials if trial.estimate("accuracy").value is not None]


def _accuracy_scale(trials: Sequence[Trial], shares: Mapping[str, float]) -> panels.Scale:
    rates = [trial.estimate("accuracy").in_unit(_PERCENT) for trial in trials]
    limits = {name: share / _PERCENT for name, share in shares.items()}
    return panels.Scale("Accuracy on the images, %", "%", rates, limits)


def _against_accuracy(
    groups: Sequence[tuple[str, Costs]],
    scale: panels.Scale,
    legend: str,
    shares: Mapping[str, float],
    ax: panels.Place,
) -> list[Axes]:
    """Draw intervals of accuracy upwards, those of the cost sideways; one scale for all panels."""
    trials = [trial for _, group in groups for trial, _ in group]
    names, labels = tables.trial_names(trials), words.labels(trials)
    series = {trial.key: trial.target for trial in trials} if legend == "target" else words.series(trials)
    styles, is_single = drawing.styles(series.values()), len(groups) == 1
    accuracy_scale = _accuracy_scale(trials, shares)

    def point(trial: Trial, cost: Estimate, is_named: bool) -> panels.Point:
        share = trial.estimate("accuracy")
        name = labels[trial.key] if legend == "target" else point_name(trial)
        return panels.Point(
            cost,
            share.in_unit(_PERCENT),
            series[trial.key],
            f"{names[trial.key]}: {words.right_of(share)} at {words.interval(cost)} {scale.unit}",
            drawing.label(name) if is_named else "",
        )

    def draw(axes: Axes, group: Costs) -> None:
        scale.draw(axes, "x", named=is_single)
        accuracy_scale.draw(axes, "y", named=is_single)
        is_named = len(group) <= _MOST_NAMED
        panels.draw_points(axes, [point(trial, cost, is_named) for trial, cost in group], styles)

    width, height = _SINGLE_SIZE if is_single else (None, 3.6)
    above = scale.names_height if is_single else 0.0
    return panels.draw_panels(
        ax, groups, draw, "no trial has both", legend, above=above, width=width, height=height
    )


def point_name(trial: Trial) -> str:
    """Name next to a trial's point: its depth multiplier, or its model's name where it has none."""
    if trial.depth_multiplier is None:
        return drawing.label(words.model(trial), _LONGEST_NAME)
    return words.depth(trial.depth_multiplier)


def accuracy_picture(
    trials: Sequence[Trial],
    limits: Mapping[str, float] | None = None,
    shares: Mapping[str, float] | None = None,
) -> panels.Picture:
    """Accuracy against image_s, or infer_s where no trial has that; limits as for `accuracy`."""
    able = _with_accuracy(trials)
    shown = words.alike_timed(able)
    if not shown:
        return panels.Picture("There is no figure of accuracy against latency: no trial has both.")
    scales = panels.latency_scale(shown, limits), _accuracy_scale(shown, shares or {})
    return panels.picture(
        partial(accuracy, trials, limits, shares),
        f"Accuracy against {words.latency_words(shown)}",
        "Accuracy on the images against latency, with 95 % intervals; names are depth multipliers or models.",
        panels.limits_note(*scales),
        panels.not_drawn(
            sum(trial.latency is not None for trial in able) - len(shown), " of inference alone"
        ),
        panels=len({trial.target for trial in trials}),
    )


# Accuracy against energy per image: a panel per scope of the meters.


def energy(trials: Sequence[Trial], *, ax: panels.Place = None) -> list[Axes]:
    """Draw accuracy on the images against energy per image.

    Colours are precisions where all trials are of one target, else targets.

    Args:
        trials: trials; those without accuracy or energy are left out.
        ax: place of the plot, a panel per scope: meters of different scopes do not compare.
    """
    groups = list(_energy_panels(trials).items())[: drawing.MAX_PANELS]
    costs = [cost for _, group in groups for _, cost in group]
    scale = panels.Scale(METRICS["energy_j"].titled, "J", costs)
    return _against_accuracy(groups, scale, series_of(trials), {}, ax)


def series_of(trials: Sequence[Trial]) -> str:
    """Property that distinguishes points: the target where there are several, else the precision."""
    return "target" if len({trial.target for trial in trials}) > 1 else "precision"


def _energy_panels(trials: Sequence[Trial]) -> dict[str, list[tuple[Trial, Estimate]]]:
    """Trials with the energy of the rail that represents their board, by that rail's scope."""
    return words.grouped(
        (words.power_of(trial.rails[0].scope), (trial, energy_j))
        for trial in _with_accuracy(trials)
        if trial.rails and (energy_j := trial.estimate("energy_j")).value is not None
    )


def energy_picture(trials: Sequence[Trial]) -> panels.Picture | None:
    """Accuracy against energy per image; None without a meter."""
    metered = [trial for trial in trials if trial.rails]
    if not metered:
        return None
    groups = _energy_panels(trials)
    if not groups:
        return panels.Picture("There is no figure of accuracy against energy: no trial has both.")
    return panels.picture(
        partial(energy, trials),
        "Accuracy against energy per image",
        "Accuracy on the images against energy per image, by the primary meter and rail of each trial, with "
        "95 % intervals.",
        "With --period it is the energy of the whole period, pauses included."
        if any(trial.period_s for trial in metered)
        else "",
        f"All meters see the {next(iter(groups))}."
        if len(groups) == 1
        else "Meters of different scopes have a panel each: their energies do not compare.",
        panels.not_drawn(len(metered) - sum(map(len, groups.values())), " without energy or accuracy"),
        panels=len(groups),
        noun="scope",
    )
