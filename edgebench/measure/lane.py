"""One host's sessions, one after the other: its rounds, its devices, its retries."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Collection
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from typing import Protocol

from edgebench import interruption
from edgebench.contract import Device
from edgebench.errors import EdgeBenchError, SessionError, StoredResultError, UnavailableError
from edgebench.link.host_probes import HostProbes
from edgebench.link.session_faults import Explain
from edgebench.measure.adaptive import Settled, TimeBudget, never
from edgebench.measure.progress import SessionState
from edgebench.measure.run_progress import RunProgress
from edgebench.measure.session import Job, Measured, measure_session, unmeasured_session, unwritable_session
from edgebench.measure.session_latency import SessionLatency, session_latency
from edgebench.measure.session_watch import SessionWatch
from edgebench.measure.signals import held_interrupt
from edgebench.measure.target_revisions import Revise, unrevised
from edgebench.plan.cost import sessions_span, shape_of
from edgebench.plan.estimate import Cost, Span
from edgebench.plan.known_costs import KnownCosts
from edgebench.plan.meters_and_monitors import meters_of, monitors_of, on_board, on_host
from edgebench.plan.rounds import Turn, turns
from edgebench.plan.trials import Plan, PlannedTrial
from edgebench.store.identity import Identity, identity_of
from edgebench.store.records import Failure, SessionRecord, SessionTables
from edgebench.store.redaction import PrivateNames, written
from edgebench.vocabulary.artifact import Artifact
from edgebench.vocabulary.session import MeasurePlan, SessionSettings
from edgebench.vocabulary.target import Target

IDLE_WINDOW_S = 2.0
"""How long a meter watches the idle device beside each session."""


ExplainTrial = Callable[[PlannedTrial, SessionError], SessionError | None]
"""A session's failure in the words of its trial's backend; None where there is nothing to add."""


def nothing_to_add(trial: PlannedTrial, error: SessionError) -> None:
    """No backend is asked."""


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
class Lane:
    """The trials of one host, measured in the order that the seed gives them.

    One device is open at a time: a board's agent keeps others away, and an idle one costs the next. Targets
    that differ in options alone share it.

    Args:
        host: whose trials these are; "" for this machine.
        trials: of this host, by key; each has an artifact and a standing. Where a device turns out to be
            another one than its sessions recorded, those of the target's revision take their place.
        standing_of: how far the trial of a key is, by what the store holds.
        contained: whether a target that cannot be opened fails its own trials alone; else it is an error.
        progress: of all lanes.
        costs: what is known of the trials' sessions.
        note_cost: called with what each good session took.
        lock: held wherever lanes meet: at the store, the notes and the progress.
        settled: asked after a good session of an adaptive plan whether its trial has been measured enough.
        revise: asked which trials the sessions of a device belong to.
        budget: how long the run may go on.
        explain: a session's failure in the words of its trial's backend.
    """

    host: str
    plan: Plan
    trials: dict[str, PlannedTrial]
    artifacts: dict[str, Artifact]
    standing: dict[str, Standing]
    standing_of: Callable[[str], Standing]
    open_device: Callable[[PlannedTrial], Device]
    store: Store
    progress: RunProgress
    costs: KnownCosts
    note_cost: Callable[[PlannedTrial, Cost], None]
    contained: bool = False
    lock: AbstractContextManager[object] = field(default_factory=nullcontext)
    settled: Settled = never
    revise: Revise = unrevised
    budget: TimeBudget = field(default_factory=TimeBudget)
    explain: ExplainTrial = nothing_to_add
    measured: int = field(default=0, init=False)
    interrupted: bool = field(default=False, init=False)
    out_of_time: bool = field(default=False, init=False)
    fault: Exception | None = field(default=None, init=False)
    _open: tuple[Target, Device] | None = field(default=None, init=False)  # by what it was opened for
    _host_probes: HostProbes = field(default_factory=HostProbes, init=False)
    _placement: dict[str, str] = field(default_factory=dict, init=False)  # by target, what placing costs
    _tries: Counter[Turn] = field(default_factory=Counter, init=False)

    def run(self) -> None:
        """Measure what is missing; an interrupt ends it after the session in hand is stored.

        A trial that has been measured enough, or is given up, drops out of the rounds to come. An error that
        is none of EdgeBench's ends this host alone: it is kept as `fault`.
        """
        try:
            self._open_each()
            queue = deque(self._order())
            while queue:
                interruption.check()
                if self.budget.over:
                    self.out_of_time = True
                    return
                turn = queue.popleft()
                watch = self._watch(turn.key, queue)
                self.progress.begins(
                    self.host, label(self.trials[turn.key]), self._left(watch, turn.key, queue)
                )
                result = self._measure(turn, watch)
                kept = self._keep(turn, result, watch)
                if result.interrupted:
                    self.interrupted = True
                    return
                self._settle(kept.trial)
                if kept.trial != turn.key:
                    queue = self._with_turns_of(self.trials[kept.trial].target.name, queue)
                    continue
                if kept.status != "ok" and self._tries[turn] <= self.plan.retries:
                    queue.append(turn)  # once more, after all others
                    self.progress.add(1)
                due = [later for later in queue if self.standing[later.key].due(self.plan.sessions)]
                self.progress.add(len(due) - len(queue))
                queue = deque(due)
        except KeyboardInterrupt:
            self.interrupted = True
        except EdgeBenchError:
            raise
        except Exception as error:
            self.fault = error
            names = ", ".join(dict.fromkeys(trial.target.name for trial in self.trials.values()))
            self.progress.observer.note(f"{names}: nothing more is measured: {type(error).__name__}: {error}")
        finally:
            self._close()
            self._host_probes.close()
            self.progress.host_ended(self.host)

    # --- devices ---

    def _open_each(self) -> None:
        """Open every target that is needed once, and find the trials that its device's sessions belong to."""
        for trial in list(self.trials.values()):
            name = trial.target.name
            # Of a target that was revised meanwhile the trials so far are none of this lane's any more.
            if trial.key not in self.trials or name in self._placement:
                continue
            if not self.standing[trial.key].due(self.plan.sessions):
                continue
            try:
                device = self._device(trial)
                name = self._revise(name, identity_of(device.describe(), {}))
                self._placement[name] = device.placement_cost
            except StoredResultError:
                raise
            except Exception as error:
                if not self.contained:
                    raise
                self._fail_connection(trial.target.connection, error)

    def _with_turns_of(self, name: str, queue: Collection[Turn]) -> deque[Turn]:
        """The turns to come, now that the trials of a target are others: nothing else is due that was not."""
        others = [turn for turn in queue if self._target_of(turn) not in (None, name)]
        return deque([*others, *(turn for turn in self._order() if self._target_of(turn) == name)])

    def _target_of(self, turn: Turn) -> str | None:
        """The name of its target; None for a trial that is none of this lane's any more."""
        trial = self.trials.get(turn.key)
        return None if trial is None else trial.target.name

    def _order(self) -> list[Turn]:
        """The turns still to come."""
        slow = {name for name, cost in self._placement.items() if cost != "cheap"}
        together = frozenset(key for key, trial in self.trials.items() if trial.target.name in slow)
        finished = {key: self.standing[key].ok for key in self.trials}
        order = turns(
            list(self.trials), self.plan.sessions, self.plan.seed, finished=finished, together=together
        )
        return [turn for turn in order if self.standing[turn.key].due(self.plan.sessions)]

    def _fail_connection(self, connection: Target, error: Exception) -> None:
        """Each trial of the targets that share a device gets a failed session that says why; others go on."""
        for key, trial in self.trials.items():
            if trial.target.connection != connection:
                continue
            self._placement.setdefault(trial.target.name, "cheap")
            if self.standing[key].due(self.plan.sessions):
                turn = Turn(self.standing[key].ok, key)
                self.standing[key].given_up = True
                self.progress.add(self.standing[key].ok - self.plan.sessions)
                self._keep(turn, unmeasured_session(self._job(turn), error, self._explain_of(key)))

    def _device(self, trial: PlannedTrial) -> Device:
        connection = trial.target.connection
        if self._open is not None and self._open[0] != connection:
            self._close()
        if self._open is None:
            self._open = connection, self.open_device(trial)
        return self._open[1]

    def _close(self) -> None:
        if self._open is None:
            return
        (connection, device), self._open = self._open, None
        try:
            device.close()
        except Exception as error:
            sharing = (trial.target for trial in self.trials.values())
            name = ", ".join({target.name: None for target in sharing if target.connection == connection})
            self.progress.observer.note(f"{name} was not closed: {type(error).__name__}: {error}")

    # --- what a device is ---

    def _revise(self, name: str, identity: Identity) -> str:
        """Go on with the trials that sessions on such a device belong to; the name of their target."""
        trials = [trial for trial in self.trials.values() if trial.target.name == name]
        with self.lock:
            revised = self.revise(trials, identity)
            if [trial.key for trial in revised] == [trial.key for trial in trials]:
                return name
            owed = self._owed(trials)
            for trial, other in zip(trials, revised, strict=True):
                self.artifacts[other.key] = self.artifacts[trial.key]
                # What this run knows of it, that it was given up above all, is more than the store does.
                if other.key not in self.standing:
                    self.standing[other.key] = self.standing_of(other.key)
                if (cost := self.costs.of(trial.key)) is not None:
                    self.costs.learn(other.key, replace(cost, measured=False))
            of = {trial.key: other for trial, other in zip(trials, revised, strict=True)}
            order = [of.get(key, trial) for key, trial in self.trials.items()]
            self.trials.clear()
            self.trials.update((trial.key, trial) for trial in order)
            self.progress.add(self._owed(revised) - owed)
        new = revised[0].target.name
        self._placement[new] = self._placement.get(name, "cheap")
        return new

    def _owed(self, trials: Collection[PlannedTrial]) -> int:
        """The sessions that are still to be measured of these trials, at most."""
        most = self.plan.sessions
        standing = [self.standing[trial.key] for trial in trials]
        return sum(most - progress.ok for progress in standing if progress.due(most))

    # --- sessions ---

    def _job(self, turn: Turn) -> Job:
        trial = self.trials[turn.key]
        plan = self.plan
        meters, monitors = meters_of(trial.target), monitors_of(trial.target, telemetry=plan.telemetry)
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
                meters=on_board(meters),
                idle_s=IDLE_WINDOW_S if meters else 0.0,
                monitors=on_board(monitors),
                number=n,
            ),
            plan=MeasurePlan(
                scene=plan.scene_of(trial),
                passes=plan.passes,
                period_s=plan.period_s,
                sustained_s=plan.sustained_s,
                images=None if self.standing[trial.key].has_images else plan.images_of(trial),
            ),
            host_meters=on_host(meters),
            host_monitors=on_host(monitors),
        )

    def _measure(self, turn: Turn, watch: SessionWatch) -> Measured:
        job = self._job(turn)
        try:
            device = self._device(self.trials[turn.key])
            explain = self._explain_of(turn.key)
            return measure_session(device, job, device.describe(), watch, explain, self._host_probes)
        except StoredResultError:
            raise
        except Exception as error:
            # It was there before: a board that reboots, a cable, or a backend that takes the device's answer
            # for granted. The others are still worth measuring.
            self._close()
            return unmeasured_session(job, error, self._explain_of(turn.key))

    def _explain_of(self, key: str) -> Explain:
        trial = self.trials[key]
        return lambda error: self.explain(trial, error)

    def _keep(self, turn: Turn, result: Measured, watch: SessionWatch | None = None) -> SessionRecord:
        """Store a session in the trial that it belongs to; returns its record."""
        with held_interrupt(), self.lock:
            try:
                result = self._assigned(turn.key, result)
                result = self._write(result)
            except (StoredResultError, OSError):
                raise  # the store's: the next session would not be kept either
            except Exception as error:
                result = self._write(unwritable_session(result, error))
            self.measured += 1
            self._tries[turn] += 1
            self._take_in(self.trials[result.record.trial], result, watch)
        return result.record

    def _assigned(self, key: str, result: Measured) -> Measured:
        """The session, moved to the target's revision where its device is not what other sessions recorded.

        One whose device keeps becoming another one counts as failed, and its target is given up.
        """
        record, trial = result.record, self.trials[key]
        at = list(self.trials).index(key)
        try:
            self._revise(trial.target.name, identity_of(record.device, record.runtime))
        except UnavailableError as error:
            for other in self.trials.values():
                if other.target.name == trial.target.name:
                    self.standing[other.key].given_up = True
            failure = Failure(what=error.what, why=error.why, fix=error.fix, stage="start")
            record = record.model_copy(update={"status": "error", "failure": failure})
            return replace(result, record=record)
        revised = list(self.trials)[at]
        if revised == key:
            return result
        moved = {"trial": revised, "n": self.store.next_n(revised)}
        return replace(result, record=record.model_copy(update=moved))

    def _write(self, result: Measured) -> Measured:
        trial = self.trials[result.record.trial]
        # Messages may quote the board's address, its port or a value of the launch.
        record = written(result.record, PrivateNames.of_targets([trial.target]))
        self.store.write_session(record, result.tables)
        return replace(result, record=record)

    def _take_in(self, trial: PlannedTrial, result: Measured, watch: SessionWatch | None) -> None:
        standing = self.standing[trial.key]
        record = result.record
        latency: SessionLatency | None = None
        if record.status == "ok":
            if not record.emulated:
                latency = session_latency(result.tables, self.plan.scene_of(trial).patches)
            standing.ok += 1
            standing.failed_in_a_row = 0
            standing.has_images = standing.has_images or "images" in record.predicted
            if watch is not None:
                scene_s = latency.median_s if latency else None
                build_s = record.built.seconds if record.built else None
                cost = watch.cost_of(scene_s, record.duration_s)
                self._learn(trial, replace(cost, build_s=build_s))
        elif record.status != "interrupted":
            standing.failed_in_a_row += 1
            # What fails again and again is not worth the time of its further sessions; a single failure
            # that is not to be repeated leaves the others their chance.
            enough = max(self.plan.retries + 1, 2)
            if record.status == "golden_mismatch" or standing.failed_in_a_row >= enough:
                standing.given_up = True
            if record.failure is not None:
                self.progress.observer.note(f"{label(trial)}: {record.failure.what}")
        self.progress.ended(self.host, label(trial), latency, record.status, record.duration_s)

    def _learn(self, trial: PlannedTrial, cost: Cost) -> None:
        self.costs.learn(trial.key, cost)
        self.note_cost(trial, cost)

    def _settle(self, key: str) -> None:
        standing = self.standing[key]
        if self.plan.adaptive and self.plan.min_sessions <= standing.ok < self.plan.sessions:
            standing.settled = self.settled(key)

    # --- what is said about it ---

    def _watch(self, key: str, queue: Collection[Turn]) -> SessionWatch:
        """Follows the trial's session that is about to begin, for whoever looks at the run."""
        trial = self.trials[key]
        shape = shape_of(self.plan, trial, IDLE_WINDOW_S)
        if self.standing[key].has_images:
            shape = replace(shape, images=0)
        if self.standing[key].ok:
            shape = replace(shape, builds=False)
        name = label(trial)

        def moved(*, begins: bool) -> None:
            session = SessionState(self.host, name, watch.text, watch.share)
            self.progress.moves(session, lambda: self._left(watch, key, queue), begins=begins)

        watch = SessionWatch(shape, self.costs.of(key), moved, target=trial.target.name)
        return watch

    def _left(self, watch: SessionWatch, key: str, queue: Collection[Turn]) -> Span:
        """What this host still has to do: the rest of the session in hand, and those that follow."""
        if watch.cost is not None:
            self.costs.learn(key, watch.cost)
        later = Span()
        for other, sessions in Counter(turn.key for turn in queue).items():
            shape = shape_of(self.plan, self.trials[other], IDLE_WINDOW_S)
            accuracy = other != key and not self.standing[other].has_images
            build = other != key and not self.standing[other].ok
            later += sessions_span(self.costs.of(other), shape, sessions, accuracy=accuracy, build=build)
        return watch.left + later.at_most(self.budget.left_s)


def label(trial: PlannedTrial) -> str:
    """How a trial is called in progress lines."""
    batch = f" batch {trial.batch}" if trial.batch != 1 else ""
    return f"{trial.target.name} {trial.variant.name}{batch}"
