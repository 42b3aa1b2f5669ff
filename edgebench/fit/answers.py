"""What a judged result says beyond its verdicts: what would have to change, and what excludes what."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from edgebench.fit.excluded_by import ExcludedBy, excluded_by
from edgebench.fit.nearest import Nearest, nearest
from edgebench.fit.profile import Profile
from edgebench.fit.trial_summary import TrialSummary, Verdict


@dataclass(frozen=True)
class Answers:
    """Each by profile; all empty where nothing was judged."""

    nearest: tuple[Nearest, ...]
    excluded_by: tuple[ExcludedBy, ...]


def answers(
    trials: Sequence[TrialSummary], profiles: Sequence[Profile], verdicts: Sequence[Verdict]
) -> Answers:
    """Those of trials that `judge_all` judged by these profiles."""
    return Answers(
        nearest=tuple(nearest(trials, profiles, verdicts)),
        excluded_by=tuple(excluded_by(trials, verdicts)),
    )
