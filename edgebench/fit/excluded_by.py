"""Which requirement excludes which targets: those all of whose trials fail it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from edgebench.fit.trial_summary import TrialSummary, Verdict


@dataclass(frozen=True)
class Exclusion:
    """One requirement against one target, without the settings of its sweep.

    Attributes:
        excluded: whether every trial fails it that the target takes; never of a wish.
        fails: how many fail it.
        trials: how many there are, without those that the target does not take.
    """

    target: str
    excluded: bool
    fails: int
    trials: int


@dataclass(frozen=True)
class ExcludedBy:
    """A row of the matrix: one requirement of a profile, and an entry a target, always in the same order."""

    profile: str
    requirement: str
    quantity: str
    wanted: bool
    targets: tuple[Exclusion, ...]


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
            *row, tuple(_exclusion(name, fails[name], counts[name], wanted=row[3]) for name in targets)
        )
        for row, fails in failed.items()
    ]


def _exclusion(target: str, fails: int, trials: int, *, wanted: bool) -> Exclusion:
    return Exclusion(target, fails == trials > 0 and not wanted, fails, trials)
