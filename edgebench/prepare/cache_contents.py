"""What lies in the cache folder, and how it is removed: the cache's own files, by their names, alone."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock, Timeout

from edgebench.errors import UnavailableError
from edgebench.prepare.cache import (
    GATE,
    LOCKS,
    OF_A_SCRATCH,
    SCRATCH,
    Cache,
    as_file_record,
    is_lock,
    lock_folder,
)

KINDS: Mapping[str, str] = {
    "tflite": ".tflite of the families",
    "own-tflite": ".tflite of your models",
    "onnx": "ONNX",
    "coral": "compiled for the Edge TPU",
    "edgetpu": ".tflite to compile for the Edge TPU",
    "generated-c": "C of models for microcontrollers",
    "firmware": "firmware of microcontrollers",
    "scene": "scenes as pixels",
    "images": "images as pixels",
    "golden": "golden patches",
    "samples": "inputs of models without pictures",
    "replay-scene": "scenes of replays",
    "replay-images": "images of replays",
    "notes": "figures and facts that are looked up",
    "scratch": "left by a process that was killed",
    "other": "the agent's program, artifacts of replays",
}
"""What the kinds of files are, in the order in which they are shown; a recipe's kind may be another, too."""

_OBJECT = re.compile(r"(?P<digest>[0-9a-f]{64})(\.[a-z0-9]+)?")
_RECIPE = re.compile(r"[0-9a-f]{64}\.json")
_KIND = re.compile(r"[a-z0-9_-]+")
_SHARD = re.compile(r"[0-9a-f]{2}")
_TO_COMPILE = re.compile(r"[A-Za-z0-9_.-]+\.(tflite|log)")
_GONE = (FileNotFoundError, NotADirectoryError)
_HALF_WRITTEN = re.compile(r"\.writing-[0-9a-f]{16}")


@dataclass(frozen=True)
class CacheFile:
    """A file of the cache; `last_used_s` is a moment of the system's clock, in seconds since 1970."""

    path: Path
    kind: str
    size_bytes: int
    last_used_s: float


@dataclass(frozen=True)
class KindTotal:
    """All files of one kind."""

    kind: str
    files: int
    size_bytes: int
    last_used_s: float


def list_files(cache: Cache) -> list[CacheFile]:
    """Every file of the cache's own; links are neither followed nor listed.

    A made file has the kind of the recipe that made it, and was last used when that recipe was last looked
    up. Files that no recipe names were last used when they were last read, as far as the system notes that.
    What vanishes meanwhile, because a run uses the cache, is left out. UnavailableError where it cannot be
    listed.
    """
    with _as_unavailable(cache, "listed", "list it as the user who owns it"):
        recipes, makers = _recipes(cache)
        return [*_objects(cache.root / "objects", makers), *recipes, *_loose(cache.root)]


def totals(files: Iterable[CacheFile]) -> list[KindTotal]:
    """The files by kind, the largest kind first."""
    by_kind: dict[str, list[CacheFile]] = {}
    for file in files:
        by_kind.setdefault(file.kind, []).append(file)
    kind_totals = [
        KindTotal(
            kind,
            len(group),
            sum(file.size_bytes for file in group),
            max(file.last_used_s for file in group),
        )
        for kind, group in by_kind.items()
    ]
    return sorted(kind_totals, key=lambda total: (-total.size_bytes, total.kind))


def foreign(cache: Cache) -> list[str]:
    """The names in the cache folder that are not the cache's, and those among its locks: nobody touches them.

    UnavailableError where it cannot be listed.
    """
    known = {"objects", "recipes", SCRATCH, "edgetpu"}
    locks = cache.root / LOCKS
    with _as_unavailable(cache, "listed", "list it as the user who owns it"):
        names = {entry.name for entry in _entries(cache.root)} - known
        if locks.is_dir() and not locks.is_symlink():
            names.discard(LOCKS)
            names |= {f"{LOCKS}/{entry.name}" for entry in _entries(locks) if not is_lock(entry.name)}
        return sorted(names)


def remove(cache: Cache, unused_since_s: float | None = None) -> list[CacheFile]:
    """Remove the cache's files, or those last used before a moment; returns them.

    UnavailableError while another process uses the cache, or where a file cannot be removed.
    """
    with _as_unavailable(cache, "cleaned", "set EDGEBENCH_CACHE_DIR to a folder that can be read"):
        if not cache.root.is_dir():
            return []
    with ExitStack() as open_locks:
        locks = _hold_all(cache, open_locks)
        removed = select(list_files(cache), unused_since_s)
        fix = "remove that file by hand, or clean it as the user who owns it"
        with _as_unavailable(cache, "cleaned", fix):
            for file in removed:
                file.path.unlink(missing_ok=True)
            _remove_empty_folders(cache)
            for lock in locks:
                lock.unlink(missing_ok=True)
    return removed


def select(files: Sequence[CacheFile], unused_since_s: float | None) -> list[CacheFile]:
    """Those of the files that were last used before a moment; all of them where it is None."""
    return [file for file in files if unused_since_s is None or file.last_used_s < unused_since_s]


def _recipes(cache: Cache) -> tuple[list[CacheFile], dict[str, tuple[float, str]]]:
    """The recipes' files; and by the hash of what they made, when that was last used, and its kind."""
    files: list[CacheFile] = []
    makers: dict[str, tuple[float, str]] = {}
    for folder in _folders(cache.root / "recipes", _KIND):
        for entry, status in _regular(folder, _RECIPE):
            recipe = as_file_record(cache.recipe(folder.name, entry.stem, used=False))
            kind = "notes" if recipe is None else folder.name
            files.append(CacheFile(entry, kind, status.st_size, status.st_mtime))
            if recipe is not None:
                digest = recipe.sha256
                makers[digest] = max(makers.get(digest, (0.0, "")), (status.st_mtime, kind))
        files += _half_written(folder)
    return files, makers


def _objects(root: Path, makers: Mapping[str, tuple[float, str]]) -> Iterator[CacheFile]:
    for shard in _folders(root, _SHARD):
        for path, status in _regular(shard, _OBJECT):
            used_s, kind = makers.get(path.name[:64], (max(status.st_atime, status.st_mtime), "other"))
            yield CacheFile(path, kind, status.st_size, used_s)
        yield from _half_written(shard)


def _loose(root: Path) -> Iterator[CacheFile]:
    """What killed processes left, and what waits to be compiled."""
    for folder in _folders(root / SCRATCH, OF_A_SCRATCH):
        for parent, folders, names in os.walk(folder, onerror=_raise_unless_gone):
            for path in [Path(parent, name) for name in (*names, *folders)]:
                status = _status(path)
                if status is not None and not stat.S_ISDIR(status.st_mode):
                    yield CacheFile(path, "scratch", status.st_size, status.st_mtime)
    if not (root / "edgetpu").is_symlink():
        for path, status in _regular(root / "edgetpu", _TO_COMPILE):
            yield CacheFile(path, "edgetpu", status.st_size, max(status.st_atime, status.st_mtime))


def _half_written(folder: Path) -> Iterator[CacheFile]:
    for path, status in _regular(folder, _HALF_WRITTEN):
        yield CacheFile(path, "scratch", status.st_size, status.st_mtime)


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return sorted(entries, key=lambda entry: entry.name)
    except _GONE:
        return []


def _folders(parent: Path, name: re.Pattern[str]) -> list[Path]:
    """The folders of such names directly under `parent`, none of them, nor `parent`, a link."""
    if parent.is_symlink():
        return []
    return [
        Path(entry.path)
        for entry in _entries(parent)
        if name.fullmatch(entry.name) and entry.is_dir(follow_symlinks=False)
    ]


def _regular(folder: Path, name: re.Pattern[str]) -> Iterator[tuple[Path, os.stat_result]]:
    for entry in _entries(folder):
        if name.fullmatch(entry.name):
            status = _status(Path(entry.path))
            if status is not None and stat.S_ISREG(status.st_mode):
                yield Path(entry.path), status


def _status(path: Path) -> os.stat_result | None:
    """That of the file, or of the link itself; None where it has vanished."""
    try:
        return path.lstat()
    except _GONE:
        return None


def _raise_unless_gone(error: OSError) -> None:
    if not isinstance(error, _GONE):
        raise error


@contextmanager
def _as_unavailable(cache: Cache, verb: str, fix: str) -> Iterator[None]:
    """What the system refuses, as the UnavailableError of a cache that cannot be listed or cleaned."""
    try:
        yield
    except OSError as error:
        raise UnavailableError(
            f"the cache folder {cache.root} cannot be {verb}", why=str(error), fix=fix
        ) from error


def _hold_all(cache: Cache, open_locks: ExitStack) -> list[Path]:
    """Hold the gate and every lock of the cache until `held` ends; the files of the locks but the gate's."""
    folder = lock_folder(cache)
    in_use = UnavailableError(
        f"the cache folder {cache.root} is in use",
        why="another edgebench measures or prepares with it",
        fix="wait until that has ended, then clean again",
    )
    with _as_unavailable(cache, "cleaned", "clean it as the user who owns it"):
        try:
            folder.mkdir(exist_ok=True)
            open_locks.enter_context(FileLock(folder / GATE, timeout=10))
            locks = _regular(folder, re.compile(r".+\.lock"))
            paths = [path for path, _ in locks if is_lock(path.name) and path.name != GATE]
            for path in paths:
                open_locks.enter_context(FileLock(path, timeout=0))
        except Timeout:
            raise in_use from None
    return paths


def _remove_empty_folders(cache: Cache) -> None:
    scratch = [
        Path(parent)
        for root in _folders(cache.root / SCRATCH, OF_A_SCRATCH)
        for parent, _, _ in os.walk(root)
    ]
    shards, kinds = _folders(cache.root / "objects", _SHARD), _folders(cache.root / "recipes", _KIND)
    for folder in [*reversed(scratch), *shards, *kinds]:
        with suppress(OSError):  # it is not empty
            folder.rmdir()
