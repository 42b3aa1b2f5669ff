"""How far a ranking hangs on its weights.

Random weights are drawn from a Dirichlet distribution whose mean are the weights themselves and whose
concentrations sum to the number of requirements: with equal weights every mixture of them is as likely as any
other. The draws are the same for the same weights.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

DRAWS = 4_000
SEED = 20_240_607
_LEVEL = 1e-12
"""Scores that differ by less are equal."""

_ALIKE = 1e-6
"""Margins that differ by less are equal: they are shares of a limit, and no figure is measured as closely."""

_MOST_CHANGE = 1e3
"""The factor by which a weight is lowered or raised at most: beyond it hardly anything else counts."""


@dataclass(frozen=True)
class Margins:
    """The margins that scores are made of.

    Attributes:
        trials: keys of the trials that have all of them.
        weights: by requirement, above 0.
        shares: [trial, requirement], each -1 to 1.
    """

    trials: tuple[str, ...]
    weights: Mapping[str, float]
    shares: NDArray[np.float64]


@dataclass(frozen=True)
class WeightChange:
    """A change of one weight at which another trial draws level with the first; beyond it, that one leads.

    Attributes:
        weight, to: of the requirement, before and after; the other weights stay.
        share: how far it moves, over the weight.
        first, then: keys of the trial that is first, and of the one that comes to be.
    """

    requirement: str
    weight: float
    to: float
    share: float
    first: str
    then: str


def first_shares(margins: Margins) -> dict[str, float]:
    """By trial the share of random weights under which it has the highest score, alone or with others."""
    if not margins.trials or not margins.weights:
        return {}
    weights = np.array(list(margins.weights.values()))
    drawn = np.random.default_rng(SEED).dirichlet(weights * len(weights) / weights.sum(), DRAWS)
    # Trials that are alike in all margins are first together, and those behind another never are.
    vectors, which = np.unique(margins.shares, axis=0, return_inverse=True)
    scores = drawn @ vectors.T
    is_first = scores >= scores.max(axis=1, keepdims=True) - _LEVEL
    share = is_first.mean(axis=0)[which.reshape(-1)]
    return dict(zip(margins.trials, share.tolist(), strict=True))


def smallest_change(margins: Margins) -> WeightChange | None:
    """The change of one weight, least as a share of it, that changes which trial is first; None for none.

    The lead of the first over another trial is a sum over the requirements of weight times difference of
    margins; it is linear in each weight, so that where it comes to 0 is exact. Margins that are alike but for
    rounding are no difference, and a weight that would have to vanish, or be all that counts, no change.
    """
    if len(margins.trials) < 2 or not margins.weights:
        return None
    weights = np.array(list(margins.weights.values()))
    scores = margins.shares @ weights
    first = int(np.argmax(scores))
    differences = margins.shares[first] - margins.shares  # [trial, requirement]
    leads = np.maximum(scores[first] - scores, 0.0)[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        to = weights - leads / differences
    # A trial that is alike in all margins but rounding would lead by that rounding alone.
    told_apart = np.abs(differences) > _ALIKE
    within = (to > weights / _MOST_CHANGE) & (to < weights * _MOST_CHANGE)
    moves = np.where(told_apart & within, np.abs(to - weights) / weights, np.inf)
    at = np.unravel_index(int(np.argmin(moves)), moves.shape)
    if not np.isfinite(moves[at]):
        return None
    trial, requirement = int(at[0]), int(at[1])
    return WeightChange(
        requirement=list(margins.weights)[requirement],
        weight=float(weights[requirement]),
        to=float(to[trial, requirement]),
        share=float(moves[at]),
        first=margins.trials[first],
        then=margins.trials[trial],
    )
