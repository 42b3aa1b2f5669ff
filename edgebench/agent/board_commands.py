"""Programs of the board's system, each run once and waited for no longer than it may take.

They get no input (a question that they ask is answered by the end of the file) and no terminal.
"""

import os
import select
import shutil
import signal
import subprocess
import time
from typing import List, NamedTuple, Optional, Sequence

COMMAND_S = 20.0
"""For one program; nvpmodel and jetson_clocks take a second or a few."""

END_S = 2.0
MOST_OUTPUT = 16384
MOST_WORDS = 400
_WORDS_LINES = 4
_LOOK_EVERY_S = 0.02

Ended = NamedTuple("Ended", [("code", Optional[int]), ("output", str)])


def run_command(command: Sequence[str], limit_s: Optional[float] = None) -> Ended:
    """Run a program to its end; `code` is None where it could not be started or had to be killed.

    Args:
        command: the program, found by PATH, and its arguments.
        limit_s: COMMAND_S unless given. A program of root's that this user may not kill is left running.
    """
    limit_s = COMMAND_S if limit_s is None else limit_s
    try:
        process = subprocess.Popen(
            list(command),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=dict(os.environ, LC_ALL="C"),
            start_new_session=True,
        )
    except OSError as error:
        return Ended(None, "{}: {}".format(command[0], error.strerror))
    assert process.stdout is not None
    output = bytearray()
    killed = False
    try:
        code = _wait(process, process.stdout.fileno(), output, time.monotonic() + limit_s)
    finally:
        if process.returncode is None:
            killed = _kill(process)
        process.stdout.close()
    text = output.decode("utf-8", "replace")
    if code is None:
        left = "was ended" if killed else "goes on as process {}".format(process.pid)
        text += "\n{} did not end within {:g} s, and {}".format(" ".join(command), limit_s, left)
    return Ended(code, text)


def _wait(
    process: "subprocess.Popen[bytes]", descriptor: int, output: bytearray, deadline_s: float
) -> Optional[int]:
    """The exit code, None when the time is over; what it started may hold its output open for longer."""
    os.set_blocking(descriptor, False)
    while True:
        code = process.poll()
        ready, _, _ = select.select([descriptor], [], [], 0 if code is not None else _LOOK_EVERY_S)
        data = os.read(descriptor, MOST_OUTPUT) if ready else b""
        output += data
        del output[:-MOST_OUTPUT]
        if code is not None and not data:
            return code
        if time.monotonic() >= deadline_s:
            return code
        if ready and not data:
            time.sleep(_LOOK_EVERY_S)  # it has closed its output, and goes on


def run_as_root(command: Sequence[str]) -> Ended:
    """Run a program as root where sudo lets this user without a password; root itself needs no sudo."""
    if os.geteuid() == 0 and shutil.which("sudo") is None:
        return run_command(command)
    return run_command(["sudo", "-n"] + list(command))


def last_words(output: str) -> str:
    """The end of what a program wrote, on one line."""
    lines: List[str] = [line.strip() for line in output.splitlines() if line.strip()]
    return "; ".join(lines[-_WORDS_LINES:])[-MOST_WORDS:]


def _kill(process: "subprocess.Popen[bytes]") -> bool:
    """Whether a program, and what it started in its session, is ended; sudo's is root's to end."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    except PermissionError:
        return False
    try:
        process.wait(END_S)
    except subprocess.TimeoutExpired:
        return False
    return True
