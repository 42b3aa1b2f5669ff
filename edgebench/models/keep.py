"""Files that are made once and kept: the cache's objects under a recipe, checked before they are used."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from filelock import FileLock

from edgebench.errors import UnavailableError
from edgebench.models.cache import Cache, sha256_file
from edgebench.models.cache_use import LOCKS, using, waiting

_SUFFIX = re.compile(r"(\.[a-z0-9]+)?")


@dataclass(frozen=True)
class Kept:
    """A file in the cache and what was noted when it was made."""

    path: Path
    sha256: str
    size_bytes: int
    note: Mapping[str, Any]


def find(cache: Cache, kind: str, key: str) -> Kept | None:
    """What that recipe made, or None where it must be made (again).

    A file of another size, or one touched since it was noted and with other content, does not count:
    hashing hundreds of megabytes at every start would take longer than what they are needed for.
    """
    recipe = cache.recipe(kind, key)
    if recipe is None:
        return None
    try:
        digest, size, mtime_ns = str(recipe["sha256"]), int(recipe["size_bytes"]), int(recipe["mtime_ns"])
        suffix = str(recipe["suffix"])
        if not _SUFFIX.fullmatch(suffix):
            return None
        path = cache.object_path(digest, suffix)
        note = dict(recipe["note"])
        status = path.stat()
    except (KeyError, TypeError, ValueError, OSError):
        return None
    if status.st_size != size:
        return None
    if status.st_mtime_ns != mtime_ns:
        if sha256_file(path) != digest:
            return None
        cache.note_recipe(kind, key, {**recipe, "mtime_ns": status.st_mtime_ns})
    return Kept(path, digest, size, note)


def keep(
    cache: Cache, kind: str, key: str, made: Path, suffix: str, note: Mapping[str, Any] | None = None
) -> Kept:
    """Move a file that lies in `cache.scratch()` into the cache, under that recipe."""
    path, digest = cache.add_file(made, suffix)
    status = path.stat()
    recipe: dict[str, Any] = {
        "sha256": digest,
        "suffix": suffix,
        "size_bytes": status.st_size,
        "mtime_ns": status.st_mtime_ns,
        "note": dict(note or {}),
    }
    cache.note_recipe(kind, key, recipe)
    return Kept(path, digest, status.st_size, recipe["note"])


@contextmanager
def making(cache: Cache, name: str) -> Iterator[Path]:
    """One maker at a time of what is called `name`; gives a scratch folder, removed at the end.

    Waits for another maker for as long as that one takes, and says so after a moment.
    UnavailableError when the cache folder cannot be written, or is full.
    """
    try:
        with using(cache):
            locks = cache.root / LOCKS
            locks.mkdir(parents=True, exist_ok=True)
            lock = FileLock(locks / f"{name}.lock")
            with waiting(lock, f"another EdgeBench has made the same files ({name})"):
                scratch = cache.scratch()
                try:
                    yield scratch
                finally:
                    shutil.rmtree(scratch)  # folders too: helper processes' temporary files lie here
    except OSError as error:
        raise _unwritable(cache, error) from error


def _unwritable(cache: Cache, error: OSError) -> UnavailableError:
    return UnavailableError(
        f"the cache folder {cache.root} cannot be used",
        why=str(error),
        fix="set EDGEBENCH_CACHE_DIR to a folder that can be written and has some GB free",
    )
