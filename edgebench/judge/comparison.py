"""Results against a baseline: trials in pairs, each pair by each metric, and what else differs.

Over all comparisons of one call the words better and worse are wrong in at most alpha of calls on
results that are alike: p is adjusted by Holm. Twenty comparisons at 5 % each would find a difference in 64 %
of all calls.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple, get_args

from edgebench.errors import StoredResultError, UsageError
from edgebench.judge.conditions import conditions_of
from edgebench.judge.metric_comparison import (
    ComparedTrial,
    MetricComparison,
    Threshold,
    Word,
    compare_metric,
    trial_identity,
    usual_metrics,
)
from edgebench.judge.metrics import METRICS, compared_metrics
from edgebench.judge.summarise import summarise
from edgebench.results.load import StoredResults
from edgebench.results.redaction import exported, exported_path
from edgebench.stats.intervals import holm
from edgebench.suggest import choose, short

# What a comparison says. These are the documents of `edgebench compare --json`, too.


@dataclass(frozen=True)
class Unpaired(ComparedTrial):
    """One without a partner."""

    reason: str = ""
    """Why it has no partner. Source: fit."""


@dataclass(frozen=True)
class Pair:
    """Two trials."""

    a: ComparedTrial
    """The baseline's trial. Source: experiment.json."""
    b: ComparedTrial
    """Its counterpart. Source: experiment.json."""
    comparisons: tuple[MetricComparison, ...]
    """One entry a metric. Source: fit."""


@dataclass(frozen=True)
class Difference:
    """One fact that two results do not share."""

    subject: str
    """What it is a fact of: a target's name, scene, images, experiment or host. Source: fit."""
    fact: str
    """Its name. Source: fit."""
    a: str
    """What the baseline says; empty for nothing. Source: sessions."""
    b: str
    """What this result says; empty for nothing. Source: sessions."""


@dataclass(frozen=True)
class NamedResult:
    """A result, and when it was measured with what."""

    name: str
    """What it is called here: its folder's name. Source: command line."""
    path: str
    """The result folder. Source: command line."""
    created_utc: str
    """When it was begun, ISO 8601. Source: experiment.json."""
    edgebench_version: str
    """Version of EdgeBench that measured it. Source: experiment.json."""


@dataclass(frozen=True)
class ComparedResult(NamedResult):
    """A result against the baseline."""

    across: dict[str, str]
    """By target of the baseline the target that it is compared with, where their names differ. Source:
    command line."""
    differences: tuple[Difference, ...]
    """What differs besides the figures. Source: fit."""
    pairs: tuple[Pair, ...]
    """The trials that both have. Source: fit."""
    only_baseline: tuple[Unpaired, ...]
    """Trials of the baseline without a partner. Source: fit."""
    only_this: tuple[Unpaired, ...]
    """Its own trials without a partner. Source: fit."""


@dataclass(frozen=True)
class ResultsComparison:
    """Results against a baseline: trials in pairs, each by metrics, and what else differs."""

    baseline: NamedResult
    """What the others are compared with, A. Source: command line."""
    metrics: tuple[str, ...]
    """Those that are compared of any pair. Source: command line."""
    threshold: Threshold
    """What counts as different. Source: command line."""
    tests: int
    """Comparisons that were tested, for which p is adjusted. Source: fit."""
    counts: dict[str, int]
    """How many comparisons have each word: better, worse, same, undecided, not_compared. Source: fit."""
    regressed: bool
    """Whether anything by which a gate decides is worse: what --fail-on regression asks. Source: fit."""
    undecided: bool
    """Whether anything of the baseline is undecided, by itself or by a gate, is not compared though the
    baseline has a figure, or has no partner: what --strict asks. Source: fit."""
    results: tuple[ComparedResult, ...]
    """The results that are compared with the baseline, each as B. Source: fit."""

    @property
    def comparisons(self) -> list[MetricComparison]:
        """All of them."""
        return [item for result in self.results for pair in result.pairs for item in pair.comparisons]


def metrics_of(texts: Sequence[str]) -> tuple[str, ...]:
    """Names of metrics, each text with one or several after commas; UsageError for one that none has."""
    known = compared_metrics()
    names = [name.strip() for text in texts for name in text.split(",") if name.strip()]
    for name in names:
        if name in METRICS and name not in known:
            raise UsageError(
                f"--metric: results are not compared by {name}",
                why="it is no figure with a session's values, a share of images or an exact number",
                fix=f"known: {', '.join(known)}",
            )
        if name not in known:
            raise UsageError(f"--metric: unknown metric {short(name)}", fix=choose(name, known))
    return tuple(dict.fromkeys(names))


def compare_results(
    results: Sequence[StoredResults],
    *,
    metrics: Sequence[str] = (),
    against: Sequence[str] = (),
    threshold: Threshold | None = None,
) -> ResultsComparison:
    """The results after the first against the first.

    Args:
        results: at least two, as `edgebench.load` gives them; the first is the baseline.
        metrics: names of the catalogue (`metrics_of`); by default the latency, and accuracy and energy where
            both sides have them.
        against: `TARGET_A=TARGET_B`, where targets have other names.
        threshold: what counts as a difference; 3 %, 1 point and 5 % by default.

    Raises:
        UsageError: fewer than two results, an unknown metric or target, or a result without a trial in
            common with the baseline.
        StoredResultError: a result has no finished session, or a stored table is damaged.
    """
    if len(results) < 2:
        raise UsageError("a comparison takes two results or more", fix="name a baseline and what is compared")
    threshold = threshold or Threshold()
    chosen = metrics_of(metrics)
    targets = targets_against(against)
    called = distinct_names([each.path for each in results])
    trials = [[ComparedTrial.of(summary, each) for summary in summarise(each)] for each in results]
    for name, of_result in zip(called, trials, strict=True):
        if not any(trial.summary.status in ("done", "partial") for trial in of_result):
            raise StoredResultError(
                f"{name} has no finished session",
                why=next((trial.summary.reason for trial in of_result if trial.summary.reason), ""),
                fix="measure it first: go on with its command and --resume",
            )
    baseline, *others = trials
    require_targets(targets, baseline, [trial for of_result in others for trial in of_result])
    pairings = [paired(baseline, of_result, targets) for of_result in others]
    for name, of_result, pairing in zip(called[1:], others, pairings, strict=True):
        if not pairing.pairs:
            held = [
                f"{who} has {_some({trial.variant for trial in whose})}"
                f" on {_some({trial.target for trial in whose})}"
                for who, whose in ((called[0], baseline), (name, of_result))
            ]
            raise UsageError(
                f"{called[0]} and {name} have no trial in common",
                why="; ".join(held),
                fix="trials are paired by target, variant, batch and settings; "
                "where targets have other names, say which belong together: --pair TARGET_A=TARGET_B",
            )
    unadjusted = [
        [
            compare_metric(METRICS[metric], a, b, threshold)
            for metric in chosen or usual_metrics(a.summary, b.summary)
        ]
        for pairing in pairings
        for a, b in pairing.pairs
    ]
    tested = [item.p for items in unadjusted for item in items if item.p is not None]
    adjusted = iter(holm(tested).tolist())
    by_pair = iter(
        [tuple(_among_all(item, adjusted, len(tested), threshold) for item in items) for items in unadjusted]
    )
    compared = tuple(
        ComparedResult(
            **vars(named_result(name, each)),
            across=pairing.across,
            differences=tuple(_differences(pairing)),
            pairs=tuple(Pair(a, b, next(by_pair)) for a, b in pairing.pairs),
            only_baseline=pairing.only_baseline,
            only_this=pairing.only_this,
        )
        for name, each, pairing in zip(called[1:], results[1:], pairings, strict=True)
    )
    items = [item for each in compared for pair in each.pairs for item in pair.comparisons]
    counts = Counter(item.word for item in items)
    is_open = any(
        item.word == "undecided" or item.gate or (item.word == "not compared" and item.a is not None)
        for item in items
    )
    return ResultsComparison(
        baseline=named_result(called[0], results[0]),
        metrics=tuple(dict.fromkeys(item.metric for item in items)),
        threshold=threshold,
        tests=len(tested),
        counts={word.replace(" ", "_"): counts[word] for word in get_args(Word)},
        regressed=any(item.word == "worse" and not item.gate for item in items),
        undecided=is_open or any(each.only_baseline for each in compared),
        results=compared,
    )


def named_result(name: str, results: StoredResults) -> NamedResult:
    """A result under the name that it has here."""
    record = results.experiment
    path = exported_path(Path(results.path), record)
    return NamedResult(name, path, record.created_utc, record.edgebench_version)


def distinct_names(paths: Sequence[Path]) -> list[str]:
    """The folders' own names, with the folder above where they are alike."""
    names = [path.resolve().name for path in paths]
    if len(set(names)) == len({path.resolve() for path in paths}):
        return names
    return [str(Path(path.resolve().parent.name) / path.resolve().name) for path in paths]


def _some(several: set[str]) -> str:
    names = sorted(several)
    return ", ".join(names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")


def _among_all(
    item: MetricComparison, adjusted: Iterator[float], tests: int, threshold: Threshold
) -> MetricComparison:
    """With the next adjusted p; a difference that is significant by itself alone is undecided."""
    if item.p is None:
        return item
    item = replace(item, adjusted_p=next(adjusted))
    if item.word not in ("better", "worse") or (item.adjusted_p or 0.0) < threshold.alpha:
        return item
    reason = f"by itself it would be {item.word}, among {tests} comparisons it may be chance: "
    reason += "take more sessions, or compare fewer metrics"
    return replace(item, word="undecided", reason=reason)


def _differences(pairing: Pairing) -> Iterator[Difference]:
    """What the two results say differently of the trials that are compared."""
    sides = []
    for side in (0, 1):
        trials = [pair[side] for pair in pairing.pairs]
        names = [a.target if a.target == b.target else f"{a.target} and {b.target}" for a, b in pairing.pairs]
        targets = {trial.key: name for trial, name in zip(trials, names, strict=True)}
        results = trials[0].results
        sides.append(conditions_of(results, exported(results.experiment), targets))
    for subject, fact in dict.fromkeys([*sides[0], *sides[1]]):
        a, b = (conditions.get((subject, fact), "") for conditions in sides)
        if a != b:
            yield Difference(subject, fact, a, b)


# Which trials of two results are compared: those of one target, variant, batch and settings.
#
# Not those of one key: a key hashes versions and weights too, and what has changed between two results is
# what a comparison is for.


class Pairing(NamedTuple):
    """The trials of two results: pairs in the order of the baseline's, and those without a partner.

    `across` says which target of the baseline is compared with which of the other where the names differ.
    """

    pairs: list[tuple[ComparedTrial, ComparedTrial]]
    only_baseline: tuple[Unpaired, ...]
    only_this: tuple[Unpaired, ...]
    across: dict[str, str]


_TARGETS = re.compile(r"((?:[^=\[]|\[(?:[^\[\]]|\[[^\]]*\])*\])+)=(.+)", re.DOTALL)
"""Two targets about the first `=` outside square brackets, in which a swept target has its settings."""


def targets_against(texts: Sequence[str]) -> dict[str, str]:
    """`TARGET_A=TARGET_B`, each target of A once; UsageError for another text."""
    against: dict[str, str] = {}
    for text in texts:
        match = _TARGETS.fullmatch(text)
        a, b = (each.strip() for each in match.groups()) if match else ("", "")
        if not (a and b):
            raise UsageError(
                f"--pair {short(text)} names no two targets",
                fix="write TARGET_A=TARGET_B, such as --pair nano=coral",
            )
        if a in against or b in against.values():
            raise UsageError(f"--pair: {short(a if a in against else b)} is there twice", fix="leave one out")
        against[a] = b
    return against


def require_targets(
    against: Mapping[str, str], baseline: Sequence[ComparedTrial], others: Sequence[ComparedTrial]
) -> None:
    """UsageError where the baseline, or all other results, lack a target that is to be compared.

    Args:
        against: targets of the baseline by which they are compared with.
        baseline: its trials.
        others: the trials of all other results together.
    """
    for who, names, trials in (
        ("the baseline has", against.keys(), baseline),
        ("what is compared with it has", against.values(), others),
    ):
        known = dict.fromkeys(name for trial in trials for name in (trial.summary.swept_target, trial.target))
        for name in names:
            if name not in known:
                raise UsageError(f"--pair: {who} no target {short(name)}", fix=choose(name, known))


def paired(
    a: Sequence[ComparedTrial], b: Sequence[ComparedTrial], against: Mapping[str, str] | None = None
) -> Pairing:
    """The trials of A paired with those of B.

    Targets go by their names; a revision (`nano (2)`) is its target where that is clear. Where each result
    has one target and their names differ, these two are compared.

    Args:
        a: the trials of the baseline.
        b: those of the other.
        against: targets of A by which of B's they are compared with, where the names differ. A swept target
            may be named with its settings (`nano[power_mode=10W]`), which then have no part in it.

    A pair in `against` whose target B does not have plays no part (see `require_targets`).
    """
    names_a, names_b = ({trial.summary.swept_target for trial in trials} for trials in (a, b))
    there = names_b | {trial.target for trial in b}
    across = {mine: theirs for mine, theirs in (against or {}).items() if theirs in there}
    if not across and len(names_a) == len(names_b) == 1:
        across = dict(zip(names_a, names_b, strict=True))
    swept = {trial.target for trial in (*a, *b) if trial.settings}
    exact = {mine: theirs for mine, theirs in across.items() if {mine, theirs} & swept}
    left_a, left_b = list(a), list(b)
    partners: dict[int, ComparedTrial] = {}
    alike: set[int] = set()
    # By the targets' own names first: of a result with revisions each has its own partner then.
    for is_planned in (False, True):
        mine_left = [trial for trial in left_a if id(trial) not in alike]
        groups_b = _grouped(left_b, {}, {theirs: theirs for theirs in exact.values()}, is_planned)
        for identity, mine in _grouped(mine_left, across, exact, is_planned).items():
            theirs = groups_b.get(identity, [])
            if len(mine) == len(theirs) == 1:
                partners[id(mine[0])] = theirs[0]
            elif len(mine) > 1 or len(theirs) > 1:
                # Nothing but the key tells them apart.
                by_key = {trial.key: trial for trial in theirs}
                partners |= {id(trial): by_key[trial.key] for trial in mine if trial.key in by_key}
                alike |= {id(trial) for trial in (*mine, *theirs)}
        taken = {id(trial) for trial in partners.values()}
        left_a = [trial for trial in left_a if id(trial) not in partners]
        left_b = [trial for trial in left_b if id(trial) not in taken]
    back = {theirs: mine for mine, theirs in across.items()}
    return Pairing(
        [(trial, partners[id(trial)]) for trial in a if id(trial) in partners],
        tuple(_unpaired(trial, across, names_b, id(trial) in alike) for trial in left_a),
        tuple(_unpaired(trial, back, names_a, id(trial) in alike) for trial in left_b),
        {mine: theirs for mine, theirs in across.items() if mine != theirs},
    )


def _grouped(
    trials: Sequence[ComparedTrial], across: Mapping[str, str], exact: Mapping[str, str], is_planned: bool
) -> dict[Hashable, list[ComparedTrial]]:
    """The trials by what they are paired by."""
    groups: dict[Hashable, list[ComparedTrial]] = {}
    for trial in trials:
        if trial.target in exact:
            identity = trial_identity(replace(trial, settings={}), exact[trial.target])
        else:
            name = trial.planned if is_planned else trial.target
            name = name.partition("[")[0] if trial.settings else name
            # What another target was said to belong to is nobody else's, even of the same name.
            own = f"{name} itself" if name in across.values() else name
            identity = trial_identity(trial, across.get(name, own))
        groups.setdefault(identity, []).append(trial)
    return groups


def _unpaired(
    trial: ComparedTrial, counterparts: Mapping[str, str], targets: set[str], is_alike: bool
) -> Unpaired:
    target = trial.summary.swept_target
    target = counterparts.get(target, counterparts.get(trial.target, target))
    reason = "the other result has no trial of this variant, batch and settings"
    if is_alike:
        reason = "several trials are of this target, variant, batch and settings"
    elif target.partition("[")[0] not in targets:
        reason = "the other result has no such target"
    return replace(Unpaired.of(trial.summary, trial.results), reason=reason)
