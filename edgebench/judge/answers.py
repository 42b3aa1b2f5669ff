"""What a judged result says beyond its verdicts: the decision, what would have to change, what is best."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

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
from edgebench.stats.interval import Count, Interval

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
# Which way a quantity is better its metric says (`Metric.better`). A trial is on the front where no other
# is at
# least as good by every value and better by one. Behind it, a trial is dominated where some other's
# intervals
# lie apart from its own, or touch, in every quantity; where they overlap in one, that is said instead,
# since
# another run may have it the other way round. Figures of power and energy of different scopes, and declared
# beside measured ones, are not held against each other.


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
    """Of power and energy the meter's scope, or how it was declared; figures of different bases are not held
    against each other. Empty for all else. Source: trial."""


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
    """A trial that is not held against the others, for want of a figure."""

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
    for part in text.split(","):
        metric, statistic = metric_asked(part, "--pareto")
        name = metric.name
        if metric.is_size:
            raise UsageError(
                f"--pareto: {name} has three numbers, and none of them is the better one",
                fix="leave it out, or take mass_g",
            )
        if (name, statistic) in axes:
            raise UsageError(f"--pareto: {name} is there twice", fix="leave one of them out")
        table = {"name": name, "quantity": name, "statistic": statistic, "limit": 1.0}
        axes[name, statistic] = Requirement.model_validate(table)
    return tuple(axes.values())


def fronts(
    trials: Sequence[TrialSummary],
    profiles: Sequence[Profile],
    verdicts: Sequence[Verdict],
    axes: Sequence[Requirement] = (),
) -> list[Front]:
    """One front a profile, over what it is about and any trial has a number of; or one over `axes`.

    Args:
        trials: those that were judged.
        profiles: what they were judged by.
        verdicts: as `judge_all` gives them.
        axes: quantities in place of those of the profiles, as `axes_of` gives them.
    """
    if axes:
        return [_front("", axes, trials, {})]
    fronts_ = []
    for profile in profiles:
        judged = {
            (verdict.trial, verdict.requirement): verdict
            for verdict in verdicts
            if verdict.profile == profile.name
        }
        fronts_.append(_front(profile.name, _numeric_axes(profile), trials, judged))
    return [front for front in fronts_ if front.axes]


def _numeric_axes(profile: Profile) -> list[Requirement]:
    """Its requirements, of several on the same statistic the first, without those of a body."""
    about = {
        (requirement.quantity, requirement.statistic, requirement.averaging_s): requirement
        for requirement in reversed(profile.requirements)
        if not requirement.metric.is_size
    }
    return [requirement for requirement in profile.requirements if requirement in about.values()]


def _front(
    profile: str,
    axes: Sequence[Requirement],
    trials: Sequence[TrialSummary],
    judged: Mapping[tuple[str, str], Verdict],
) -> Front:
    """`judged` are a profile's verdicts that are known already, by trial and requirement."""
    verdicts = {
        (trial.key, axis.name): judged[trial.key, axis.name]
        if (trial.key, axis.name) in judged and not depends_on_limit(axis)
        else under_loosest_limit(trial, axis)
        for axis in axes
        for trial in trials
    }
    if profile:
        axes = [axis for axis in axes if any(_number(verdicts[trial.key, axis.name]) for trial in trials)]
    lacking = tuple(
        LacksFigure(trial.key, axis.quantity, verdicts[trial.key, axis.name].reason)
        for trial in trials
        for axis in axes
        if not _number(verdicts[trial.key, axis.name])
    )
    without = {lack.trial for lack in lacking}
    complete = [trial for trial in trials if trial.key not in without] if axes else []
    figures = [
        tuple(_figure(trial, axis, verdicts[trial.key, axis.name]) for axis in axes) for trial in complete
    ]
    return Front(
        profile,
        tuple(
            Axis(axis.quantity, axis.statistic, axis.averaging_s, axis.unit, axis.metric.better)
            for axis in axes
        ),
        tuple(_stand(complete, figures, [axis.at_least for axis in axes])),
        lacking,
    )


def _number(verdict: Verdict) -> bool:
    return isinstance(verdict.value, int | float)


def _figure(trial: TrialSummary, axis: Requirement, verdict: Verdict) -> AxisFigure:
    """In its unit; of what a meter gives, the meter's own interval, whatever part of the board it sees."""
    assert isinstance(verdict.value, int | float)
    value, low, high = float(verdict.value), verdict.low, verdict.high
    rail = trial.primary_rail
    if rail is not None and axis.metric.rail_bounds and not verdict.declared:
        interval = rail_interval(rail, axis.quantity)
        if isinstance(interval, Interval) and interval.low is not None and interval.high is not None:
            low, high = (end / axis.scale for end in (interval.low, interval.high))
    elif low is None and high is None and verdict.statistic in _EXACT:
        low = high = value
    return AxisFigure(axis.quantity, value, low, high, verdict.declared or verdict.scope)


_EXACT = ("recorded", "declared")
"""Statistics of single numbers, which have no interval and need none."""


def _stand(
    trials: Sequence[TrialSummary], figures: Sequence[tuple[AxisFigure, ...]], higher: Sequence[bool]
) -> list[FrontTrial]:
    """Where each trial stands; arrays are [axis, a, b], and less is better in them."""
    if not trials:
        return []
    columns = list(zip(*figures, strict=True))
    signs = np.where(higher, -1.0, 1.0)[:, None]
    values, low, high = (signs * np.array(ends) for ends in zip(*map(_ends, columns), strict=True))
    best, worst = np.minimum(low, high), np.maximum(low, high)
    bases = np.array([[figure.basis for figure in column] for column in columns])
    apart = worst[:, :, None] <= best[:, None, :]
    ahead = (values[:, :, None] <= values[:, None, :]).all(axis=0)
    ahead &= (values[:, :, None] < values[:, None, :]).any(axis=0)
    ahead &= (bases[:, :, None] == bases[:, None, :]).all(axis=0)  # a is better than b by value
    overlapping = (~apart).sum(axis=0)
    stands = []
    for at, trial in enumerate(trials):
        if not ahead[:, at].any():
            stands.append(FrontTrial(trial.key, "front", figures[at]))
            continue
        # The one with the fewest overlaps; with none, where some trial surely dominates.
        by = int(np.argmin(np.where(ahead[:, at], overlapping[:, at], len(higher) + 1)))
        standing: Standing = "overlapping" if overlapping[by, at] else "dominated"
        overlaps = [figures[at][axis].quantity for axis in np.flatnonzero(~apart[:, by, at])]
        stands.append(FrontTrial(trial.key, standing, figures[at], trials[by].key, tuple(overlaps)))
    return stands


def _ends(column: Sequence[AxisFigure]) -> tuple[list[float], list[float], list[float]]:
    """Values and the ends of their intervals, infinite where nothing bounds them."""
    return (
        [figure.value for figure in column],
        [-math.inf if figure.low is None else figure.low for figure in column],
        [math.inf if figure.high is None else figure.high for figure in column],
    )


@dataclass(frozen=True)
class Answers:
    """Each by profile; all empty where nothing was judged."""

    decisions: tuple[Decision, ...]
    nearest: tuple[Nearest, ...]
    pareto: tuple[Front, ...]
    excluded_by: tuple[ExcludedBy, ...]


def answers(
    trials: Sequence[TrialSummary],
    profiles: Sequence[Profile],
    verdicts: Sequence[Verdict],
    axes: Sequence[Requirement] = (),
) -> Answers:
    """Those of trials that `judge_all` judged by these profiles.

    `axes` are the quantities of one front (`pareto.axes_of`), in place of one a profile.
    """
    entries = tuple(nearest(trials, profiles, verdicts))
    return Answers(
        decisions=tuple(decisions(trials, verdicts, entries)),
        nearest=entries,
        pareto=tuple(fronts(trials, profiles, verdicts, axes)),
        excluded_by=tuple(excluded_by(trials, verdicts)),
    )
