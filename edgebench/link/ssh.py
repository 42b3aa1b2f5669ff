"""The SSH link: the agent on a board, through the system's OpenSSH and the user's own configuration.

One connection is shared by everything that goes to the board. It is held open by a process whose stdin is a
pipe from the harness, so that it ends with the harness even when that is killed; a ControlPersist would
outlive it. Nothing is asked (batch mode), nothing listens, nothing is forwarded.
"""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import shutil
import subprocess
import tempfile
from pathlib import Path

from edgebench.agent import bootstrap
from edgebench.errors import UnavailableError, UsageError
from edgebench.link.board_failures import NO_ROOM_FOR_THE_AGENT, raise_refusal
from edgebench.link.opening import Opening, OpeningFailed
from edgebench.link.ssh_failures import no_python, not_connected
from edgebench.link.zipapp import whole_agent
from edgebench.vocabulary.address import check_address

ENVIRONMENT = "EDGEBENCH_SSH_CONFIG"
CONNECT_S = 15
READY = "edgebench-connected"
OPTIONS = (
    "BatchMode=yes",
    f"ConnectTimeout={CONNECT_S}",
    # A board that lost its power is noticed within half a minute.
    "ServerAliveInterval=10",
    "ServerAliveCountMax=3",
    "ClearAllForwardings=yes",
    "ForwardAgent=no",
    "ForwardX11=no",
    "PermitLocalCommand=no",
    "RemoteCommand=none",
    "ControlPersist=no",
    "LogLevel=ERROR",
)
# No quote, backslash or exclamation mark: every login shell hands it on as it is. The line that it reads is
# read byte by byte, so that nothing behind it is lost to the agent.
_FIRST = (
    'import sys;sys.version_info<(3,6)and sys.exit("edgebench: python is "+sys.version.split()[0]);'
    'exec(eval(open(0,"rb",0,closefd=False).readline()))'
)


class SshLink:
    """Starts the agent on `user@board[:port]`.

    Args:
        host: the address; the user's SSH configuration knows the rest.
        agent: the zipapp.
        digest: its SHA-256.
        python: the board's interpreter; None for `python3`. A leading `~/` is the home folder there.
        config: an SSH configuration to use instead of the user's; by default `$EDGEBENCH_SSH_CONFIG`.
        timeout_s: for the connection, and again for the agent's first word.

    Raises:
        UsageError: for an address or a Python that cannot be one.
    """

    kind = "ssh"
    shares_files = False
    comes_back = True

    def __init__(
        self,
        host: str,
        agent: Path,
        digest: str,
        python: str | None = None,
        config: Path | None = None,
        timeout_s: float = 60.0,
    ) -> None:
        address = check_address(host)
        self.name = host
        destination = f"{address.user}@{address.host}" if address.user else address.host
        self._agent = agent
        self._digest = digest
        self._python = _checked_python(python or "python3")
        self._timeout_s = timeout_s
        chosen = str(config) if config else os.environ.get(ENVIRONMENT, "")
        port = ["-p", str(address.port)] if address.port else []
        self._login = shlex.join(["ssh", *port, destination])
        self._options = ["-F", chosen] if chosen else []
        self._options += [part for option in OPTIONS for part in ("-o", option)]
        self._options += port
        self._destination = destination
        self._folder: Path | None = None
        self._master: subprocess.Popen[bytes] | None = None
        self._answered = False

    def start(self) -> subprocess.Popen[bytes]:
        """The agent, over the shared connection, sent there first where it is missing.

        Raises:
            UnavailableError, NoPermissionError: each cause with its own words and fix.
        """
        if self._master is None or self._master.poll() is not None:
            self.close()
            self._connect()
        process = self._ssh("no", f"exec {_quoted(self._python)} -c '{_FIRST}'")
        try:
            self._open_agent(process)
            self._answered = True
        except BaseException as error:
            _end(process)
            if isinstance(error, OpeningFailed):
                raise no_python(error, self.name, self._python, self._login) from None
            raise
        return process

    def close(self) -> None:
        """Close the shared connection, and with it whatever still uses it."""
        if self._master is not None:
            _end(self._master)
            self._master = None
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = None

    def _connect(self) -> None:
        # A socket's path has room for 100 characters, less what ssh appends while it makes it.
        short = "/tmp" if os.path.isdir("/tmp") else None  # noqa: PTH112
        self._folder = Path(tempfile.mkdtemp(prefix="edgebench-", dir=short))
        try:
            self._master = self._ssh("yes", f"echo {READY}; exec cat > /dev/null")
            self._opening(self._master, f"{self.name} to answer").after(READY.encode())
        except OpeningFailed as failed:
            self.close()
            raise not_connected(failed, self.name, self._login) from None
        except BaseException:
            self.close()
            raise

    def _ssh(self, master: str, command: str) -> subprocess.Popen[bytes]:
        socket = ["-o", f"ControlMaster={master}", "-o", f"ControlPath={self._folder}/s"]
        try:
            return subprocess.Popen(
                ["ssh", "-T", *socket, *self._options, "--", self._destination, command],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                bufsize=0,
                start_new_session=True,
            )
        except OSError as error:
            raise UnavailableError(
                "ssh cannot be started",
                why=str(error),
                fix="install OpenSSH (sudo apt install openssh-client)",
            ) from error

    def _open_agent(self, process: subprocess.Popen[bytes]) -> None:
        opening = self._opening(process, f"the agent on {self.name} to start")
        data = whole_agent(self._agent)
        source = (
            Path(str(bootstrap.__file__)).read_text() + f"\n\nbecome_agent({self._digest!r}, {len(data)})\n"
        )
        opening.send(ascii(source).encode() + b"\n")
        reply = self._next_reply(opening)
        if reply["state"] == "send":
            opening.send(data)
            reply = self._next_reply(opening)
        if reply["state"] == "ready":
            return
        if reply["state"] == "send":
            raise UnavailableError(
                f"{self.name} asks for the agent again and again",
                why="it was sent once, and all of it",
                fix=f"see what '{self._login} {self._python}' runs there",
            )
        raise_refusal(reply, self.name, make_room=NO_ROOM_FOR_THE_AGENT)

    def _opening(self, process: subprocess.Popen[bytes], awaited: str) -> Opening:
        # A board that was there before is waited for by whoever lost it, who says so once.
        return Opening(process, self._timeout_s, "" if self._answered else awaited)

    def _next_reply(self, opening: Opening) -> dict[str, object]:
        line = opening.after(bootstrap.MARK.encode())
        try:
            reply = json.loads(line)
        except (ValueError, RecursionError):
            reply = None
        if not isinstance(reply, dict) or "state" not in reply:
            raise UnavailableError(
                f"{self.name} answers in another way than was due",
                why=repr(line[:200]),
                fix="keep login scripts there from printing where no terminal is",
            )
        return reply


def _checked_python(python: str) -> str:
    if not python.isprintable() or python.startswith("-") or not python.strip():
        raise UsageError(f"{python!r} is no Python interpreter", fix="name it, or give its path on the board")
    return python


def _quoted(python: str) -> str:
    if python.startswith("~/"):
        return '"$HOME"/' + shlex.quote(python[2:])
    return shlex.quote(python)


def _end(process: subprocess.Popen[bytes]) -> None:
    """Close its pipes; end it when that does not."""
    for file in (process.stdin, process.stdout, process.stderr):
        if file is not None:
            with contextlib.suppress(OSError):
                file.close()
    try:
        process.wait(2.0)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
