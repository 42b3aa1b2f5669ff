"""Trials ranked by how well they fit a profile, weighted as its requirements say.

The score of a trial is the mean of its margins, each weighted by its requirement's weight. A margin is what
is left to the limit as a share of the limit (of a temperature: of its distance from absolute zero), between
-1 and 1: `(limit - value) / limit` of what is to be at most, `(value - limit) / limit` of what is to be at
least; of a body its tightest side's. So 1 is the best that can be, 0 is on the limit, and twice the limit or
worse is -1. Wishes count as well.

What nobody has a figure of tells no trials apart and is left out for all of them. A trial without one that
others have has no score: unknown is not 0. Nor does a meter that sees part of the board give a margin to a
limit on the board, or a bound in words. A score says how much room there is and nothing of whether a limit is
met: the verdict stands beside it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from edgebench.fit.metrics import METRICS
from edgebench.fit.power_rails import WIDE_SCOPES
from edgebench.fit.profile import Profile
from edgebench.fit.trial_summary import TrialSummary, Verdict
from edgebench.fit.verdict import Word, overall
from edgebench.fit.weight_sensitivity import Margins, WeightChange, first_shares, smallest_change

ONLY_A_BOUND = "a bound of it is known, and no number"
"""Why a figure that passes or fails a limit gives no margin to it."""


@dataclass(frozen=True)
class Ranked:
    """One trial against a profile.

    Attributes:
        verdict: of the profile as a whole.
        rank: from 1 on, the same for equal scores; None without a score.
        score: the weighted mean of its margins, -1 to 1; None where a figure is missing.
        margins: by requirement, as shares of the limit.
        first_share: the share of random weights under which it is first, alone or with others; None without
            a score.
        reason: why it has no score.
    """

    trial: str
    verdict: Word
    rank: int | None
    score: float | None
    margins: dict[str, float]
    first_share: float | None
    reason: str = ""


@dataclass(frozen=True)
class LeftOut:
    """A requirement that no trial has a margin of."""

    requirement: str
    reason: str


@dataclass(frozen=True)
class Ranking:
    """The trials against one profile, best first, then those without a score.

    Attributes:
        weights: of the requirements that count, as shares of one.
        left_out: those that count for nothing here.
        change: the smallest change of one weight that changes which trial is first; None where none does.
    """

    profile: str
    weights: dict[str, float]
    left_out: tuple[LeftOut, ...]
    trials: tuple[Ranked, ...]
    change: WeightChange | None


def rankings(
    trials: Sequence[TrialSummary], profiles: Sequence[Profile], verdicts: Sequence[Verdict]
) -> list[Ranking]:
    """A ranking a profile, of the trials that were judged (`judge_all`) by it."""
    by_profile: dict[str, list[Verdict]] = {profile.name: [] for profile in profiles}
    for verdict in verdicts:
        if verdict.profile in by_profile:
            by_profile[verdict.profile].append(verdict)
    return [_ranking(trials, profile, by_profile[profile.name]) for profile in profiles]


def _ranking(trials: Sequence[TrialSummary], profile: Profile, verdicts: Sequence[Verdict]) -> Ranking:
    requirements = {requirement.name: requirement for requirement in profile.requirements}
    margins: dict[str, dict[str, float]] = {trial.key: {} for trial in trials}
    why: dict[str, dict[str, str]] = {trial.key: {} for trial in trials}
    for verdict in verdicts:
        margin = margin_share(verdict)
        if isinstance(margin, str):
            why[verdict.trial][verdict.requirement] = margin
        else:
            margins[verdict.trial][verdict.requirement] = margin
    counted = [name for name in requirements if any(name in known for known in margins.values())]
    scored = [
        trial.key for trial in trials if counted and all(name in margins[trial.key] for name in counted)
    ]
    total = sum(requirements[name].weight for name in counted)
    weights = {name: requirements[name].weight / total for name in counted}
    table = Margins(
        tuple(scored),
        {name: requirements[name].weight for name in counted},
        np.array([[margins[key][name] for name in counted] for key in scored]).reshape(
            len(scored), len(counted)
        ),
    )
    wholes = {whole.trial: whole.verdict for whole in overall(verdicts)}
    scores = {key: sum(weights[name] * margins[key][name] for name in counted) for key in scored}
    ranked = _in_order(trials, scores, margins, why, counted, wholes, first_shares(table))
    left_out = tuple(
        LeftOut(name, next((reasons[name] for reasons in why.values() if name in reasons), ""))
        for name in requirements
        if name not in counted
    )
    return Ranking(profile.name, weights, left_out, ranked, smallest_change(table))


def _in_order(
    trials: Sequence[TrialSummary],
    scores: Mapping[str, float],
    margins: Mapping[str, dict[str, float]],
    why: Mapping[str, Mapping[str, str]],
    counted: Sequence[str],
    wholes: Mapping[str, Word],
    shares: Mapping[str, float],
) -> tuple[Ranked, ...]:
    in_order = sorted(scores, key=lambda key: -scores[key])
    ranks: dict[str, int] = {}
    for at, key in enumerate(in_order):
        before = in_order[at - 1] if at else ""
        ranks[key] = ranks[before] if at and scores[before] == scores[key] else at + 1
    rest = [trial.key for trial in trials if trial.key not in scores]
    return tuple(
        Ranked(
            trial=key,
            verdict=wholes.get(key, "unknown"),
            rank=ranks.get(key),
            score=scores.get(key),
            margins=margins[key],
            first_share=shares.get(key),
            reason=""
            if key in scores
            else "; ".join(f"{name}: {why[key][name]}" for name in counted if name in why[key])
            or "; ".join(dict.fromkeys(why[key].values())),
        )
        for key in (*in_order, *rest)
    )


def margin_share(verdict: Verdict) -> float | str:
    """The margin of a verdict as a share of its limit, -1 to 1, or why there is none."""
    value, limit = verdict.value, verdict.limit
    if value is None:
        return ONLY_A_BOUND if verdict.bound else verdict.reason
    if verdict.scope and verdict.scope not in WIDE_SCOPES and not verdict.declared:
        return f"a meter of the {verdict.scope} sees part of the board"
    if isinstance(value, tuple) or isinstance(limit, tuple):
        if not (isinstance(value, tuple) and isinstance(limit, tuple)):
            return verdict.reason
        sides = zip(sorted(limit), sorted(value), strict=True)
        return _clipped(min((allowed - side) / allowed for allowed, side in sides))
    metric = METRICS[verdict.quantity]
    room = value - limit if metric.at_least(verdict.statistic) else limit - value
    return _clipped(room / (limit - metric.above))


def _clipped(margin: float) -> float:
    return max(-1.0, min(1.0, margin))
