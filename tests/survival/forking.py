"""Children that are killed: forked from a process that has everything imported, and reaped to the last one.

Only for a process of one thread: what a thread holds when another forks stays held for ever in the child.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass

PR_SET_CHILD_SUBREAPER = 36
LIMIT_S = 120
FAILED = 70


@dataclass(frozen=True)
class Ended:
    """How a child ended, and how many processes it had left behind that have ended since."""

    status: int  # exit code, or minus the signal
    left_behind: int
    seconds: float


def adopt_orphans() -> None:
    """Make this process the parent of whatever its children leave behind (Linux)."""
    if ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0):
        raise OSError("the system does not let this process adopt orphans")


def run_and_kill(work: Callable[[], int | None], after_s: float | None = None) -> Ended:
    """Do `work` in a child, SIGKILL it `after_s` later if it is still there, and wait for all it started.

    RuntimeError when something that it started stays for longer than LIMIT_S.
    """
    began = time.monotonic()
    child = fork(work)
    if after_s is not None:
        signal.signal(signal.SIGALRM, lambda number, frame: os.kill(child, signal.SIGKILL))
        signal.setitimer(signal.ITIMER_REAL, max(after_s, 1e-4))
    else:
        signal.signal(signal.SIGALRM, _too_long)
        signal.alarm(LIMIT_S)
    found, status = os.waitpid(child, 0)
    assert found == child
    signal.signal(signal.SIGALRM, _too_long)
    signal.setitimer(signal.ITIMER_REAL, 0)
    seconds = time.monotonic() - began
    return Ended(os.waitstatus_to_exitcode(status), reap(), seconds)


def fork(work: Callable[[], int | None]) -> int:
    """The child's pid; the child does `work`, leaves with its value (None: 0), and never returns."""
    assert threading.active_count() == 1, "a fork beside other threads"
    sys.stdout.flush()
    sys.stderr.flush()
    child = os.fork()
    if child:
        return child
    code = FAILED
    try:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        code = work() or 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code)


def reap() -> int:
    """Wait for every process that this one has adopted; how many there were."""
    signal.signal(signal.SIGALRM, _too_long)
    signal.alarm(LIMIT_S)
    count = 0
    try:
        while True:
            os.waitpid(-1, 0)
            count += 1
    except ChildProcessError:
        return count
    finally:
        signal.alarm(0)


def _too_long(number: int, frame: object) -> None:
    raise RuntimeError(f"a process that was left behind has not ended within {LIMIT_S} s")
