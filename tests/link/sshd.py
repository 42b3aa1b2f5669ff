"""A real sshd on a loopback port, with keys and a configuration of its own, for the tests of the SSH link."""

import contextlib
import getpass
import os
import random
import shutil
import socket
import subprocess
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from edgebench.agent.bootstrap import ENVIRONMENT as BOARD_DIR
from edgebench.agent.lock import ENVIRONMENT as BOARD_LOCK

START_S = 20.0


def missing() -> str:
    """Why there can be no sshd here; nothing where there can."""
    for program in ("ssh", "ssh-keygen"):
        if shutil.which(program) is None:
            return f"{program} is not installed"
    if _sshd() is None:
        return "sshd is not installed (apt-get install openssh-server)"
    return ""


def _sshd() -> str | None:
    return shutil.which("sshd", path=os.environ.get("PATH", "") + ":/usr/sbin:/usr/local/sbin")


@dataclass
class Board:
    """This machine at the far end of SSH.

    Attributes:
        folder: for keys, configurations, and what EdgeBench puts on the board.
        port: on 127.0.0.1.
        settings: lines for sshd_config beside the usual ones.
    """

    folder: Path
    port: int
    settings: tuple[str, ...] = ()
    _server: subprocess.Popen[bytes] | None = field(default=None, repr=False)

    @property
    def address(self) -> str:
        return f"{getpass.getuser()}@127.0.0.1:{self.port}"

    @property
    def config(self) -> Path:
        return self.folder / "ssh_config"

    @property
    def placed(self) -> Path:
        """Where EdgeBench keeps its files on this board."""
        return self.folder / "placed"

    def start(self) -> None:
        path = _sshd()
        assert path
        if os.geteuid() == 0:
            Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)  # a container's sshd never made it
        log = self.folder / "sshd.log"
        with log.open("ab") as out:
            self._server = subprocess.Popen(
                [path, "-D", "-e", "-f", str(self.folder / "sshd_config")],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
            )
        deadline = time.monotonic() + START_S
        while True:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 1.0):
                return
            if self._server.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"sshd does not start: {log.read_text()[-2000:]}")
            time.sleep(0.02)

    def stop(self) -> None:
        """End the listener; connections that are open stay."""
        if self._server is not None:
            self._server.terminate()
            self._server.wait()
            self._server = None

    def processes(self) -> list[psutil.Process]:
        """Everything that runs on the board by way of this sshd."""
        if self._server is None:
            return []
        return psutil.Process(self._server.pid).children(recursive=True)

    def drop(self) -> None:
        """Cut every connection: the server's side of each is killed."""
        assert self._server
        for session in psutil.Process(self._server.pid).children():
            for process in (session, *session.children(recursive=True)):
                with contextlib.suppress(psutil.NoSuchProcess):
                    if process.name().startswith("sshd"):
                        process.kill()

    def power_off(self) -> None:
        """Connections, agents, workers and the listener, all at once and without a word."""
        everything = self.processes()
        if self._server is not None:
            self._server.kill()
            self._server.wait()
            self._server = None
        for process in everything:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()
        psutil.wait_procs(everything, timeout=20)


def make_board(folder: Path, *settings: str, environment: Mapping[str, str] | None = None) -> Board:
    """Keys, configurations and a free port; not started. `environment` is what sessions find set there."""
    port = free_port()
    board = Board(folder, port, settings)
    variables = {BOARD_DIR: str(board.placed), BOARD_LOCK: str(folder), **(environment or {})}
    for name in ("host_key", "user_key"):
        make_key(folder / name)
    shutil.copy(folder / "user_key.pub", folder / "authorized_keys")
    trust(board, folder / "host_key.pub")
    (folder / "sshd_config").write_text(
        "\n".join(
            [
                f"Port {port}",
                "ListenAddress 127.0.0.1",
                f"HostKey {folder}/host_key",
                f"AuthorizedKeysFile {folder}/authorized_keys",
                f"PidFile {folder}/sshd.pid",
                "StrictModes no",
                "UsePAM no",
                "PermitRootLogin prohibit-password",
                "PasswordAuthentication no",
                "KbdInteractiveAuthentication no",
                # One line: an sshd minds the first alone.
                f"SetEnv {' '.join(f'{name}={value}' for name, value in variables.items())}",
                *settings,
            ]
        )
        + "\n"
    )
    board.config.write_text(
        "\n".join(
            [
                "Host *",
                f"  IdentityFile {folder}/user_key",
                "  IdentitiesOnly yes",
                f"  UserKnownHostsFile {folder}/known_hosts",
                "  GlobalKnownHostsFile /dev/null",
                "  StrictHostKeyChecking yes",
                "  UpdateHostKeys no",
            ]
        )
        + "\n"
    )
    return board


def free_port() -> int:
    """Below the ports of outgoing connections: none of those may take it while the board is down."""
    for port in random.SystemRandom().sample(range(20_000, 32_000), 100):
        with contextlib.suppress(OSError), socket.socket() as free:
            free.bind(("127.0.0.1", port))
            return port
    raise RuntimeError("there is no free port")


def make_key(path: Path) -> Path:
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(path)], check=True)
    return path


def trust(board: Board, public_key: Path) -> None:
    """Let the client know this key as the board's."""
    kind, key = public_key.read_text().split()[:2]
    (board.folder / "known_hosts").write_text(f"[127.0.0.1]:{board.port} {kind} {key}\n")


def wait_until(settled, seconds=20.0):
    deadline = time.monotonic() + seconds
    while not settled():
        assert time.monotonic() < deadline, "in vain"
        time.sleep(0.02)


def opened(rig, board, **more):
    device = rig.far(board, **more)
    device.close()
    return device
