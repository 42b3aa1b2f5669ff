"""One host's sessions, one after the other: its rounds, its devices, its retries."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol

from edgebench import interruption
from edgebench.contract import Device
from edgebench.errors import EdgeBenchError, SessionError, StoredResultError, UnavailableError
from edgebench.fit.probe_reasons import reasons_by_probe
from edgebench.link.host_probes import HostProbes
from edgebench.link.session_faults import Explain
from edgebench.measure.adaptive import TimeBudget
from edgebench.measure.lane_trials import LaneTrials, label
from edgebench.measure.progress import SessionState
from edgebench.measure.run_progress import RunProgress
from edgebench.measure.session import measure_session
from edgebench.measure.session_job import Job, Measured
from edgebench.measure.session_latency import SessionLatency, session_latency
from edgebench.measure.session_record import unmeasured_session, unwritable_session
from edgebench.measure.session_watch import SessionWatch
from edgebench.measure.signals import held_interrupt
from edgebench.measure.target_revisions import Revise, unrevised
from edgebench.plan.cost import session_plan
from edgebench.plan.estimate import Cost, Span
from edgebench.plan.meter_windows import idle_window_s
from edgebench.plan.meters_and_monitors import meters_of, monitors_of, on_board, on_host
from edgebench.plan.rounds import Turn
from edgebench.plan.trials import Plan, PlannedTrial
from edgebench.store.identity import Identity, identity_of
from edgebench.store.records import Failure, SessionRecord, SessionTables
from edgebench.store.redaction import PrivateNames, written
from edgebench.vocabulary.probe import probe_name
from edgebench.vocabulary.session import SessionSettings
from edgebench.vocabulary.target import Target

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

    def scratch(self) -> AbstractContextManager[Path]:
        """A folder for what a session samples, until it is written; removed with whatever is in it."""

    def write_session(self, record: SessionRecord, tables: SessionTables) -> object:
        """Put a session on disk, whole or not at all."""


@dataclass
class Lane:
    """The trials of one host, measured in the order that the seed gives them.

    One device is open at a time: a board's agent keeps others away, and an idle one costs the next. Targets
    that differ in options alone share it.

    Args:
        host: whose trials these are; "" for this machine.
        trials: of this host.
        contained: whether a target that cannot be opened fails its own trials alone; else it is an error.
        progress: of all lanes.
        note_cost: called with what each good session took.
        lock: held wherever lanes meet: at the store, the notes and the progress.
        revise: asked which trials the sessions of a device belong to.
        budget: how long the run may go on.
        explain: a session's failure in the words of its trial's backend.
    """

    host: str
    plan: Plan
    trials: LaneTrials
    open_device: Callable[[PlannedTrial], Device]
    store: Store
    progress: RunProgress
    note_cost: Callable[[PlannedTrial, Cost], None]
    contained: bool = False
    lock: AbstractContextManager[object] = field(default_factory=nullcontext)
    revise: Revise = unrevised
    budget: TimeBudget = field(default_factory=TimeBudget)
    explain: ExplainTrial = nothing_to_add
    measured: int = field(default=0, init=False)
    interrupted: bool = field(default=False, init=False)
    out_of_time: bool = field(default=False, init=False)
    fault: Exception | None = field(default=None, init=False)
    _open: tuple[Target, Device] | None = field(default=None, init=False)  # by what it was opened for
    _host_probes: HostProbes = field(default_factory=HostProbes, init=False)
    _tries: Counter[Turn] = field(default_factory=Counter, init=False)
    _noted: set[str] = field(default_factory=set, init=False)  # of meters, in words

    def run(self) -> None:
        """Measure what is missing; an interrupt ends it after the session in hand is stored.

        A trial that has been measured enough, or is given up, drops out of the rounds to come. An error that
        is none of EdgeBench's ends this host alone: it is kept as `fault`.
        """
        try:
            self._open_each()
            queue = self.trials.order()
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
                with self.store.scratch() as folder:
                    result = self._measure(turn, watch, folder)
                    kept = self._keep(turn, result, watch)
                if result.interrupted:
                    self.interrupted = True
                    return
                self.trials.settle(kept.trial)
                if kept.trial != turn.key:
                    queue = self.trials.with_turns_of(self.trials[kept.trial].target.name, queue)
                    continue
                if kept.status != "ok" and self._tries[turn] <= self.plan.retries:
                    queue.append(turn)  # once more, after all others
                    self.progress.add(1)
                due = self.trials.due(queue)
                self.progress.add(len(due) - len(queue))
                queue = due
        except KeyboardInterrupt:
            self.interrupted = True
        except EdgeBenchError:
            raise
        except Exception as error:
            self.fault = error
            names = ", ".join(dict.fromkeys(trial.target.name for trial in self.trials.by_key.values()))
            self.progress.observer.note(f"{names}: nothing more is measured: {type(error).__name__}: {error}")
        finally:
            self._close()
            self._host_probes.close()
            self.progress.host_ended(self.host)

    # --- devices ---

    def _open_each(self) -> None:
        """Open every target that is needed once, and find the trials that its device's sessions belong to."""
        for trial in list(self.trials.by_key.values()):
            name = trial.target.name
            # Of a target that was revised meanwhile the trials so far are none of this lane's any more.
            if trial.key not in self.trials.by_key or name in self.trials.placement:
                continue
            if not self.trials.is_due(trial.key):
                continue
            try:
                device = self._device(trial)
                name = self._revise(name, identity_of(device.describe(), {}))
                self.trials.placement[name] = device.placement_cost
            except StoredResultError:
                raise
            except Exception as error:
                if not self.contained:
                    raise
                self._fail_connection(trial.target.connection, error)

    def _fail_connection(self, connection: Target, error: Exception) -> None:
        """Each trial of the targets that share a device gets a failed session that says why; others go on."""
        for trial in self.trials.sharing(connection):
            self.trials.placement.setdefault(trial.target.name, "cheap")
            if self.trials.is_due(trial.key):
                standing = self.trials.standing[trial.key]
                turn = Turn(standing.ok, trial.key)
                standing.given_up = True
                self.progress.add(standing.ok - self.plan.sessions)
                self._keep(turn, unmeasured_session(self._job(turn), error, self._explain_of(trial.key)))

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
            name = ", ".join(dict.fromkeys(trial.target.name for trial in self.trials.sharing(connection)))
            self.progress.observer.note(f"{name} was not closed: {type(error).__name__}: {error}")

    # --- what a device is ---

    def _revise(self, name: str, identity: Identity) -> str:
        """Go on with the trials that sessions on such a device belong to; the name of their target."""
        trials = self.trials.of_target(name)
        with self.lock:
            revised = self.revise(trials, identity)
            if [trial.key for trial in revised] != [trial.key for trial in trials]:
                self.progress.add(self.trials.revise(trials, revised))
        return revised[0].target.name

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
            artifact=self.trials.artifacts[trial.key],
            settings=SessionSettings(
                batch=trial.batch,
                options=trial.target.options,
                launch=trial.target.launch,
                meters=on_board(meters),
                preferred_meters=trial.target.preferred_meters,
                idle_s=idle_window_s(trial.target),
                monitors=on_board(monitors),
                number=n,
            ),
            plan=session_plan(
                plan, trial, None if self.trials.standing[trial.key].has_images else plan.images_of(trial)
            ),
            host_meters=on_host(meters),
            host_monitors=on_host(monitors),
        )

    def _measure(self, turn: Turn, watch: SessionWatch, folder: Path) -> Measured:
        job = self._job(turn)
        try:
            device = self._device(self.trials[turn.key])
            explain = self._explain_of(turn.key)
            return measure_session(device, job, device.describe(), watch, explain, self._host_probes, folder)
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
        at = list(self.trials.by_key).index(key)
        try:
            self._revise(trial.target.name, identity_of(record.device, record.runtime))
        except UnavailableError as error:
            for other in self.trials.of_target(trial.target.name):
                self.trials.standing[other.key].given_up = True
            failure = Failure(what=error.what, why=error.why, fix=error.fix, stage="start")
            record = record.model_copy(update={"status": "error", "failure": failure})
            return replace(result, record=record)
        revised = list(self.trials.by_key)[at]
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
        record = result.record
        latency: SessionLatency | None = None
        self.trials.count(trial.key, record)
        if record.status == "ok":
            self._note_meters(trial, record)
            if not record.emulated:
                latency = session_latency(
                    result.tables, self.plan.scene_of(trial).patches, result.record.untimed_stages
                )
            if watch is not None:
                scene_s = latency.median_s if latency else None
                build_s = record.built.seconds if record.built else None
                cost = replace(watch.cost_of(scene_s, record.duration_s), build_s=build_s)
                self.trials.costs.learn(trial.key, cost)
                self.note_cost(trial, cost)
        elif record.status != "interrupted" and record.failure is not None:
            reason = ": ".join(filter(None, (record.failure.what, record.failure.why)))
            remedy = f"; {record.failure.fix}" if record.failure.fix else ""
            self.progress.observer.note(f"{label(trial)}: {reason}{remedy}")
        self.progress.ended(self.host, label(trial), latency, record.status, record.duration_s)

    # --- what is said about it ---

    def _note_meters(self, trial: PlannedTrial, record: SessionRecord) -> None:
        """Say at once, and once, why a meter that was asked for gives nothing: hours may be to come."""
        asked = {probe_name(name) for name in meters_of(trial.target)}
        for meter, reason in reasons_by_probe(record).items():
            why = reason.removeprefix(f"{meter.partition(':')[0]}: ")
            text = f"{trial.target.name}, meter {meter.rstrip(':')}: {why}; latency is measured all the same"
            if meter in asked and text not in self._noted:
                self._noted.add(text)
                self.progress.observer.note(text)

    def _watch(self, key: str, queue: Collection[Turn]) -> SessionWatch:
        """Follows the trial's session that is about to begin, for whoever looks at the run."""
        trial = self.trials[key]
        name = label(trial)

        def moved(*, begins: bool) -> None:
            session = SessionState(self.host, name, watch.text, watch.share)
            self.progress.moves(session, lambda: self._left(watch, key, queue), begins=begins)

        watch = SessionWatch(
            self.trials.next_shape(key), self.trials.costs.of(key), moved, target=trial.target.name
        )
        return watch

    def _left(self, watch: SessionWatch, key: str, queue: Collection[Turn]) -> Span:
        """What this host still has to do: the rest of the session in hand, and those that follow."""
        if watch.cost is not None:
            self.trials.costs.learn(key, watch.cost)
        return watch.left + self.trials.span(queue, key).at_most(self.budget.left_s)
