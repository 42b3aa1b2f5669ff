"""Processes that a child started in a session of their own: adopted when the child ends, and ended with it.

Linux only (PR_SET_CHILD_SUBREAPER, /proc); elsewhere a child's process group is all that ends with it.
"""

import ctypes
import os
import signal
import sys
import time
from typing import Collection, Iterator, List, NamedTuple, Set, Tuple

PR_SET_CHILD_SUBREAPER = 36
PATIENCE_S = 2.0
_LOOK_EVERY_S = 0.01

Orphan = NamedTuple("Orphan", [("pid", int), ("name", str), ("why", str)])


def adopt_orphans() -> None:
    """From now on a process below this one whose parent ends becomes this one's child."""
    if sys.platform.startswith("linux"):
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, ctypes.c_ulong(1), 0, 0, 0)


def end_orphans(spared: Collection[int] = (), patience_s: float = PATIENCE_S) -> List[Orphan]:
    """End and collect the children of this process, and theirs; those that go on, with the reason.

    Args:
        spared: children that are meant to go on.
        patience_s: for processes that are told to end.
    """
    refused: Set[int] = set()
    give_up = time.monotonic() + patience_s
    while True:
        found = [(pid, name) for pid, name in _children() if pid not in spared]
        going_on = [(pid, name) for pid, name in found if not _collected(pid)]
        for pid, _name in going_on:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            except PermissionError:
                refused.add(pid)
        # What a process started is adopted when that ends, perhaps too late for this scan: after one that
        # collected any there is another.
        over = found == going_on and all(pid in refused for pid, _name in found)
        if over or time.monotonic() >= give_up:
            return [
                Orphan(pid, name, "it belongs to another user" if pid in refused else "it does not end")
                for pid, name in going_on
            ]
        time.sleep(_LOOK_EVERY_S)


def _collected(pid: int) -> bool:
    try:
        return os.waitpid(pid, os.WNOHANG)[0] == pid
    except ChildProcessError:
        return True


def _children() -> Iterator[Tuple[int, str]]:
    """Process and name of each child (see proc_pid_stat(5)); none where there is no /proc."""
    me = os.getpid()
    try:
        numbers = [name for name in os.listdir("/proc") if name.isdigit()]
    except OSError:
        return
    for number in numbers:
        try:
            with open("/proc/{}/stat".format(number), "rb") as file:
                text = file.read().decode("utf-8", "backslashreplace")
        except OSError:
            continue  # it has ended since
        # The name stands in brackets and may hold any of its own.
        before, _, after = text.rpartition(")")
        if int(after.split()[1]) == me:
            yield int(number), before.partition("(")[2]
