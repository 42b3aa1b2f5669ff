"""Which revision of a target a session belongs to: one for each device identity, so that none are pooled."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from edgebench.errors import UnavailableError
from edgebench.plan.trials import PlannedTrial, key_of
from edgebench.store.experiment import ExperimentStore
from edgebench.store.identity import Identity, differences, identity_of
from edgebench.store.records import TargetRecord
from edgebench.store.revisions import (
    new_revision,
    planned_name,
    revised_inputs,
    revisions_of,
    with_revision,
)

MOST_CHANGES = 3
"""Of one target's identity in one run, back to an earlier one too: a device that is another one at every
session has no figures, and one that goes to and fro would never have those that are due."""

Revise = Callable[[Sequence[PlannedTrial], Identity], Sequence[PlannedTrial]]
"""For all trials of a target and the identity that its device shows now: the trials to measure, in that
order, which are the same where the identity is the one that their sessions recorded."""


def unrevised(trials: Sequence[PlannedTrial], identity: Identity) -> Sequence[PlannedTrial]:
    """Where nothing was recorded, nothing can differ."""
    return trials


@dataclass
class TargetRevisions:
    """A `Revise` that goes by what the sessions of an experiment recorded.

    Args:
        store: of the experiment; a new revision is added to its record.
        note: told what differs.
    """

    store: ExperimentStore
    note: Callable[[str], None]
    _recorded: dict[str, list[Identity]] = field(default_factory=dict, init=False)
    _changes: Counter[str] = field(default_factory=Counter, init=False)

    def __call__(self, trials: Sequence[PlannedTrial], identity: Identity) -> Sequence[PlannedTrial]:
        """The trials of the revision whose sessions recorded this identity, or of a new one.

        UnavailableError for a device that has become another one more than `MOST_CHANGES` times in this run.
        """
        name = trials[0].target.name
        differs = self._differences(name, identity)
        if not differs:
            if identity not in self._recorded[name]:
                self._recorded[name].append(identity)
            return trials
        self._count_change(name, differs)
        listed = ", ".join(differs)
        for target in reversed(revisions_of(self.store.record, name)):
            revised = [_revised(trial, target) for trial in trials]
            if self.store.has(trial.key for trial in revised) and not self._differences(
                target.name, identity
            ):
                self.note(f"{name}: goes on as target {target.name}, which was measured so, because {listed}")
                return revised
        return self._begin(trials, identity, differs)

    def _begin(
        self, trials: Sequence[PlannedTrial], identity: Identity, differs: Sequence[str]
    ) -> list[PlannedTrial]:
        record, name = self.store.record, trials[0].target.name
        listed = ", ".join(differs)
        target = new_revision(record, name, identity, differs)
        revised = [_revised(trial, target) for trial in trials]
        note = f"{name}: measured again as target {target.name}, because {listed}"
        keys = [(trial.key, new.key) for trial, new in zip(trials, revised, strict=True)]
        self.store.extend(with_revision(record, target, keys, note))
        self._recorded[target.name] = [identity]
        self.note(note)
        return revised

    def _count_change(self, name: str, differs: Sequence[str]) -> None:
        of = next(planned_name(target) for target in self.store.record.targets if target.name == name)
        self._changes[of] += 1
        if self._changes[of] > MOST_CHANGES:
            raise UnavailableError(
                f"{of} became another device more than {MOST_CHANGES} times",
                why=", ".join(differs),
                fix="give each board an address of its own, and keep it as it is while it is measured",
            )

    def _differences(self, name: str, identity: Identity) -> tuple[str, ...]:
        """How the identity differs from the first of those recorded that it differs from."""
        if name not in self._recorded:
            self._recorded[name] = self._on_disk(name)
        for recorded in self._recorded[name]:
            if differs := differences(recorded, identity):
                return differs
        return ()

    def _on_disk(self, name: str) -> list[Identity]:
        """The identities that a target's sessions recorded, each once."""
        record = self.store.record
        recorded: list[Identity] = [
            target.identity for target in record.targets if target.name == name and target.identity
        ]
        for trial in record.trials:
            if trial.target == name:
                for session in self.store.finished(trial.key):
                    identity = identity_of(session.device, session.runtime)
                    if identity not in recorded:
                        recorded.append(identity)
        return recorded


def _revised(trial: PlannedTrial, target: TargetRecord) -> PlannedTrial:
    """The trial as one of that revision of its target."""
    inputs = revised_inputs(trial.inputs, target)
    return replace(trial, key=key_of(inputs), inputs=inputs, target=replace(trial.target, name=target.name))
