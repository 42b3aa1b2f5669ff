"""What a judged result says beyond its verdicts: the decision, what would have to change, what is best."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from edgebench.fit.decision import Decision, decisions
from edgebench.fit.excluded_by import ExcludedBy, excluded_by
from edgebench.fit.nearest import Nearest, nearest
from edgebench.fit.pareto import Front, fronts
from edgebench.fit.profile import Profile
from edgebench.fit.ranking import Ranking, rankings
from edgebench.fit.requirement import Requirement
from edgebench.fit.trial_summary import TrialSummary, Verdict


@dataclass(frozen=True)
class Answers:
    """Each by profile; all empty where nothing was judged."""

    decisions: tuple[Decision, ...]
    nearest: tuple[Nearest, ...]
    pareto: tuple[Front, ...]
    ranking: tuple[Ranking, ...]
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
        ranking=tuple(rankings(trials, profiles, verdicts)),
        excluded_by=tuple(excluded_by(trials, verdicts)),
    )
