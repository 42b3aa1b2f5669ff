"""`edgebench fleet worker`: a machine joins a fleet with its targets, and stays until it is ended."""

from __future__ import annotations

import asyncio
import hashlib
import importlib
import os
import signal
import tempfile
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from edgebench.agent.files import boot
from edgebench.errors import UnavailableError, UsageError
from edgebench.files import read_toml
from edgebench.fleet.machine import MACHINES
from edgebench.fleet.scheduler import (
    ANNOUNCED,
    ASK_EVERY_S,
    Announcement,
    ask,
    distributed,
    is_loopback,
    own_versions,
)
from edgebench.prepare.cache import Cache, using
from edgebench.run.config import resolve
from edgebench.run.measuring.preflight import checked
from edgebench.run.planner import choose
from edgebench.run.targets import declared_once
from edgebench.run.targets_file import FILE_NAME, read_targets

_QUIET = {
    # Profiles of the worker's own threads would disturb what is measured on its machine.
    "distributed.worker.profile.enabled": False,
    "distributed.worker.memory.pause": False,
    "distributed.worker.memory.terminate": False,
}


def serve(
    address: str, targets_file: Path | None, port: int, say: Callable[[str], None], *, insecure: bool
) -> None:
    """Check the targets as `targets check` does, join the fleet, and measure for its runs until a signal.

    Args:
        address: of the scheduler.
        targets_file: None for the usual one.
        port: that the worker listens at; 0 for any.
        say: told what goes on.
        insecure: whether another machine's scheduler is used without TLS.

    Raises:
        UsageError: an address that is none or not protected, no targets.
        UnavailableError: no scheduler there, or one of another version.
    """
    declared = read_targets(targets_file)
    if declared.path is None or not declared.targets:
        raise UsageError(
            "this machine has no targets to offer", fix=f"write them into {FILE_NAME}, or name --targets-file"
        )
    ask(address, insecure=insecure)
    names = [target.name for target in declared.targets]
    backends, targets = choose(resolve({"target": names, "targets_file": declared.path}).config)
    checks = checked(declared_once(targets), backends)
    announcement = Announcement(
        machine=machine_id(),
        versions=own_versions(),
        tables=tuple(read_toml(declared.path, fix="").tables["targets"]),
        findings={check["target"]: check["findings"] for check in checks},
        checked_utc=f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC",
    )
    with using(Cache()):
        asyncio.run(_serve(address, announcement.model_dump_json(), port, say))


def machine_id() -> str:
    """The same for all processes that take this machine's lock, until it boots again."""
    lock_folder = os.environ.get("EDGEBENCH_BOARD_LOCK", "/")
    return hashlib.sha256(f"{boot()} {lock_folder}".encode()).hexdigest()[:12]


def _use() -> dict[str, Any]:
    machines = list(MACHINES.values())
    opened = [f"{each.target.name}, {each.who}" for each in machines if each.device and each.target]
    return {"measuring": "; ".join(opened), "waiting": [each.who for each in machines if each.waits]}


async def _serve(address: str, announcement: str, port: int, say: Callable[[str], None]) -> None:
    """Be a worker of the scheduler, and again once it is back after it was lost, until a signal."""
    dask = distributed()
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    stopping = asyncio.ensure_future(stop.wait())
    importlib.import_module("dask.config").set(_QUIET)
    # A scheduler on this machine is reached by loopback alone; any other by the interface on the way to it.
    host = "127.0.0.1" if is_loopback(address) else None
    with tempfile.TemporaryDirectory(prefix="edgebench-fleet-") as folder:
        while not stop.is_set():
            worker = dask.Worker(
                address,
                nthreads=4,
                host=host,
                port=port,
                protocol=address.partition(":")[0],
                dashboard=False,
                # Its HTTP server listens on every interface unless it is told otherwise.
                dashboard_address="127.0.0.1:0",
                memory_limit=0,
                local_directory=folder,
                startup_information={ANNOUNCED: lambda worker: announcement},
                metrics={ANNOUNCED: lambda worker: _use()},
            )
            async with worker:
                say(f"joined {address} as {worker.address}")
                finished = asyncio.ensure_future(worker.finished())
                await asyncio.wait((stopping, finished), return_when=asyncio.FIRST_COMPLETED)
            for machine in list(MACHINES.values()):
                await asyncio.to_thread(machine.close)
            if not stop.is_set():
                say("the scheduler was lost: waiting for it to come back")
            while not stop.is_set():
                with suppress(UnavailableError):
                    await asyncio.to_thread(ask, address, insecure=True)
                    break
                await asyncio.wait((stopping,), timeout=ASK_EVERY_S)
