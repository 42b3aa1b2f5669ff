"""Results against a baseline: their trials paired, each pair by each metric, and what differs beside.

Of all comparisons of one call together the words better and worse are wrong in at most alpha of calls on
results that are alike: p is adjusted by Holm (`stats.multiple`). Twenty comparisons at 5 % each would find
a difference in 64 % of them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

from edgebench.errors import EXIT_NOT_MET, EXIT_OK, EXIT_UNDECIDED, StoredResultError, UsageError
from edgebench.judge.accuracy import Predictions, predictions_of
from edgebench.judge.comparison import (
    MetricComparison,
    Threshold,
    TrialSide,
    Word,
    compare_metric,
)
from edgebench.judge.metrics import METRICS, compared_metrics
from edgebench.judge.summarise import summarise
from edgebench.judge.trial_summary import TrialSummary
from edgebench.records.stored import ExperimentRecord, ImagesRecord, SceneRecord, TrialRecord
from edgebench.results.load import StoredResults
from edgebench.results.redaction import exported
from edgebench.results.revisions import planned_name
from edgebench.stats.intervals import holm
from edgebench.suggest import choose, short

# Which trials of two results are compared: those of one target, variant, batch and settings.
#
# Not those of one key: a key hashes versions and weights too, and what has changed between two results is
# what
# a comparison is for.


@dataclass(frozen=True)
class ComparedPair:
    """A trial of the baseline and its counterpart, metric by metric."""

    a: TrialSummary
    b: TrialSummary
    comparisons: tuple[MetricComparison, ...] = ()


@dataclass(frozen=True)
class Unpaired:
    """A trial without a partner, and why."""

    trial: TrialSummary
    reason: str


@dataclass(frozen=True)
class Pairing:
    """The trials of two results.

    Attributes:
        pairs: in the order of the baseline's trials.
        only_baseline, only_this: trials without a partner.
        across: which target of the baseline stands against which of the other where their names differ.
    """

    pairs: tuple[ComparedPair, ...]
    only_baseline: tuple[Unpaired, ...]
    only_this: tuple[Unpaired, ...]
    across: tuple[tuple[str, str], ...]


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
        tuple(ComparedPair(trial, partners[id(trial)]) for trial in a if id(trial) in partners),
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


def trial_identity(trial: TrialSummary, target: str) -> Hashable:
    """What two trials share that are compared; versions and hosts may differ.

    Args:
        trial: with the settings of a sweep, variant, batch and concurrency.
        target: its name without the settings of a sweep.
    """
    settings = json.dumps(trial.settings, sort_keys=True, default=str)
    return target, settings, trial.variant, trial.batch, trial.concurrency


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
            identity = trial_identity(replace(trial, settings={}), exact[trial.target])
        else:
            name = planned.get(trial.target, trial.target)
            name = name.partition("[")[0] if trial.settings else name
            # What another target was said to belong to is nobody else's, be it of the same name.
            own = f"{name} itself" if name in across.values() else name
            identity = trial_identity(trial, across.get(name, own))
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


# What differs between two results beside their figures: models, pictures, versions, boards, settings.


_MOMENTARY = frozenset(
    {"memory_available_bytes", "memory_free_bytes", "disk_available_bytes", "disk_kept_bytes", "load_average"}
    | {
        "temperatures_c",
        "clock_now_mhz",
        "cpu_mhz",
        "timer_resolution_ns",
        "lock_folder",
        "private",
        "absent",
    }
)
"""Facts of a moment, which differ between two sessions of one run."""

_OF_NO_FIGURE = frozenset(
    {
        "device",
        "target",
        "targets_file",
        "host",
        "port",
        "output_dir",
        "name",
        "profile",
        "depth",
        "precision",
    }
    | {"batch", "model", "power_mode", "set", "scene", "images", "resume", "strict", "json", "yes"}
)
"""Settings that say what was measured and where it was written: trials, scene and targets tell of that."""

_MOST_DEPTH = 4
_MOST_MODELS = 3
_HASH_CHARACTERS = 12


@dataclass(frozen=True)
class Difference:
    """One fact that the two results do not share.

    Attributes:
        subject: what it is a fact of: `experiment`, `host`, `scene`, `images`, `model`, or a target's name.
        fact: its name.
        a, b: what each says, as text; empty where it says nothing.
    """

    subject: str
    """What it is a fact of: a target's name, model, scene, experiment. Source: fit."""
    fact: str
    """Its name. Source: fit."""
    a: str
    """What the baseline says; empty for nothing. Source: sessions."""
    b: str
    """What this result says; empty for nothing. Source: sessions."""


def environment_differences(
    a: StoredResults, b: StoredResults, pairs: Sequence[ComparedPair]
) -> tuple[Difference, ...]:
    """What differs between two results, what bears most on figures first.

    Of a board and a runtime what the sessions of the pairs say; what changes from moment to moment, such as
    free memory, is left out, and so is what differs among the sessions of either side.

    Args:
        a: the baseline, read from disk.
        b: the other.
        pairs: the trials that are compared.
    """
    records = exported(a.experiment), exported(b.experiment)
    trials = tuple({trial.key: trial for trial in record.trials} for record in records)
    of_pairs = [(trials[0][pair.a.key], trials[1][pair.b.key]) for pair in pairs]
    targets = dict.fromkeys((mine.target, theirs.target) for mine, theirs in of_pairs)
    differences = _models(of_pairs)
    for pair in of_pairs:
        scenes = (record.scene_of(trial) for record, trial in zip(records, pair, strict=True))
        differences += _compared("scene", *map(_scene, scenes))
    for pair in of_pairs:
        tested = (record.images_of(trial) for record, trial in zip(records, pair, strict=True))
        differences += _compared("images", *map(_images, tested))
    for of_a, of_b in targets:
        facts = (
            {**_declared(record, name), **_of_sessions(results, record, name)}
            for results, record, name in zip((a, b), records, (of_a, of_b), strict=True)
        )
        differences += _compared(of_a if of_a == of_b else f"{of_a} and {of_b}", *facts)
    differences += _compared("experiment", *map(_experiment, records))
    differences += _compared("host", *(_facts(record.host) for record in records))
    return tuple(dict.fromkeys(differences))


def _compared(subject: str, a: Mapping[str, str], b: Mapping[str, str]) -> list[Difference]:
    return [
        Difference(subject, fact, a.get(fact, ""), b.get(fact, ""))
        for fact in {**a, **b}
        if a.get(fact, "") != b.get(fact, "")
    ]


def _models(pairs: Sequence[tuple[TrialRecord, TrialRecord]]) -> list[Difference]:
    """By variant the files that the runtimes load; of many variants how many."""
    differing: dict[str, Difference] = {}
    for a, b in pairs:
        if a.artifact_sha256 != b.artifact_sha256:
            hashes = [(trial.artifact_sha256 or "")[:_HASH_CHARACTERS] for trial in (a, b)]
            differing.setdefault(a.variant, Difference("model", f"file of {a.variant}", *hashes))
    if len(differing) <= _MOST_MODELS:
        return list(differing.values())
    variants = len({a.variant for a, _ in pairs})
    return [Difference("model", "files", "", f"those of {len(differing)} of {variants} variants are others")]


def _scene(scene: SceneRecord) -> dict[str, str]:
    return {
        "name": scene.name,
        "SHA-256": scene.sha256[:_HASH_CHARACTERS],
        "pixels": f"{scene.width} x {scene.height}",
        "patches": f"{scene.patches} of {scene.patch_width or scene.patch} x {scene.patch}",
        "stride": "" if scene.stride is None else str(scene.stride),
    }


def _images(images: ImagesRecord | None) -> dict[str, str]:
    if images is None:
        return {"set": "none"}
    return {
        "set": images.name,
        "SHA-256": images.sha256[:_HASH_CHARACTERS],
        "number": str(images.n),
        "classes": ", ".join(images.class_names),
    }


def _declared(record: ExperimentRecord, name: str) -> dict[str, str]:
    """What the target was declared to be and how it was launched."""
    facts = {
        target.name: {
            "device": target.device,
            "power mode": target.power_mode,
            "meters": list(target.meters),
            "option": target.options,
            "launch": asdict(target.launch),
        }
        for target in record.targets
    }
    return _facts(facts.get(name, {}))


def _of_sessions(results: StoredResults, record: ExperimentRecord, target: str) -> dict[str, str]:
    """What its finished sessions say of board and runtime; a fact in which they differ is left out."""
    values: dict[str, set[str]] = {}
    for key in (trial.key for trial in record.trials if trial.target == target):
        for session in results.session_records(key):
            if session.status == "ok":
                runtime = {
                    name if name == "runtime" else f"runtime {name}": text
                    for name, text in _facts(session.runtime).items()
                }
                for name, text in (*_facts(session.device).items(), *runtime.items()):
                    values.setdefault(name, set()).add(text)
    return {name: texts.pop() for name, texts in values.items() if len(texts) == 1}


def _experiment(record: ExperimentRecord) -> dict[str, str]:
    settings = {
        name.replace("_", " "): setting.get("value")
        for name, setting in record.config.items()
        if name not in _OF_NO_FIGURE
    }
    return {"EdgeBench": record.edgebench_version, **_facts(settings)}


def _facts(value: Mapping[str, Any], depth: int = 0) -> dict[str, str]:
    """Nested facts as texts by `outer inner`, without those of a moment and those that nobody knows."""
    facts: dict[str, str] = {}
    for name, item in value.items():
        if name in _MOMENTARY or item is None or item == [] or item == ():
            continue
        if isinstance(item, Mapping) and depth < _MOST_DEPTH:
            facts |= {f"{name} {inner}": text for inner, text in _facts(item, depth + 1).items()}
        elif isinstance(item, list | tuple):
            facts[str(name)] = ", ".join(map(str, item))
        else:
            facts[str(name)] = str(item)
    return facts


SPEEDS = ("image_s", "infer_s", "instructions")
"""Of these the first that both sides have is compared where no metric is named."""

ALSO = ("accuracy", "energy_j")
"""Compared beside the latency where no metric is named and both sides have them."""


@dataclass(frozen=True)
class ComparedResult(Pairing):
    """One result against the baseline.

    Attributes:
        name: as the user called it, or its folder's.
        results: as it was read.
        differences: what the two differ in beside their figures.
    """

    name: str
    results: StoredResults
    differences: tuple[Difference, ...]


@dataclass(frozen=True)
class ResultsComparison:
    """Results against the first of them.

    Attributes:
        baseline: its name.
        baseline_results: as it was read.
        metrics: those that were compared.
        threshold: what counts as a difference.
        tests: how many comparisons p was adjusted for.
        results: the others, in the order given.
    """

    baseline: str
    baseline_results: StoredResults
    metrics: tuple[str, ...]
    threshold: Threshold
    tests: int
    results: tuple[ComparedResult, ...]

    @property
    def comparisons(self) -> list[MetricComparison]:
        """All of them."""
        return [item for result in self.results for pair in result.pairs for item in pair.comparisons]

    def count(self, word: Word) -> int:
        """How many comparisons come to that word."""
        return sum(comparison.word == word for comparison in self.comparisons)

    @property
    def regressed(self) -> bool:
        """Whether anything that a gate decides by is worse than in the baseline."""
        return any(item.word == "worse" and not item.gate for item in self.comparisons)

    @property
    def undecided(self) -> bool:
        """Whether something of the baseline is left open.

        That is what is undecided, by itself or by a gate, without figure or without partner.
        """
        return any(
            item.word == "undecided" or item.gate or (item.word == "not compared" and item.a is not None)
            for item in self.comparisons
        ) or any(result.only_baseline for result in self.results)


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
    names: Sequence[str] = (),
    metrics: Sequence[str] = (),
    against: Sequence[str] = (),
    threshold: Threshold | None = None,
) -> ResultsComparison:
    """The results after the first against the first.

    Args:
        results: at least two, as `edgebench.load` gives them; the first is the baseline.
        names: what to call them; their folders' names by default.
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
    pairs_of_targets = targets_against(against)
    called = list(names) or distinct_names([each.path for each in results])
    summaries = [summarise(each) for each in results]
    for name, each in zip(called, summaries, strict=True):
        if not any(trial.status in ("done", "partial") for trial in each):
            raise StoredResultError(
                f"{name} has no finished session",
                why=next((trial.reason for trial in each if trial.reason), ""),
                fix="measure it first: go on with its command and --resume",
            )
    require_targets(pairs_of_targets, summaries[0], [trial for each in summaries[1:] for trial in each])
    compared = []
    for name, other, trials in zip(called[1:], results[1:], summaries[1:], strict=True):
        experiments = results[0].experiment, other.experiment
        pairing = paired(summaries[0], trials, experiments, pairs_of_targets)
        if not pairing.pairs:
            held = [
                f"{who} has {_some(sorted({trial.variant for trial in of_result}))}"
                f" on {_some(sorted({trial.target for trial in of_result}))}"
                for who, of_result in ((called[0], summaries[0]), (name, trials))
            ]
            raise UsageError(
                f"{called[0]} and {name} have no trial in common",
                why="; ".join(held),
                fix="trials are paired by target, variant, batch and settings; "
                "where targets have other names, say which belong together: --pair TARGET_A=TARGET_B",
            )
        pairs = tuple(
            replace(
                pair,
                comparisons=tuple(
                    compare_metric(
                        METRICS[metric], _side(results[0], pair.a), _side(other, pair.b), threshold
                    )
                    for metric in chosen or usual_metrics(pair)
                ),
            )
            for pair in pairing.pairs
        )
        differences = environment_differences(results[0], other, pairing.pairs)
        fields = vars(pairing) | {"pairs": pairs}
        compared.append(ComparedResult(**fields, name=name, results=other, differences=differences))
    tests, adjusted = _adjusted(compared, threshold.alpha)
    shown = dict.fromkeys(
        item.metric for each in adjusted for pair in each.pairs for item in pair.comparisons
    )
    return ResultsComparison(called[0], results[0], tuple(shown), threshold, tests, tuple(adjusted))


def exit_code(comparison: ResultsComparison, *, fail_on_regression: bool, strict: bool) -> int:
    """What a command ends with: 3 where something is worse, 4 where something is open and that was asked."""
    if fail_on_regression and comparison.regressed:
        return EXIT_NOT_MET
    return EXIT_UNDECIDED if strict and comparison.undecided else EXIT_OK


def distinct_names(paths: Sequence[Path]) -> list[str]:
    """The folders' own names, with the folder above where they are alike."""
    names = [path.resolve().name for path in paths]
    if len(set(names)) == len({path.resolve() for path in paths}):
        return names
    return [str(Path(path.resolve().parent.name) / path.resolve().name) for path in paths]


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")


def usual_metrics(pair: ComparedPair) -> list[str]:
    """The latency that both have, of emulated trials their instructions, and of the others what both have."""
    both = [
        name
        for name in (*SPEEDS, *ALSO)
        if all(METRICS[name].value(trial) is not None for trial in (pair.a, pair.b))
    ]
    fallback = pair.a.latency_quantity or pair.b.latency_quantity or "image_s"
    speed = next((name for name in both if name in SPEEDS), fallback)
    return [speed, *(name for name in both if name in ALSO)]


def _side(results: StoredResults, summary: TrialSummary) -> TrialSide:
    experiment = results.experiment
    trial = next(each for each in experiment.trials if each.key == summary.key)
    records = [record for record in results.session_records(trial.key) if record.status == "ok"]
    return TrialSide(
        summary=summary,
        records=records,
        scene=experiment.scene_of(trial),
        images=experiment.images_of(trial),
        period_s=experiment.period_s,
        artifact_sha256=trial.artifact_sha256,
        predictions=partial(_predictions, results, trial),
    )


def _predictions(
    results: StoredResults, trial: TrialRecord, set_name: Literal["images", "scene"]
) -> Predictions | None:
    """Those of a lone worker; reads them from disk."""
    experiment = results.experiment
    source = experiment.images_of(trial) if set_name == "images" else experiment.scene_of(trial)
    rows = results.table("predictions", ["worker", "set", "index", "label", "predicted"], [trial.key])
    if rows["worker"].nunique() > 1:
        return None
    sessions = [record.n for record in results.session_records(trial.key) if record.status == "ok"]
    return predictions_of(rows, set_name, sessions, source.class_names if source else (), trial.class_names)


def _adjusted(compared: Sequence[ComparedResult], alpha: float) -> tuple[int, list[ComparedResult]]:
    """How many comparisons were tested, and the results with p adjusted for all of them.

    What is different for itself alone, and not among all of them, is undecided.
    """
    tested = [
        item.p for each in compared for pair in each.pairs for item in pair.comparisons if item.p is not None
    ]
    adjusted = iter(holm(tested).tolist() if tested else ())

    def among_all(item: MetricComparison) -> MetricComparison:
        if item.p is None:
            return item
        item = replace(item, adjusted_p=next(adjusted))
        if item.word in ("better", "worse") and (item.adjusted_p or 0.0) >= alpha:
            reason = f"by itself it would be {item.word}, among {len(tested)} comparisons it may be chance: "
            reason += "take more sessions, or compare fewer metrics"
            return replace(item, word="undecided", reason=reason)
        return item

    results = [
        replace(
            each,
            pairs=tuple(
                replace(pair, comparisons=tuple(among_all(item) for item in pair.comparisons))
                for pair in each.pairs
            ),
        )
        for each in compared
    ]
    return len(tested), results
