"""What an agent answers for the board itself: its facts, its clock, its lock, and files that it is sent."""

import os
import platform
from typing import Callable, Dict

from . import frames
from .clock import Clock
from .facts import board_facts
from .files import FileStore, boot
from .frames import Message
from .launching import launch_faults
from .lock import BoardLock

Answer = Callable[[Message, bytes], Message]


class BoardRequests:
    """Answers at once; whatever an operation raises is its answer's `error`.

    Args:
        folder: where files that are sent are kept.
        note_folder: where it is noted who holds the machine's lock.
        clock: the board's, ns.

    Attributes:
        operations: by name, what answers a message and its payload.
    """

    def __init__(self, folder: str, note_folder: str, clock: Clock) -> None:
        self._files = FileStore(folder)
        self._lock = BoardLock(note_folder)
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
            "clean": self._clean,
        }

    def close(self) -> None:
        """Let go of the lock, and of files that were not sent whole."""
        self._files.forget()
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
        if holder is None and not held:
            self._files.sweep()
        return {"held": holder is None, "holder": holder or {}, "pid": os.getpid(), "boot": boot()}

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
