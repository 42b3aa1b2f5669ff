"""Who uses the cache: a lock for every process that does, so that nothing is removed beneath it.

Whoever begins to use it sweeps what killed processes left, where nobody else uses it: scratch folders, and
the locks of uses.
"""

from __future__ import annotations

import logging
import os
import re
import secrets
import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout

from edgebench.cache.objects import SCRATCH, Cache
from edgebench.errors import UnavailableError

LOCKS = "locks"
"""The folder of the cache's locks."""

GATE = "gate.lock"
"""Held for a moment by whoever begins to use the cache, and by a cleaning as long as that takes."""

OF_A_USE = re.compile(r"use-[0-9]+-[0-9a-f]{8}")
"""The name of a lock of a process that uses the cache: its id, and digits drawn by lot."""

OF_A_MAKER = re.compile(
    r"evaluate|prepare-[a-z0-9_-]+|(golden|images|replay|samples|scene|train)-[0-9a-f]{16}"
)
"""The name of a lock of what is made: by its tool, or by the beginning of its recipe's key."""

OF_A_SCRATCH = re.compile(r"tmp[a-z0-9_]+")
"""The name of a folder that `Cache.scratch` makes."""

SAY_AFTER_S = 2.0
"""How long nobody is told that another process is waited for."""

MOST_WAIT_S = 3600.0
"""How long another process is waited for: far above the longest preparation of a model."""

_log = logging.getLogger(__name__)


@contextmanager
def waiting(lock: FileLock, does: str) -> Iterator[None]:
    """Hold a lock; after a moment of waiting it is said what another process `does`, and how long at most.

    UnavailableError where the other one has not ended after `MOST_WAIT_S`.
    """
    try:
        lock.acquire(timeout=SAY_AFTER_S)
    except Timeout:
        most = f"{MOST_WAIT_S / 60:.0f} min"
        _log.warning("waiting for another EdgeBench, which %s, %s at most", does, most)
        try:
            lock.acquire(timeout=MOST_WAIT_S)
        except Timeout:
            raise UnavailableError(
                f"another EdgeBench, which {does}, has not ended within {most}",
                why=f"it holds {lock.lock_file}",
                fix="wait until it has ended or end it, then run again; or set EDGEBENCH_CACHE_DIR to "
                "another folder",
            ) from None
    try:
        yield
    finally:
        lock.release()


def lock_folder(cache: Cache) -> Path:
    """The folder of the locks, which need not be there; UnavailableError where a link stands in its place.

    What lies behind a link may be somebody else's, and a cleaning removes files there.
    """
    folder = cache.root / LOCKS
    linked = False
    with suppress(OSError):  # a cache folder that cannot be: whoever writes there says so
        linked = folder.is_symlink()
    if linked:
        raise UnavailableError(
            f"the cache folder {cache.root} cannot be used",
            why=f"{folder} is a link, and the cache's locks have to lie in a folder of its own",
            fix="remove that link, or set EDGEBENCH_CACHE_DIR to another folder",
        )
    return folder


def is_lock(name: str) -> bool:
    """Whether a file of that name in the folder of the locks is one that EdgeBench makes."""
    stem, dot, suffix = name.rpartition(".")
    return name == GATE or (
        dot + suffix == ".lock" and bool(OF_A_USE.fullmatch(stem) or OF_A_MAKER.fullmatch(stem))
    )


def maker_lock(cache: Cache, name: str) -> FileLock:
    """The lock of who makes what is called `name`; ValueError for a name that no cleaning would know."""
    if not OF_A_MAKER.fullmatch(name):
        raise ValueError(f"not the name of what is made: {name!r}, expected {OF_A_MAKER.pattern}")
    return FileLock(lock_folder(cache) / f"{name}.lock")


@contextmanager
def using(cache: Cache) -> Iterator[None]:
    """While this is open no other process removes files of the cache.

    The system gives the lock back when its process dies, however it dies. A cache folder that cannot be
    written is used without: nobody can remove anything there. UnavailableError where the locks are a link.
    """
    folder = lock_folder(cache)
    path = folder / f"use-{os.getpid()}-{secrets.token_hex(4)}.lock"
    with ExitStack() as open_locks:
        with suppress(OSError):
            folder.mkdir(parents=True, exist_ok=True)
            with waiting(FileLock(folder / GATE), f"cleans the cache ({cache.root})"):
                with suppress(OSError):  # what cannot be listed stays
                    _sweep(cache, folder)
                open_locks.callback(path.unlink, missing_ok=True)
                # Not thread-local: a run may end it in another thread than the one that began it.
                open_locks.enter_context(FileLock(path, thread_local=False))
        yield


def _sweep(cache: Cache, locks: Path) -> None:
    """Remove what processes left that were killed, where nobody uses the cache; the gate is held."""
    used = False
    for path in sorted(locks.iterdir()):
        if OF_A_USE.fullmatch(path.stem) and is_lock(path.name):
            try:
                with FileLock(path, timeout=0):
                    path.unlink(missing_ok=True)
            except (Timeout, OSError):  # held, or not to be asked: another user's
                used = True
    scratch = cache.root / SCRATCH
    if used or scratch.is_symlink() or not scratch.is_dir():
        return
    for folder in scratch.iterdir():
        if OF_A_SCRATCH.fullmatch(folder.name) and not folder.is_symlink():
            shutil.rmtree(folder, ignore_errors=True)
