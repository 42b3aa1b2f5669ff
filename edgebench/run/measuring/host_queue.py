"""One host's sessions, one after the other: its rounds, its devices, its retries."""

from __future__ import annotations

import math
import threading
import time
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

from edgebench import interruption
from edgebench.errors import EdgeBenchError, SessionError, StoredResultError, UnavailableError
from edgebench.interruption import handling, held_interrupt
from edgebench.link.failures import Explain, unexplained
from edgebench.records.model import Artifact
from edgebench.records.session import SessionSettings, probe_name
from edgebench.records.stored import Failure, SessionRecord
from edgebench.records.target import Target
from edgebench.records.values import Json
from edgebench.results.meters import reasons_by_probe
from edgebench.results.redaction import PrivateNames, written
from edgebench.results.revisions import Identity, identity_of
from edgebench.results.writing import ExperimentStore
from edgebench.run.forecast import KnownTimes, SessionTimes, run_text
from edgebench.run.measuring.host_trials import (
    LaneTrials,
    Revise,
    Settled,
    Standing,
    TimeBudget,
    label,
)
from edgebench.run.measuring.progress import (
    Observer,
    RunProgress,
    SessionLatency,
    SessionState,
)
from edgebench.run.measuring.session import SessionWatch
from edgebench.run.measuring.session_record import Job, Measured, unmeasured_session, unwritable_session
from edgebench.run.meters import gives_windows, idle_window_s, meters_of, monitors_of, on_board, on_host
from edgebench.run.sharing import require_cores
from edgebench.run.trials import Plan, PlannedTrial, Turn


class OpenDevice(Protocol):
    """The open device of a target, here or on a machine of a fleet."""

    @property
    def placement_cost(self) -> str:
        """Cost of placing an artifact there: cheap, slow or manual."""

    def describe(self) -> dict[str, Json]:
        """The board's facts (see `contract.Device`)."""

    def measure(self, job: Job, watch: SessionWatch, folder: Path) -> Measured | None:
        """Measure like `LocalDevice.measure`; None to repeat a session whose machine was lost."""

    def close(self) -> None:
        """End everything that was started on the device."""


class Machines(Protocol):
    """Places where a run measures: devices that this machine reaches itself, or machines of a fleet."""

    def of(self, trial: PlannedTrial) -> str:
        """Whose sessions are measured one after the other, the trial's among them; "" for this machine."""

    def open(self, trial: PlannedTrial) -> OpenDevice:
        """The trial's device, in the thread that measures on it; UnavailableError where it is not there."""

    def await_turn(self, machine: str, over: Callable[[], bool]) -> bool:
        """Wait until this run may measure there; False where its time is `over` first."""

    def leave(self, machine: str) -> None:
        """Nothing more is measured there."""

    def preflight(self, targets: Sequence[Target]) -> Sequence[dict[str, Any]]:
        """Findings of the checks of these targets (see `preflight`)."""


@dataclass
class Lane:
    """The trials of one host, measured in the order that the seed gives them.

    One device is open at a time: a board's agent keeps others away, and an idle one costs the next. Targets
    that differ in options alone share it.

    Args:
        host: whose trials these are; "" for this machine.
        experiment: that the trials are of.
        trials: of this host.
        contained: whether a target that cannot be opened fails its own trials alone; else it is an error.
        progress: of all lanes.
        lock: held wherever lanes meet: at the store, the notes and the progress.
        budget: how long the run may go on.
    """

    host: str
    experiment: Experiment
    trials: LaneTrials
    progress: RunProgress
    contained: bool
    lock: AbstractContextManager[object]
    budget: TimeBudget
    measured: int = field(default=0, init=False)
    interrupted: bool = field(default=False, init=False)
    out_of_time: bool = field(default=False, init=False)
    fault: Exception | None = field(default=None, init=False)
    _open: tuple[Target, OpenDevice] | None = field(default=None, init=False)  # by what it was opened for
    _tries: Counter[Turn] = field(default_factory=Counter, init=False)
    _lost: list[Target] = field(default_factory=list, init=False)  # devices that their latest session lost
    _noted: set[str] = field(default_factory=set, init=False)  # of meters, in words

    def run(self) -> None:
        """Measure what is missing; an interrupt ends it after the session in hand is stored.

        A trial that has been measured enough, or is given up, drops out of the rounds to come. An error that
        is not EdgeBench's ends this host alone: it is kept as `fault`.
        """
        try:
            if not self._has_turn():
                return
            self._open_each()
            queue = self.trials.order()
            while queue:
                interruption.check()
                if self.budget.over:
                    self.out_of_time = True
                    return
                if not self._has_turn():
                    return
                turn = queue.popleft()
                watch = self._watch(turn.key, queue)
                self.progress.begins(
                    self.host, label(self.trials[turn.key]), self._left_s(watch, turn.key, queue)
                )
                with self.experiment.store.scratch() as folder:
                    result = self._measure(turn, watch, folder)
                    if result is None:
                        queue.appendleft(turn)
                        continue
                    kept = self._keep(turn, result, watch)
                if result.interrupted:
                    self.interrupted = True
                    return
                self.trials.settle(kept.trial)
                if kept.trial != turn.key:
                    queue = self.trials.with_turns_of(self.trials[kept.trial].target.name, queue)
                    continue
                if kept.status != "ok" and self._tries[turn] <= self.experiment.plan.retries:
                    queue.append(turn)  # once more, after all others
                    self.progress.add(1)
                self._end_where_lost(kept)
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
            self.experiment.machines.leave(self.host)
            self.progress.host_ended(self.host)

    # --- devices ---

    def _has_turn(self) -> bool:
        """Wait for the machine; False where the run's time is over first."""
        machines = self.experiment.machines
        self.out_of_time = not machines.await_turn(self.host, lambda: self.budget.over)
        return not self.out_of_time

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
                facts = device.describe()
                usable = facts.get("usable_cores")
                if trial.share == "cores" and not trial.target.launch.affinity and isinstance(usable, list):
                    require_cores(len(trial.alone), len(usable))
                name = self._revise(name, identity_of(facts, {}))
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
                self.progress.add(self.trials.standing[trial.key].ok - self.experiment.plan.sessions)
                self._fail([trial], error)

    def _end_where_lost(self, record: SessionRecord) -> None:
        """Fail what is left of a device that was lost and, in the next session, was not there to begin with.

        That session has waited for it as long as the device's way allows.
        """
        connection = self.trials[record.trial].target.connection
        was_lost = connection in self._lost
        if was_lost and record.status != "lost_connection":
            self._lost.remove(connection)
        elif not was_lost and record.status == "lost_connection":
            self._lost.append(connection)
        failure = record.failure
        if not (was_lost and failure and failure.stage == "start" and record.status == "lost_connection"):
            return
        error = SessionError(
            failure.what, status="lost_connection", stage="start", why=failure.why, fix=failure.fix
        )
        self.trials.standing[record.trial].given_up = True
        due = [trial for trial in self.trials.sharing(connection) if self.trials.is_due(trial.key)]
        self._fail(due, error)

    def _fail(self, trials: Sequence[PlannedTrial], error: Exception) -> None:
        """Give each of these trials up, with a failed session that says why."""
        for trial in trials:
            standing = self.trials.standing[trial.key]
            standing.given_up = True
            turn = Turn(standing.ok, trial.key)
            self._keep(turn, unmeasured_session(self._job(turn), error, self.experiment.explain(trial)))

    def _device(self, trial: PlannedTrial) -> OpenDevice:
        connection = trial.target.connection
        if self._open is not None and self._open[0] != connection:
            self._close()
        if self._open is None:
            self._open = connection, self.experiment.machines.open(trial)
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
            revised = self.experiment.revise(trials, identity)
            if [trial.key for trial in revised] != [trial.key for trial in trials]:
                self.progress.add(self.trials.revise(trials, revised))
        return revised[0].target.name

    # --- sessions ---

    def _job(self, turn: Turn) -> Job:
        trial = self.trials[turn.key]
        plan = self.experiment.plan
        meters, monitors = meters_of(trial.target), monitors_of(trial.target, telemetry=plan.telemetry)
        with self.lock:
            n = self.experiment.store.next_n(trial.key)
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
                others=tuple(self.trials.artifacts[each.key] for each in trial.alone[1:]),
                share=trial.share,
            ),
            plan=self.trials.next_plan(trial.key),
            host_meters=on_host(meters),
            host_monitors=on_host(monitors),
        )

    def _measure(self, turn: Turn, watch: SessionWatch, folder: Path) -> Measured | None:
        """None where the machine was lost and is back: the session is measured again."""
        job, trial = self._job(turn), self.trials[turn.key]
        try:
            return self._device(trial).measure(job, watch, folder)
        except StoredResultError:
            raise
        except Exception as error:
            # It was there before: a board that reboots, a cable, or a backend that takes the device's answer
            # for granted. The others are still worth measuring.
            self._close()
            return unmeasured_session(job, error, self.experiment.explain(trial))

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
        moved = {"trial": revised, "n": self.experiment.store.next_n(revised)}
        return replace(result, record=record.model_copy(update=moved))

    def _write(self, result: Measured) -> Measured:
        trial = self.trials[result.record.trial]
        # Messages may quote the board's address, its port or a value of the launch.
        record = written(result.record, PrivateNames.of_targets([trial.target]))
        self.experiment.store.write_session(record, result.tables)
        return replace(result, record=record)

    def _take_in(self, trial: PlannedTrial, result: Measured, watch: SessionWatch | None) -> None:
        record = result.record
        latency: SessionLatency | None = None
        self.trials.count(trial.key, record)
        if record.status == "ok":
            self._note_meters(trial, record)
            if watch is not None:
                latency = None if record.emulated else watch.latency
                self.trials.times.learn(trial.key, watch.times(record.duration_s))
                times = self.trials.times.get(trial.key)
                # The board that answers at an emulated one's port next time may be a real one.
                if times is not None and not record.emulated:
                    self.experiment.note_times(trial, times, latency.median_s if latency else None)
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
            self.progress.moves(session, lambda: self._left_s(watch, key, queue), begins=begins)

        plan = self.trials.next_plan(key)
        watch = SessionWatch(
            plan,
            self.trials.times.total_s(key, 1, accuracy=plan.images is not None),
            moved,
            target=trial.target.name,
            builds=self.trials.builds_next(key),
            windows=gives_windows(trial.target),
        )
        return watch

    def _left_s(self, watch: SessionWatch, key: str, queue: Collection[Turn]) -> float:
        """Seconds that this host needs for the rest of the session and those that follow."""
        following_s = self.trials.left_s(queue, key)
        if math.isfinite(following_s):
            following_s = min(following_s, self.budget.left_s)
        return watch.left_s + following_s


# All sessions of an experiment: a lane for every host, side by side where there are several.


SIGNAL_CHECK_S = 1.0
"""How long a signal may wait before the thread that waits for the lanes looks for one by itself."""


@dataclass(frozen=True)
class Outcome:
    """Outcome of an experiment."""

    interrupted: bool
    sessions: int  # measured in this run, failed ones included
    out_of_time: bool = False  # the time that it was given ended before all was measured
    elapsed_s: float = 0.0
    faults: tuple[Exception, ...] = ()  # each ended one host, and is not EdgeBench's own


@dataclass
class Experiment:
    """One experiment: its plan, the artifacts that were made for it, and where it is measured.

    `note_times` is called after each good session with its trial's times and latency, `explain` gives the
    words of a trial's backend for a session's failure, and `revise` tells which trials the sessions of a
    device belong to.
    `times` are those of sessions in earlier runs, by trial key, as far as there were any.
    One thread measures on each of the `machines`, the main one where there is only one machine.
    """

    plan: Plan
    artifacts: Mapping[str, Artifact]  # by trial key; a trial without one is unsupported
    machines: Machines
    store: ExperimentStore
    observer: Observer
    times: Mapping[str, SessionTimes]
    note_times: Callable[[PlannedTrial, SessionTimes, float | None], None] = lambda *arguments: None
    explain: Callable[[PlannedTrial], Explain] = lambda trial: unexplained
    settled: Settled = lambda key: False
    revise: Revise = lambda trials, identity: trials
    clock: Callable[[], float] = time.monotonic

    def run(self) -> Outcome:
        """Measure what is missing; Ctrl-C ends it after the sessions in hand are stored.

        The plan's `max_time_s` counts from here; no session starts after it.

        A target that cannot be opened is an error where it is the only one; else its trials fail, with
        the reason in their records, and the others go on.
        """
        budget = TimeBudget(self.plan.max_time_s, self.clock)
        lanes = self._lanes(budget)
        if len(lanes) > 1:
            _side_by_side(lanes)
        else:
            for lane in lanes:
                lane.run()
        return Outcome(
            interrupted=any(lane.interrupted for lane in lanes),
            sessions=sum(lane.measured for lane in lanes),
            out_of_time=any(lane.out_of_time for lane in lanes),
            elapsed_s=budget.elapsed_s,
            faults=tuple(lane.fault for lane in lanes if lane.fault is not None),
        )

    def _lanes(self, budget: TimeBudget) -> list[Lane]:
        trials = {trial.key: trial for trial in self.plan.trials if trial.key in self.artifacts}
        standing = {key: self._from_store(key) for key in trials}
        due = [trial for key, trial in trials.items() if standing[key].due(self.plan.sessions)]
        hosts = list(dict.fromkeys(map(self.machines.of, due)))
        lock = threading.RLock()
        drives_others = len(hosts) > 1 and "" in hosts
        if drives_others:
            self.observer.note(
                "this machine is measured while it drives other boards: for its best figures measure it alone"
            )
        progress = RunProgress(
            self.observer,
            hosts,
            sum(self.plan.sessions - standing[trial.key].ok for trial in due),
            at_most=self.plan.adaptive,
            lock=lock,
            beside_others=drives_others,
        )
        artifacts = {key: self.artifacts[key] for key in trials}
        contained = any(
            trial.target.connection != self.plan.trials[0].target.connection for trial in self.plan.trials
        )
        lanes = []
        for host in hosts:
            by_key = {key: trial for key, trial in trials.items() if self.machines.of(trial) == host}
            own = LaneTrials(
                self.plan,
                by_key,
                artifacts,
                standing,
                standing_of=self._from_store,
                times=KnownTimes(self.times),
                settled=self.settled,
            )
            lanes.append(Lane(host, self, own, progress, contained, lock, budget))
        if lanes:
            run_s = max(lane.trials.left_s(lane.trials.order()) for lane in lanes)
            self.observer.note(run_text(progress.sessions, run_s, self.plan))
        return lanes

    def _from_store(self, key: str) -> Standing:
        records = [record for record in self.store.finished(key) if record.status == "ok"]
        plan = self.plan
        return Standing(
            ok=len(records),
            settled=plan.adaptive and plan.min_sessions <= len(records) < plan.sessions and self.settled(key),
            has_images=any("images" in record.predicted for record in records),
        )


def _side_by_side(lanes: Sequence[Lane]) -> None:
    """Run every lane in a thread of its own; the first error of one interrupts the others and is raised."""
    errors: list[BaseException] = []
    ended = [threading.Event() for _ in lanes]

    def work(number: int) -> None:
        try:
            with interruption.heard_here(interrupts[number]):
                lanes[number].run()
        except BaseException as error:
            errors.append(error)
            interruption.pass_on_to_all(
                [lane_interrupts for at, lane_interrupts in enumerate(interrupts) if at != number]
            )
        finally:
            ended[number].set()

    with ExitStack() as held:
        interrupts = [held.enter_context(interruption.Interrupts()) for _ in lanes]
        threads = [
            threading.Thread(target=work, args=(number,), name=f"lane {number}")
            for number in range(len(lanes))
        ]
        # Ctrl-C and its kin reach every one of these threads instead of the main thread.
        with handling(lambda number, frame: interruption.pass_on_to_all(interrupts)):
            for thread in threads:
                thread.start()
            # An event, not join(): Python 3.11 takes a thread for ended when a signal interrupts its join.
            for event in ended:
                # A signal that comes just before the kernel blocks this thread wakes it no more: look again.
                while not event.wait(SIGNAL_CHECK_S):
                    pass
            for thread in threads:
                thread.join()
    if errors:
        raise errors[0]
