"""What a judged result says beyond its verdicts: the decision, what would have to change, what is best."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from edgebench.errors import UsageError
from edgebench.judge.decision import (
    Decision,
    Nearest,
    decisions,
    depends_on_limit,
    nearest,
    under_loosest_limit,
)
from edgebench.judge.metrics.power import rail_interval
from edgebench.judge.profile import Profile
from edgebench.judge.requirement import Requirement, metric_asked
from edgebench.judge.trial_summary import TrialSummary, Verdict
from edgebench.judge.verdict import Judgement, judgement, overall
from edgebench.stats.interval import Count

# Which requirement excludes which targets: those all of whose trials fail it.


@dataclass(frozen=True)
class Exclusion:
    """One requirement against one target, without the settings of its sweep."""

    target: str
    """Name of the target, without the settings of a sweep. Source: experiment.json."""
    excluded: bool
    """Whether every trial of the target fails it. Source: fit."""
    fails: Count
    """How many of its trials fail it. Source: fit."""
    trials: Count
    """How many trials it has, without those that it does not take. Source: fit."""


@dataclass(frozen=True)
class ExcludedBy:
    """A row of the matrix: one requirement of a profile, and an entry a target, always in the same order."""

    profile: str
    """Name of the profile. Source: profile."""
    requirement: str
    """Name of the requirement. Source: profile."""
    quantity: str
    """What is limited, such as image_s. Source: profile."""
    wanted: bool
    """Whether it is a wish, which excludes nothing. Source: profile."""
    targets: tuple[Exclusion, ...]
    """One entry a target, in the same order in every row. Source: fit."""


def excluded_by(trials: Sequence[TrialSummary], verdicts: Sequence[Verdict]) -> list[ExcludedBy]:
    """A row for each requirement of each profile that was judged, in their order."""
    taken = {trial.key: trial.swept_target for trial in trials if trial.status != "unsupported"}
    targets = list(dict.fromkeys(trial.swept_target for trial in trials))
    counts = Counter(taken.values())
    failed: dict[tuple[str, str, str, bool], Counter[str]] = {}
    for verdict in verdicts:
        row = (verdict.profile, verdict.requirement, verdict.quantity, verdict.wanted)
        of_row = failed.setdefault(row, Counter())
        if verdict.verdict == "fail" and verdict.trial in taken:
            of_row[taken[verdict.trial]] += 1
    return [
        ExcludedBy(
            *row,
            tuple(
                Exclusion(name, fails[name] == counts[name] > 0 and not row[3], fails[name], counts[name])
                for name in targets
            ),
        )
        for row, fails in failed.items()
    ]


# The Pareto front over quantities: the trials that no other is better than in all of them.
#
# Which way a quantity is better its metric says (`Metric.better`). A trial is on the front where no other is
# at least as good by every value and better by one. Behind it, a trial is dominated where some other's
# intervals do not overlap its own in any quantity; where they overlap in one, the trial is "overlapping",
# since another run may reverse the order. Figures of power and energy of different scopes, or declared and
# measured ones, are not compared.


Standing = Literal["front", "overlapping", "dominated"]


@dataclass(frozen=True)
class Axis:
    """One quantity of a front; `averaging_s` is of power alone."""

    quantity: str
    """What it is, such as image_s. Source: profile or command line."""
    statistic: str
    """Which statistic of it. Source: profile."""
    averaging_s: float | None
    """Time over which power is averaged; null for all else. Unit: s. Source: profile."""
    unit: str
    """Unit of its figures. Source: profile."""
    better: Literal["lower", "higher"]
    """Which values are better. Source: the catalogue of metrics."""


@dataclass(frozen=True)
class AxisFigure:
    """A trial's figure on an axis, in its unit; `basis` is the meter's scope or the kind of declaration."""

    quantity: str
    """What it is, such as image_s. Source: profile or command line."""
    value: float
    """The statistic, in the axis' unit. Source: trial."""
    low: float | None
    """Lower end of its interval; null without one. Source: trial."""
    high: float | None
    """Upper end; null without one. Source: trial."""
    basis: str
    """For power and energy: the meter's scope, or how it was declared. Figures of different bases are not
    compared. Empty for all else. Source: trial."""


@dataclass(frozen=True)
class FrontTrial:
    """A trial that has all figures, and where it stands."""

    trial: str
    """Key of the trial. Source: experiment.json."""
    standing: Standing
    """front: no other trial is at least as good by every value and better by one; dominated: one is, and no
    interval of it reaches beyond this one's; overlapping: one is by value, and it may not be so, since
    intervals overlap or are missing. Source: fit."""
    figures: tuple[AxisFigure, ...]
    """One entry an axis, in their order. Source: trial."""
    by: str | None = None
    """Key of a trial that is better by value, of several the one with the fewest overlaps; null on the front.
    Source: fit."""
    overlaps: tuple[str, ...] = ()
    """Quantities in which the intervals of the two overlap or are missing. Source: fit."""


@dataclass(frozen=True)
class LacksFigure:
    """A trial that is not compared with the others, because a figure is missing."""

    trial: str
    """Key of the trial. Source: experiment.json."""
    quantity: str
    """What is missing. Source: profile or command line."""
    reason: str
    """Why. Source: trial."""


@dataclass(frozen=True)
class Front:
    """The trials over some quantities; those of `profile`, or of the command line where that is empty."""

    profile: str
    """Name of the profile; empty for quantities of the command line. Source: profile."""
    axes: tuple[Axis, ...]
    """The quantities, in order. Source: profile or command line."""
    trials: tuple[FrontTrial, ...]
    """The trials that have all figures. Source: fit."""
    lacking: tuple[LacksFigure, ...]
    """Figures that are missing, each with its trial and the reason. Source: fit."""


def axes_of(text: str) -> tuple[Requirement, ...]:
    """Quantities apart by commas, each with `:statistic` where it is not the default one.

    UsageError for what is no quantity or statistic, for a size, which has three numbers, and for one twice.
    """
    axes: dict[tuple[str, str], Requirement] = {}
    for metric, statistic in (metric_asked(part, "--pareto") for part in text.split(",")):
        name = metric.name
        if metric.is_size:
            why = f"{name} has three numbers, and none of them is the better one"
            raise UsageError(f"--pareto: {why}", fix="leave it out, or take mass_g")
        if (name, statistic) in axes:
            raise UsageError(f"--pareto: {name} is there twice", fix="leave one of them out")
        table = {"name": name, "quantity": name, "statistic": statistic, "limit": 1.0}
        axes[name, statistic] = Requirement.model_validate(table)
    return tuple(axes.values())


def fronts(
    trials: Sequence[TrialSummary], profiles: Sequence[Profile], axes: Sequence[Requirement] = ()
) -> list[Front]:
    """One front a profile, over what it is about and any trial has a number of; or one over `axes`.

    Args:
        trials: those that were judged.
        profiles: what they were judged by.
        axes: quantities in place of those of the profiles, as `axes_of` gives them.
    """
    if axes:
        return [_front("", axes, trials)]
    every = []
    for profile in profiles:
        about: dict[tuple[Any, ...], Requirement] = {}  # of several on the same statistic the first
        for each in profile.requirements:
            if not each.metric.is_size:
                about.setdefault((each.quantity, each.statistic, each.averaging_s), each)
        every.append(_front(profile.name, list(about.values()), trials))
    return [front for front in every if front.axes]


def _front(profile: str, axes: Sequence[Requirement], trials: Sequence[TrialSummary]) -> Front:
    """Without a profile the limits of the axes mean nothing."""
    columns = {}
    for axis in axes:
        judge = judgement if profile and not depends_on_limit(axis.metric) else under_loosest_limit
        column = [_figure(trial, axis, judge(trial, axis)) for trial in trials]
        if not profile or any(isinstance(figure, AxisFigure) for figure in column):
            columns[axis] = column
    rows = dict(zip((trial.key for trial in trials), zip(*columns.values(), strict=True), strict=False))
    lacking = tuple(figure for row in rows.values() for figure in row if isinstance(figure, LacksFigure))
    missing = {figure.trial for figure in lacking}
    complete = {key: row for key, row in rows.items() if key not in missing}
    shown = (
        Axis(each.quantity, each.statistic, each.averaging_s, each.unit, each.metric.better)
        for each in columns
    )
    standings = _stand(complete, [axis.at_least for axis in columns]) if complete else ()
    return Front(profile, tuple(shown), tuple(standings), lacking)


def _figure(trial: TrialSummary, axis: Requirement, judged: Judgement) -> AxisFigure | LacksFigure:
    """In its unit; of what a meter gives, the meter's own interval, whatever part of the board it sees."""
    figure = judged.figure
    if not isinstance(figure.value, int | float):
        return LacksFigure(trial.key, axis.quantity, judged.reason)
    value, low, high = float(figure.value), figure.low, figure.high
    rail = trial.primary_rail
    if rail is not None and axis.metric.rail_bounds and not figure.declared:
        interval = rail_interval(rail, axis.quantity)
        if interval and interval.low is not None and interval.high is not None:
            low, high = interval.low / axis.scale, interval.high / axis.scale
    elif figure.exact:
        low = high = value
    return AxisFigure(axis.quantity, value, low, high, figure.declared or figure.scope)


def _stand(rows: Mapping[str, tuple[Any, ...]], higher: Sequence[bool]) -> Iterator[FrontTrial]:
    """Where each trial stands; `rows` are figures by its key. Arrays are [axis, a, b], and less is better."""
    keys, figures = list(rows), list(rows.values())
    ends = np.array([[(each.value, each.low, each.high) for each in row] for row in figures], dtype=float)
    is_higher = np.array(higher)[:, None]
    value, low, high = np.where(is_higher, -1.0, 1.0) * ends.transpose(2, 1, 0)  # a missing end is NaN
    best, worst = np.where(is_higher, (high, low), (low, high))
    overlaps = ~(np.nan_to_num(worst, nan=np.inf)[..., None] <= np.nan_to_num(best, nan=-np.inf)[:, None])
    bases = np.array([[each.basis for each in row] for row in figures]).T
    bases = np.unique(bases, return_inverse=True)[1].reshape(bases.shape)
    ahead = (value[..., None] <= value[:, None]).all(0) & (value[..., None] < value[:, None]).any(0)
    ahead &= (bases[..., None] == bases[:, None]).all(0)  # a is better than b by value
    # The one with the fewest overlaps; with none, where some trial surely dominates.
    nearest_ahead = np.where(ahead, overlaps.sum(0, dtype=np.int16), len(higher) + 1).argmin(axis=0)
    unsure = overlaps[:, nearest_ahead, np.arange(len(keys))]
    for at, by in enumerate(nearest_ahead.tolist()):
        if not ahead[by, at]:
            yield FrontTrial(keys[at], "front", figures[at])
            continue
        names = tuple(
            figure.quantity for figure, is_unsure in zip(figures[at], unsure[:, at], strict=True) if is_unsure
        )
        yield FrontTrial(keys[at], "overlapping" if names else "dominated", figures[at], keys[by], names)


@dataclass(frozen=True)
class Answers:
    """Each by profile; all empty where nothing was judged."""

    decisions: tuple[Decision, ...]
    """The answer to each profile: one entry a profile. Source: fit."""
    nearest: tuple[Nearest, ...]
    """What would pass: one entry a profile and target with a trial that fails the profile. Source: fit."""
    pareto: tuple[Front, ...]
    """The trials that no other is better than in all quantities of a profile, or of the command line.
    Source: fit."""
    excluded_by: tuple[ExcludedBy, ...]
    """Which requirement excludes which targets: a row a requirement, an entry a target. Source: fit."""


def answers(
    trials: Sequence[TrialSummary],
    profiles: Sequence[Profile],
    verdicts: Sequence[Verdict],
    axes: Sequence[Requirement] = (),
) -> Answers:
    """Those of trials that `judge_all` judged by these profiles.

    `axes` are the quantities of one front (`pareto.axes_of`), in place of one a profile.
    """
    wholes = overall(verdicts)
    entries = tuple(nearest(trials, profiles, wholes))
    return Answers(
        decisions=tuple(decisions(trials, wholes, entries)),
        nearest=entries,
        pareto=tuple(fronts(trials, profiles, axes)),
        excluded_by=tuple(excluded_by(trials, verdicts)),
    )
