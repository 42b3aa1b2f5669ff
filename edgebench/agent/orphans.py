"""Processes that a child started in a session of their own: adopted when the child ends, and ended with it.

Linux only (PR_SET_CHILD_SUBREAPER, /proc); elsewhere a child's process group is all that ends with it.
"""

import ctypes
import os
import signal
import sys
import time
from typing import Collection, List, NamedTuple, Set, Tuple

PR_SET_CHILD_SUBREAPER = 36
PATIENCE_S = 2.0
_LOOK_EVERY_S = 0.002
_QUIET_LOOKS = 5

_REFUSED = "it belongs to another user"
_DEAF = "it does not end"
_CHAIN = "it starts others and ends, faster than they can be ended"

Orphan = NamedTuple("Orphan", [("pid", int), ("name", str), ("why", str)])


def adopt_orphans() -> None:
    """From now on a process below this one whose parent ends becomes this one's child."""
    if sys.platform.startswith("linux"):
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, ctypes.c_ulong(1), 0, 0, 0)


def end_orphans(
    spared: Collection[int] = (), patience_s: float = PATIENCE_S, spared_marks: Collection[str] = ()
) -> List[Orphan]:
    """End and collect the children of this process, and theirs; those that go on, with the reason.

    What a process started is adopted when that ends, perhaps too late for the look in hand: only several
    looks in a row that find nothing say that there is nothing. All are stopped before the first is ended, so
    that none starts others meanwhile.

    Args:
        spared: children that are meant to go on.
        patience_s: for processes that are told to end.
        spared_marks: `NAME=value`, as it stands in the environment of other children that are meant to go on.
    """
    refused: Set[int] = set()
    give_up = time.monotonic() + patience_s
    quiet, latest = 0, Orphan(0, "", "")
    while True:
        children = [pid for pid in _children() if pid not in spared and not _marked(pid, spared_marks)]
        for number in (signal.SIGSTOP, signal.SIGKILL):
            refused.update([pid for pid in children if not _signalled(pid, number)])
        if any(pid not in refused for pid in children):
            latest = Orphan(children[-1], _name(children[-1]), "")
        going_on = [pid for pid in children if not _collected(pid)]
        quiet = quiet + 1 if len(going_on) == len(children) and refused.issuperset(going_on) else 0
        late = time.monotonic() >= give_up
        if quiet >= _QUIET_LOOKS or (late and going_on):
            return [Orphan(pid, _name(pid), _REFUSED if pid in refused else _DEAF) for pid in going_on]
        if late:
            return [latest._replace(why=_CHAIN)] if not quiet else []
        time.sleep(_LOOK_EVERY_S if quiet else 0)


def _signalled(pid: int, number: int) -> bool:
    """Whether this user may signal it, if it is still there."""
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        pass
    except PermissionError:
        return False
    return True


def _collected(pid: int) -> bool:
    try:
        return os.waitpid(pid, os.WNOHANG)[0] == pid
    except ChildProcessError:
        return True


def _children() -> List[int]:
    """The processes whose parent is this one; none where there is no /proc."""
    me = os.getpid()
    try:
        numbers = [int(name) for name in os.listdir("/proc") if name.isdigit()]
    except OSError:
        return []
    return [pid for pid in numbers if _stat(pid)[1] == me]


def _marked(pid: int, marks: Collection[str]) -> bool:
    """Whether a process was started with any of these in its environment; not where that is not told."""
    if not marks:
        return False
    try:
        with open("/proc/{}/environ".format(pid), "rb") as file:
            environment = file.read().split(b"\0")
    except OSError:
        return False
    return any(os.fsencode(mark) in environment for mark in marks)


def _name(pid: int) -> str:
    return _stat(pid)[0]


def _stat(pid: int) -> Tuple[str, int]:
    """Name and parent of a process (see proc_pid_stat(5)); "" and 0 of one that is gone."""
    try:
        with open("/proc/{}/stat".format(pid), "rb") as file:
            text = file.read().decode("utf-8", "backslashreplace")
    except OSError:
        return "", 0
    # The name stands in brackets and may hold any of its own.
    before, _, after = text.rpartition(")")
    return before.partition("(")[2], int(after.split()[1])
