"""What the verdicts of a profile come to: which trials satisfy it, what is open, or the nearest miss."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from edgebench.fit.nearest import Nearest, least
from edgebench.fit.relaxed_limit import RelaxedLimit
from edgebench.fit.settling import settled_by
from edgebench.fit.trial_summary import TrialSummary, Verdict
from edgebench.fit.verdict import Overall, overall

Outcome = Literal["satisfied", "open", "missed", "unmeasured"]


@dataclass(frozen=True)
class Open:
    """A requirement that is unknown or inconclusive of trials that miss none.

    Attributes:
        verdict: unknown or inconclusive.
        by: what would settle it; empty where nothing is known to.
        trials: keys of those of which it is open, and which the same would settle.
    """

    requirement: str
    quantity: str
    statistic: str
    verdict: Literal["unknown", "inconclusive"]
    by: str
    trials: tuple[str, ...]


@dataclass(frozen=True)
class Decision:
    """The answer to one profile.

    Attributes:
        outcome: some trial satisfies it; none does, and some misses no requirement; every one misses one;
            none was measured.
        passing: keys of the trials that satisfy it.
        failing: how many trials miss a requirement.
        trials: how many were judged.
        trial: key of the quickest that satisfies it, of the open one that lacks least, or of the nearest
            miss; None where none was measured.
        level: of those that satisfy it the others whose interval of the same latency reaches that of the
            quickest.
        lightest: keys of those that satisfy it and whose declared mass is the least; empty without a mass.
        relax: of the nearest miss the limits that would have to be looser, with by how much.
        open: what is open of the trials that miss nothing, where none satisfies it.
    """

    profile: str
    outcome: Outcome
    passing: tuple[str, ...]
    failing: int
    trials: int
    trial: str | None = None
    level: tuple[str, ...] = ()
    lightest: tuple[str, ...] = ()
    relax: tuple[RelaxedLimit, ...] = ()
    open: tuple[Open, ...] = ()


def decisions(
    trials: Sequence[TrialSummary], verdicts: Sequence[Verdict], entries: Sequence[Nearest]
) -> list[Decision]:
    """One a profile, in the order of the verdicts.

    Args:
        trials: those that were judged.
        verdicts: as `judge_all` gives them.
        entries: as `nearest` gives them of the same.
    """
    by_key = {trial.key: trial for trial in trials}
    by_profile: dict[str, list[Overall]] = {}
    for whole in overall(verdicts):
        of_profile = by_profile.setdefault(whole.profile, [])
        if whole.trial in by_key:
            of_profile.append(whole)
    return [
        _decision(profile, wholes, by_key, [entry for entry in entries if entry.profile == profile])
        for profile, wholes in by_profile.items()
    ]


def _decision(
    profile: str, wholes: Sequence[Overall], trials: Mapping[str, TrialSummary], entries: Sequence[Nearest]
) -> Decision:
    passing = tuple(whole.trial for whole in wholes if whole.verdict == "pass")
    failing = sum(whole.verdict == "fail" for whole in wholes)
    measured = [whole for whole in wholes if trials[whole.trial].status in ("done", "partial")]
    common = (passing, failing, len(wholes))
    if passing:
        first = min((trials[key] for key in passing), key=_slowness)
        level = tuple(key for key in passing if key != first.key and _is_level(trials[key], first))
        return Decision(profile, "satisfied", *common, first.key, level, _lightest(passing, trials))
    if not measured:
        return Decision(profile, "unmeasured", *common)
    undecided = [whole for whole in measured if whole.verdict != "fail"]
    if undecided:
        nearest = min(undecided, key=lambda whole: (len(_open(whole)), _slowness(trials[whole.trial])))
        return Decision(profile, "open", *common, nearest.trial, open=_settling(undecided, trials))
    missed = {
        whole.trial: [each for each in whole.verdicts if not each.wanted and each.verdict != "pass"]
        for whole in wholes
    }
    misses = [entry for entry in entries if entry.trial in missed]
    if not misses:  # judged by profiles that are not at hand
        return Decision(profile, "missed", *common, wholes[0].trial if len(wholes) == 1 else None)
    entry = least(misses, trials, missed)
    return Decision(profile, "missed", *common, entry.trial, relax=entry.relax)


def _slowness(trial: TrialSummary) -> tuple[bool, float]:
    """The quickest comes first, and times of inference alone, which are another figure, come last."""
    return trial.latency_quantity != "image_s", math.inf if trial.latency is None else trial.latency.median


def _is_level(trial: TrialSummary, first: TrialSummary) -> bool:
    """Whether the intervals of both have a value in common, so that another run may have it otherwise."""
    mine, best = trial.latency, first.latency
    if mine is None or best is None or trial.latency_quantity != first.latency_quantity:
        return False
    return mine.low is None or best.high is None or mine.low <= best.high


def _lightest(passing: Sequence[str], trials: Mapping[str, TrialSummary]) -> tuple[str, ...]:
    masses = {key: mass_g for key in passing if (mass_g := trials[key].mass_g) is not None}
    least_g = min(masses.values(), default=None)
    return tuple(key for key, mass_g in masses.items() if mass_g == least_g)


def _open(whole: Overall) -> list[Verdict]:
    return [
        verdict
        for verdict in whole.verdicts
        if not verdict.wanted and verdict.verdict in ("unknown", "inconclusive")
    ]


def _settling(wholes: Sequence[Overall], trials: Mapping[str, TrialSummary]) -> tuple[Open, ...]:
    """Requirement by requirement, those of which the same would settle it together."""
    groups: dict[tuple[str, str, str], list[Verdict]] = {}
    for whole in wholes:
        for verdict in _open(whole):
            by = settled_by(trials[whole.trial], verdict)
            groups.setdefault((verdict.requirement, verdict.verdict, by), []).append(verdict)
    return tuple(
        Open(
            requirement,
            group[0].quantity,
            group[0].statistic,
            "unknown" if word == "unknown" else "inconclusive",
            by,
            tuple(verdict.trial for verdict in group),
        )
        for (requirement, word, by), group in groups.items()
    )
