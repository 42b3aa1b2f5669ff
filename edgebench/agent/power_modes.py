"""Setting a Jetson's power mode and pinning its clocks, and putting back what was there.

`nvpmodel -m N` sets a mode, `jetson_clocks` pins the clocks to the highest ones of that mode; both need root,
and are run by `sudo -n`, which asks for no password. Before anything is changed, the mode and the clocks that
were in force are noted in this user's folder, the clocks by `jetson_clocks --store FILE`, which
`--restore FILE` reads. An agent that is killed puts nothing back: the note outlives it, so that the next one
can name the command.

Some modes need a reboot, for which nvpmodel asks on its standard input. That is empty, so that the answer is
never yes.
"""

import os
import re
import select
import shlex
import shutil
import signal
import subprocess
import time
from contextlib import contextmanager
from typing import Iterator, List, NamedTuple, Optional, Sequence, Tuple

from . import facts as nvidia
from .bootstrap import UnsafeFolder, make_private, require_private
from .facts import Absent, text

# Programs of the board's system, each run once and waited for no longer than it may take.
#
# They get no input (a question that they ask is answered by the end of the file) and no terminal.


COMMAND_S = 20.0
"""For one program; nvpmodel and jetson_clocks take a second or a few."""

END_S = 2.0
MOST_OUTPUT = 16384
MOST_WORDS = 400
_WORDS_LINES = 4
_LOOK_EVERY_S = 0.02

Ended = NamedTuple("Ended", [("code", Optional[int]), ("output", str)])


def run_command(command: Sequence[str], limit_s: Optional[float] = None) -> Ended:
    """Run a program to its end; it has no `code` where it could not be started or had to be killed.

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


NOTE = "power-mode"
CLOCKS = "power-mode.clocks"

NEEDS_REBOOT = (
    "nvpmodel asks for a reboot before it changes to that mode, and EdgeBench never reboots a board"
)

Mode = NamedTuple("Mode", [("number", int), ("name", str)])
PutBack = NamedTuple("PutBack", [("done", bool), ("text", str)])


class Obstacle(Exception):
    """Why a mode or its clocks are not in force."""


class PowerModes:
    """The power mode and clocks of this machine.

    Args:
        folder: of this user, for the note; made when a mode is set.
        root: where /sys is found.
    """

    def __init__(self, folder: str, root: str = "/") -> None:
        self._folder = folder
        self._root = root
        self._note = os.path.join(folder, NOTE)
        self._clocks = os.path.join(folder, CLOCKS)
        self._before: Optional[Mode] = None  # what is to be put back

    def obstacle(self) -> str:
        """What keeps this user from setting a mode here; "" where nothing does. Changes nothing."""
        try:
            _mode_in_force()
            _run("jetson_clocks", "--show")
        except Obstacle as obstacle:
            return str(obstacle)
        return ""

    def set(self, number: int) -> str:
        """Put a mode in force and pin its clocks; "" where both are read back, else what stood in the way.

        What was in force before is noted first, and put back at once where it fails.
        """
        try:
            now = _mode_in_force()
            if self._before is None:
                self._before = self._take_note(now)
        except Obstacle as obstacle:
            return str(obstacle)
        except (OSError, UnsafeFolder) as error:
            return "what is in force cannot be noted, so that it is not changed: {}".format(error)
        try:
            if now.number != number:
                _change_mode(number)
            self._pin_clocks()
        except Obstacle as obstacle:
            put_back = self.put_back()
            after = "" if put_back is None or put_back.done else "; {}".format(put_back.text)
            return "{}{}".format(obstacle, after)
        return ""

    def put_back(self) -> Optional[PutBack]:
        """Bring back what was in force before this agent set a mode; None where it set none.

        Where that fails, the note stays.
        """
        before, self._before = self._before, None
        if before is None:
            return None
        mode = "power mode {}".format(_mode_text(before))
        try:
            with _undisturbed():
                if _mode_in_force().number != before.number:
                    _change_mode(before.number)
                complaint = _complaint(_run("jetson_clocks", "--restore", self._clocks))
        except Obstacle as obstacle:
            words = "{} could not be put back ({}); on the board: {}"
            return PutBack(False, words.format(mode, obstacle, self._by_hand(before)))
        for path in (self._note, self._clocks):
            try:
                os.unlink(path)
            except OSError:
                pass
        if complaint:
            return PutBack(False, "{} is put back, but not all clocks are: {}".format(mode, complaint))
        return PutBack(True, "{} and its clocks are put back".format(mode))

    def left(self) -> str:
        """What an agent that was killed has not put back, with the command that does; "" for nothing."""
        mode, pid = self._noted()
        if mode is None or os.path.exists("/proc/{}".format(pid)):
            return ""
        words = "power mode {} was in force before a run that was killed; put it back on the board: {}"
        return words.format(_mode_text(mode), self._by_hand(mode))

    def _by_hand(self, mode: Mode) -> str:
        clocks, note = shlex.quote(self._clocks), shlex.quote(self._note)
        words = "sudo nvpmodel -m {} && sudo jetson_clocks --restore {} && rm {}"
        return words.format(mode.number, clocks, note)

    def _pin_clocks(self) -> None:
        complaint = _complaint(_run("jetson_clocks"))
        if complaint:
            raise Obstacle("jetson_clocks: {}".format(complaint))
        try:
            pinned = nvidia.pinned_clocks(self._root)
        except (OSError, Absent):
            return
        free = [name for name, is_pinned in sorted(pinned.items()) if is_pinned is False]
        if free:
            names = " and ".join(name.upper() for name in free)
            raise Obstacle("jetson_clocks ended well, and the {} clock is not pinned".format(names))

    # --- the note ---

    def _take_note(self, now: Mode) -> Mode:
        """Note the mode and clocks in force; the mode that is to be put back, also where one was left so."""
        make_private(self._folder)
        require_private(self._folder)  # root's jetson_clocks reads what lies there
        before = self._noted()[0]
        if before is None:
            before = now
            if os.path.exists(self._clocks):  # jetson_clocks asks before it replaces a file
                os.unlink(self._clocks)
            _run("jetson_clocks", "--store", self._clocks)
            if not os.path.exists(self._clocks) or not os.path.getsize(self._clocks):
                raise Obstacle("jetson_clocks --store wrote an empty {}".format(self._clocks))
        with open(self._note + ".part", "w") as file:
            file.write("{} {} {}".format(before.number, os.getpid(), before.name))
        os.replace(self._note + ".part", self._note)
        return before

    def _noted(self) -> Tuple[Optional[Mode], str]:
        """The mode that is noted, and the process of the agent that noted it."""
        try:
            note = text(self._folder, NOTE) if os.path.isfile(self._note) else ""  # a pipe is not waited for
        except OSError:
            note = ""
        match = re.match(r"([0-9]{1,4}) ([0-9]{1,10})(?: (\S{0,100}))?\Z", note)
        if match is None:
            return None, ""
        return Mode(int(match.group(1)), match.group(3) or ""), match.group(2)


def _mode_in_force() -> Mode:
    """What nvpmodel says; Obstacle where it says nothing, or may not be asked."""
    output = _run("nvpmodel", "-q")
    match = re.search(r"NV Power Mode:[ \t]*(\S*)\s+(\d{1,4})\b", output)
    if match is None:
        raise Obstacle("nvpmodel -q names no power mode: {}".format(last_words(output) or "it says nothing"))
    return Mode(int(match.group(2)), match.group(1)[:100])


def _change_mode(number: int) -> None:
    ended = run_as_root(["nvpmodel", "-m", str(number)])
    if re.search("reboot", ended.output, re.IGNORECASE):
        raise Obstacle(NEEDS_REBOOT)
    if ended.code != 0:
        raise Obstacle(last_words(ended.output) or "nvpmodel -m {} failed".format(number))
    now = _mode_in_force()
    if now.number != number:
        words = "nvpmodel -m {} ended well, and power mode {} is still in force"
        raise Obstacle(words.format(number, _mode_text(now)))


def _run(*command: str) -> str:
    """What a program writes, run as root; Obstacle with its last words where it fails."""
    ended = run_as_root(command)
    if ended.code != 0:
        raise Obstacle(last_words(ended.output) or "{} failed".format(" ".join(command)))
    return ended.output


def _complaint(output: str) -> str:
    """The errors among what jetson_clocks writes, which ends well all the same."""
    return last_words("\n".join(line for line in output.splitlines() if "error" in line.lower()))


def _mode_text(mode: Mode) -> str:
    return "{} ({})".format(mode.number, mode.name) if mode.name else str(mode.number)


@contextmanager
def _undisturbed() -> Iterator[None]:
    """A connection that is cut ends the agent by several signals, which do not end this half-way."""
    # A handler is not inherited by a program that is started, as SIG_IGN would be.
    before = {
        number: signal.signal(number, lambda *received: None) for number in (signal.SIGTERM, signal.SIGHUP)
    }
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
