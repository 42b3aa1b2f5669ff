"""Who uses the cache: a lock for every process that does, so that nothing is removed beneath it."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress

from filelock import FileLock

from edgebench.models.cache import Cache

LOCKS = "locks"
"""The folder of the cache's locks."""

GATE = "gate.lock"
"""Held for a moment by whoever begins to use the cache, and by a cleaning as long as that takes."""


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
            with FileLock(folder / GATE):
                held.callback(path.unlink, missing_ok=True)
                # Not thread-local: a run may end it in another thread than the one that began it.
                held.enter_context(FileLock(path, thread_local=False))
        yield
