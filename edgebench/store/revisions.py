"""The revisions of an experiment's targets: a target whose device is another one is measured as another.

A target of the plan has the sessions of one device identity. Sessions of another identity belong to a
revision of it: a target `nano (2)` beside `nano`, with the same trials under keys of their own, so that
nothing stored changes and no reader pools what differs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from edgebench.store.identity import Identity
from edgebench.store.records import ExperimentRecord, TargetRecord

_INPUT = "identity"
"""Under which the inputs of a revision's trial hold the identity."""


def planned_keys(record: ExperimentRecord) -> frozenset[str]:
    """The keys of the trials that were planned, without those of revisions."""
    revisions = {target.name for target in record.targets if target.revision_of is not None}
    return frozenset(trial.key for trial in record.trials if trial.target not in revisions)


def planned_name(target: TargetRecord) -> str:
    """The name of the target of the plan that this one is, or is a revision of."""
    return target.revision_of or target.name


def swept_name(target: TargetRecord) -> str:
    """The name of the plan's target without the settings of a sweep: `nano` of `nano[power_mode=10W] (2)`."""
    name = planned_name(target)
    return name.partition("[")[0] if target.settings else name


def revisions_of(record: ExperimentRecord, name: str) -> tuple[TargetRecord, ...]:
    """All that a target of that name, or its plan's, has become: the planned one first."""
    of = next(planned_name(target) for target in record.targets if target.name == name)
    return tuple(target for target in record.targets if planned_name(target) == of)


def continuation(record: ExperimentRecord, name: str) -> str:
    """The target as which the measurement continues, and why; empty where no revision follows.

    The sentence has no reason in results of earlier versions, which kept it in the warnings alone.
    """
    if not any(target.name == name for target in record.targets):
        return ""
    revisions = revisions_of(record, name)
    later = revisions[[target.name for target in revisions].index(name) + 1 :]
    if not later:
        return ""
    differing = "; then ".join(", ".join(target.differences) for target in later if target.differences)
    why = f" ({differing})" if differing else ""
    return f"the device changed{why}: it is measured as {later[-1].name}"


def revised_inputs(inputs: Mapping[str, Any], target: TargetRecord) -> dict[str, Any]:
    """The inputs of a trial (of any revision) as those of `target`, which is one."""
    planned = {name: value for name, value in inputs.items() if name != _INPUT}
    return planned if target.revision_of is None else {**planned, _INPUT: dict(target.identity)}


def new_revision(
    record: ExperimentRecord, name: str, identity: Identity, differences: Sequence[str]
) -> TargetRecord:
    """A further revision of the target of that name, which is not in the record yet.

    `differences` are those of its identity to the one that the target's sessions have.
    """
    revisions = revisions_of(record, name)
    planned = revisions[0]
    return planned.model_copy(
        update={
            "name": f"{planned.name} ({len(revisions) + 1})",
            "revision_of": planned.name,
            "identity": dict(identity),
            "differences": tuple(differences),
        }
    )


def with_revision(
    record: ExperimentRecord, target: TargetRecord, keys: Sequence[tuple[str, str]], note: str
) -> ExperimentRecord:
    """The record with a new revision at its end; all else in it stays as it is.

    Args:
        record: of the experiment.
        target: the revision.
        keys: of each trial that is measured anew, its key so far and its key in the revision.
        note: why it is measured anew, for the record's warnings.
    """
    trials = {trial.key: trial for trial in record.trials}
    added = tuple(
        trials[before].model_copy(
            update={
                "key": key,
                "target": target.name,
                "inputs": revised_inputs(trials[before].inputs, target),
            }
        )
        for before, key in keys
    )
    return record.model_copy(
        update={
            "targets": (*record.targets, target),
            "trials": (*record.trials, *added),
            "warnings": (*record.warnings, note),
        }
    )
