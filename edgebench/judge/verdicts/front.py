"""Pareto fronts over metrics: the trials that no other is better than in all of them.

A trial is on the front where no other is at least as good by every value and better by one. Behind it, a
trial is dominated where some other's intervals do not overlap its own in any metric; where they overlap in
one, the trial is "overlapping", since another run may reverse the order. Power and energy of different
scopes, or declared and measured ones, are not compared.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from edgebench.errors import UsageError
from edgebench.judge.requirements.profile import Profile
from edgebench.judge.requirements.requirement import Requirement, metric_asked
from edgebench.judge.trial import Estimate, Trial
from edgebench.judge.verdicts.verdict import verdict_of

Standing = Literal["front", "overlapping", "dominated"]

_LOOSEST = 1e18


@dataclass(frozen=True)
class Axis:
    """One metric of a front; `averaging_s` is of power alone."""

    metric: str
    """Metric, such as image_s. Source: profile or command line."""
    statistic: str
    """Statistic of it. Source: profile."""
    averaging_s: float | None
    """Time over which power is averaged; null for all else. Unit: s. Source: profile."""
    unit: str
    """Unit of its estimates. Source: profile."""
    better: Literal["lower", "higher"]
    """Direction of better values. Source: the catalogue of metrics."""


@dataclass(frozen=True)
class FrontTrial:
    """A trial that has all estimates, and its standing."""

    trial: str
    """Key of the trial. Source: experiment.json."""
    standing: Standing
    """front: no other trial is at least as good by every value and better by one; dominated: one is, and no
    interval of it reaches beyond this one's; overlapping: one is by value, and it may not be so, since
    intervals overlap or are missing. Source: fit."""
    estimates: tuple[Estimate, ...]
    """One estimate an axis, in their order. Source: trial."""
    by: str | None = None
    """Key of a trial that is better by value, of several the one with the fewest overlaps; null on the front.
    Source: fit."""
    overlaps: tuple[str, ...] = ()
    """Metrics in which the intervals of the two overlap or are missing. Source: fit."""


@dataclass(frozen=True)
class LacksEstimate:
    """A trial that is not compared with the others, because an estimate is missing."""

    trial: str
    """Key of the trial. Source: experiment.json."""
    metric: str
    """Missing metric. Source: profile or command line."""
    reason: str
    """Cause. Source: trial."""


@dataclass(frozen=True)
class Front:
    """The trials over some metrics; those of `profile`, or of the command line where that is empty."""

    profile: str
    """Name of the profile; empty for metrics of the command line. Source: profile."""
    axes: tuple[Axis, ...]
    """The metrics, in order. Source: profile or command line."""
    trials: tuple[FrontTrial, ...]
    """The trials that have all estimates. Source: fit."""
    lacking: tuple[LacksEstimate, ...]
    """Estimates that are missing, each with its trial and the reason. Source: fit."""


def axes_of(text: str) -> tuple[Requirement, ...]:
    """Metrics apart by commas, each with `:statistic` where it is not the default one.

    Raises:
        UsageError: an unknown metric or statistic, a size, which has three numbers, or one metric twice.
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
    trials: Sequence[Trial], profiles: Sequence[Profile], axes: Sequence[Requirement] = ()
) -> list[Front]:
    """One front a profile, over its metrics of which any trial has a number; or one over `axes`.

    Args:
        trials: trials that were judged.
        profiles: profiles that they were judged by.
        axes: metrics in place of those of the profiles, as `axes_of` gives them.
    """
    if axes:
        return [_front("", axes, trials)]
    every = []
    for profile in profiles:
        limited: dict[tuple[Any, ...], Requirement] = {}  # of several on the same statistic the first
        for requirement in profile.requirements:
            if not requirement.metric.is_size:
                subject = (requirement.quantity, requirement.statistic, requirement.averaging_s)
                limited.setdefault(subject, requirement)
        every.append(_front(profile.name, list(limited.values()), trials))
    return [front for front in every if front.axes]


def _front(profile: str, axes: Sequence[Requirement], trials: Sequence[Trial]) -> Front:
    columns = {}
    for axis in axes:
        column = [_estimate(trial, axis, is_limited=bool(profile)) for trial in trials]
        if not profile or any(estimate.value is not None for estimate in column):
            columns[axis] = column
    keys = [trial.key for trial in trials]
    rows = dict(zip(keys, zip(*columns.values(), strict=True), strict=False))
    lacking = tuple(
        LacksEstimate(key, axis.quantity, "; ".join(filter(None, (estimate.objection, estimate.reason))))
        for key, row in rows.items()
        for axis, estimate in zip(columns, row, strict=True)
        if estimate.value is None
    )
    missing = {lack.trial for lack in lacking}
    complete = {key: row for key, row in rows.items() if key not in missing}
    shown = (
        Axis(axis.quantity, axis.statistic, axis.averaging_s, axis.unit, axis.metric.better)
        for axis in columns
    )
    return Front(profile, tuple(shown), tuple(_stand(complete, list(columns))) if complete else (), lacking)


def _estimate(trial: Trial, axis: Requirement, is_limited: bool) -> Estimate:
    """Estimate on an axis, under the loosest limit where that of the axis means nothing or picks a meter."""
    loosest = sys.float_info.min if axis.at_least else _LOOSEST
    limit = None if is_limited and not axis.metric.is_power else loosest
    estimate = verdict_of(trial, axis, limit=limit).estimate
    # A meter that misses peaks gives no upper end of one; means over sessions compare within their scope.
    has_end = not estimate.objection or bool(estimate.sessions)
    return estimate if has_end else replace(estimate, high=None)


def _stand(rows: Mapping[str, tuple[Estimate, ...]], axes: Sequence[Requirement]) -> Iterator[FrontTrial]:
    """Standing of each trial from its estimates by key. Arrays are [axis, a, b], and less is better."""
    keys, every = list(rows), list(rows.values())
    ends = np.array([[(one.value, one.low, one.high) for one in row] for row in every], dtype=float)
    is_higher = np.array([axis.at_least for axis in axes])[:, None]
    value, low, high = np.where(is_higher, -1.0, 1.0) * ends.transpose(2, 1, 0)  # a missing end is NaN
    best, worst = np.where(is_higher, (high, low), (low, high))
    overlaps = ~(np.nan_to_num(worst, nan=np.inf)[..., None] <= np.nan_to_num(best, nan=-np.inf)[:, None])
    bases = np.array([[one.basis for one in row] for row in every]).T
    bases = np.unique(bases, return_inverse=True)[1].reshape(bases.shape)
    ahead = (value[..., None] <= value[:, None]).all(0) & (value[..., None] < value[:, None]).any(0)
    ahead &= (bases[..., None] == bases[:, None]).all(0)  # a is better than b by value
    # The one with the fewest overlaps; with none, where some trial surely dominates.
    nearest_ahead = np.where(ahead, overlaps.sum(0, dtype=np.int16), len(axes) + 1).argmin(axis=0)
    unsure = overlaps[:, nearest_ahead, np.arange(len(keys))]
    for place, rival in enumerate(nearest_ahead.tolist()):
        if not ahead[rival, place]:
            yield FrontTrial(keys[place], "front", every[place])
            continue
        pairs = zip(axes, unsure[:, place], strict=True)
        names = tuple(axis.quantity for axis, is_unsure in pairs if is_unsure)
        yield FrontTrial(
            keys[place], "overlapping" if names else "dominated", every[place], keys[rival], names
        )
