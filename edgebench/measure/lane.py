"""One host's sessions, one after the other: its rounds, its devices, its retries."""

from __future__ import annotations

import statistics
from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from typing import Protocol

from edgebench import stopping
from edgebench.contract import Device, MeasurePlan, SessionSettings
from edgebench.errors import EdgeBenchError, NoPermissionError, StoredResultError, UnavailableError
from edgebench.measure.adaptive import Settled, TimeBudget, never
from edgebench.measure.interrupt import held_interrupt
from edgebench.measure.progress import Observer
from edgebench.measure.session import Job, Measured, measure_session, unreached_session
from edgebench.models.artifact import Artifact
from edgebench.plan.beside import meters_of, monitors_of
from edgebench.plan.estimate import Cost, estimate
from edgebench.plan.rounds import Turn, turns
from edgebench.plan.trials import Plan, PlannedTrial
from edgebench.store.apart import Apart
from edgebench.store.exported import session_written
from edgebench.store.records import SessionRecord, SessionTables

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
class Standing:
    """How far a trial is, from the store and from this run."""

    ok: int = 0
    failed_in_a_row: int = 0
    given_up: bool = False
    settled: bool = False  # by a rule, before it has all its sessions
    has_images: bool = False
    cost: Cost | None = None

    def due(self, sessions: int) -> bool:
        """Whether a session is still to be measured, where a trial has at most so many."""
        return self.ok < sessions and not (self.given_up or self.settled)


@dataclass
class Lane:
    """The trials of one host, measured in the order that the seed gives them.

    One device is open at a time: a board's agent keeps others away, and an idle one costs the next.

    Args:
        trials: of this host, by key; each has an artifact and a standing.
        contained: whether a target that cannot be opened fails its own trials alone; else it is an error.
        lock: held wherever lanes meet: at the store, the notes and the observer.
        settled: asked after a good session of an adaptive plan whether its trial has been measured enough.
        budget: how long the run may go on.
    """

    plan: Plan
    trials: Mapping[str, PlannedTrial]
    artifacts: Mapping[str, Artifact]
    standing: Mapping[str, Standing]
    open_device: Callable[[PlannedTrial], Device]
    store: Store
    observer: Observer
    note_cost: Callable[[PlannedTrial, float], None]
    contained: bool = False
    lock: AbstractContextManager[object] = field(default_factory=nullcontext)
    settled: Settled = never
    budget: TimeBudget = field(default_factory=TimeBudget)
    measured: int = field(default=0, init=False)
    interrupted: bool = field(default=False, init=False)
    out_of_time: bool = field(default=False, init=False)
    _open: tuple[str, Device] | None = field(default=None, init=False)
    _tries: Counter[Turn] = field(default_factory=Counter, init=False)

    def run(self) -> None:
        """Measure what is missing; an interrupt ends it after the session in hand is stored.

        A trial that has been measured enough, or is given up, drops out of the rounds to come.
        """
        try:
            queue = deque(self._order())
            total = Counter(self._name(turn) for turn in queue)
            while queue:
                stopping.check()
                if self.budget.over:
                    self.out_of_time = True
                    return
                turn = queue.popleft()
                self._announce(turn, queue, total)
                result = self._measure(turn)
                self._keep(turn, result)
                if result.interrupted:
                    self.interrupted = True
                    return
                if result.record.status != "ok" and self._tries[turn] <= self.plan.retries:
                    queue.append(turn)  # once more, after all others
                self._settle(turn.key)
                if not self.standing[turn.key].due(self.plan.sessions):
                    for dropped in [one for one in queue if one.key == turn.key]:
                        queue.remove(dropped)
                        total[self._name(dropped)] -= 1
        except KeyboardInterrupt:
            self.interrupted = True
        finally:
            self._close()

    # --- devices ---

    def _order(self) -> list[Turn]:
        """The turns still to come, after every target that they need was opened once."""
        costs: dict[str, str] = {}
        for key, trial in self.trials.items():
            name = trial.target.name
            if not self.standing[key].due(self.plan.sessions) or name in costs:
                continue
            try:
                costs[name] = self._device(trial).placement_cost
            except StoredResultError:
                raise
            except EdgeBenchError as error:
                if not self.contained:
                    raise
                costs[name] = "cheap"
                self._fail_target(name, error)
        together = frozenset(
            key for key, trial in self.trials.items() if costs.get(trial.target.name, "cheap") != "cheap"
        )
        finished = {key: self.standing[key].ok for key in self.trials}
        order = turns(
            list(self.trials), self.plan.sessions, self.plan.seed, finished=finished, together=together
        )
        return [turn for turn in order if self.standing[turn.key].due(self.plan.sessions)]

    def _fail_target(self, name: str, error: EdgeBenchError) -> None:
        """Each of the target's trials gets a failed session that says why; the others go on."""
        for key, trial in self.trials.items():
            if trial.target.name == name and self.standing[key].due(self.plan.sessions):
                turn = Turn(self.standing[key].ok, key)
                self.standing[key].given_up = True
                self._keep(turn, unreached_session(self._job(turn), error))

    def _device(self, trial: PlannedTrial) -> Device:
        name = trial.target.name
        if self._open is not None and self._open[0] != name:
            self._close()
        if self._open is None:
            self._open = name, self.open_device(trial)
        return self._open[1]

    def _close(self) -> None:
        if self._open is not None:
            device, self._open = self._open[1], None
            device.close()

    # --- sessions ---

    def _job(self, turn: Turn) -> Job:
        trial = self.trials[turn.key]
        plan = self.plan
        meters = meters_of(trial.target)
        with self.lock:
            n = self.store.next_n(trial.key)
        return Job(
            key=trial.key,
            n=n,
            round=turn.round,
            artifact=self.artifacts[trial.key],
            settings=SessionSettings(
                batch=trial.batch,
                options=trial.target.options,
                launch=trial.target.launch,
                meters=meters,
                idle_s=IDLE_WINDOW_S if meters else 0.0,
                monitors=monitors_of(trial.target, telemetry=plan.telemetry),
                number=n,
            ),
            plan=MeasurePlan(
                scene=plan.scene_of(trial),
                passes=plan.passes,
                period_s=plan.period_s,
                sustained_s=plan.sustained_s,
                images=None if self.standing[trial.key].has_images else plan.images_of(trial),
            ),
        )

    def _measure(self, turn: Turn) -> Measured:
        job = self._job(turn)
        try:
            device = self._device(self.trials[turn.key])
            return measure_session(device, job, device.describe())
        except (UnavailableError, NoPermissionError) as error:
            # It was there before: a board that reboots, or a cable. The others are still worth measuring.
            self._close()
            return unreached_session(job, error)

    def _keep(self, turn: Turn, result: Measured) -> None:
        trial = self.trials[turn.key]
        # Whatever went wrong may be told with the board's address, which no record but the plan's keeps.
        record = session_written(result.record, Apart.of([trial.target.host]))
        result = replace(result, record=record)
        with held_interrupt(), self.lock:
            self.store.write_session(result.record, result.tables)
            self.measured += 1
            self._tries[turn] += 1
            self._take_in(trial, result)

    def _take_in(self, trial: PlannedTrial, result: Measured) -> None:
        standing = self.standing[trial.key]
        record = result.record
        image_s: float | None = None
        if record.status == "ok" and result.tables.passes is not None:
            steady = result.tables.passes.query("phase == 'steady'")["image_ns"]
            image_s = float(statistics.median(steady)) / 1e9
            patch_s = image_s / self.plan.scene_of(trial).patches
            standing.ok += 1
            standing.failed_in_a_row = 0
            standing.has_images = standing.has_images or "images" in record.predicted
            standing.cost = Cost(patch_s, measured=True)
            self.note_cost(trial, patch_s)
        elif record.status != "interrupted":
            standing.failed_in_a_row += 1
            # What fails again and again is not worth the time of its further sessions; a single failure
            # that is not to be repeated leaves the others their chance.
            enough = max(self.plan.retries + 1, 2)
            if record.status == "golden_mismatch" or standing.failed_in_a_row >= enough:
                standing.given_up = True
            if record.failure is not None:
                self.observer.note(f"{label(trial)}: {record.failure.what}")
        self.observer.session_ended(label(trial), image_s, record.status, target=trial.target.name)

    def _settle(self, key: str) -> None:
        standing = self.standing[key]
        if self.plan.adaptive and self.plan.min_sessions <= standing.ok < self.plan.sessions:
            standing.settled = self.settled(key)

    # --- what is said about it ---

    def _name(self, turn: Turn) -> str:
        return self.trials[turn.key].target.name

    def _announce(self, turn: Turn, queue: Iterable[Turn], total: Mapping[str, int]) -> None:
        name = self._name(turn)
        left = sum(self._name(one) == name for one in queue)
        with self.lock:
            self.observer.session_starts(
                max(0, total[name] - left - 1),
                total[name],
                label(self.trials[turn.key]),
                self._left_s((turn, *queue)),
                target=name,
                at_most=self.plan.adaptive,
            )

    def _left_s(self, order: Iterable[Turn]) -> float | None:
        """What the remaining turns will take, by the last known costs."""
        plan = self.plan
        left_s = 0.0
        accuracy_due = {key for key in self.trials if not self.standing[key].has_images}
        for turn in order:
            standing = self.standing[turn.key]
            if standing.cost is None:
                return None
            trial = self.trials[turn.key]
            images = plan.images_of(trial)
            cost = estimate(
                standing.cost,
                patches=plan.scene_of(trial).patches,
                passes=plan.passes,
                idle_s=0.0,
                images=images.n if images else 0,
                period_s=plan.period_s,
                sustained_s=plan.sustained_s,
            )
            left_s += cost.session_s
            if turn.key in accuracy_due:
                accuracy_due.discard(turn.key)
                left_s += cost.accuracy_s
        return left_s


def label(trial: PlannedTrial) -> str:
    """How a trial is called in progress lines."""
    batch = f" batch {trial.batch}" if trial.batch != 1 else ""
    return f"{trial.target.name} {trial.variant.name}{batch}"
