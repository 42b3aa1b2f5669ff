"""Files that are made once and kept: the cache's objects under a recipe, checked before they are used."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from edgebench.cache.objects import Cache, unwritable
from edgebench.cache.use import maker_lock, using, waiting

_SHA256 = re.compile(r"[0-9a-f]{64}")
_SUFFIX = re.compile(r"(\.[a-z0-9]+)?")


@dataclass(frozen=True)
class CachedFile:
    """A file in the cache and what was noted when it was made."""

    path: Path
    sha256: str
    size_bytes: int
    note: Mapping[str, Any]


class FileRecord(NamedTuple):
    """What the cache notes of a kept file; notes of other kinds lie among the recipes, too."""

    sha256: str
    suffix: str
    size_bytes: int
    note: Mapping[str, Any]
    note_sha256: str | None  # None in recipes of earlier versions


def as_file_record(noted: Mapping[str, Any] | None) -> FileRecord | None:
    """What was noted as the recipe of a kept file; None where it is none, or is damaged."""
    if noted is None:
        return None
    fields: list[Any] = [noted.get(field) for field in FileRecord._fields]
    recipe = FileRecord(*fields)
    sound = (
        isinstance(recipe.sha256, str)
        and _SHA256.fullmatch(recipe.sha256)
        and isinstance(recipe.suffix, str)
        and _SUFFIX.fullmatch(recipe.suffix)
        and isinstance(recipe.size_bytes, int)
        and isinstance(recipe.note, Mapping)
        and recipe.note_sha256 in (None, _note_sha256(recipe.note))
    )
    return recipe if sound else None


def _note_sha256(note: Mapping[str, Any]) -> str:
    """The hash of a note: golden scores with a flipped bit would fail every session of their artifact."""
    return hashlib.sha256(json.dumps(note, sort_keys=True).encode()).hexdigest()


def find(cache: Cache, kind: str, key: str) -> CachedFile | None:
    """What that recipe made, or None where it must be made (again).

    A file whose bytes are not those that were kept does not count, and is removed (`Cache.has_sound`).
    """
    recipe = as_file_record(cache.recipe(kind, key))
    if recipe is None:
        return None
    path = cache.object_path(recipe.sha256, recipe.suffix)
    try:
        if not cache.has_sound(path, recipe.sha256) or path.stat().st_size != recipe.size_bytes:
            return None
    except OSError:  # of somebody else, or on a disk that fails: it is made again
        return None
    return CachedFile(path, recipe.sha256, recipe.size_bytes, recipe.note)


def store(
    cache: Cache, kind: str, key: str, file: Path, suffix: str, note: Mapping[str, Any] | None = None
) -> CachedFile:
    """Move a file that lies in `cache.scratch()` into the cache, under that recipe."""
    path, digest = cache.add_file(file, suffix)
    note_fields = dict(note or {})
    recipe = FileRecord(digest, suffix, path.stat().st_size, note_fields, _note_sha256(note_fields))
    cache.note_recipe(kind, key, recipe._asdict())
    return CachedFile(path, digest, recipe.size_bytes, recipe.note)


@contextmanager
def making(cache: Cache, name: str) -> Iterator[Path]:
    """One maker at a time of what is called `name`; gives a scratch folder, removed at the end.

    `name` is one that `cache_use.OF_A_MAKER` takes: cleaning removes the locks of such names alone.
    Waits for another maker, and says so after a moment.
    UnavailableError when the cache folder cannot be written, or is full, or the other maker does not end.
    """
    try:
        with using(cache):
            lock = maker_lock(cache, name)
            Path(lock.lock_file).parent.mkdir(parents=True, exist_ok=True)
            with waiting(lock, f"makes such files ({name})"):
                scratch = cache.scratch()
                try:
                    yield scratch
                finally:
                    shutil.rmtree(scratch)  # folders too: helper processes' temporary files lie here
    except OSError as error:
        raise unwritable(cache.root, error) from error
