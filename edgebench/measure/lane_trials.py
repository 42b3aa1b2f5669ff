"""What one host has to measure: its trials, what is loaded for each, and how far each has come."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace

from edgebench.measure.adaptive import Settled, never
from edgebench.plan.cost import sessions_span, shape_of
from edgebench.plan.estimate import Shape, Span
from edgebench.plan.known_costs import KnownCosts
from edgebench.plan.rounds import Turn, turns
from edgebench.plan.trials import Plan, PlannedTrial
from edgebench.store.records import SessionRecord
from edgebench.vocabulary.artifact import Artifact
from edgebench.vocabulary.target import Target


@dataclass
class Standing:
    """Progress of one trial, by the store and this run."""

    ok: int = 0
    failed_in_a_row: int = 0
    given_up: bool = False
    settled: bool = False  # by a rule, before it has all its sessions
    has_images: bool = False

    def due(self, sessions: int) -> bool:
        """Whether a session is still to be measured, where a trial has at most so many."""
        return self.ok < sessions and not (self.given_up or self.settled)


@dataclass
class LaneTrials:
    """The trials of one host by key, in the order in which they were planned.

    Args:
        by_key: each has an artifact and a standing. Where a device turns out to be another one than its
            sessions recorded, those of the target's revision take their place.
        standing_of: how far the trial of a key is, by what the store holds.
        costs: what is known of the trials' sessions.
        settled: asked after a good session of an adaptive plan whether its trial has been measured enough.

    Attributes:
        placement: by target, what placing an artifact costs on its device; known once that was open.
    """

    plan: Plan
    by_key: dict[str, PlannedTrial]
    artifacts: dict[str, Artifact]
    standing: dict[str, Standing]
    standing_of: Callable[[str], Standing]
    costs: KnownCosts
    settled: Settled = never
    placement: dict[str, str] = field(default_factory=dict, init=False)

    def __getitem__(self, key: str) -> PlannedTrial:
        return self.by_key[key]

    # --- which there are ---

    def of_target(self, name: str) -> list[PlannedTrial]:
        """Those of a target."""
        return [trial for trial in self.by_key.values() if trial.target.name == name]

    def sharing(self, connection: Target) -> list[PlannedTrial]:
        """Those whose targets share a device."""
        return [trial for trial in self.by_key.values() if trial.target.connection == connection]

    def revise(self, trials: Sequence[PlannedTrial], revised: Sequence[PlannedTrial]) -> int:
        """Put those of a target's revision, in the same order, in place of its trials.

        Returns:
            How many more sessions are owed now; below 0 for fewer.
        """
        owed = self._owed(trials)
        for trial, other in zip(trials, revised, strict=True):
            self.artifacts[other.key] = self.artifacts[trial.key]
            # What this run knows of it, that it was given up above all, is more than the store does.
            if other.key not in self.standing:
                self.standing[other.key] = self.standing_of(other.key)
            if (cost := self.costs.of(trial.key)) is not None:
                self.costs.learn(other.key, replace(cost, measured=False))
        new = {trial.key: other for trial, other in zip(trials, revised, strict=True)}
        order = [new.get(key, trial) for key, trial in self.by_key.items()]
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
        """Whether a session of that trial is still to be measured."""
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

    def next_shape(self, key: str) -> Shape:
        """Of the trial's next session: accuracy and a build are its first good session's alone."""
        shape = shape_of(self.plan, self.by_key[key])
        standing = self.standing[key]
        return replace(
            shape,
            images=0 if standing.has_images else shape.images,
            builds=shape.builds and not standing.ok,
        )

    def span(self, queue: Collection[Turn], in_hand: str) -> Span:
        """What the turns to come take, while a session of the trial `in_hand` goes on."""
        total = Span()
        for key, sessions in Counter(turn.key for turn in queue).items():
            shape = shape_of(self.plan, self.by_key[key])
            accuracy = key != in_hand and not self.standing[key].has_images
            build = key != in_hand and not self.standing[key].ok
            total += sessions_span(self.costs.of(key), shape, sessions, accuracy=accuracy, build=build)
        return total


def label(trial: PlannedTrial) -> str:
    """How a trial is called in progress lines."""
    batch = f" batch {trial.batch}" if trial.batch != 1 else ""
    return f"{trial.target.name} {trial.variant.name}{batch}"
