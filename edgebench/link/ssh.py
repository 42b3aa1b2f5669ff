"""The SSH link: the agent on a board, through the system's OpenSSH and the user's own configuration.

One connection is shared by everything that goes to the board. It is held open by a process whose stdin is a
pipe from the harness, so that it ends with the harness even when that is killed; a ControlPersist would
outlive it. Nothing is asked (batch mode), nothing listens, nothing is forwarded.
"""

from __future__ import annotations

import contextlib
import json
import logging
import math
import os
import shlex
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

from edgebench import interruption
from edgebench.agent import bootstrap
from edgebench.agent.frames import Buffer
from edgebench.errors import EdgeBenchError, NoPermissionError, UnavailableError, UsageError
from edgebench.files import expand_home
from edgebench.link.connection import Pipes, Stalled
from edgebench.link.failures import Cause, first_cause
from edgebench.link.local import (
    NO_ROOM_FOR_THE_AGENT,
    LocalLink,
    printable_lines,
    raise_refusal,
    whole_agent,
)
from edgebench.records.target import check_address

# The first words of a process at the far end of SSH, before it speaks frames.
#
# Login scripts print what they like: what counts is behind a mark, and the rest is kept for messages.


TAIL_BYTES = 65536
MAX_NOISE_BYTES = 1 << 20
SAY_AFTER_S = 2.0
"""Seconds before the wait for a first word is reported."""

LEAST_END_S = 1.0
END_EVERY_S = 0.01

_log = logging.getLogger(__name__)


class OpeningFailed(Exception):
    """The process ended, or said nothing that was expected.

    Args:
        code: its exit code; None when it still runs.
        stderr: the end of what it wrote there.
        stdout: what it said instead.
        stuck: whether it took in nothing of what it was sent.
    """

    def __init__(self, code: int | None, stderr: str, stdout: str, *, stuck: bool = False) -> None:
        super().__init__(stderr or stdout)
        self.code = code
        self.stderr = stderr
        self.stdout = stdout
        self.stuck = stuck


class Opening:
    """Reads marked lines from a process's stdout until a deadline, and its stderr meanwhile.

    Args:
        process: with pipes for all three; they are non-blocking from here on.
        timeout_s: for all that is waited for, starting again where something sent was taken in.
        awaited: what is waited for, reported when it takes longer than a moment; "": not reported.
    """

    def __init__(self, process: subprocess.Popen[bytes], timeout_s: float, awaited: str = "") -> None:
        self._process = process
        self._pipes = Pipes(process, self._hear, TAIL_BYTES)
        self._timeout_s = timeout_s
        self._deadline = time.monotonic() + timeout_s
        self._say_at = time.monotonic() + SAY_AFTER_S if awaited else math.inf
        self._waiting = f"waiting for {awaited}, {timeout_s:.0f} s at most"
        self._received = bytearray()

    def after(self, mark: bytes) -> bytes:
        """The rest of the next line that holds the mark; OpeningFailed when none comes."""
        while True:
            start = self._received.find(mark)
            end = self._received.find(b"\n", start) if start >= 0 else -1
            if end >= 0:
                line = bytes(self._received[start + len(mark) : end])
                del self._received[: end + 1]
                return line
            now = time.monotonic()
            left = self._deadline - now
            if now >= self._say_at:
                _log.warning(self._waiting)
                self._say_at = math.inf
            self._pipes.receive(min(left, self._say_at - now))
            if left <= 0:
                raise self._failed(ended=False)

    def send(self, data: Buffer) -> None:
        """Write all of it; OpeningFailed when nothing of it is taken in for as long as the opening may take.

        A process that has closed its stdin is not an error here: what it says tells more.
        """
        try:
            with contextlib.suppress(BrokenPipeError):
                self._pipes.write([data], self._timeout_s)
        except Stalled:
            raise self._failed(ended=False, stuck=True) from None
        self._deadline = time.monotonic() + self._timeout_s

    def _hear(self, data: bytes) -> None:
        if not data:
            raise self._failed(ended=True)
        self._received += data
        if len(self._received) > MAX_NOISE_BYTES:
            raise self._failed(ended=False)

    def _failed(self, ended: bool, stuck: bool = False) -> OpeningFailed:
        code: int | None = None
        if ended:
            until = max(self._deadline, time.monotonic() + LEAST_END_S)
            while (code := self._process.poll()) is None and time.monotonic() < until:
                interruption.pause(END_EVERY_S)
            self._pipes.collect()
        return OpeningFailed(code, _text(self._pipes.tail), _text(self._received), stuck=stuck)


def _text(data: bytearray) -> str:
    return bytes(data[-4000:]).decode("utf-8", "backslashreplace").strip()


# Why SSH did not lead to an agent: each cause with its message and its fix.


# In this order: a changed key also ends in "verification failed", and in "permission denied" at times.
_CAUSES = (
    Cause(
        r"(?i)remote host identification has changed|host key for .* has changed",
        "the host key of {board} is another one than before",
        fix="find out why (a new system on the board, or somebody between); then {forget} and {login} once",
        kind=NoPermissionError,
    ),
    Cause(
        r"(?i)host key verification failed|host key is known for",
        "the host key of {board} is not known",
        fix="{login} once and compare the fingerprint that it shows with the board's",
        kind=NoPermissionError,
    ),
    Cause(
        r"(?i)permission denied|too many authentication failures|no more authentication methods",
        "{board} does not let this user in without a password",
        fix="{copy} once, or load a key with a passphrase into ssh-agent; EdgeBench asks no password",
        kind=NoPermissionError,
    ),
    Cause(
        r"(?i)bad configuration option|bad owner or permissions|terminating, \d+ bad"
        r"|no argument after keyword|can't open user config file|unsupported option",
        "the SSH configuration cannot be used",
        fix="correct the file and line that ssh names",
        kind=NoPermissionError,
    ),
)

_PYTHON_CAUSES = (
    Cause(
        r"edgebench: (?P<why>python is .*)",
        "{python} on {board} is too old",
        "{why}",
        "name a Python of 3.6 or newer with --python",
    ),
    Cause(
        r"(?i)exec format error|cannot execute binary",
        "{python} on {board} is built for another processor",
        fix="name a Python of the board's own architecture with --python (uname -m tells it)",
    ),
    Cause(
        r"(?i)not found|no such file|^exit code 127$",
        "there is no {python} on {board}",
        fix="install it (sudo apt install python3 python3-numpy), or name another with --python",
    ),
    Cause(
        r"(?i)permission denied|^exit code 126$",
        "{python} on {board} cannot be run",
        fix="name another Python with --python",
        kind=NoPermissionError,
    ),
)


_SSH_FAILED = 255
"""Exit code of ssh's own errors. Any other is that of the remote command."""


def not_connected(failed: OpeningFailed, address: str, login: str) -> EdgeBenchError:
    """Error for a connection that did not come about, from what ssh and the board printed.

    Args:
        failed: of the process that should have opened the connection.
        address: the board, as the user named it.
        login: the ssh command without its options.
    """
    words = printable_lines(failed.stderr)
    known = first_cause(
        _CAUSES,
        words,
        board=address,
        login=f"run '{login}'",
        forget=f"run 'ssh-keygen -R {_known_as(address.rpartition('@')[2])}'",
        copy=f"run '{login.replace('ssh', 'ssh-copy-id', 1)}'",
    )
    if known is not None:
        return known.kind(known.what, why=known.why, fix=known.fix)
    output = printable_lines(failed.stdout)
    why = "; ".join([*words[-1:], *output[-1:]])
    if failed.code is None:
        return UnavailableError(
            f"{address} does not answer",
            why=why or "nothing came back in time",
            fix=f"run '{login}': it must log in without a question",
        )
    why = why or f"ssh ended with exit code {failed.code}"
    if failed.code != _SSH_FAILED:
        return UnavailableError(
            f"{address} lets this user in and runs no command",
            why=why,
            fix="give the account a shell there (sudo chsh -s /bin/sh USER)",
        )
    return UnavailableError(
        f"{address} cannot be reached by ssh",
        why=why,
        fix=f"check that it is switched on, on this network, and runs sshd; '{login}' has to work",
    )


def no_python(failed: OpeningFailed, address: str, python: str, login: str) -> EdgeBenchError:
    """Why the connection stands and no Python took the agent."""
    if failed.code == _SSH_FAILED:
        return not_connected(failed, address, login)
    words = printable_lines(failed.stderr)
    exit_code = f"exit code {failed.code}"
    if known := first_cause(_PYTHON_CAUSES, [*words, exit_code], board=address, python=python):
        return known.kind(known.what, why=known.why, fix=known.fix)
    output = printable_lines(failed.stdout)
    why = (words or output or ["it printed nothing in time" if failed.code is None else exit_code])[-1]
    if failed.stuck:
        why = "it read nothing in time"
    return UnavailableError(
        f"{python} on {address} takes no program",
        why=why,
        fix=f"see that '{login} {python} --version' works and says 3.6 or newer",
    )


def _known_as(host: str) -> str:
    name, _, port = host.rpartition(":")
    return f"[{name.strip('[]')}]:{port}" if name and port.isdigit() else host.strip("[]")


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
        chosen = str(config) if config else expand_home(os.environ.get(ENVIRONMENT, ""))
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
                f"{self.name} sent an unexpected reply",
                why=repr(line[:200]),
                fix="keep login scripts there from printing where no terminal is",
            )
        return reply


Link = LocalLink | SshLink
"""A way to a machine with a Python: an agent's process with three pipes, and files that reach the device."""


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
