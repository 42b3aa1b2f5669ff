"""Which trials of two results are the same, and what each was measured under.

Trials are paired by target, variant, batch and settings, and not by their keys: a key hashes versions and
weights too, and what has changed between two results is what a comparison is for.
"""

from __future__ import annotations

import json
import re
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import Any, Literal, NamedTuple, Self

from pydantic import ConfigDict
from pydantic.json_schema import SkipJsonSchema

from edgebench.errors import UsageError
from edgebench.judge.accuracy import Predictions, predictions_of, scored_of
from edgebench.judge.trial_summary import TrialSummary
from edgebench.records.stored import ExperimentRecord, ImagesRecord, SceneRecord, SessionRecord, TrialRecord
from edgebench.results.load import StoredResults
from edgebench.results.revisions import planned_name
from edgebench.stats.auc import Floats
from edgebench.suggest import choose, short


@dataclass(frozen=True)
class TrialIdentity:
    """What two trials share that are compared, or are of one series; versions and hosts may differ."""

    target: str
    """Its target. Source: experiment.json."""
    variant: str
    """Its variant. Source: experiment.json."""
    batch: int
    """Images in one inference. Source: experiment.json."""
    concurrency: int
    """Inferences that the device has in flight. Source: experiment.json."""
    settings: dict[str, Any]
    """Those in which its target differs within a sweep. Source: experiment.json."""


@dataclass(frozen=True)
class ComparedTrial(TrialIdentity):
    """A trial of a result that is compared."""

    __pydantic_config__ = ConfigDict(arbitrary_types_allowed=True)  # for what is in no document

    key: str
    """Key of the trial. Source: experiment.json."""
    mark: str
    """The mark that its figures must carry. Source: fit."""
    summary: SkipJsonSchema[TrialSummary] = field(repr=False)
    """Internal: its figures."""
    results: SkipJsonSchema[StoredResults] = field(repr=False)
    """Internal: the result that holds it."""

    @classmethod
    def of(cls, summary: TrialSummary, results: StoredResults) -> Self:
        """The trial of a summary."""
        names = ("target", "variant", "batch", "concurrency", "settings", "key", "mark")
        planned = {name: getattr(summary, name) for name in names}
        return cls(**planned, summary=summary, results=results)

    @property
    def planned(self) -> str:
        """The target of the plan that its target is, or is a revision of."""
        names = {target.name: planned_name(target) for target in self.results.experiment.targets}
        return names.get(self.target, self.target)

    @cached_property
    def trial(self) -> TrialRecord:
        """What was planned."""
        return next(trial for trial in self.results.experiment.trials if trial.key == self.key)

    @cached_property
    def sessions(self) -> list[SessionRecord]:
        """Those that ended well."""
        return [record for record in self.results.session_records(self.key) if record.status == "ok"]

    @property
    def scene(self) -> SceneRecord:
        """What it was timed with."""
        return self.results.experiment.scene_of(self.trial)

    @property
    def images(self) -> ImagesRecord | None:
        """What its accuracy was taken on; None where there is nothing."""
        return self.results.experiment.images_of(self.trial)

    def predictions(self, set_name: Literal["images", "scene"]) -> Predictions | None:
        """Those of a lone worker; reads them from disk."""
        source = self.images if set_name == "images" else self.scene
        columns = ["worker", "set", "index", "label", "predicted"]
        rows = self.results.rows("predictions", columns, [self.key])
        if len(set(rows.whole("worker").tolist())) > 1:
            return None
        numbers = [record.n for record in self.sessions]
        labels = source.class_names if source else ()
        return predictions_of(rows, set_name, numbers, labels, self.trial.class_names)

    def scored(self) -> tuple[Floats, Floats] | None:
        """The scores of normal and anomalous samples of a lone worker; reads them from disk."""
        if self.summary.auc is None:
            return None
        return scored_of(self.results, self.key, [record.n for record in self.sessions])


def trial_identity(trial: TrialSummary | TrialIdentity, target: str) -> Hashable:
    """A trial's identity as one value; `target` is its name without the settings of a sweep."""
    settings = json.dumps(trial.settings, sort_keys=True, default=str)
    return target, settings, trial.variant, trial.batch, trial.concurrency


@dataclass(frozen=True)
class Unpaired(ComparedTrial):
    """One without a partner."""

    reason: str = ""
    """Why it has no partner. Source: fit."""


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


def paired(a: Sequence[ComparedTrial], b: Sequence[ComparedTrial], against: Mapping[str, str]) -> Pairing:
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
    across = {mine: theirs for mine, theirs in against.items() if theirs in there}
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


# What trials were measured under: model, pictures, target, board, runtime, settings and host, as texts.


Conditions = Mapping[tuple[str, str], str]
"""By subject (a target, `scene`, `images`, `experiment` or `host`) and fact: what it is."""

_MOMENTARY = frozenset(
    {"memory_available_bytes", "memory_free_bytes", "disk_available_bytes", "disk_kept_bytes", "load_average",
     "temperatures_c", "clock_now_mhz", "cpu_mhz", "timer_resolution_ns", "lock_folder", "private", "absent"}
)  # fmt: skip
"""Facts of a moment, which differ between two sessions of one run."""

_OF_NO_FIGURE = frozenset(
    {"device", "target", "targets_file", "host", "port", "output_dir", "name", "profile", "depth",
     "precision", "batch", "model", "power_mode", "set", "scene", "images", "resume", "strict", "json", "yes"}
)  # fmt: skip
"""Settings that say what was measured and where it was written: trials, scene and targets show that."""

_MOST_DEPTH = 4
_HASH = re.compile("[0-9a-f]{64}")
_HASH_CHARACTERS = 12
_LONGEST = 200


def conditions_of(results: StoredResults, record: ExperimentRecord, targets: Mapping[str, str]) -> Conditions:
    """What the results say of some trials, what bears most on figures first.

    A fact in which the trials or their sessions differ is left out, as is what changes from moment to moment.

    Args:
        results: which hold the trials.
        record: their experiment, as an export may show it.
        targets: by key of a trial, what to call its target.
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
        if name not in _OF_NO_FIGURE
    }
    stated: list[tuple[str, Mapping[str, Any]]] = [
        *((targets[trial.key], {_file_of(trial): trial.artifact_sha256}) for trial in trials),
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
    return {place: several.pop() for place, several in texts.items() if len(several) == 1}


def _file_of(trial: TrialRecord) -> str:
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
    """Nested facts, each behind the names that lead to it; tables below `depth` levels as they are."""
    for name, fact in facts.items():
        if isinstance(fact, Mapping) and depth:
            yield from leaves(fact, depth - 1, *outer, str(name))
        else:
            yield (*outer, str(name)), fact


def _text(fact: Any) -> str:
    text = ", ".join(map(str, fact)) if isinstance(fact, list | tuple) else str(fact)
    return text[:_HASH_CHARACTERS] if _HASH.fullmatch(text) else text[:_LONGEST]
