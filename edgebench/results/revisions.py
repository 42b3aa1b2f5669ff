"""The revisions of an experiment's targets: a target whose device is another one is measured as another.

A target of the plan has the sessions of one device identity. Sessions of another identity belong to a
revision of it: a target `nano (2)` beside `nano`, with the same trials under keys of their own, so that
nothing stored changes and no reader pools what differs.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from edgebench.records.stored import ExperimentRecord
from edgebench.records.target import Target
from edgebench.suggest import printable

# What decides a device's identity: the facts that two sessions must share to be pooled.
#
# =============  ===================================================================================
# board, SoC     another board is another device, whatever its address and name
# CPU            boards of one name come with different processors, virtual machines above all
# architecture   machine and pointer size: a 32-bit Python on a 64-bit board runs other kernels
# kernel         its release: scheduler, governor and drivers come with it
# L4T            NVIDIA's drivers and TensorRT come with it
# usable cores   which, and so how many: on boards with big and little cores both decide
# CPU quota      of its container: threads beyond it pause
# power mode     what nvpmodel has set: clocks and cores
# Python         its minor version, for which compiled packages are built
# numpy          preprocessing is timed, and numpy carries it out
# runtime        its name and version: it carries out what is timed
# =============  ===================================================================================
#
# No part of it: free memory, load, uptime, temperatures and the clocks of the moment, which change between
# two
# sessions of one run; names of hosts and users; the operating system's name, Python's patch version and
# other
# packages, which nothing that is timed uses; the bus speed of a USB accelerator, which is another one
# before
# its firmware is loaded. All of these stand in the records, and what harms a measurement is warned of.


Identity = Mapping[str, str]
"""Facts by the name that messages give them; unknown facts are left out."""

_LONGEST = 200


def identity_of(device: Mapping[str, Any], runtime: Mapping[str, Any]) -> dict[str, str]:
    """The identity in what a session records of its device and its runtime; a device is not trusted.

    Before a session has begun `runtime` is empty: nothing is known of it then.
    """
    machine, bits = _text(device.get("machine")), device.get("python_bits")
    name, version = _text(runtime.get("name")), _text(runtime.get("version"))
    python = re.match(r"\d+\.\d+", _text(device.get("python")))
    facts = {
        "board": _text(device.get("board")),
        "SoC": _text(device.get("soc")),
        "CPU": _text(device.get("cpu")),
        "architecture": f"{machine}, {bits} bits" if machine and _is_number(bits) else machine,
        "kernel": _text(device.get("kernel")),
        "L4T": _text(device.get("l4t")),
        "usable cores": _cores(device.get("usable_cores")),
        "CPU quota": _quota(device),
        "power mode": _mode(device.get("power_mode")),
        "Python": python.group() if python else "",
        "numpy": _text(runtime.get("numpy")),
        "runtime": f"{name} {version}".strip(),
    }
    return {fact: value for fact, value in facts.items() if value}


def differences(before: Identity, now: Identity) -> tuple[str, ...]:
    """What differs, each as `kernel was A and is now B`; a fact that one of them lacks differs in nothing."""
    return tuple(
        f"{fact} was {before[fact]} and is now {value}"
        for fact, value in now.items()
        if fact in before and before[fact] != value
    )


def _text(value: Any) -> str:
    if not isinstance(value, str):
        return ""
    return printable(value[:_LONGEST]).strip(" \ufffd")  # boards end names with a zero byte


def _is_number(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _cores(value: Any) -> str:
    """Numbers of cores with their runs shortened: `0-3, 6`."""
    if not isinstance(value, Sequence) or not all(_is_number(core) for core in value):
        return ""
    runs: list[tuple[int, int]] = []
    for core in sorted(set(value)):
        if runs and core == runs[-1][1] + 1:
            runs[-1] = runs[-1][0], core
        else:
            runs.append((core, core))
    return ", ".join(str(first) if first == last else f"{first}-{last}" for first, last in runs)[:_LONGEST]


def _quota(device: Mapping[str, Any]) -> str:
    """`2 cores`, or `none`; empty if the device could not read it."""
    cores, absent = device.get("cpu_quota_cores", ""), device.get("absent")
    if cores is None:
        return "" if isinstance(absent, Mapping) and "cpu_quota_cores" in absent else "none"
    return f"{cores} {'core' if cores == 1 else 'cores'}" if _is_number(cores) else ""


def _mode(value: Any) -> str:
    if not isinstance(value, Mapping):
        return ""
    number = value.get("id")
    return _text(value.get("name")) or (str(number) if _is_number(number) else "")


_INPUT = "identity"
"""Under which the inputs of a revision's trial hold the identity."""


def planned_keys(record: ExperimentRecord) -> frozenset[str]:
    """The keys of the trials that were planned, without those of revisions."""
    revisions = {target.name for target in record.targets if target.revision_of is not None}
    return frozenset(trial.key for trial in record.trials if trial.target not in revisions)


def planned_name(target: Target) -> str:
    """The name of the target of the plan that this one is, or is a revision of."""
    return target.revision_of or target.name


def swept_name(target: Target) -> str:
    """The name of the plan's target without the settings of a sweep: `nano` of `nano[power_mode=10W] (2)`."""
    name = planned_name(target)
    return name.partition("[")[0] if target.settings else name


def revisions_of(record: ExperimentRecord, name: str) -> tuple[Target, ...]:
    """All that a target of that name, or its plan's, has become: the planned one first."""
    of = next(planned_name(target) for target in record.targets if target.name == name)
    return tuple(target for target in record.targets if planned_name(target) == of)


def continuation(record: ExperimentRecord, name: str) -> str:
    """The target as which the measurement continues, and why; empty where no revision follows."""
    if not any(target.name == name for target in record.targets):
        return ""
    revisions = revisions_of(record, name)
    later = revisions[[target.name for target in revisions].index(name) + 1 :]
    if not later:
        return ""
    differing = "; then ".join(", ".join(target.differences) for target in later)
    return f"the device changed ({differing}): it is measured as {later[-1].name}"


def revised_inputs(inputs: Mapping[str, Any], target: Target) -> dict[str, Any]:
    """The inputs of a trial (of any revision) as those of `target`, which is one."""
    planned = {name: value for name, value in inputs.items() if name != _INPUT}
    return planned if target.revision_of is None else {**planned, _INPUT: dict(target.identity)}


def new_revision(
    record: ExperimentRecord, name: str, identity: Identity, differences: Sequence[str]
) -> Target:
    """A further revision of the target of that name, which is not in the record yet.

    `differences` are those of its identity to the one that the target's sessions have.
    """
    revisions = revisions_of(record, name)
    planned = revisions[0]
    return replace(
        planned,
        name=f"{planned.name} ({len(revisions) + 1})",
        revision_of=planned.name,
        identity=dict(identity),
        differences=tuple(differences),
    )


def with_revision(
    record: ExperimentRecord,
    target: Target,
    keys: Sequence[tuple[str, str]],
    note: str,
    alone: Mapping[str, str] | None = None,
) -> ExperimentRecord:
    """The record with a new revision at its end; all else in it stays as it is.

    Args:
        record: of the experiment.
        target: the revision.
        keys: of each trial that is measured again, its key so far and its key in the revision.
        note: why it is measured again, for the record's warnings.
        alone: likewise, by the key so far, of the trials of its workers' variants alone.
    """
    trials = {trial.key: trial for trial in record.trials}
    added = tuple(
        trials[before].model_copy(
            update={
                "key": key,
                "target": target.name,
                "inputs": revised_inputs(trials[before].inputs, target),
                "workers": tuple(
                    worker.model_copy(update={"alone": (alone or {}).get(worker.alone, worker.alone)})
                    for worker in trials[before].workers
                ),
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
