"""Work of one host: its trials, the artifact that each loads, and the sessions that each has."""

from __future__ import annotations

import math
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace

from edgebench.errors import UnavailableError
from edgebench.judge.trials import trial_with_key
from edgebench.records.model import Artifact
from edgebench.records.session import MeasurePlan
from edgebench.records.stored import SessionRecord
from edgebench.records.target import Target
from edgebench.results.load import StoredResults
from edgebench.results.revisions import (
    Identity,
    differences,
    identity_of,
    new_revision,
    planned_name,
    revised_inputs,
    revisions_of,
    with_revision,
)
from edgebench.results.writing import ExperimentStore
from edgebench.run.forecast import KnownTimes
from edgebench.run.meters import builds_on_board
from edgebench.run.trials import Plan, PlannedTrial, Turn, key_of, turns

# What ends the sessions of a run early: a trial that has been measured enough, and the run's time.


Settled = Callable[[str], bool]
"""By a trial's key: whether a rule that was asked for ends it with the sessions that are on disk."""


def settled_on_disk(store: ExperimentStore) -> Settled:
    """Judged from the store each time: a resumed experiment ends where the uninterrupted one would."""

    def settled(key: str) -> bool:
        ended = trial_with_key(StoredResults(store.path, store.record), key).ended
        return ended is not None and ended.by == "rule"

    return settled


@dataclass
class TimeBudget:
    """How long a run may go on; no session starts once it is over.

    Args:
        limit_s: seconds from the moment that this is made; None for no limit.
        clock: seconds on a clock that never steps.
    """

    limit_s: float | None = None
    clock: Callable[[], float] = time.monotonic
    _start_s: float = field(init=False)

    def __post_init__(self) -> None:
        self._start_s = self.clock()

    @property
    def elapsed_s(self) -> float:
        """Seconds since it was made."""
        return self.clock() - self._start_s

    @property
    def left_s(self) -> float:
        """Seconds until it is used up; infinite without a limit."""
        return math.inf if self.limit_s is None else max(0.0, self.limit_s - self.elapsed_s)

    @property
    def over(self) -> bool:
        """Return True if the time is used up."""
        return self.limit_s is not None and self.elapsed_s >= self.limit_s


@dataclass
class Standing:
    """Progress of one trial, by the store and this run."""

    ok: int = 0
    failed_in_a_row: int = 0
    given_up: bool = False
    settled: bool = False  # by a rule, before it has all its sessions
    has_images: bool = False

    def due(self, sessions: int) -> bool:
        """Return True if a session is still to be measured, where a trial has at most `sessions`."""
        return self.ok < sessions and not (self.given_up or self.settled)


@dataclass
class LaneTrials:
    """The trials of one host by key, in the order in which they were planned.

    Args:
        by_key: each has an artifact and a standing. Where a device turns out to be another one than its
            sessions recorded, those of the target's revision take their place.
        standing_of: how far the trial of a key is, by what the store holds.
        times: what is known of the trials' sessions.
        settled: asked after a good session of an adaptive plan whether its trial has been measured enough.

    Attributes:
        placement: by target, what placing an artifact costs on its device; known once that was open.
    """

    plan: Plan
    by_key: dict[str, PlannedTrial]
    artifacts: dict[str, Artifact]
    standing: dict[str, Standing]
    standing_of: Callable[[str], Standing]
    times: KnownTimes
    settled: Settled = lambda key: False
    placement: dict[str, str] = field(default_factory=dict, init=False)

    def __getitem__(self, key: str) -> PlannedTrial:
        return self.by_key[key]

    # --- which there are ---

    def of_target(self, name: str) -> list[PlannedTrial]:
        """Trials of a target."""
        return [trial for trial in self.by_key.values() if trial.target.name == name]

    def sharing(self, connection: Target) -> list[PlannedTrial]:
        """Trials whose targets share a device."""
        return [trial for trial in self.by_key.values() if trial.target.connection == connection]

    def revise(self, trials: Sequence[PlannedTrial], revised: Sequence[PlannedTrial]) -> int:
        """Put those of a target's revision, in the same order, in place of its trials.

        Returns:
            How many more sessions are owed now; below 0 for fewer.
        """
        owed = self._owed(trials)
        for trial, other in zip(trials, revised, strict=True):
            for part, new in ((trial, other), *zip(trial.alone, other.alone, strict=True)):
                self.artifacts[new.key] = self.artifacts[part.key]
            # What this run knows of it, that it was given up above all, is more than the store does.
            if other.key not in self.standing:
                self.standing[other.key] = self.standing_of(other.key)
            if (times := self.times.get(trial.key)) is not None:
                self.times.learn(other.key, times)
        new_trials = {trial.key: other for trial, other in zip(trials, revised, strict=True)}
        order = [new_trials.get(key, trial) for key, trial in self.by_key.items()]
        self.by_key.clear()
        self.by_key.update((trial.key, trial) for trial in order)
        name = revised[0].target.name
        self.placement[name] = self.placement.get(trials[0].target.name, "cheap")
        return self._owed(revised) - owed

    def _owed(self, trials: Iterable[PlannedTrial]) -> int:
        """The sessions that are still to be measured of these trials, at most."""
        most = self.plan.sessions
        standing = [self.standing[trial.key] for trial in trials]
        return sum(most - progress.ok for progress in standing if progress.due(most))

    # --- what is still to come ---

    def is_due(self, key: str) -> bool:
        """Return True if a session of that trial is still to be measured."""
        return self.standing[key].due(self.plan.sessions)

    def due(self, queue: Iterable[Turn]) -> deque[Turn]:
        """The turns of trials that have not been measured enough and were not given up."""
        return deque(turn for turn in queue if self.is_due(turn.key))

    def order(self) -> deque[Turn]:
        """All turns still to come."""
        slow = {name for name, cost in self.placement.items() if cost != "cheap"}
        together = frozenset(key for key, trial in self.by_key.items() if trial.target.name in slow)
        finished = {key: self.standing[key].ok for key in self.by_key}
        return self.due(
            turns(list(self.by_key), self.plan.sessions, self.plan.seed, finished=finished, together=together)
        )

    def with_turns_of(self, name: str, queue: Iterable[Turn]) -> deque[Turn]:
        """The turns to come, now that the trials of a target are others: nothing else is due that was not."""
        others = [turn for turn in queue if self._target_of(turn) not in (None, name)]
        return deque([*others, *(turn for turn in self.order() if self._target_of(turn) == name)])

    def _target_of(self, turn: Turn) -> str | None:
        """The name of its target; None for a trial that is not this host's any more."""
        trial = self.by_key.get(turn.key)
        return None if trial is None else trial.target.name

    # --- how far they are ---

    def count(self, key: str, record: SessionRecord) -> None:
        """Take in how a session ended."""
        standing = self.standing[key]
        if record.status == "ok":
            standing.ok += 1
            standing.failed_in_a_row = 0
            standing.has_images = standing.has_images or "images" in record.predicted
        elif record.status != "interrupted":
            standing.failed_in_a_row += 1
            # What fails again and again is not worth the time of its further sessions; a single failure
            # that is not to be repeated leaves the others their chance.
            enough = max(self.plan.retries + 1, 2)
            if record.status == "golden_mismatch" or standing.failed_in_a_row >= enough:
                standing.given_up = True

    def settle(self, key: str) -> None:
        """Ask, in an adaptive plan, whether the trial has been measured enough."""
        standing = self.standing[key]
        if self.plan.adaptive and self.plan.min_sessions <= standing.ok < self.plan.sessions:
            standing.settled = self.settled(key)

    # --- how long it takes ---

    def next_plan(self, key: str) -> MeasurePlan:
        """Plan of the trial's next session; accuracy is taken by its first good session alone."""
        trial = self.by_key[key]
        images = None if self.standing[key].has_images else self.plan.images_of(trial)
        return self.plan.session_plan(trial, images)

    def builds_next(self, key: str) -> bool:
        """Return True if the device may build in the trial's next session."""
        return not self.standing[key].ok and builds_on_board(self.by_key[key].target)

    def left_s(self, queue: Iterable[Turn], in_hand: str = "") -> float:
        """Seconds of the turns to come, during a session of the trial `in_hand`; infinite if not known."""
        total_s = 0.0
        for key, sessions in Counter(turn.key for turn in queue).items():
            accuracy = key != in_hand and self.next_plan(key).images is not None
            total_s += self.times.total_s(key, sessions, accuracy=accuracy)
        return total_s


def label(trial: PlannedTrial) -> str:
    """Name of a trial in progress lines."""
    batch = f" batch {trial.batch}" if trial.batch != 1 else ""
    return f"{trial.target.name} {trial.variant.name}{batch}"


# Which revision of a target a session belongs to: one for each device identity, so that none are pooled.


MOST_CHANGES = 3
"""Changes of one target's identity in one run, back to an earlier one too: a device that changes at every
session has no figures, and one that goes to and fro would never have those that are due."""

Revise = Callable[[Sequence[PlannedTrial], Identity], Sequence[PlannedTrial]]
"""For all trials of a target and the identity that its device shows now: the trials to measure, in that
order, which are the same where the identity is the one that their sessions recorded."""


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
        listed = ", ".join(differs)
        of = next(planned_name(target) for target in self.store.record.targets if target.name == name)
        self._changes[of] += 1
        if self._changes[of] > MOST_CHANGES:
            raise UnavailableError(
                f"{of} became another device more than {MOST_CHANGES} times",
                why=listed,
                fix="give each board an address of its own, and keep it as it is while it is measured",
            )
        for target in reversed(revisions_of(self.store.record, name)):
            revised = [_revised(trial, target) for trial in trials]
            if self.store.has(trial.key for trial in revised) and not self._differences(
                target.name, identity
            ):
                self.note(f"{name}: goes on as target {target.name}, which was measured so, because {listed}")
                return revised
        record = self.store.record
        target = new_revision(record, name, identity, differs)
        revised = [_revised(trial, target) for trial in trials]
        note = f"{name}: measured again as target {target.name}, because {listed}"
        pairs = list(zip(trials, revised, strict=True))
        keys = [(trial.key, new.key) for trial, new in pairs]
        alone = {
            part.key: own.key
            for trial, new in pairs
            for part, own in zip(trial.alone, new.alone, strict=True)
        }
        self.store.extend(with_revision(record, target, keys, note, alone))
        self._recorded[target.name] = [identity]
        self.note(note)
        return revised

    def _differences(self, name: str, identity: Identity) -> tuple[str, ...]:
        """Differences of the identity from the first recorded one that it differs from."""
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


def _revised(trial: PlannedTrial, target: Target) -> PlannedTrial:
    """The trial as one of that revision of its target."""
    inputs = revised_inputs(trial.inputs, target)
    alone = tuple(_revised(each, target) for each in trial.alone)
    revised = replace(trial.target, name=target.name)
    return replace(trial, key=key_of(inputs), inputs=inputs, target=revised, alone=alone)
