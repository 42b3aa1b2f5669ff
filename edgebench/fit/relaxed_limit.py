"""The least change of one limit under which a trial that was measured would pass it.

A pass needs the bound of the figure that lies towards the limit: the upper one of what is to be at most, the
lower one of what is to be at least, the number itself of what was declared. Which meter or which declared
power decides depends on the limit, so that every limit is tried by judging the trial under it.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from edgebench.fit.requirement import Requirement
from edgebench.fit.trial_summary import TrialSummary, Verdict
from edgebench.fit.verdict import judge_one

_MOST = math.nextafter(1e18, 0.0)
"""The most that a requirement may say."""

_ROUNDING = 1e-12

Limit = float | tuple[float, ...]


@dataclass(frozen=True)
class RelaxedLimit:
    """A limit that a trial does not pass, and the nearest one that it would.

    Attributes:
        to: the limit under which it passes; of a body, its sides in the order of the limit's.
        by: how much looser that is, in `unit`, above 0; of a body, of the side that takes most.
        share: `by` over the limit, of a temperature over its distance from absolute zero; of a body, the
            greatest of its sides.
        verdict: what it got under the limit as it is.
    """

    requirement: str
    quantity: str
    statistic: str
    averaging_s: float | None
    unit: str
    limit: Limit
    to: Limit
    by: float
    share: float
    verdict: Literal["fail", "inconclusive"]


@dataclass(frozen=True)
class ToMeasure:
    """A requirement that no limit lets a trial pass, because what decides it was not measured; and why."""

    requirement: str
    quantity: str
    statistic: str
    reason: str


def relaxed_limit(
    trial: TrialSummary, requirement: Requirement, verdict: Verdict
) -> RelaxedLimit | ToMeasure:
    """What would make a pass of another verdict: another limit, or else what has to be measured.

    Args:
        trial: that was judged.
        requirement: that it was judged by.
        verdict: what came of it, and no pass.
    """
    if verdict.verdict == "unknown":
        return _to_measure(verdict, verdict.reason)
    limit = verdict.limit
    if isinstance(limit, tuple):
        return _with_size(verdict, limit)
    known = [verdict]
    if depends_on_limit(requirement):
        known.append(under_loosest_limit(trial, requirement))
    to = _least(trial, requirement, known)
    if to is None:
        return _to_measure(verdict, under_loosest_limit(trial, requirement).reason)
    by = abs(to - limit)
    return _relaxed(verdict, to, by, by / (limit - requirement.metric.above))


def under_loosest_limit(trial: TrialSummary, requirement: Requirement) -> Verdict:
    """What the trial comes to where no limit is in its way."""
    above = requirement.metric.above
    least = math.nextafter(above, math.inf) if above else sys.float_info.min
    return _judged(trial, requirement, least if requirement.at_least else _MOST)


def depends_on_limit(requirement: Requirement) -> bool:
    """Whether another figure may be judged under another limit."""
    return bool(requirement.metric.rail) or callable(requirement.metric.judged)


def _least(trial: TrialSummary, requirement: Requirement, known: Sequence[Verdict]) -> float | None:
    """The nearest limit that the trial passes: bounds of its figures, tried from the nearest on."""
    limit = requirement.limit
    assert not isinstance(limit, tuple)
    bounds = {bound for verdict in known for bound in _bounds(verdict, requirement)}
    if requirement.metric.is_power:
        bounds |= {power.watts / requirement.scale for power in trial.declared_power}
    tried: set[float] = set()
    while untried := [bound for bound in bounds - tried if _is_looser(bound, limit, requirement)]:
        nearest = min(untried, key=lambda bound: abs(bound - limit))
        tried.add(nearest)
        # The requirement's unit may round a bound to its wrong side.
        step = math.copysign(_ROUNDING * abs(nearest), nearest - limit)
        for to in (nearest, nearest + step):
            judged = _judged(trial, requirement, to)
            if judged.verdict == "pass":
                return to
        bounds |= _bounds(judged, requirement)  # another meter decides under it
    return None


def _bounds(verdict: Verdict, requirement: Requirement) -> set[float]:
    """What of a figure a limit has to reach: its end on that side, else its number.

    Of several meters one may decide no longer as soon as the limit has reached its other end.
    """
    needed, other = (verdict.low, verdict.high) if requirement.at_least else (verdict.high, verdict.low)
    number = verdict.value if needed is None and other is None else needed
    bounds = (number, other) if depends_on_limit(requirement) else (number,)
    above = requirement.metric.above
    return {float(bound) for bound in bounds if isinstance(bound, int | float) and bound > above}


def _is_looser(limit: float, than: float, requirement: Requirement) -> bool:
    return limit < than if requirement.at_least else limit > than


def _judged(trial: TrialSummary, requirement: Requirement, limit: float) -> Verdict:
    return judge_one(trial, "", requirement.model_copy(update={"limit": limit}))


def _with_size(verdict: Verdict, limit: tuple[float, ...]) -> RelaxedLimit | ToMeasure:
    """Each side of the limit at least as long as the body's, longest against longest."""
    if not isinstance(verdict.value, tuple):
        return _to_measure(verdict, verdict.reason)
    order = sorted(range(len(limit)), key=lambda at: limit[at])
    to = list(limit)
    for at, side in zip(order, sorted(verdict.value), strict=True):
        to[at] = max(limit[at], side)
    pairs = list(zip(limit, to, strict=True))
    by, share = max(new - old for old, new in pairs), max((new - old) / old for old, new in pairs)
    return _relaxed(verdict, tuple(to), by, share)


def _relaxed(verdict: Verdict, to: Limit, by: float, share: float) -> RelaxedLimit:
    return RelaxedLimit(
        verdict.requirement,
        verdict.quantity,
        verdict.statistic,
        verdict.averaging_s,
        verdict.unit,
        verdict.limit,
        to,
        by,
        share,
        "fail" if verdict.verdict == "fail" else "inconclusive",
    )


def _to_measure(verdict: Verdict, reason: str) -> ToMeasure:
    return ToMeasure(verdict.requirement, verdict.quantity, verdict.statistic, reason)
