"""The scheduler of a fleet, as runs and machines see it: its address, its versions, the machines it has."""

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
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from edgebench.errors import EdgeBenchError, UnavailableError, UsageError
from edgebench.run.targets_file import DeclaredTarget, declared_in
from edgebench.suggest import nearest, printable
from edgebench.version import __version__

ANSWER_S = 15.0
"""How long the scheduler, or a machine through it, may take to answer before it counts as lost."""

ASK_EVERY_S = 1.0
"""Between two looks for a machine, a scheduler or a turn."""

ANNOUNCED = "edgebench"
"""Under which a Dask worker says what it offers, and how it is used."""

_FINDING = {"level", "subject", "message", "fix"}
_ADDRESS = re.compile(
    r"(?P<scheme>tcp|tls)://(?P<host>\[[0-9A-Fa-f:.]{2,45}\]|[A-Za-z0-9_.-]{1,253}):(?P<port>[0-9]{1,5})"
)


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


def status_of(machines: Sequence[OfferedMachine]) -> list[dict[str, Any]]:
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


def offering(name: str, machines: Sequence[OfferedMachine], address: str) -> OfferedMachine:
    """The one machine that offers a target and can measure it.

    UsageError for a target that no machine offers or two do; UnavailableError for another version there, or
    findings that prevent measuring.
    """
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
