"""A fleet from outside: its scheduler, the machines that it has, and a run that measures on them."""

from __future__ import annotations

import asyncio
import hashlib
import importlib
import ipaddress
import logging
import platform
import re
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any, NoReturn

from pydantic import BaseModel, ConfigDict, ValidationError

from edgebench import interruption
from edgebench.contract import Device
from edgebench.errors import EdgeBenchError, SessionError, StoredResultError, UnavailableError, UsageError
from edgebench.fleet.machine import PART_BYTES, Heard, Machine, SentSession, with_files
from edgebench.link.agent_device import holder
from edgebench.link.failures import Explain
from edgebench.link.host_probes import HostProbes
from edgebench.link.session_loop import Timeouts
from edgebench.prepare.cache import sha256_once
from edgebench.records.stored import SessionRecord, SessionTables, TableFile
from edgebench.records.target import Target
from edgebench.run.measuring.execution import Fleet
from edgebench.run.measuring.session import SessionWatch
from edgebench.run.measuring.session_record import Job, Measured
from edgebench.run.settings import RunConfig
from edgebench.run.targets_file import DeclaredTarget, declared_in
from edgebench.run.trials import PlannedTrial
from edgebench.suggest import choose, printable
from edgebench.version import __version__

ANSWER_S = 15.0
"""How long the scheduler, or a machine through it, may take to answer before it counts as lost."""

ASK_EVERY_S = 1.0
"""Between two looks for a machine, a scheduler or a turn."""

MOST_LOSSES = 3
"""How often in a row a session is measured again because its machine was lost."""

ANNOUNCED = "edgebench"
"""Under which a Dask worker says what it offers, and how it is used."""

_ADDRESS = re.compile(
    r"(?P<scheme>tcp|tls)://(?P<host>\[[0-9A-Fa-f:.]{2,45}\]|[A-Za-z0-9_.-]{1,253}):[0-9]{1,5}"
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
    if match is None:
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
            what = f"{where} has {name} {printable(other[:50])}" if other else f"{where} has no {name}"
            raise UnavailableError(
                f"{what}, and here it is {own}",
                why="what runs and machines send each other differs from version to version",
                fix=f"install {name} {own} there, or the other one here",
            )


class Announcement(BaseModel):
    """What a machine says of itself when it joins; nothing of it is trusted to be there."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    machine: str
    versions: dict[str, str]
    tables: tuple[dict[str, Any], ...]
    checks: tuple[dict[str, Any], ...]


@dataclass(frozen=True)
class OfferedMachine:
    """A machine of the fleet.

    Attributes:
        id: of the machine, the same for each process on it that takes the same lock.
        address: of its Dask worker.
        targets: that it offers, by name.
        checks: what `targets check` found of each there.
        measuring: whose run measures there, and what; empty for none.
        waiting: whose runs wait.
        seen_s: when the scheduler heard it last, on that one's clock.
    """

    id: str
    address: str
    versions: Mapping[str, str]
    targets: Mapping[str, DeclaredTarget]
    checks: tuple[dict[str, Any], ...]
    measuring: str = ""
    waiting: tuple[str, ...] = ()
    seen_s: float = 0.0


def ask(address: str) -> tuple[OfferedMachine, ...]:
    """The machines of a fleet, by what they announced; nothing is unpickled.

    UnavailableError for a scheduler that is not there, is not Dask, or has other versions.
    """
    try:
        identity, versions = asyncio.run(asyncio.wait_for(_asked(address), ANSWER_S))
    except UnavailableError:
        raise
    except Exception as error:  # Dask takes whatever answers for its own kind: MemoryError is among them
        raise UnavailableError(
            f"no Dask scheduler answers at {address}",
            why=printable(f"{type(error).__name__}: {error}"[:300]),
            fix="start it: dask scheduler --host 127.0.0.1 --port 8786 --dashboard-address 127.0.0.1:0",
        ) from error
    require_versions(versions, "the scheduler")
    offered = []
    for worker, facts in identity["workers"].items():
        if isinstance(text := facts.get(ANNOUNCED), str):
            offered.append(_offered(worker, text, facts))
    return tuple(offered)


async def _asked(address: str) -> tuple[dict[str, Any], dict[str, str]]:
    dask, plain = distributed(), ["msgpack"]
    arguments = dask.Security().get_connection_args("client")
    async with dask.rpc(
        address, connection_args=arguments, timeout=ANSWER_S, serializers=plain, deserializers=plain
    ) as scheduler:
        identity = await scheduler.identity()
        if identity["type"] != "Scheduler":
            raise ValueError(f"a Dask {identity['type']} answers there")
        versions = await scheduler.versions(packages=["edgebench"])
    packages = versions["packages"]
    python = ".".join(versions["host"]["python"].split(".")[:2])
    return identity, {
        "EdgeBench": packages.get("edgebench"),
        "distributed": packages["distributed"],
        "Python": python,
    }


def _offered(worker: str, text: str, facts: Mapping[str, Any]) -> OfferedMachine:
    try:
        said = Announcement.model_validate_json(text)
        targets = declared_in({"targets": [dict(table) for table in said.tables]}, Path("its targets file"))
    except (ValidationError, EdgeBenchError) as error:
        raise UnavailableError(
            f"what {worker} announces cannot be understood",
            why=printable(str(error)[:300]),
            fix="start its `edgebench fleet worker` again with the same version of EdgeBench",
        ) from error
    use = facts.get("metrics", {}).get(ANNOUNCED) or {}
    return OfferedMachine(
        id=said.machine,
        address=worker,
        versions=said.versions,
        targets={target.name: target for target in targets},
        checks=said.checks,
        measuring=printable(str(use.get("measuring", ""))[:300]),
        waiting=tuple(printable(str(who)[:300]) for who in use.get("waiting", ())),
        seen_s=float(facts.get("last_seen", 0.0)),
    )


def status(machines: Sequence[OfferedMachine]) -> list[dict[str, Any]]:
    """The machines as plain data, for `fleet status`."""
    return [
        {
            "machine": machine.id,
            "address": machine.address,
            "versions": dict(machine.versions),
            "measuring": machine.measuring,
            "waiting": list(machine.waiting),
            "targets": [
                {"target": name, "device": target.device, "findings": _findings(machine, name)}
                for name, target in machine.targets.items()
            ],
        }
        for machine in machines
    ]


def _findings(machine: OfferedMachine, name: str) -> list[dict[str, Any]]:
    return [
        finding
        for check in machine.checks
        if check.get("target") == name
        for finding in check.get("findings", ())
    ]


# A run's side of one machine: a client, the actor there, its turn.


class MachineLost(Exception):
    """The machine, or the scheduler on the way there, does not answer any more."""


@dataclass
class RemoteDevice:
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

    def close(self) -> None:
        """Close it there."""
        self.machine.close_device()


class RemoteMachine:
    """One run's way to one machine.

    Args:
        address: of the scheduler.
        offered: the machine as it was found.
        names: of the targets that are measured there.
        note: told what a user should know.
    """

    def __init__(
        self, address: str, offered: OfferedMachine, names: Sequence[str], note: Callable[[str], None]
    ) -> None:
        self._address = address
        self._offered = offered
        self._names = tuple(names)
        self._note = note
        self._run = uuid.uuid4().hex
        self._client: Any = None
        self._actor: Any = None
        self._semaphore: Any = None
        self._has_turn = False
        self._wanted = False
        self._losses = 0
        self._given_up = False

    @property
    def _name(self) -> str:
        return f"the machine of {', '.join(self._names)}"

    # --- the way there ---

    def _connected(self) -> None:
        """Have an actor there; UnavailableError or MachineLost where that cannot be."""
        if self._actor is not None:
            return
        dask, offered = distributed(), self._found()
        require_versions(offered.versions, self._name)
        user = holder()
        who = f"{user['user']} on {user['host']} since {user['since_utc']}"
        try:
            if self._client is None:
                self._client = dask.Client(
                    self._address, timeout=ANSWER_S, set_as_default=False, name="edgebench"
                )
                self._semaphore = dask.Semaphore(
                    1,
                    name=f"edgebench-{offered.id}",
                    scheduler_rpc=self._client.scheduler,
                    loop=self._client.loop,
                )
            future = self._client.submit(
                Machine,
                self._run,
                who,
                key=f"edgebench-{self._run}-{uuid.uuid4().hex}",
                actor=True,
                workers=[offered.address],
                allow_other_workers=False,
            )
            with self._client.as_current():
                self._actor = future.result(timeout=ANSWER_S)
        except (Exception, asyncio.CancelledError) as error:
            raise self._lost(error) from error
        except BaseException:
            self._disconnect()
            raise

    def _found(self) -> OfferedMachine:
        """The machine that has the targets now; UnavailableError where none has."""
        same = [
            machine
            for machine in ask(self._address)
            if all(machine.targets.get(name) == self._offered.targets[name] for name in self._names)
        ]
        if not same:
            raise UnavailableError(
                f"{self._name} is not in the fleet", fix="start `edgebench fleet worker` there again"
            )
        return max(same, key=lambda machine: machine.seen_s)

    def _call(self, method: str, *arguments: Any, **named: Any) -> Any:
        try:
            with self._client.as_current():
                return getattr(self._actor, method)(*arguments, **named).result(timeout=ANSWER_S)
        except (Exception, asyncio.CancelledError) as error:
            raise self._lost(error) from error

    def _lost(self, error: BaseException) -> MachineLost:
        self._actor = None
        if isinstance(error, TimeoutError) or getattr(self._client, "status", "") != "running":
            self._disconnect()  # else the scheduler is there, and the turn stays this run's
        return MachineLost(printable(f"{type(error).__name__}: {error}"[:300]))

    def _disconnect(self) -> None:
        client, self._client = self._client, None
        self._actor = self._semaphore = None
        self._has_turn = self._wanted = False
        if client is not None:
            with suppress(Exception, asyncio.CancelledError):
                client.close(timeout=2)

    def _come_back(self, lost: MachineLost) -> None:
        """Wait until the machine is there again; SessionError (`lost_connection`) where it is not in time."""
        limit_s = 0.0 if self._given_up else Timeouts.from_environment().reconnect
        if limit_s:
            self._note(
                f"{self._name} was lost ({lost}): waiting for it to come back, {limit_s:.0f} s at most"
            )
        deadline_s = time.monotonic() + limit_s
        while True:
            try:
                self._connected()
            except (MachineLost, UnavailableError) as error:
                left_s = deadline_s - time.monotonic()
                if left_s > 0:
                    interruption.pause(min(ASK_EVERY_S, left_s))
                    continue
                self._given_up = True
                raise self._gone(str(lost), f"it did not come back in time ({error})", "start") from error
            self._given_up = False
            if limit_s:
                self._note(f"{self._name} is back")
            return

    def _gone(self, why: str, more: str, stage: str) -> SessionError:
        return SessionError(
            f"{self._name} was lost",
            status="lost_connection",
            stage=stage,
            why="; ".join(" ".join(f"{why}; {more}".split()).split("\n")),
            fix="see its `edgebench fleet worker` and the scheduler; EDGEBENCH_RECONNECT_S waits for longer",
        )

    # --- turns ---

    def await_turn(self, over: Callable[[], bool] = lambda: False) -> bool:
        """Wait for the machine's semaphore; False where the run's time is over first.

        A turn is given to runs that wait after each session.
        """
        if self._has_turn and not self._wanted:
            return True
        self._connected()
        if self._has_turn:
            self.close_device()
            self._give_turn()
        waits = False
        while not self._acquired():
            if over():
                return False
            if not waits:
                self._note(f"{self._name} is in use: waiting for a turn")
            waits = True
            self._call("wait", waits=True)
            interruption.check()
        if waits:
            self._call("wait", waits=False)
        self._has_turn, self._wanted = True, False
        return True

    def _acquired(self) -> bool:
        try:
            return bool(self._semaphore.acquire(timeout=ASK_EVERY_S))
        except (Exception, asyncio.CancelledError) as error:
            raise self._lost(error) from error

    def _give_turn(self) -> None:
        if self._has_turn and self._semaphore is not None:
            self._has_turn = False
            with suppress(Exception, asyncio.CancelledError):
                self._semaphore.release()

    def leave(self) -> None:
        """Give the machine to others."""
        with suppress(MachineLost):
            if self._actor is not None:
                self._call("close")
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
                self._count(lost)
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
            there = replace(there, settings=replace(there.settings, report=_unheard, patch_took=_unheard))
            sent = self._carried_out("measure", target, there, watch.shape, watch.cost, watch=watch)
            result = self._received(sent, job, folder)
        except MachineLost as lost:
            self._count(lost)
            self._come_back(lost)
            return None
        self._losses = 0
        return result

    def _count(self, lost: MachineLost) -> None:
        self._losses += 1
        if self._losses > MOST_LOSSES:
            self._losses = 0
            raise self._gone(str(lost), f"for the {MOST_LOSSES + 1}th time in a row", "measure")

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
                    self._note(*event)
                elif watch is not None:
                    getattr(watch, name)(*event)
            seen += len(heard.events)
            self._wanted = heard.wanted
            if heard.outcome is not None:
                break
        outcome = heard.outcome
        if isinstance(outcome.error, StoredResultError):
            # Its disk, and not that of the results.
            raise UnavailableError(outcome.error.what, why=outcome.error.why, fix=outcome.error.fix)
        if outcome.error is not None:
            raise outcome.error
        if outcome.fault:
            raise RuntimeError(outcome.fault)
        if outcome.interrupted or (isinstance(outcome.value, SentSession) and outcome.value.interrupted):
            if not stopping:
                raise MachineLost("its fleet worker ended")
            if outcome.interrupted:
                raise KeyboardInterrupt
        return outcome.value

    def _send(self, job: Job) -> None:
        """Send the files that the machine does not have yet; UnavailableError where one cannot be kept."""
        files: dict[tuple[str, str], Path] = {}

        def listed(path: Path, sha256: str) -> Path:
            files[sha256, path.suffix] = path
            return path

        with_files(job, listed)
        for sha256, suffix in self._call("lacks", list(files)):
            path = files[sha256, suffix]
            if sha256_once(path) != sha256:
                raise UnavailableError(f"{path} has changed", why="it is not what was prepared")
            size, offset = path.stat().st_size, 0
            with path.open("rb") as file:
                while True:
                    part = file.read(PART_BYTES)
                    last = offset + len(part) >= size
                    if fault := self._call("take", sha256, suffix, offset, part, last=last):
                        raise UnavailableError(f"{self._name} cannot keep {path.name}", why=fault)
                    offset += len(part)
                    if last:
                        break

    def _received(self, sent: SentSession, job: Job, folder: Path) -> Measured:
        """The session as the store takes it: its tables in the folder, compared with their SHA-256."""
        data = bytearray(sent.first)
        total = sum(file.size_bytes for file in sent.files)
        while len(data) < total:
            part = self._call("part", len(data))
            if not part:
                raise MachineLost("the tables of the session are cut off")
            data += part
        record = SessionRecord.model_validate_json(sent.record)
        if (record.trial, record.n) != (job.key, job.n):
            raise MachineLost("it answered with another session")
        tables: dict[str, Any] = {}
        for file in sent.files:
            content = bytes(data[: file.size_bytes])
            del data[: file.size_bytes]
            if hashlib.sha256(content).hexdigest() != file.sha256:
                raise MachineLost(f"its table {file.name} arrived damaged")
            path = folder / f"{file.name}.received"
            path.write_bytes(content)
            tables[file.name] = TableFile(path, file.rows, file.sha256)
        return Measured(record, SessionTables(**tables), sent.interrupted)


def _unheard(*arguments: Any) -> None:
    """For what is called there by another watch; of a module, so that pickle finds it."""


# A run on machines of a fleet.


class LabFleet(Fleet):
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
        require_safe(address, insecure=config.insecure)
        for name in ("device", "host", "port"):
            if getattr(config, name):
                raise UsageError(
                    f"--scheduler and --{name} exclude each other",
                    why="the machines of a fleet have their targets, and where these are, in their own files",
                    fix=f"leave --{name} out and name targets with --target",
                )
        if not config.target:
            raise UsageError("no target was named", fix=f"see `edgebench fleet status {address}`")
        distributed()
        self._by_target = _chosen(ask(address), config.target, address)
        self.declared = tuple(self._by_target[name].targets[name] for name in dict.fromkeys(config.target))
        names: dict[str, list[str]] = {}
        for name, machine in self._by_target.items():
            require_versions(machine.versions, f"the machine of {name}")
            names.setdefault(machine.id, []).append(name)
            _require_usable(machine, name)
        self._machines = {
            machine.id: RemoteMachine(address, machine, names[machine.id], note)
            for machine in self._by_target.values()
        }

    def of(self, trial: PlannedTrial) -> str:
        """The machine that offers the trial's target."""
        # Behind the declared name stand a sweep's settings and the number of a revision.
        return self._by_target[re.split(r"[\[ ]", trial.target.name)[0]].id

    def open(self, trial: PlannedTrial) -> Device:
        """The trial's device, opened on its machine."""
        return self._machines[self.of(trial)].open(trial.target)

    def preflight(self, targets: Sequence[Target]) -> list[dict[str, Any]]:
        """What the machines found of the targets when they joined."""
        return [
            {**finding, "target": target.name, "targets": [target.name]}
            for target in targets
            for finding in _findings(self._by_target[target.declared_name], target.declared_name)
        ]

    def await_turn(self, machine: str, over: Callable[[], bool]) -> bool:
        """Wait for the machine's semaphore; a machine that is lost is left to whoever measures on it."""
        try:
            return self._machines[machine].await_turn(over)
        except (MachineLost, UnavailableError):
            return True

    def measure(
        self,
        device: Device,
        job: Job,
        watch: SessionWatch,
        explain: Explain,
        host_probes: HostProbes,
        folder: Path,
    ) -> Measured | None:
        """A session on the device's machine, whose own backend explains and whose own probes sample."""
        assert isinstance(device, RemoteDevice)
        return device.machine.measure(device.target, job, watch, folder)

    def leave(self, machine: str) -> None:
        """Give the machine to others."""
        self._machines[machine].leave()


def _chosen(
    machines: Sequence[OfferedMachine], names: Sequence[str], address: str
) -> dict[str, OfferedMachine]:
    offered = {name: machine for machine in machines for name in machine.targets}
    for name in dict.fromkeys(names):
        having = [machine.address for machine in machines if name in machine.targets]
        if not having:
            raise UsageError(
                f"no machine of {address} offers the target {name!r}",
                why=f"offered: {', '.join(sorted(offered)) or 'none'}",
                fix=choose(name, offered) if offered else "start `edgebench fleet worker` on a machine",
            )
        if len(having) > 1:
            raise UsageError(
                f"{len(having)} machines offer the target {name!r}: {', '.join(having)}",
                fix="give each board of the fleet a name of its own, or end one of their workers",
            )
    return {name: offered[name] for name in names}


def _require_usable(machine: OfferedMachine, name: str) -> None:
    errors = [
        finding
        for finding in _findings(machine, name)
        # A board that was off when its machine joined may be on by now: opening it tells.
        if finding.get("level") == "error" and finding.get("subject") != "connection"
    ]
    if errors:
        raise UnavailableError(
            f"{name} cannot be measured on its machine",
            why="; ".join(f"{finding.get('subject')}: {finding.get('message')}" for finding in errors),
            fix="; ".join(dict.fromkeys(str(finding.get("fix")) for finding in errors if finding.get("fix")))
            + "; then start its `edgebench fleet worker` again",
        )
