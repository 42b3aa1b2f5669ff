"""The nearest yes: of each target that does not pass a profile as a whole, what would.

First which of its trials did pass: another variant, batch or setting of its sweep. Where none did, the trial
that takes least: the fewest figures that have to be measured, then the fewest limits that have to be looser,
then the smallest share by which the loosest of them is; of equal ones the quickest. Where every trial that
was measured misses a limit, the limits go before what has to be measured. All from what was measured; what
was not is said, and never assumed. Requirements that are only wanted count for nothing here.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from edgebench.fit.profile import Profile
from edgebench.fit.relaxed_limit import RelaxedLimit, ToMeasure, relaxed_limit
from edgebench.fit.trial_summary import TrialSummary, Verdict


@dataclass(frozen=True)
class Undecided:
    """A trial that misses no limit, and what has to be measured before it passes."""

    trial: str
    measure: tuple[ToMeasure, ...]


@dataclass(frozen=True)
class Nearest:
    """What would pass a profile on a target, some trial of which does not.

    Attributes:
        target: its name, without the settings of a sweep.
        profile: its name.
        passing: keys of its trials that pass; where there are any, nothing has to change.
        trial: the key of the nearest one where none passes.
        relax: the limits that have to be looser for that one, all of them.
        measure: what has to be measured besides, because no limit lets it pass.
        undecided: trials that miss no limit as it is.
    """

    target: str
    profile: str
    passing: tuple[str, ...]
    trial: str | None = None
    relax: tuple[RelaxedLimit, ...] = ()
    measure: tuple[ToMeasure, ...] = ()
    undecided: tuple[Undecided, ...] = ()


def nearest(
    trials: Sequence[TrialSummary], profiles: Sequence[Profile], verdicts: Sequence[Verdict]
) -> list[Nearest]:
    """An entry for each profile and target that some trial of does not pass, in the order given.

    A trial that its target does not take at all is none that fails.

    Args:
        trials: those that were judged.
        profiles: what they were judged by.
        verdicts: as `judge_all` gives them.
    """
    targets = by_swept_target(trials)
    judged: dict[tuple[str, str], list[Verdict]] = {}
    for verdict in verdicts:
        judged.setdefault((verdict.trial, verdict.profile), []).append(verdict)
    entries = []
    for profile in profiles:
        required = {trial.key: _hindrances(judged.get((trial.key, profile.name), ())) for trial in trials}
        for target, group in targets.items():
            takes = [trial for trial in group if trial.status != "unsupported"]
            if not takes or any(required[trial.key] for trial in takes):
                entries.append(_entry(target, profile, group, required))
    return entries


def by_swept_target(trials: Sequence[TrialSummary]) -> dict[str, list[TrialSummary]]:
    """The trials of each target, the settings of its sweep together."""
    targets: dict[str, list[TrialSummary]] = {}
    for trial in trials:
        targets.setdefault(trial.swept_target, []).append(trial)
    return targets


def _hindrances(verdicts: Sequence[Verdict]) -> list[Verdict]:
    """What keeps a trial from passing."""
    return [verdict for verdict in verdicts if not verdict.wanted and verdict.verdict != "pass"]


def _entry(
    target: str, profile: Profile, group: Sequence[TrialSummary], missed: Mapping[str, list[Verdict]]
) -> Nearest:
    passing = tuple(trial.key for trial in group if not missed[trial.key])
    if passing:
        return Nearest(target, profile.name, passing)
    requirements = {requirement.name: requirement for requirement in profile.requirements}
    undecided = tuple(_undecided(trial, missed[trial.key]) for trial in group if _is_open(trial, missed))
    entries = {}
    for trial in group:
        changes = [
            relaxed_limit(trial, requirements[verdict.requirement], verdict) for verdict in missed[trial.key]
        ]
        relax = tuple(change for change in changes if isinstance(change, RelaxedLimit))
        measure = tuple(change for change in changes if isinstance(change, ToMeasure))
        entries[trial.key] = Nearest(target, profile.name, (), trial.key, relax, measure, undecided)
    return least(list(entries.values()), {trial.key: trial for trial in group}, missed)


def least(
    entries: Sequence[Nearest], trials: Mapping[str, TrialSummary], missed: Mapping[str, Sequence[Verdict]]
) -> Nearest:
    """The entry whose trial takes least, of one target or of several; each names a trial.

    Args:
        entries: of one profile, at least one.
        trials: by key.
        missed: by key the verdicts that keep a trial from passing.
    """
    limits_first = not any(entry.undecided for entry in entries)

    def effort(entry: Nearest) -> tuple[float, ...]:
        assert entry.trial is not None
        trial = trials[entry.trial]
        shares = [limit.share for limit in entry.relax]
        latency_s = trial.latency.median if trial.latency else math.inf
        looser = (len(entry.relax), max(shares, default=0.0), sum(shares))
        if not limits_first:
            return (len(entry.measure), *looser, latency_s)
        failed = {verdict.requirement for verdict in missed[entry.trial] if verdict.verdict == "fail"}
        by_no_limit = sum(lack.requirement in failed for lack in entry.measure)
        return (not _is_measured(trial), by_no_limit, *looser, len(entry.measure), latency_s)

    return min(entries, key=effort)


def _is_measured(trial: TrialSummary) -> bool:
    return trial.status in ("done", "partial")


def _is_open(trial: TrialSummary, missed: Mapping[str, list[Verdict]]) -> bool:
    """Whether it was measured and misses no limit, and only lacks what would pass it."""
    return _is_measured(trial) and all(verdict.verdict != "fail" for verdict in missed[trial.key])


def _undecided(trial: TrialSummary, missed: Sequence[Verdict]) -> Undecided:
    return Undecided(
        trial.key,
        tuple(
            ToMeasure(verdict.requirement, verdict.quantity, verdict.statistic, verdict.reason)
            for verdict in missed
        ),
    )
