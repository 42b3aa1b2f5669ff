"""Pairs of trials of two results, and the recorded facts in which results can differ.

Trials are paired by target, variant, batch and settings. Their keys also hash versions and weights, whose
changes a comparison is for.
"""

from __future__ import annotations

import json
import re
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import Annotated, Any, Literal, NamedTuple

from edgebench.errors import UsageError
from edgebench.judge.accuracy import Predictions, predictions_of, scored_of
from edgebench.judge.trial import Trial
from edgebench.records.described import Unwritten
from edgebench.records.stored import ExperimentRecord, ImagesRecord, SceneRecord, SessionRecord, TrialRecord
from edgebench.results.load import StoredResults
from edgebench.results.revisions import planned_name
from edgebench.stats.auc import Floats
from edgebench.suggest import choose, short

SetName = Literal["images", "scene"]


@dataclass(frozen=True)
class TrialIdentity:
    """Identity of a trial in any result, for pairs and series."""

    target: str
    """Its target. Source: experiment.json."""
    variant: str
    """Its variant. Source: experiment.json."""
    batch: int
    """Images in one inference. Source: experiment.json."""
    concurrency: int
    """Inferences that the device has in flight. Source: experiment.json."""
    settings: dict[str, Any]
    """Settings in which its target differs within a sweep. Source: experiment.json."""


@dataclass(frozen=True)
class ComparedTrial(TrialIdentity):
    """Trial of a result that is compared."""

    key: str
    """Key of the trial. Source: experiment.json."""
    marks: tuple[str, ...]
    """Marks that its estimates must carry. Source: fit."""
    trial: Annotated[Trial, Unwritten()] = field(repr=False)
    """Internal: its estimates."""
    results: Annotated[StoredResults, Unwritten()] = field(repr=False)
    """Internal: the result that holds it."""
    reason: str = ""
    """Cause why it has no partner; empty where it has one. Source: fit."""

    @classmethod
    def of(cls, trial: Trial, results: StoredResults) -> ComparedTrial:
        """Trial of a result with its identity."""
        names = ("target", "variant", "batch", "concurrency", "settings", "key", "marks")
        return cls(**{name: getattr(trial, name) for name in names}, trial=trial, results=results)

    @property
    def planned_target(self) -> str:
        """Target of the plan that its target is, or is a revision of."""
        names = {target.name: planned_name(target) for target in self.results.experiment.targets}
        return names.get(self.target, self.target)

    @cached_property
    def record(self) -> TrialRecord:
        """Record of the planned trial."""
        return next(trial for trial in self.results.experiment.trials if trial.key == self.key)

    @cached_property
    def sessions(self) -> list[SessionRecord]:
        """Sessions that ended well."""
        return [record for record in self.results.session_records(self.key) if record.status == "ok"]

    @property
    def scene(self) -> SceneRecord:
        """Scene of its passes."""
        return self.results.experiment.scene_of(self.record)

    def tested_set(self, set_name: SetName) -> ImagesRecord | SceneRecord | None:
        """Set that its accuracy was taken on; None without one."""
        return self.scene if set_name == "scene" else self.results.experiment.images_of(self.record)

    def predictions(self, set_name: SetName) -> Predictions | None:
        """Predictions of a lone worker, read from disk; None without any, or of several workers."""
        source = self.tested_set(set_name)
        columns = ["worker", "set", "index", "label", "predicted"]
        rows = self.results.rows("predictions", columns, [self.key])
        if len(set(rows.whole("worker").tolist())) > 1:
            return None
        numbers = [record.n for record in self.sessions]
        labels = source.class_names if source else ()
        return predictions_of(rows, set_name, numbers, labels, self.record.class_names)

    def scored(self) -> tuple[Floats, Floats] | None:
        """Scores of normal and anomalous samples, read from disk; None without any."""
        return scored_of(self.results, self.key, [record.n for record in self.sessions])


def trial_identity(trial: Trial | TrialIdentity, target: str) -> Hashable:
    """Identity of a trial as one value; `target` is its name without the settings of a sweep."""
    settings = json.dumps(trial.settings, sort_keys=True, default=str)
    return target, settings, trial.variant, trial.batch, trial.concurrency


class Pairing(NamedTuple):
    """Trials of two results: pairs in the baseline's order, and trials without a partner.

    `across` has the targets of the baseline with those of the other, where the names differ.
    """

    pairs: list[tuple[ComparedTrial, ComparedTrial]]
    only_baseline: tuple[ComparedTrial, ...]
    only_this: tuple[ComparedTrial, ...]
    across: dict[str, str]


_TARGETS = re.compile(r"((?:[^=\[]|\[(?:[^\[\]]|\[[^\]]*\])*\])+)=(.+)", re.DOTALL)
"""Two targets on both sides of the first `=` outside square brackets, which hold settings of a sweep."""


def targets_against(texts: Sequence[str]) -> dict[str, str]:
    """Targets of B by those of A, from texts `TARGET_A=TARGET_B`.

    Raises:
        UsageError: a text names no two targets, or a target is named twice.
    """
    against: dict[str, str] = {}
    for text in texts:
        match = _TARGETS.fullmatch(text)
        a, b = map(str.strip, match.groups() if match else ("", ""))
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
    """Raise UsageError if the baseline, or all other results together, lack a target of `against`."""
    for side, names, trials in (
        ("the baseline has", against.keys(), baseline),
        ("what is compared with it has", against.values(), others),
    ):
        targets = dict.fromkeys(name for trial in trials for name in (trial.trial.swept_target, trial.target))
        for name in names:
            if name not in targets:
                raise UsageError(f"--pair: {side} no target {short(name)}", fix=choose(name, targets))


def paired(a: Sequence[ComparedTrial], b: Sequence[ComparedTrial], against: Mapping[str, str]) -> Pairing:
    """Pair the trials of A with those of B.

    Targets go by their names; a revision (`nano (2)`) is its target where that is clear. Where each result
    has one target and their names differ, these two are compared.

    Args:
        a: trials of the baseline.
        b: trials of the other result.
        against: targets of B by those of A, where the names differ. A swept target may be named with its
            settings (`nano[power_mode=10W]`), which are then not compared. A target that B does not have is
            left out (see `require_targets`).
    """
    names_a, names_b = ({trial.trial.swept_target for trial in trials} for trials in (a, b))
    there = names_b | {trial.target for trial in b}
    across = {mine: theirs for mine, theirs in against.items() if theirs in there}
    if not across and len(names_a) == len(names_b) == 1:
        across = dict(zip(names_a, names_b, strict=True))
    swept = {trial.target for trial in (*a, *b) if trial.settings}
    exact = {mine: theirs for mine, theirs in across.items() if {mine, theirs} & swept}
    left_a, left_b = list(a), list(b)
    partners: dict[int, ComparedTrial] = {}
    alike: set[int] = set()
    # Names first, so that each revision of a target has its own partner.
    for is_planned in (False, True):
        mine_left = [trial for trial in left_a if id(trial) not in alike]
        groups_b = _grouped(left_b, {}, {theirs: theirs for theirs in exact.values()}, is_planned)
        for identity, mine in _grouped(mine_left, across, exact, is_planned).items():
            theirs = groups_b.get(identity, [])
            if len(mine) == len(theirs) == 1:
                partners[id(mine[0])] = theirs[0]
            elif len(mine) > 1 or len(theirs) > 1:
                # Only their keys differ.
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
    """Trials by the identity that they are paired by."""
    groups: dict[Hashable, list[ComparedTrial]] = {}
    for trial in trials:
        if trial.target in exact:
            identity = trial_identity(replace(trial, settings={}), exact[trial.target])
        else:
            name = trial.planned_target if is_planned else trial.target
            name = name.partition("[")[0] if trial.settings else name
            # The counterpart of another target pairs with no target of its own name.
            own = f"{name} itself" if name in across.values() else name
            identity = trial_identity(trial, across.get(name, own))
        groups.setdefault(identity, []).append(trial)
    return groups


def _unpaired(
    trial: ComparedTrial, counterparts: Mapping[str, str], targets: set[str], is_alike: bool
) -> ComparedTrial:
    target = trial.trial.swept_target
    target = counterparts.get(target, counterparts.get(trial.target, target))
    reason = "the other result has no trial of this variant, batch and settings"
    if is_alike:
        reason = "several trials are of this target, variant, batch and settings"
    elif target.partition("[")[0] not in targets:
        reason = "the other result has no such target"
    return replace(trial, reason=reason)


# Facts that trials were measured under: model, pictures, target, board, runtime, settings and host.


Facts = Mapping[tuple[str, str], str]
"""Texts by subject (a target, `scene`, `images`, `experiment` or `host`) and name of the fact."""

_MOMENTARY = frozenset(
    {"memory_available_bytes", "memory_free_bytes", "disk_available_bytes", "disk_kept_bytes", "load_average",
     "temperatures_c", "clock_now_mhz", "cpu_mhz", "timer_resolution_ns", "lock_folder", "private", "absent"}
)  # fmt: skip
"""Facts of a moment, which differ between two sessions of one run."""

_SHOWN_ELSEWHERE = frozenset(
    {"device", "target", "targets_file", "host", "port", "output_dir", "name", "profile", "depth",
     "precision", "batch", "model", "power_mode", "set", "scene", "images", "resume", "strict", "json", "yes"}
)  # fmt: skip
"""Settings that trials, scene and targets show, or that no estimate depends on."""

_MOST_DEPTH = 4
_HASH = re.compile("[0-9a-f]{64}")
_HASH_CHARACTERS = 12
_LONGEST = 200


def recorded_facts(results: StoredResults, record: ExperimentRecord, targets: Mapping[str, str]) -> Facts:
    """Facts that all of some trials and their sessions share, those that bear most on estimates first.

    Facts of a moment are left out.

    Args:
        results: result that holds the trials.
        record: its experiment, as an export may show it.
        targets: shown name of the target by key of the trial.
    """
    trials = [trial for trial in record.trials if trial.key in targets]
    declared = {
        target.name: {
            "device": target.device,
            "power mode": target.power_mode,
            "meters": target.meters,
            "option": target.options,
            "launch": asdict(target.launch),
        }
        for target in record.targets
    }
    settings = {
        name.replace("_", " "): setting.get("value")
        for name, setting in record.config.items()
        if name not in _SHOWN_ELSEWHERE
    }
    stated: list[tuple[str, Mapping[str, Any]]] = [
        *((targets[trial.key], {_file_name(trial): trial.artifact_sha256}) for trial in trials),
        *(("scene", _scene(record.scene_of(trial))) for trial in trials),
        *(("images", _images(record.images_of(trial))) for trial in trials),
        *((targets[trial.key], declared.get(trial.target, {})) for trial in trials),
        *(
            (targets[trial.key], {**session.device, "runtime": session.runtime})
            for trial in trials
            for session in results.session_records(trial.key)
            if session.status == "ok"
        ),
        ("experiment", {"EdgeBench": record.edgebench_version, **settings}),
        ("host", record.host),
    ]
    texts: dict[tuple[str, str], set[str]] = {}
    for subject, facts in stated:
        for names, fact in leaves(facts, _MOST_DEPTH):
            if _MOMENTARY.isdisjoint(names) and fact not in (None, "", [], ()):
                texts.setdefault((subject, " ".join(names)), set()).add(_text(fact))
    return {place: different.pop() for place, different in texts.items() if len(different) == 1}


def _file_name(trial: TrialRecord) -> str:
    return f"file of {trial.variant}" + (f" at batch {trial.batch}" if trial.batch > 1 else "")


def _scene(scene: SceneRecord) -> dict[str, Any]:
    return {
        "name": scene.name,
        "SHA-256": scene.sha256,
        "pixels": f"{scene.width} x {scene.height}",
        "patches": f"{scene.patches} of {scene.patch_width or scene.patch} x {scene.patch}",
        "stride": scene.stride,
    }


def _images(images: ImagesRecord | None) -> dict[str, Any]:
    if images is None:
        return {"set": "none"}
    return {
        "set": images.name,
        "SHA-256": images.sha256,
        "number": images.n,
        "classes": images.class_names,
        "reading": asdict(images.reading) if images.reading else {},
    }


def leaves(facts: Mapping[str, Any], depth: int, *outer: str) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Nested facts with the names that lead to them; tables below `depth` levels stay whole."""
    for name, fact in facts.items():
        if isinstance(fact, Mapping) and depth:
            yield from leaves(fact, depth - 1, *outer, str(name))
        else:
            yield (*outer, str(name)), fact


def _text(fact: Any) -> str:
    text = ", ".join(map(str, fact)) if isinstance(fact, list | tuple) else str(fact)
    return text[:_HASH_CHARACTERS] if _HASH.fullmatch(text) else text[:_LONGEST]
