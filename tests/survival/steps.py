"""The moments at which a process changes a folder, counted: to die at one of them, or to be refused.

Python's audit events tell of every file that is opened, renamed, removed or made before it happens, whoever
asks for it, and what a listener raises is what the caller gets. Flushing has no event: `os.fsync` is
replaced. For children only, because nothing takes an audit hook away again.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_CHANGING = {
    "os.mkdir",
    "os.rename",
    "os.remove",
    "os.rmdir",
    "os.chmod",
    "os.link",
    "os.symlink",
    "os.truncate",
}
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


def at_each_step(folder: Path, act: Callable[[int, str], None]) -> None:
    """Call `act` with a number from 0 and a name before each change under `folder`, in this process.

    Opening to write, making, renaming, removing, flushing. What `act` raises, the change raises.
    """
    count = 0

    def step(name: str) -> None:
        nonlocal count
        number, count = count, count + 1
        act(number, name)

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open":
            if _inside(arguments[0], folder) and _writes(arguments[1], arguments[2]):
                step("open")
        elif event in _CHANGING and any(_inside(one, folder) for one in arguments):
            step(event)

    real = os.fsync

    def fsync(handle: int) -> None:
        if _inside(_opened(handle), folder):
            step("fsync")
        real(handle)

    sys.addaudithook(hook)
    os.fsync = fsync  # type: ignore[assignment]


@dataclass
class Refusals:
    """How many changes were refused so far, and whether that is over."""

    count: int = 0
    over: bool = False


def die_at(folder: Path, number: int) -> Refusals:
    """End this process by SIGKILL before its change of that number."""

    def act(at: int, name: str) -> None:
        if at == number:
            os.kill(os.getpid(), signal.SIGKILL)

    at_each_step(folder, act)
    return Refusals()


def refused_from(folder: Path, number: int, code: int, *, once: bool = False) -> Refusals:
    """Let the change of that number and all after it fail with an errno; with `once` that one alone.

    What takes no room is not counted: removing works on a full disk.
    """
    refusals = Refusals()
    asked = 0

    def act(at: int, name: str) -> None:
        nonlocal asked
        if refusals.over or name in {"os.remove", "os.rmdir", "os.chmod"}:
            return
        asked += 1
        if asked == number + 1 if once else asked > number:
            refusals.count += 1
            raise OSError(code, os.strerror(code))

    at_each_step(folder, act)
    return refusals


def _inside(path: object, folder: Path) -> bool:
    if not isinstance(path, str | bytes | os.PathLike):
        return False
    found = os.path.abspath(os.fsdecode(path))  # links are not followed
    return found == str(folder) or found.startswith(f"{folder}{os.sep}")


def _opened(handle: int) -> str:
    try:
        return os.readlink(f"/proc/self/fd/{handle}")
    except OSError:
        return ""


def _writes(mode: object, flags: object) -> bool:
    if isinstance(mode, str):
        return any(letter in mode for letter in "wax+")
    return isinstance(flags, int) and bool(flags & _WRITING)
