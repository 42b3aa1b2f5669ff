"""Rankings in sentences, for the terminal and for pages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from edgebench.fit.ranking import Ranked, Ranking
from edgebench.fit.trial_summary import TrialSummary
from edgebench.fit.weight_sensitivity import WeightChange
from edgebench.report import words
from edgebench.report.tables import trial_names

_SHOWN = 3


def ranking_sentences(rankings: Sequence[Ranking], summaries: Sequence[TrialSummary]) -> list[str]:
    """Two sentences a profile at most: who leads, and under which weights another would.

    Profiles with the same ranking share them. None where fewer than two trials have a score.
    """
    names = trial_names(summaries)
    profiles: dict[str, list[str]] = {}
    for ranking in rankings:
        scored = [trial for trial in ranking.trials if trial.score is not None]
        if len(scored) > 1:
            profiles.setdefault(_leads(ranking, scored, names), []).append(words.plain(ranking.profile, 80))
    return [f"{words.listed(named)}: {text}" for text, named in profiles.items()]


def _leads(ranking: Ranking, scored: Sequence[Ranked], names: Mapping[str, str]) -> str:
    shown = [
        f"{trial.rank}. {names[trial.trial]} {words.number(trial.score or 0.0, 2)} "
        f"({trial.verdict}, first under {words.percent(trial.first_share or 0.0, 0)} of weights)"
        for trial in scored[:_SHOWN]
    ]
    text = ", ".join(shown)
    if len(scored) > _SHOWN:
        text += f" and {len(scored) - _SHOWN} more"
    if without := len(ranking.trials) - len(scored):
        text += f"; {words.counted(without, 'trial')} without a score"
    if ranking.left_out:
        left = [words.plain(left.requirement, 64) for left in ranking.left_out]
        text += f"; without {words.listed(left)}, of which no trial has a margin"
    return f"{text}. {_changed(ranking.change, names)}"


def _changed(change: WeightChange | None, names: Mapping[str, str]) -> str:
    if change is None:
        return "No change of one weight puts another first"
    way = "above" if change.to > change.weight else "below"
    at = f"from {change.weight:g} to {way} {change.to:.3g}"
    return f"{names[change.then]} is first with the weight of {words.plain(change.requirement, 64)} {at}"
