"""Memory and processes of this machine, as far as the system reports them: not every one has /proc."""

from __future__ import annotations

import os

import psutil

UNAVAILABLE_ERRORS = (OSError, RuntimeError, ValueError, IndexError, OverflowError, psutil.Error)
"""What psutil raises where /proc is not mounted, or holds less than it expects."""


def available_bytes() -> int | None:
    """Memory that can be taken without swapping; None where the system does not report it."""
    try:
        return int(psutil.virtual_memory().available)
    except UNAVAILABLE_ERRORS:
        return None


def started_s(pid: int | None = None) -> float | None:
    """When a process began, in seconds since the epoch; None where there is none or the system does not tell.

    Args:
        pid: of the process; None for this one.
    """
    try:
        return psutil.Process(os.getpid() if pid is None else pid).create_time()
    except UNAVAILABLE_ERRORS:
        return None
