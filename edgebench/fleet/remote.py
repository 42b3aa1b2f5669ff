"""A run's way to the machines of a fleet: its turn on each, what is sent there, what is measured there."""

from __future__ import annotations

import asyncio
import re
import time
import uuid
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, get_args

from edgebench import interruption
from edgebench.errors import SessionError, StoredResultError, UnavailableError, UsageError
from edgebench.fleet.machine import (
    END_S,
    PART_BYTES,
    EventName,
    Heard,
    Machine,
    SentSession,
    SessionRequest,
    with_files,
)
from edgebench.fleet.scheduler import ANSWER_S, ASK_EVERY_S, OfferedMachine, ask, distributed, offering
from edgebench.link.agent_device import holder
from edgebench.link.session_loop import Timeouts
from edgebench.prepare.cache import sha256_file, sha256_once
from edgebench.records.stored import SessionRecord, SessionTables, TableFile
from edgebench.records.target import Target
from edgebench.results import layout
from edgebench.results.load import MAX_BYTES, Source, read_arrow
from edgebench.results.record_reading import MAX_JSON_BYTES
from edgebench.run.measuring.session import SessionWatch
from edgebench.run.measuring.session_record import Job, Measured, protocol_error
from edgebench.run.settings import RunConfig
from edgebench.run.trials import PlannedTrial
from edgebench.suggest import printable

MOST_LOSSES = 3
"""How often in a row a session is measured again because its machine was lost."""

# One machine: a client, the actor there, its turn.


class MachineLost(Exception):
    """The machine, or the scheduler on the way there, does not answer any more."""


@dataclass(frozen=True)
class RemoteDevice:
    """A target's device on a machine of a fleet, as far as the run's own process knows it."""

    target: Target
    machine: RemoteMachine
    facts: dict[str, Any]
    placement_cost: str

    def describe(self) -> dict[str, Any]:
        """The facts of when it was opened; each session's are asked for there."""
        return self.facts

    def measure(self, job: Job, watch: SessionWatch, folder: Path) -> Measured | None:
        """A session, as its machine has it."""
        return self.machine.measure(self.target, job, watch, folder)

    def close(self) -> None:
        """Close it there."""
        self.machine.close_device()


@dataclass
class RemoteMachine:
    """One run's way to one machine.

    Args:
        config: names the scheduler.
        offered: the machine as it was found last.
        names: of the targets that are measured there.
        note: told what a user should know.
    """

    config: RunConfig
    offered: OfferedMachine
    names: list[str]
    note: Callable[[str], None]
    _run: str = field(default_factory=lambda: uuid.uuid4().hex, init=False)
    _client: Any = field(default=None, init=False)
    _actor: Any = field(default=None, init=False)
    _semaphore: Any = field(default=None, init=False)
    _has_turn: bool = field(default=False, init=False)
    _wanted: bool = field(default=False, init=False)
    _losses: int = field(default=0, init=False)
    _given_up: bool = field(default=False, init=False)

    @property
    def _name(self) -> str:
        return f"the machine of {', '.join(self.names)}"

    # --- the way there ---

    def _connected(self) -> None:
        """Have an actor there; MachineLost where that cannot be."""
        if self._actor is not None:
            return
        try:
            machines = ask(self.config.scheduler or "", insecure=self.config.insecure)
        except UnavailableError as error:
            raise MachineLost(": ".join(filter(None, (error.what, error.why)))) from error
        wanted = {name: self.offered.targets[name] for name in self.names}
        same = [machine for machine in machines if wanted.items() <= machine.targets.items()]
        if not same:
            raise MachineLost(f"{self._name} is not in the fleet")
        self.offered = max(same, key=lambda machine: machine.seen_s)
        if self.offered.problem:
            raise MachineLost(f"{self._name} has changed: {self.offered.problem}")
        self._guarded(lambda: self._join(distributed()))

    def _join(self, dask: Any) -> None:
        user = holder()
        who = f"{user['user']} on {user['host']} since {user['since_utc']}"
        if self._client is None:
            self._client = client = dask.Client(self.config.scheduler, timeout=ANSWER_S, set_as_default=False)
            name = f"edgebench-{self.offered.said.machine}"
            self._semaphore = dask.Semaphore(1, name=name, scheduler_rpc=client.scheduler, loop=client.loop)
        there = {"actor": True, "pure": False, "allow_other_workers": False}
        future = self._client.submit(Machine, self._run, who, workers=[self.offered.address], **there)
        with self._client.as_current():
            self._actor = future.result(timeout=ANSWER_S)

    def _call(self, method: str, *arguments: Any, limit_s: float = ANSWER_S, **named: Any) -> Any:
        def asked() -> Any:
            with self._client.as_current():
                return getattr(self._actor, method)(*arguments, **named).result(timeout=limit_s)

        self._connected()
        return self._guarded(asked)

    def _guarded(self, action: Callable[[], Any]) -> Any:
        """What Dask does; MachineLost for whatever it raises."""
        try:
            return action()
        except (Exception, asyncio.CancelledError) as error:
            self._actor = None
            why, is_late = f"{type(error).__name__}: {error}", isinstance(error, TimeoutError)
            if is_late or getattr(self._client, "status", "") != "running":
                self._disconnect()  # else the scheduler is there, and the turn stays this run's
            if is_late:
                why = f"no answer in time; the scheduler has to reach its worker at {self.offered.address}"
            raise MachineLost(printable(why[:300])) from error

    def _disconnect(self) -> None:
        client, self._client = self._client, None
        self._actor = self._semaphore = None
        self._has_turn = self._wanted = False
        if client is not None:
            with suppress(Exception, asyncio.CancelledError):
                client.close(timeout=2)

    def _come_back(self, lost: MachineLost) -> None:
        """Wait until the machine is there again; SessionError (`lost_connection`) where it is not in time."""
        self._losses += 1
        if self._losses > MOST_LOSSES:
            self._losses = 0
            raise self._gone(f"{lost}; {MOST_LOSSES + 1} times in a row", "measure")
        limit_s = 0.0 if self._given_up else Timeouts.from_environment().reconnect
        if limit_s:
            self.note(f"{self._name} was lost ({lost}): waiting up to {limit_s:.0f} s for it to come back")
        deadline_s = time.monotonic() + limit_s
        while True:
            try:
                self._connected()
            except MachineLost as error:
                if time.monotonic() < deadline_s:
                    interruption.pause(ASK_EVERY_S)
                    continue
                self._given_up = True
                reasons = "; ".join(dict.fromkeys((str(lost), str(error))))
                raise self._gone(f"it did not come back in time: {reasons}", "start") from error
            self._given_up = False
            if limit_s:
                self.note(f"{self._name} is back: once more")
            return

    def _gone(self, why: str, stage: str) -> SessionError:
        what, fix = f"{self._name} was lost", "see its `edgebench fleet worker`, or set EDGEBENCH_RECONNECT_S"
        return SessionError(what, status="lost_connection", stage=stage, why=why, fix=fix)

    # --- turns ---

    def await_turn(self, over: Callable[[], bool] = lambda: False) -> bool:
        """Wait for the machine's semaphore; False where the run's time is over first.

        A turn is given to runs that wait after each session.
        """
        self._connected()
        if self._has_turn and not self._wanted:
            return True
        if self._has_turn:
            self.close_device()
            self._connected()
            self._give_turn()
        waits = False
        while not self._guarded(lambda: self._semaphore.acquire(timeout=ASK_EVERY_S)):
            if over():
                return False
            if not waits:
                self.note(f"{self._name} is in use: waiting for a turn")
            waits = True
            self._call("wait", waits=True)
            interruption.check()
        if waits:
            self._call("wait", waits=False)
        self._has_turn, self._wanted = True, False
        return True

    def _give_turn(self) -> None:
        if self._has_turn and self._semaphore is not None:
            self._has_turn = False
            with suppress(Exception, asyncio.CancelledError):
                self._semaphore.release()

    def leave(self) -> None:
        """Give the machine to others."""
        with suppress(MachineLost):
            if self._actor is not None:
                self._call("close", limit_s=ANSWER_S + END_S)
        self._give_turn()
        self._disconnect()

    # --- what is done there ---

    def open(self, target: Target) -> RemoteDevice:
        """Open a target's device there; raises what that raised, or SessionError where it is lost."""
        while True:
            try:
                self.await_turn()
                facts, cost = self._carried_out("open", target)
                return RemoteDevice(target, self, facts, cost)
            except MachineLost as lost:
                self._come_back(lost)

    def close_device(self) -> None:
        """Close the device that is open there, if any."""
        if self._actor is not None:
            with suppress(MachineLost):
                self._carried_out("close_device")

    def measure(self, target: Target, job: Job, watch: SessionWatch, folder: Path) -> Measured | None:
        """A session of the target; None where the machine was lost and is back.

        SessionError (`lost_connection`) where it does not come back, or is lost again and again;
        (`protocol_error`) where its answer is not the session that was asked for.
        """
        request = SessionRequest(uuid.uuid4().hex, job.key, job.n)
        try:
            self.await_turn()
            self._send(job)
            there = with_files(job, lambda path, sha256: Path(sha256 + path.suffix))
            sent = self._carried_out("measure", request, target, there, watch.builds, watch=watch)
            result = self._received(sent, request, folder)
        except MachineLost as lost:
            self._come_back(lost)
            return None
        self._losses = 0
        return result

    def _carried_out(self, what: str, *arguments: Any, watch: SessionWatch | None = None) -> Any:
        """The value of a task there; its events go to the watch and the notes while it goes on.

        After the first Ctrl-C the task ends there as it would here.
        """
        self._call("begin", what, *arguments)
        seen, stopping = 0, False
        while True:
            try:
                try:
                    interruption.check()
                    heard: Heard = self._call("hear", seen)
                except KeyboardInterrupt:
                    if stopping:
                        raise
                    stopping = True
                    self._call("interrupt")
                    continue
            except MachineLost as lost:  # even by the time that it is told to stop
                if stopping:
                    raise KeyboardInterrupt from lost
                raise
            for name, event in heard.events:
                if name == "note":
                    self.note(*event)
                elif watch is not None and name in get_args(EventName):
                    getattr(watch, name)(*event)
            seen += len(heard.events)
            self._wanted = heard.wanted
            if heard.ended:
                break
        if heard.error is not None:
            raise heard.error
        if (heard.interrupted or getattr(heard.value, "interrupted", False)) and not stopping:
            raise MachineLost("its fleet worker ended")
        if heard.interrupted:
            raise KeyboardInterrupt
        return heard.value

    def _send(self, job: Job) -> None:
        """Send the files that the machine does not have yet; UnavailableError for one that has changed."""
        files: dict[tuple[str, str], Path] = {}
        with_files(job, lambda path, sha256: files.setdefault((sha256, path.suffix), path))
        for sha256, suffix in self._call("lacks", list(files)):
            path = files[sha256, suffix]
            if sha256_once(path) != sha256:
                raise UnavailableError(f"{path} has changed", why="it is not what was prepared")
            size = path.stat().st_size
            with path.open("rb") as file:
                for offset in range(0, size, PART_BYTES):
                    last = offset + PART_BYTES >= size
                    self._call("take", sha256, suffix, offset, file.read(PART_BYTES), last=last)

    def _received(self, sent: SentSession, request: SessionRequest, folder: Path) -> Measured:
        """The session as the store takes it: checked, its tables in the folder.

        SessionError (`protocol_error`) for an answer to another request, for one that has no tables or that
        no session can have; MachineLost where a table arrives damaged.
        """
        if not isinstance(sent, SentSession) or sent.request != request:
            raise self._refused("its answer is that of another session")
        if len(sent.record) > MAX_JSON_BYTES:
            raise self._refused(f"its record has {len(sent.record)} characters")
        try:
            record = SessionRecord.model_validate_json(sent.record)
        except ValueError as error:
            raise self._refused(f"its record is invalid: {error}") from error
        if (record.trial, record.n) != (request.trial, request.n):
            raise self._refused(f"its record is that of session {record.n} of trial {record.trial}")
        files = {name: (size_bytes, sha256) for name, size_bytes, sha256 in sent.files[: len(layout.TABLES)]}
        if len(files) != len(sent.files) or not files.keys() <= set(layout.TABLES):
            raise self._refused("its tables are not those of a session")
        if record.status == "ok" and not ("windows" in files or {"passes", "batches"} <= files.keys()):
            raise self._refused("it has no tables of passes and batches, nor of windows")
        tables: dict[str, Any] = {}
        for name in layout.TABLES:
            if name in files:
                tables[name] = self._received_table(name, *files[name], folder)
        return Measured(record, SessionTables(**tables), sent.interrupted)

    def _received_table(self, name: str, size_bytes: int, sha256: str, folder: Path) -> TableFile:
        """A table of the last session there, in a file whose rows can all be."""
        if not 0 < size_bytes <= MAX_BYTES:
            raise self._refused(f"its table {name} has {size_bytes} bytes")
        path = folder / f"{name}.received"
        with path.open("wb") as received:
            for offset in range(0, size_bytes, PART_BYTES):
                received.write(self._call("part", name, offset)[:PART_BYTES])
        if sha256_file(path) != sha256:
            raise MachineLost(f"the table {name} of its session arrived damaged")
        try:
            _, [table] = read_arrow(name, [Source(0, 0, path, folder, sha256)])
        except StoredResultError as error:
            raise self._refused(f"its table {name}: {error.why}") from error
        return TableFile(path, table.num_rows, sha256)

    def _refused(self, why: str) -> SessionError:
        what = f"{self._name} did not send the session that was asked for"
        return protocol_error(what, printable(why[:300]), "start its `edgebench fleet worker` again")


# All machines of a run.


class RemoteMachines:
    """The machines that a run measures on.

    Args:
        config: names the scheduler and the targets.
        note: told what a user should know.

    Raises:
        UsageError: no address, one that is not protected, a target that no machine offers or two do, or
            options that are of this machine.
        UnavailableError: a scheduler that is not there, another version, or findings that prevent measuring.
    """

    def __init__(self, config: RunConfig, note: Callable[[str], None]) -> None:
        address = config.scheduler or ""
        for option in ("device", "host", "port", "targets-file"):
            if getattr(config, option.replace("-", "_")):
                raise UsageError(
                    f"--scheduler and --{option} exclude each other",
                    why="the machines of a fleet have their targets, and where these are, in their own files",
                    fix=f"leave --{option} out and name targets with --target",
                )
        if not config.target:
            raise UsageError("no target was named", fix=f"see `edgebench fleet status {address}`")
        machines = ask(address, insecure=config.insecure)
        self._by_target = {name: offering(name, machines, address) for name in config.target}
        self.declared = tuple(machine.targets[name] for name, machine in self._by_target.items())
        self._machines: dict[str, RemoteMachine] = {}
        for name, machine in self._by_target.items():
            remote = RemoteMachine(config, machine, [], note)
            self._machines.setdefault(machine.said.machine, remote).names.append(name)

    def of(self, trial: PlannedTrial) -> str:
        """The machine that offers the trial's target."""
        # Behind the declared name stand a sweep's settings and the number of a revision.
        return self._by_target[re.split(r"[\[ ]", trial.target.name)[0]].said.machine

    def open(self, trial: PlannedTrial) -> RemoteDevice:
        """The trial's device, opened on its machine."""
        return self._machines[self.of(trial)].open(trial.target)

    def preflight(self, targets: Sequence[Target]) -> list[dict[str, Any]]:
        """What the machines found of the targets when they joined, and when that was."""
        found: list[dict[str, Any]] = []
        for target in targets:
            said = self._by_target[target.declared_name].said
            for finding in said.findings.get(target.declared_name, []):
                message = f"{finding['message']} (when its machine joined the fleet, {said.checked_utc})"
                found.append({**finding, "message": message, "target": target.name, "targets": [target.name]})
        return found

    def await_turn(self, machine: str, over: Callable[[], bool]) -> bool:
        """Wait for the machine's semaphore; a machine that is lost is left to whoever measures on it."""
        try:
            return self._machines[machine].await_turn(over)
        except MachineLost:
            return True

    def leave(self, machine: str) -> None:
        """Give the machine to others."""
        self._machines[machine].leave()
