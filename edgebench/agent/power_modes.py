"""Setting a Jetson's power mode and pinning its clocks, and putting back what was there.

`nvpmodel -m N` sets a mode, `jetson_clocks` pins the clocks to the highest ones of that mode; both need root,
and are run by `sudo -n`, which asks for no password. Before anything is changed, the mode and the clocks that
were in force are noted in this user's folder, the clocks by `jetson_clocks --store FILE`, which
`--restore FILE` reads. The note outlives the agent; whichever takes the machine's lock next follows it.

Some modes need a reboot, for which nvpmodel asks on its standard input. There is none, so that the answer is
never yes.
"""

import json
import os
import re
import signal
from contextlib import contextmanager
from typing import Any, Iterator, NamedTuple, Optional

from . import nvidia
from .board_commands import last_words, run_as_root
from .bootstrap import UnsafeFolder, make_private, require_private
from .files import boot
from .small_files import Absent

NOTE = "power-mode"
CLOCKS = "power-mode.clocks"
MAX_NOTE = 4096
MOST_MODE = 9999

NEEDS_REBOOT = (
    "nvpmodel asks for a reboot before it changes to that mode, and EdgeBench never reboots a board"
)

Mode = NamedTuple("Mode", [("number", int), ("name", str)])
Note = NamedTuple("Note", [("mode", Mode), ("boot", str)])
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
            before = _mode_in_force()
            if self._noted() is None:
                self._take_note(before)
        except Obstacle as obstacle:
            return str(obstacle)
        except (OSError, UnsafeFolder) as error:
            return "what is in force cannot be noted, so that it is not changed: {}".format(error)
        try:
            if before.number != number:
                _change_mode(number)
            self._pin_clocks()
        except Obstacle as obstacle:
            put_back = self.put_back()
            after = "" if put_back is None or put_back.done else "; {}".format(put_back.text)
            return "{}{}".format(obstacle, after)
        return ""

    def put_back(self) -> Optional[PutBack]:
        """Bring the noted mode and clocks back; None where nothing is noted.

        A note that could not be followed stays, for whoever takes the lock next.
        """
        note = self._noted()
        if note is None:
            return None
        mode = "power mode {}".format(_mode_text(note.mode))
        try:
            with _undisturbed():
                complaint = self._follow(note)
        except Obstacle as obstacle:
            text = "{} could not be put back ({}); on the board: {}"
            return PutBack(False, text.format(mode, obstacle, self._by_hand(note)))
        for path in (self._note, self._clocks):
            try:
                os.unlink(path)
            except OSError:
                pass
        if complaint:
            return PutBack(False, "{} is put back, but not all clocks are: {}".format(mode, complaint))
        return PutBack(True, "{} and its clocks are put back".format(mode))

    def _follow(self, note: Note) -> str:
        """Bring back what is noted; what jetson_clocks complains of.

        It writes as root what the file of clocks says: nobody else may have written that.
        """
        try:
            require_private(self._folder)
        except (OSError, UnsafeFolder) as error:
            raise Obstacle(str(error)) from error
        if _mode_in_force().number != note.mode.number:
            _change_mode(note.mode.number)
        if note.boot != boot():
            return ""  # clocks are pinned until a reboot; the mode stays
        return _complaint(_run("jetson_clocks", "--restore", self._clocks))

    def _by_hand(self, note: Note) -> str:
        command = "sudo nvpmodel -m {}".format(note.mode.number)
        if note.boot == boot():
            command += " && sudo jetson_clocks --restore {}".format(self._clocks)
        return command

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

    def _take_note(self, mode: Mode) -> None:
        make_private(self._folder)
        require_private(self._folder)
        try:
            os.unlink(self._clocks)  # jetson_clocks asks before it replaces a file
        except FileNotFoundError:
            pass
        _run("jetson_clocks", "--store", self._clocks)
        try:
            if not os.path.getsize(self._clocks):
                raise Obstacle("jetson_clocks --store wrote an empty {}".format(self._clocks))
            _flush(self._clocks)
        except OSError as error:
            text = "jetson_clocks --store wrote no {}: {}".format(self._clocks, error.strerror)
            raise Obstacle(text) from error
        note = {"mode": mode.number, "name": mode.name, "boot": boot()}
        part = self._note + ".part"
        with open(part, "w") as file:
            json.dump(note, file)
            file.flush()
            os.fsync(file.fileno())
        os.rename(part, self._note)
        _flush(self._folder)

    def _noted(self) -> Optional[Note]:
        try:
            descriptor = os.open(self._note, os.O_RDONLY | os.O_NONBLOCK)  # a pipe is not waited for
            with os.fdopen(descriptor, "rb") as file:
                note = json.loads((file.read(MAX_NOTE) or b"").decode("utf-8", "replace"))
        except (OSError, ValueError, RecursionError):
            return None
        if not isinstance(note, dict):
            return None
        number = note.get("mode")
        if isinstance(number, bool) or not isinstance(number, int) or not 0 <= number <= MOST_MODE:
            return None
        return Note(Mode(number, _text(note.get("name"))), _text(note.get("boot")))


def _mode_in_force() -> Mode:
    """What nvpmodel says; Obstacle where it says nothing, or may not be asked."""
    output = _run("nvpmodel", "-q")
    match = re.search(r"NV Power Mode:[ \t]*(\S*)\s+(\d{1,4})\b", output)
    if match is None:
        raise Obstacle("nvpmodel -q names no power mode: {}".format(last_words(output) or "it says nothing"))
    return Mode(int(match.group(2)), _text(match.group(1)))


def _change_mode(number: int) -> None:
    ended = run_as_root(["nvpmodel", "-m", str(number)])
    if re.search("reboot", ended.output, re.IGNORECASE):
        raise Obstacle(NEEDS_REBOOT)
    if ended.code != 0:
        raise Obstacle(last_words(ended.output) or "nvpmodel -m {} failed".format(number))
    now = _mode_in_force()
    if now.number != number:
        text = "nvpmodel -m {} ended well, and power mode {} is still in force"
        raise Obstacle(text.format(number, _mode_text(now)))


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


def _text(value: Any) -> str:
    return value[:100] if isinstance(value, str) else ""


def _flush(path: str) -> None:
    """Onto the disk: a power cut must not lose what was in force."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def _undisturbed() -> Iterator[None]:
    """A connection that is cut ends the agent by several signals, which do not end this half-way."""
    before = {number: signal.signal(number, _pass) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _pass(number: int, frame: Any) -> None:
    """Neither ends nor is inherited by a program that is started, as SIG_IGN would be."""
