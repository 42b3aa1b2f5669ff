"""Drive the sessions of an experiment, round by round, and hand each to the store as it ends."""

from __future__ import annotations

import statistics
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from edgebench.contract import Device, MeasurePlan, SessionSettings
from edgebench.measure.interrupt import held_interrupt
from edgebench.measure.progress import Observer
from edgebench.measure.session import Job, Measured, measure_session
from edgebench.models.artifact import Artifact
from edgebench.plan.estimate import Cost, Estimate, estimate
from edgebench.plan.rounds import Turn, turns
from edgebench.plan.trials import Plan, PlannedTrial
from edgebench.store.records import SessionRecord, SessionTables

MAX_FAILURES = 2
"""After so many failed sessions in one run a trial gets no more; a wrong output ends it at once."""

IDLE_WINDOW_S = 2.0
"""How long a meter watches the idle device beside each session."""


class Store(Protocol):
    """What is asked of the store; `edgebench.store.experiment.ExperimentStore` is one."""

    def finished(self, key: str) -> list[SessionRecord]:
        """The sessions of a trial that are on disk, failed ones too."""

    def next_n(self, key: str) -> int:
        """The number that the trial's next session gets."""

    def write_session(self, record: SessionRecord, tables: SessionTables) -> object:
        """Put a session on disk, whole or not at all."""


@dataclass
class _Standing:
    """How far a trial is, from the store and from this run."""

    ok: int = 0
    failed_now: int = 0
    given_up: bool = False
    has_images: bool = False
    cost: Cost | None = None


@dataclass(frozen=True)
class Outcome:
    """How an experiment ended."""

    interrupted: bool
    sessions: int  # measured in this run, failed ones included


@dataclass
class Experiment:
    """One experiment: its plan, the artifacts that were made for it, and the devices by target name."""

    plan: Plan
    artifacts: Mapping[str, Artifact]  # by trial key; a trial without one is unsupported
    open_device: Callable[[PlannedTrial], Device]
    store: Store
    observer: Observer
    costs: Mapping[str, Cost]
    note_cost: Callable[[PlannedTrial, float], None] = lambda trial, patch_s: None
    _standing: dict[str, _Standing] = field(default_factory=dict, init=False)
    _devices: dict[str, Device] = field(default_factory=dict, init=False)

    def run(self) -> Outcome:
        """Measure what is missing; Ctrl-C ends it after the session in hand is stored."""
        trials = {trial.key: trial for trial in self.plan.trials if trial.key in self.artifacts}
        for key in trials:
            self._standing[key] = self._from_store(key)
        measured = 0
        try:
            queue = deque(self._order(trials))
            total = len(queue)
            while queue:
                left_s = self._left_s(queue)
                turn = queue.popleft()
                standing = self._standing[turn.key]
                if standing.given_up:
                    continue
                trial = trials[turn.key]
                self.observer.session_starts(max(0, total - len(queue) - 1), total, label(trial), left_s)
                result = self._measure(trial, turn)
                with held_interrupt():
                    self.store.write_session(result.record, result.tables)
                    measured += 1
                    self._take_in(trial, result)
                if result.interrupted:
                    return Outcome(interrupted=True, sessions=measured)
                if result.record.status != "ok":
                    queue.append(turn)  # once more, after all others
        except KeyboardInterrupt:
            return Outcome(interrupted=True, sessions=measured)
        finally:
            for device in self._devices.values():
                device.close()
        return Outcome(interrupted=False, sessions=measured)

    def _order(self, trials: Mapping[str, PlannedTrial]) -> list[Turn]:
        """The turns still to come, and the devices opened that they need."""
        together = frozenset(
            key
            for key, trial in trials.items()
            if self._standing[key].ok < self.plan.sessions and self._device(trial).placement_cost != "cheap"
        )
        finished = {key: self._standing[key].ok for key in trials}
        return turns(list(trials), self.plan.sessions, self.plan.seed, finished=finished, together=together)

    def _from_store(self, key: str) -> _Standing:
        records = [record for record in self.store.finished(key) if record.status == "ok"]
        return _Standing(
            ok=len(records),
            has_images=any("images" in record.predicted for record in records),
            cost=self.costs.get(key),
        )

    def _device(self, trial: PlannedTrial) -> Device:
        name = trial.target.name
        if name not in self._devices:
            self._devices[name] = self.open_device(trial)
        return self._devices[name]

    def _measure(self, trial: PlannedTrial, turn: Turn) -> Measured:
        standing = self._standing[trial.key]
        device = self._device(trial)
        job = Job(
            key=trial.key,
            n=self.store.next_n(trial.key),
            round=turn.round,
            artifact=self.artifacts[trial.key],
            settings=SessionSettings(
                batch=trial.batch,
                options=trial.target.options,
                launch=trial.target.launch,
                meters=trial.target.meters,
                idle_s=IDLE_WINDOW_S if trial.target.meters else 0.0,
            ),
            plan=MeasurePlan(scene=self.plan.scene, passes=self.plan.passes),
            images=None if standing.has_images else self.plan.images,
        )
        return measure_session(device, job, device.describe())

    def _take_in(self, trial: PlannedTrial, result: Measured) -> None:
        standing = self._standing[trial.key]
        record = result.record
        image_s: float | None = None
        if record.status == "ok" and result.tables.passes is not None:
            steady = result.tables.passes.query("phase == 'steady'")["image_ns"]
            image_s = float(statistics.median(steady)) / 1e9
            patch_s = image_s / self.plan.scene.patches
            standing.ok += 1
            standing.has_images = standing.has_images or "images" in record.predicted
            standing.cost = Cost(patch_s, measured=True)
            self.note_cost(trial, patch_s)
        elif record.status != "interrupted":
            standing.failed_now += 1
            standing.given_up = record.status == "golden_mismatch" or standing.failed_now >= MAX_FAILURES
            if record.failure is not None:
                self.observer.note(f"{label(trial)}: {record.failure.what}")
        self.observer.session_ended(label(trial), image_s, record.status)

    def _left_s(self, order: Iterable[Turn]) -> float | None:
        """What the remaining turns will take, by the last known costs."""
        left_s = 0.0
        accuracy_due = {key for key, one in self._standing.items() if not one.has_images}
        for turn in order:
            standing = self._standing[turn.key]
            if standing.given_up:
                continue
            if standing.cost is None:
                return None
            cost = self._estimate(standing.cost, with_meter=False)
            left_s += cost.session_s
            if turn.key in accuracy_due:
                accuracy_due.discard(turn.key)
                left_s += cost.accuracy_s
        return left_s

    def _estimate(self, cost: Cost, *, with_meter: bool) -> Estimate:
        return estimate(
            cost,
            patches=self.plan.scene.patches,
            passes=self.plan.passes,
            idle_s=IDLE_WINDOW_S if with_meter else 0.0,
            images=self.plan.images.n if self.plan.images else 0,
        )


def label(trial: PlannedTrial) -> str:
    """How a trial is called in progress lines."""
    batch = f" batch {trial.batch}" if trial.batch != 1 else ""
    return f"{trial.target.name} {trial.variant.name}{batch}"
