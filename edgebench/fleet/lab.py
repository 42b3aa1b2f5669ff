"""A fleet from outside: its scheduler, the machines that it has, and a run that measures on them."""

from __future__ import annotations

import asyncio
import importlib
import ipaddress
import itertools
import json
import logging
import platform
import re
import socket
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any, NoReturn

from pydantic import BaseModel

from edgebench import interruption
from edgebench.contract import Device
from edgebench.errors import EdgeBenchError, SessionError, UnavailableError, UsageError
from edgebench.fleet.machine import END_S, PART_BYTES, Heard, Machine, SentSession, with_files
from edgebench.link.agent_device import holder
from edgebench.link.session_loop import Timeouts
from edgebench.prepare.cache import sha256_file, sha256_once
from edgebench.records.stored import SessionRecord, SessionTables, TableFile
from edgebench.records.target import Target
from edgebench.run.measuring.host_queue import DeviceElsewhere
from edgebench.run.measuring.session import SessionWatch
from edgebench.run.measuring.session_record import Job, Measured
from edgebench.run.settings import RunConfig
from edgebench.run.targets_file import DeclaredTarget, declared_in
from edgebench.run.trials import PlannedTrial
from edgebench.suggest import nearest, printable
from edgebench.version import __version__

ANSWER_S = 15.0
"""How long the scheduler, or a machine through it, may take to answer before it counts as lost."""

ASK_EVERY_S = 1.0
"""Between two looks for a machine, a scheduler or a turn."""

MOST_LOSSES = 3
"""How often in a row a session is measured again because its machine was lost."""

ANNOUNCED = "edgebench"
"""Under which a Dask worker says what it offers, and how it is used."""

_FINDING = {"level", "subject", "message", "fix"}
_ADDRESS = re.compile(
    r"(?P<scheme>tcp|tls)://(?P<host>\[[0-9A-Fa-f:.]{2,45}\]|[A-Za-z0-9_.-]{1,253}):(?P<port>[0-9]{1,5})"
)

# The scheduler: its address, whether it may be used as it is, and what it knows.


def distributed() -> Any:
    """Dask's package, its messages kept off stderr; UnavailableError where it is not installed."""
    try:
        package = importlib.import_module("distributed")
    except ImportError as error:
        raise UnavailableError(
            "fleets need the package distributed", why=str(error), fix="pip install 'edgebench[fleet]'"
        ) from error
    for name in ("distributed", "distributed.client", "distributed.worker", "tornado.application"):
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    return package


def is_loopback(address: str) -> bool:
    """Whether the address of a scheduler is one of this machine alone; UsageError for no such address."""
    match = _ADDRESS.fullmatch(address)
    if match is None or not 0 < int(match["port"]) < 1 << 16:
        raise UsageError(
            f"{printable(address[:100])} is no address of a scheduler",
            fix="write it like tcp://127.0.0.1:8786 or tls://lab:8786",
        )
    host = match["host"].strip("[]")
    with suppress(ValueError):
        return ipaddress.ip_address(host).is_loopback
    return host == "localhost"


def require_safe(address: str, *, insecure: bool) -> None:
    """UsageError for a scheduler on another machine without TLS, unless that was asked for."""
    if not is_loopback(address) and address.startswith("tcp://") and not insecure:
        raise UsageError(
            f"{address} is on another machine, and its messages are not protected",
            why="whoever reaches a Dask scheduler can run programs on all its machines",
            fix="use tls:// with distributed.comm.tls of Dask's configuration, a tunnel of ssh (see "
            "SECURITY.md), or --insecure",
        )


def own_versions() -> dict[str, str]:
    """What has to be the same in the run, the scheduler and each machine."""
    python = ".".join(platform.python_version_tuple()[:2])
    return {"EdgeBench": __version__, "distributed": version("distributed"), "Python": python}


def require_versions(theirs: Mapping[str, str], where: str) -> None:
    """UnavailableError for another version there, with both."""
    for name, own in own_versions().items():
        if (other := theirs.get(name) or "") != own:
            raise UnavailableError(
                f"{where} has {name} {printable(other[:50]) or '(none)'}, and here it is {own}",
                why="what runs and machines send each other differs from version to version",
                fix=f"install {name} {own} there, or the other one here",
            )


class Announcement(BaseModel):
    """What a machine says of itself when it joins; nothing of it is trusted to be there.

    `machine` is the same for each process on it that takes the same lock; `tables` are those of its targets
    file, `findings` by target what `targets check` found at `checked_utc`. What it measures, and who waits,
    follows from its later messages.
    """

    machine: str = ""
    versions: dict[str, str] = {}
    tables: tuple[dict[str, Any], ...] = ()
    findings: dict[str, list[dict[str, Any]]] = {}
    checked_utc: str = ""
    measuring: str = ""
    waiting: list[str] = []


@dataclass(frozen=True)
class OfferedMachine:
    """A machine of the fleet: what it announced, by the address of its Dask worker.

    `seen_s` is when the scheduler heard it last; `problem` is why it cannot be used, if so.
    """

    address: str
    said: Announcement
    targets: Mapping[str, DeclaredTarget]
    seen_s: float
    problem: str


def ask(address: str, *, insecure: bool) -> tuple[OfferedMachine, ...]:
    """The machines of a fleet, by what they announced; nothing is unpickled.

    UsageError as of `require_safe`; UnavailableError for a scheduler that is not there, is not Dask, or has
    other versions.
    """
    require_safe(address, insecure=insecure)
    dask = distributed()
    try:
        # Dask goes on trying at a port that is closed.
        host, _, port = address.partition("//")[2].rpartition(":")
        socket.create_connection((host.strip("[]"), int(port)), ANSWER_S).close()
        identity, versions = asyncio.run(asyncio.wait_for(_asked(dask, address), ANSWER_S))
    except Exception as error:  # Dask takes whatever answers for its own kind: MemoryError is among them
        raise UnavailableError(
            f"no Dask scheduler answers at {address}",
            why=_why_none(error),
            fix="start it: dask scheduler --host 127.0.0.1 --port 8786 --dashboard-address 127.0.0.1:0; "
            "for tls:// set distributed.comm.tls in Dask's configuration",
        ) from error
    require_versions(versions, "the scheduler")
    return tuple(_offered(at, facts) for at, facts in identity["workers"].items() if ANNOUNCED in facts)


def _why_none(error: Exception) -> str:
    if isinstance(error, TimeoutError) or isinstance(error.__cause__, TimeoutError):
        return f"no answer within {ANSWER_S:.0f} s"
    is_systems = isinstance(error, OSError) and error.errno
    return printable(str(error)[:300]) if is_systems else "it is no Dask scheduler, or wants TLS"


async def _asked(dask: Any, address: str) -> tuple[dict[str, Any], dict[str, str]]:
    plain = ["msgpack"]
    arguments = dask.Security().get_connection_args("client")
    async with dask.rpc(
        address, connection_args=arguments, timeout=ANSWER_S, serializers=plain, deserializers=plain
    ) as scheduler:
        identity = await scheduler.identity()
        if identity["type"] != "Scheduler":
            raise ValueError(identity["type"])
        versions = await scheduler.versions(packages=["edgebench"])
    theirs = {name: versions["packages"].get(name.lower()) for name in ("EdgeBench", "distributed")}
    return identity, theirs | {"Python": ".".join(versions["host"]["python"].split(".")[:2])}


def _offered(worker: str, facts: Mapping[str, Any]) -> OfferedMachine:
    """The machine, with its `problem` where it is of another version or cannot be understood."""
    said, problem = Announcement(), ""
    targets: dict[str, DeclaredTarget] = {}
    try:
        content = json.loads(facts[ANNOUNCED])
        said = Announcement(versions=content["versions"])
        said = Announcement.model_validate(content | facts["metrics"].get(ANNOUNCED, {}))
        if any(_FINDING - set(finding) for finding in itertools.chain(*said.findings.values())):
            raise ValueError("a finding is incomplete")
        tables = {"targets": [dict(table) for table in said.tables]}
        targets = {each.name: each for each in declared_in(tables, Path("its targets file"))}
    except Exception as error:  # it may be anything
        why = f": {error.what}" if isinstance(error, EdgeBenchError) else ""
        problem = printable(f"what it announces is not understood{why}"[:300])
    try:
        require_versions(said.versions, "it")
    except UnavailableError as error:
        problem = error.what
    return OfferedMachine(worker, said, targets, float(facts["last_seen"]), problem)


def status(machines: Sequence[OfferedMachine]) -> list[dict[str, Any]]:
    """The machines as plain data, for `fleet status`."""
    return [
        {
            **machine.said.model_dump(include={"machine", "versions", "measuring", "waiting"}),
            "address": machine.address,
            "problem": machine.problem,
            "targets": [
                {"target": name, "device": target.device, "findings": machine.said.findings.get(name, [])}
                for name, target in machine.targets.items()
            ],
        }
        for machine in machines
    ]


# A run's side of one machine: a client, the actor there, its turn.


class MachineLost(Exception):
    """The machine, or the scheduler on the way there, does not answer any more."""


@dataclass
class RemoteDevice(DeviceElsewhere):
    """A target's device on a machine of a fleet, as far as the run's own process knows it."""

    target: Target
    machine: RemoteMachine
    facts: dict[str, Any]
    placement_cost: Any

    def describe(self) -> dict[str, Any]:
        """The facts of when it was opened; each session's are asked for there."""
        return self.facts

    def session(self, *arguments: Any) -> NoReturn:
        """Never called: sessions are measured where the device is."""
        raise NotImplementedError

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
        offered: the machine as it was found.
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
        offered = max(same, key=lambda machine: machine.seen_s)
        if offered.problem:
            raise MachineLost(f"{self._name} has changed: {offered.problem}")
        self._guarded(lambda: self._join(distributed(), offered))

    def _join(self, dask: Any, offered: OfferedMachine) -> None:
        user = holder()
        who = f"{user['user']} on {user['host']} since {user['since_utc']}"
        if self._client is None:
            self._client = client = dask.Client(self.config.scheduler, timeout=ANSWER_S, set_as_default=False)
            name = f"edgebench-{offered.said.machine}"
            self._semaphore = dask.Semaphore(1, name=name, scheduler_rpc=client.scheduler, loop=client.loop)
        there = {"actor": True, "pure": False, "workers": [offered.address], "allow_other_workers": False}
        future = self._client.submit(Machine, self._run, who, **there)
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
            if isinstance(error, TimeoutError) or getattr(self._client, "status", "") != "running":
                self._disconnect()  # else the scheduler is there, and the turn stays this run's
            raise MachineLost(printable(f"{type(error).__name__}: {error}"[:300])) from error

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

        SessionError (`lost_connection`) where it does not come back, or is lost again and again.
        """
        try:
            self.await_turn()
            self._send(job)
            there = with_files(job, lambda path, sha256: Path(sha256 + path.suffix))
            sent = self._carried_out("measure", target, there, watch.shape, watch.cost, watch=watch)
            result = self._received(sent, job, folder)
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
                interruption.check()
                heard: Heard = self._call("hear", seen)
            except KeyboardInterrupt:
                if stopping:
                    raise
                stopping = True
                self._call("interrupt")
                continue
            except MachineLost as lost:
                if stopping:
                    raise KeyboardInterrupt from lost
                raise
            for name, event in heard.events:
                if name == "note":
                    self.note(*event)
                elif watch is not None:
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

    def _received(self, sent: SentSession, job: Job, folder: Path) -> Measured:
        """The session as the store takes it: its tables in the folder, compared with their SHA-256."""
        record = SessionRecord.model_validate_json(sent.record)
        tables: dict[str, Any] = {}
        for name, rows, size_bytes, sha256 in sent.files:
            path = folder / f"{name}.received"
            with path.open("wb") as received:
                for offset in range(0, size_bytes, PART_BYTES):
                    received.write(self._call("part", name, offset))
            if (record.trial, record.n) != (job.key, job.n) or sha256_file(path) != sha256:
                raise MachineLost(f"the table {name} of its session arrived damaged")
            tables[name] = TableFile(path, rows, sha256)
        return Measured(record, SessionTables(**tables), sent.interrupted)


# A run on machines of a fleet.


class LabFleet:
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
        self._by_target = {name: _offering(name, machines, address) for name in config.target}
        self.declared = tuple(machine.targets[name] for name, machine in self._by_target.items())
        self._machines: dict[str, RemoteMachine] = {}
        for name, machine in self._by_target.items():
            remote = RemoteMachine(config, machine, [], note)
            self._machines.setdefault(machine.said.machine, remote).names.append(name)

    def of(self, trial: PlannedTrial) -> str:
        """The machine that offers the trial's target."""
        # Behind the declared name stand a sweep's settings and the number of a revision.
        return self._by_target[re.split(r"[\[ ]", trial.target.name)[0]].said.machine

    def open(self, trial: PlannedTrial) -> Device:
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


def _offering(name: str, machines: Sequence[OfferedMachine], address: str) -> OfferedMachine:
    """The one machine that offers a target and can measure it; its errors are those of `LabFleet`."""
    having = [machine for machine in machines if name in machine.targets]
    if not having:
        offered = sorted(target for machine in machines for target in machine.targets)
        left_out = [f"left out: {each.address}: {each.problem}" for each in machines if each.problem]
        raise UsageError(
            f"no machine of {address} offers the target {name!r}",
            why="; ".join((f"offered: {', '.join(offered) or 'none'}", *left_out)),
            fix=nearest(name, offered).strip() or "start `edgebench fleet worker` where it is",
        )
    if len(having) > 1:
        raise UsageError(
            f"{len(having)} machines offer the target {name!r}: "
            + ", ".join(machine.address for machine in having),
            fix="give each board of the fleet a name of its own, or end one of their workers",
        )
    require_versions(having[0].said.versions, f"the machine of {name}")
    for finding in having[0].said.findings.get(name, ()):
        # A board that was off when its machine joined may be on by now: opening it tells.
        if finding["level"] == "error" and finding["subject"] != "connection":
            raise UnavailableError(
                f"{name} cannot be measured on its machine",
                why=f"{finding['subject']}: {finding['message']}",
                fix=f"{finding['fix']}; then start its `edgebench fleet worker` again".removeprefix("; "),
            )
    return having[0]
