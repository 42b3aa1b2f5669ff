"""Who uses the cache: a lock for every process that does, so that nothing is removed beneath it."""

from __future__ import annotations

import logging
import os
import secrets
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress

from filelock import FileLock, Timeout

from edgebench.models.cache import Cache

LOCKS = "locks"
"""The folder of the cache's locks."""

GATE = "gate.lock"
"""Held for a moment by whoever begins to use the cache, and by a cleaning as long as that takes."""


SAY_AFTER_S = 2.0
"""How long nobody is told that another process is waited for."""

_log = logging.getLogger(__name__)


@contextmanager
def waiting(lock: FileLock, what: str) -> Iterator[None]:
    """Hold a lock, waited for as long as it takes; after a moment it is said until `what`."""
    try:
        lock.acquire(timeout=SAY_AFTER_S)
    except Timeout:
        _log.warning("waiting until %s", what)
        lock.acquire()
    try:
        yield
    finally:
        lock.release()


@contextmanager
def using(cache: Cache) -> Iterator[None]:
    """While this is open no other process removes files of the cache.

    The system gives the lock back when its process dies, however it dies. A cache folder that cannot be
    written is used without: nobody can remove anything there.
    """
    folder = cache.root / LOCKS
    path = folder / f"use-{os.getpid()}-{secrets.token_hex(4)}.lock"
    with ExitStack() as held:
        with suppress(OSError):
            folder.mkdir(parents=True, exist_ok=True)
            with waiting(FileLock(folder / GATE), f"another EdgeBench has cleaned the cache ({cache.root})"):
                held.callback(path.unlink, missing_ok=True)
                # Not thread-local: a run may end it in another thread than the one that began it.
                held.enter_context(FileLock(path, thread_local=False))
        yield
