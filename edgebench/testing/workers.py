"""The workers among this process's descendants: the kit ends some of them on purpose."""

from __future__ import annotations

import psutil


def workers() -> set[int]:
    """Process numbers of the workers that agents of this process have started."""
    pids = set()
    for child in psutil.Process().children(recursive=True):
        try:
            words = child.cmdline()
        except psutil.Error:
            continue
        if any(
            word.endswith(".pyz") and words[at + 1 : at + 2] == ["worker"] for at, word in enumerate(words)
        ):
            pids.add(child.pid)
    return pids


def runs(pid: int) -> bool:
    """Whether a process is there and not only waiting to be collected."""
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
