"""Which trials of two results are compared: those of one target, variant, batch and settings.

Not those of one key: a key hashes versions and weights too, and what has changed between two results is what
a comparison is for.
"""

from __future__ import annotations

import json
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

from edgebench.errors import UsageError
from edgebench.fit.trial_summary import TrialSummary
from edgebench.store.records import ExperimentRecord
from edgebench.store.revisions import planned_name
from edgebench.suggest import choose, short


@dataclass(frozen=True)
class TrialPair:
    """A trial of the baseline and its counterpart."""

    a: TrialSummary
    b: TrialSummary


@dataclass(frozen=True)
class Unpaired:
    """A trial without a partner, and why."""

    trial: TrialSummary
    reason: str


@dataclass(frozen=True)
class Pairing:
    """The trials of two results.

    Attributes:
        pairs: in the order of A's trials.
        only_a, only_b: trials of one of them.
        across: which target of A stands against which of B where their names differ.
    """

    pairs: tuple[TrialPair, ...]
    only_a: tuple[Unpaired, ...]
    only_b: tuple[Unpaired, ...]
    across: tuple[tuple[str, str], ...] = ()


def targets_against(texts: Sequence[str]) -> dict[str, str]:
    """`TARGET_A=TARGET_B`, each target of A once; UsageError for another text."""
    against: dict[str, str] = {}
    for text in texts:
        a, equals, b = _split(text)
        if not (equals and a and b):
            raise UsageError(
                f"--pair {short(text)} names no two targets",
                fix="write TARGET_A=TARGET_B, such as --pair nano=coral",
            )
        if a in against or b in against.values():
            raise UsageError(f"--pair: {short(a if a in against else b)} is there twice", fix="leave one out")
        against[a] = b
    return against


def _split(text: str) -> tuple[str, str, str]:
    """At the first `=` outside square brackets: a swept target's name has its settings in them."""
    depth = 0
    for at, char in enumerate(text):
        depth += {"[": 1, "]": -1}.get(char, 0)
        if char == "=" and depth == 0:
            return text[:at].strip(), "=", text[at + 1 :].strip()
    return text, "", ""


def paired(
    a: Sequence[TrialSummary],
    b: Sequence[TrialSummary],
    records: tuple[ExperimentRecord, ExperimentRecord],
    against: Mapping[str, str] | None = None,
) -> Pairing:
    """The trials of A beside those of B.

    Targets go by their names; a revision (`nano (2)`) is its target where that is clear. Where each result
    has one target and their names differ, these two are compared.

    Args:
        a: the trials of the baseline.
        b: those of the other.
        records: the experiments that planned them.
        against: targets of A by which of B's they are compared with, where the names differ. A swept target
            may be named with its settings (`nano[power_mode=10W]`), which then have no part in it.

    A pair in `against` of which B does not have the target plays no part (see `require_targets`).
    """
    there = {name for trial in b for name in (trial.swept_target, trial.target)}
    across = {mine: theirs for mine, theirs in (against or {}).items() if theirs in there}
    across = across or _single_targets(a, b)
    swept = {trial.target for trial in (*a, *b) if trial.settings}
    exact = {mine: theirs for mine, theirs in across.items() if {mine, theirs} & swept}
    planned = [{target.name: planned_name(target) for target in record.targets} for record in records]
    left_a, left_b = list(a), list(b)
    partners: dict[int, TrialSummary] = {}
    alike: set[int] = set()
    # By the targets' own names first: of a result with revisions each has its own partner then.
    for planned_a, planned_b in (({}, {}), (planned[0], planned[1])):
        groups_a = _grouped([trial for trial in left_a if id(trial) not in alike], planned_a, across, exact)
        groups_b = _grouped(left_b, planned_b, {}, {theirs: theirs for theirs in exact.values()})
        for identity, mine in groups_a.items():
            theirs = groups_b.get(identity, [])
            partners |= _partners(mine, theirs)
            if len(mine) > 1 or len(theirs) > 1:
                alike |= {id(trial) for trial in (*mine, *theirs)}
        taken = {id(trial) for trial in partners.values()}
        left_a = [trial for trial in left_a if id(trial) not in partners]
        left_b = [trial for trial in left_b if id(trial) not in taken]
    names_a, names_b = ({trial.swept_target for trial in trials} for trials in (a, b))
    back = {theirs: mine for mine, theirs in across.items()}
    return Pairing(
        tuple(TrialPair(trial, partners[id(trial)]) for trial in a if id(trial) in partners),
        tuple(Unpaired(trial, _reason(trial, across, names_b, alike)) for trial in left_a),
        tuple(Unpaired(trial, _reason(trial, back, names_a, alike)) for trial in left_b),
        tuple(pair for pair in across.items() if pair[0] != pair[1]),
    )


def require_targets(
    against: Mapping[str, str], baseline: Sequence[TrialSummary], others: Sequence[TrialSummary]
) -> None:
    """UsageError where the baseline, or none of the other results, has a target that is to be compared.

    Args:
        against: targets of the baseline by which they are compared with.
        baseline: its trials.
        others: the trials of all other results together.
    """
    for who, names, trials in (
        ("the baseline has", against.keys(), baseline),
        ("what is compared with it has", against.values(), others),
    ):
        known = dict.fromkeys(name for trial in trials for name in (trial.swept_target, trial.target))
        for name in names:
            if name not in known:
                raise UsageError(f"--pair: {who} no target {short(name)}", fix=choose(name, known))


def _single_targets(a: Sequence[TrialSummary], b: Sequence[TrialSummary]) -> dict[str, str]:
    """The one target of each result, where their names differ; settings of a sweep have to be the same."""
    names_a, names_b = ({trial.swept_target for trial in trials} for trials in (a, b))
    return dict(zip(names_a, names_b, strict=True)) if len(names_a) == len(names_b) == 1 else {}


def _grouped(
    trials: Sequence[TrialSummary],
    planned: Mapping[str, str],
    across: Mapping[str, str],
    exact: Mapping[str, str],
) -> dict[Hashable, list[TrialSummary]]:
    """The trials by what they are paired by."""
    groups: dict[Hashable, list[TrialSummary]] = {}
    for trial in trials:
        if trial.target in exact:
            target, settings = exact[trial.target], ""
        else:
            name = planned.get(trial.target, trial.target)
            name = name.partition("[")[0] if trial.settings else name
            # What another target was said to belong to is nobody else's, be it of the same name.
            own = f"{name} itself" if name in across.values() else name
            target, settings = across.get(name, own), json.dumps(trial.settings, sort_keys=True, default=str)
        identity = target, settings, trial.variant, trial.batch, trial.concurrency
        groups.setdefault(identity, []).append(trial)
    return groups


def _partners(mine: Sequence[TrialSummary], theirs: Sequence[TrialSummary]) -> dict[int, TrialSummary]:
    """Of trials that are alike, those of one key: nothing else tells them apart."""
    if len(mine) == len(theirs) == 1:
        return {id(mine[0]): theirs[0]}
    by_key = {trial.key: trial for trial in theirs}
    return {id(trial): by_key[trial.key] for trial in mine if trial.key in by_key}


def _reason(trial: TrialSummary, counterparts: Mapping[str, str], targets: set[str], alike: set[int]) -> str:
    if id(trial) in alike:
        return "several trials are of this target, variant, batch and settings"
    target = trial.swept_target
    if counterparts.get(target, counterparts.get(trial.target, target)).partition("[")[0] not in targets:
        return "the other result has no such target"
    return "the other result has no trial of this variant, batch and settings"
