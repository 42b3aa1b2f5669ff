"""A lab on loopback: a Dask scheduler, and fleet workers in processes of their own."""

from __future__ import annotations

import contextlib
import json
import socket
import subprocess
import sys
import threading
import time
import venv
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

from tests.link.sshd import free_port
from tests.walk.conftest import COMMAND, Place

START_S = 60.0
QUICK = (
    "--depth", "0.25", "--precision", "int8", "--scene", "scene.png", "--images", "images", "--passes", "2",
    "--no-telemetry", "-q",
)  # fmt: skip


def target(name: str, *lines: str) -> str:
    return "\n".join((f'[[targets]]\nname = "{name}"\ndevice = "toy"', *lines, ""))


@dataclass
class Lab:
    """Every process of it is ended by `stop`.

    Attributes:
        place: where its commands run.
        port: of the scheduler.
    """

    place: Place
    port: int = field(default_factory=free_port)
    processes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)
    protocol: str = "tcp"
    environment: Mapping[str, str] = field(default_factory=dict)

    @property
    def address(self) -> str:
        return f"{self.protocol}://127.0.0.1:{self.port}"

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        """A command in the lab's own environment."""
        process = self.place.start(*words, stderr=subprocess.PIPE, **dict(self.environment))
        out, err = process.communicate(timeout=120)
        return subprocess.CompletedProcess(words, process.returncode, out, err)

    def start(self, name: str, command: list[str], **environment: str) -> subprocess.Popen[bytes]:
        with (self.place.folder / f"{name}.log").open("ab") as log:
            self.processes[name] = subprocess.Popen(
                command,
                cwd=self.place.folder,
                env=self.place.environment | dict(self.environment) | environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        return self.processes[name]

    def start_scheduler(self) -> None:
        scheduler = "from distributed.cli.dask_scheduler import main; main()"
        options = ["--protocol", self.protocol, "--host", "127.0.0.1", "--port", str(self.port)]
        options += ["--dashboard-address", "127.0.0.1:0"]
        self.start("scheduler", [sys.executable, "-c", scheduler, *options])
        self.until(lambda: self.log("scheduler").count("Scheduler at:") > 0, "scheduler")

    def start_worker(
        self, name: str, targets: str, *words: str, prefix: Sequence[str] = (), **more: str
    ) -> None:
        """A machine with its own lock folder, cache and Python; `prefix` is what starts its worker."""
        file = self.place.folder / f"{name}.toml"
        file.write_text(targets)
        lock = self.place.folder / f"{name}-lock"
        lock.mkdir(exist_ok=True)
        own = {
            "EDGEBENCH_BOARD_LOCK": str(lock),
            "EDGEBENCH_CACHE_DIR": str(self.place.folder / f"{name}-cache"),
        }
        joined = self.log(name).count("joined")
        command = [
            *prefix,
            own_python(self.place.folder / f"{name}-python"),
            *COMMAND[1:],
            "fleet",
            "worker",
            self.address,
            "--targets-file",
            str(file),
            *words,
        ]
        self.start(name, command, **own, **more)
        self.until(lambda: self.log(name).count("joined") > joined, name)

    def log(self, name: str) -> str:
        path = self.place.folder / f"{name}.log"
        return path.read_text() if path.exists() else ""

    def until(self, condition: Any, name: str, limit_s: float = START_S) -> None:
        deadline = time.monotonic() + limit_s
        while not condition():
            ended = name in self.processes and self.processes[name].poll() is not None
            if ended or time.monotonic() > deadline:
                raise AssertionError(f"{name}: {self.log(name)[-3000:]}")
            time.sleep(0.05)

    def words(self, *words: str) -> list[str]:
        return ["run", "--scheduler", self.address, *QUICK, *words]

    def status(self) -> list[dict[str, Any]]:
        done = self.place.run("fleet", "status", self.address, "--json")
        assert done.returncode == 0, done.stderr
        machines: list[dict[str, Any]] = json.loads(done.stdout)["machines"]
        return machines

    def listening(self) -> set[str]:
        """The addresses that its processes listen on."""
        return {
            connection.laddr.ip
            for process in self.processes.values()
            for connection in psutil.Process(process.pid).net_connections("inet")
            if connection.status == psutil.CONN_LISTEN
        }

    def kill(self, name: str) -> None:
        process = self.processes.pop(name)
        process.kill()
        process.wait()

    def stop(self) -> None:
        for process in self.processes.values():
            process.terminate()
        for process in self.processes.values():
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def own_python(folder: Path) -> str:
    """The Python of a virtual environment in that folder, which has what this one has."""
    if not folder.exists():
        venv.create(folder, with_pip=False, symlinks=True)
        [packages] = folder.glob("lib/python*/site-packages")
        of_here = [path for path in sys.path if path.endswith("site-packages")]
        lines = [f"import site; site.addsitedir({path!r})\n" for path in of_here]
        (packages / "lab.pth").write_text("".join(lines))
    return str(folder / "bin" / "python")


@contextlib.contextmanager
def lab_of(place: Place) -> Iterator[Lab]:
    lab = Lab(place)
    try:
        lab.start_scheduler()
        yield lab
    finally:
        lab.stop()


def sessions_of(result: Path) -> Mapping[str, list[dict[str, Any]]]:
    """The records of a result's sessions by trial, in order."""
    return {
        trial.name: [json.loads(path.read_text()) for path in sorted(trial.glob("sessions/*/session.json"))]
        for trial in (result / "trials").iterdir()
    }


class Proxy:
    """Passes bytes between a loopback port, or a socket at a path, and another port.

    `drops` lets nothing through, either way.
    """

    def __init__(self, to_port: int, path: Path | None = None) -> None:
        self._to_port = to_port
        self.drops = threading.Event()
        family, address = (socket.AF_UNIX, str(path)) if path else (socket.AF_INET, ("127.0.0.1", 0))
        self._server = socket.create_server(address, family=family)
        self.port: int = 0 if path else self._server.getsockname()[1]
        self._open: list[socket.socket] = [self._server]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                near, _ = self._server.accept()
                far = socket.create_connection(("127.0.0.1", self._to_port))
                self._open += [near, far]
                for one, other in ((near, far), (far, near)):
                    threading.Thread(target=self._pass_on, args=(one, other), daemon=True).start()

    def _pass_on(self, source: socket.socket, sink: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(1 << 16):
                if not self.drops.is_set():
                    sink.sendall(data)
            sink.shutdown(socket.SHUT_WR)

    def close(self) -> None:
        for each in self._open:
            with contextlib.suppress(OSError):
                each.close()
