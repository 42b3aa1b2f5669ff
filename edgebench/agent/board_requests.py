"""What an agent answers for the board itself: facts, clock, lock, power mode, and files that it is sent."""

import os
import platform
import sys
from typing import Callable, Dict

from . import frames
from .clock import Clock
from .facts import board_facts, facts_root
from .files import FileStore, boot
from .frames import Message
from .launching import launch_faults
from .lock import BoardLock
from .power_modes import PowerModes

Answer = Callable[[Message, bytes], Message]


class BoardRequests:
    """Answers at once; whatever an operation raises is its answer's `error`.

    Args:
        folder: where files that are sent are kept.
        note_folder: where it is noted who holds the machine's lock, and what power mode is to be put back.
        clock: the board's, ns.

    Attributes:
        operations: by name, what answers a message and its payload.
    """

    def __init__(self, folder: str, note_folder: str, clock: Clock) -> None:
        self._files = FileStore(folder)
        self._lock = BoardLock(note_folder)
        self._power_modes = PowerModes(note_folder, facts_root())
        self._clock = clock
        self._builds = 0
        self.operations: Dict[str, Answer] = {
            "clock": lambda message, payload: {"now_ns": self._clock()},
            "hello": _hello,
            "facts": lambda message, payload: {"facts": board_facts()},
            "launch": lambda message, payload: {"faults": launch_faults(message)},
            "have": lambda message, payload: {"path": self._files.have(message["name"])},
            "room": lambda message, payload: {"free_bytes": self._files.free_bytes()},
            "put": self._put,
            "lock": self._take_lock,
            "power_mode_obstacle": lambda message, payload: {"obstacle": self._power_modes.obstacle()},
            "set_power_mode": self._set_power_mode,
            "put_back_power_mode": lambda message, payload: self._put_back(),
            "clean": self._clean,
        }

    def close(self) -> None:
        """Put the power mode back, and let go of the lock, and of files that were not sent whole."""
        self._files.forget()
        try:
            put_back = self._put_back()["put_back"]
            if put_back and not put_back["done"]:
                print(put_back["text"], file=sys.stderr)  # where it can still be read
        finally:
            self._lock.release()

    def new_scratch(self) -> str:
        """A folder of its own for a worker that builds; it is the worker that makes it."""
        self._builds += 1
        return self._files.scratch(self._builds)

    def _put(self, message: Message, payload: bytes) -> Message:
        return {"path": self._files.put(message["name"], message["offset"], payload, message["last"])}

    def _take_lock(self, message: Message, payload: bytes) -> Message:
        held = self._lock.held
        holder = self._lock.take(dict(message["holder"]))
        reply: Message = {"held": holder is None, "holder": holder or {}, "pid": os.getpid(), "boot": boot()}
        if holder is None and not held:
            self._files.sweep()
            reply.update(self._put_back())  # what an agent that was killed has left
        return reply

    def _set_power_mode(self, message: Message, payload: bytes) -> Message:
        if not self._lock.held:
            return {"obstacle": "another connection holds the board's lock"}
        return {"obstacle": self._power_modes.set(int(message["mode"]))}

    def _put_back(self) -> Message:
        """What was put back, {done, text}; None where nothing was to be, or another has the machine."""
        put_back = self._power_modes.put_back() if self._lock.held else None
        return {"put_back": None if put_back is None else put_back._asdict()}

    def _clean(self, message: Message, payload: bytes) -> Message:
        reply = self._take_lock(message, payload)
        return dict(reply, **self._files.clean()._asdict()) if reply["held"] else reply


def _hello(message: Message, payload: bytes) -> Message:
    return {
        "protocol": frames.VERSION,
        "python": platform.python_version(),
        "platform": platform.platform(),
        "pid": os.getpid(),
    }
