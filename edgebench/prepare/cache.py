"""The content-addressed cache: files by their hash, and recipes that say which file they made.

A file is taken for what its name says once its bytes were hashed in this process: disks and copies damage
files under their size and time. What is damaged is removed, with a note, and made again.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import re
import secrets
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import platformdirs
from filelock import FileLock, Timeout

from edgebench.errors import UnavailableError
from edgebench.files import expand_home, open_regular, reason, write_atomically

SCRATCH = "scratch"
"""The folder in which files are made before they are kept."""

_RECIPE_LIMIT_BYTES = 64 << 20  # far above the largest, the golden scores of a model with large outputs
_HEX = re.compile(r"[0-9a-f]{64}")
_log = logging.getLogger(__name__)


def sha256_file(path: Path) -> str:
    """The hex SHA-256 of a regular file's bytes; OSError, its reason in words, for a pipe or a device."""
    with open_regular(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@lru_cache(maxsize=4096)
def _sha256_of_state(path: Path, state: tuple[int, ...]) -> str:
    """The hash of a file in one state: read once a process, and again where that has changed."""
    return sha256_file(path)


def sha256_once(path: Path) -> str:
    """The hash of a file, read once a process and again after a change; OSError as from `sha256_file`."""
    return _sha256_of_state(path.resolve(), _state_of(path.resolve()) or ())


def _state_of(path: Path) -> tuple[int, ...] | None:
    """What changes when a file does: its kind, size, times and place; None where it does not exist."""
    try:
        status = path.lstat()
    except FileNotFoundError:
        return None
    return status.st_mode, status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino


def _remove(path: Path) -> None:
    """Remove the file, folder or link of an object's name; not the target of a link."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def canonical_hash(value: Mapping[str, Any]) -> str:
    """The hex SHA-256 of a JSON value, whatever the order of its keys."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def default_cache_folder() -> Path:
    """`$EDGEBENCH_CACHE_DIR`, else the user's cache folder for edgebench."""
    folder = os.environ.get("EDGEBENCH_CACHE_DIR") or platformdirs.user_cache_dir("edgebench")
    return Path(expand_home(folder))


def unwritable(root: Path, error: OSError) -> UnavailableError:
    """What the system refuses in a cache folder, with the way out."""
    return UnavailableError(
        f"the cache folder {root} cannot be used",
        why=reason(error),
        fix="set EDGEBENCH_CACHE_DIR to a folder that can be written and has some GB free",
    )


class Cache:
    """Objects by content and recipes by key, under one folder; safe for several writers.

    Every write goes to a temporary name in the same folder and is then renamed, so a reader never
    sees half a file and a killed writer leaves nothing that counts.
    """

    def __init__(self, root: Path | None = None) -> None:
        self.root = root if root is not None else default_cache_folder()

    def object_path(self, digest: str, suffix: str = "") -> Path:
        """The path of the object of that hash, whether or not it exists."""
        if not _HEX.fullmatch(digest):
            raise ValueError(f"not a SHA-256: {digest!r}")
        return self.root / "objects" / digest[:2] / f"{digest}{suffix}"

    def add_bytes(self, data: bytes, suffix: str = "") -> tuple[Path, str]:
        """Store bytes; returns path and hash. UnavailableError where the folder cannot be written."""
        digest = hashlib.sha256(data).hexdigest()
        path = self.object_path(digest, suffix)
        try:
            if not self.has_sound(path, digest):
                write_atomically(path, data)
        except OSError as error:
            raise unwritable(self.root, error) from error
        return path, digest

    def has_sound(self, path: Path, digest: str) -> bool:
        """Whether the file is there and its bytes have that hash; one that is damaged is removed.

        Bytes are hashed once a process, and again where the file's size, times or place have changed.
        OSError where the system refuses to read it.
        """
        while (state := _state_of(path)) is not None:
            if stat.S_ISREG(state[0]) and _sha256_of_state(path, state) == digest:
                return True
            if _state_of(path) == state:
                break
            # Another process has put another file there meanwhile, which may be sound.
        else:
            return False
        _log.warning("%s in the cache is damaged: it is removed, and made again when it is needed", path.name)
        _remove(path)
        return False

    def add_file(self, source: Path, suffix: str = "") -> tuple[Path, str]:
        """Move a file of `scratch()` into the store; returns path and hash."""
        digest = sha256_file(source)
        path = self.object_path(digest, suffix)
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.is_dir() and not path.is_symlink():
            _remove(path)  # no file could take its place
        source.replace(path)
        return path, digest

    def scratch(self) -> Path:
        """A new empty folder on the cache's own file system, for the caller to remove."""
        parent = self.root / SCRATCH
        parent.mkdir(parents=True, exist_ok=True)
        return Path(tempfile.mkdtemp(dir=parent))

    def fault(self) -> UnavailableError | None:
        """Why nothing can be made in it, with the fix; None where something can. The folder is made."""
        try:
            self.scratch().rmdir()
        except OSError as error:
            return unwritable(self.root, error)
        return None

    def recipe(self, kind: str, key: str, *, used: bool = True) -> dict[str, Any] | None:
        """What was noted under a recipe's key; None without a note that can be read.

        The time of change of the recipe's file is when it was last `used`, as cleaning goes by.
        """
        path = self.recipe_path(kind, key)
        try:
            status = path.stat()
            if not stat.S_ISREG(status.st_mode) or status.st_size > _RECIPE_LIMIT_BYTES:
                return None
            value = json.loads(path.read_text())
        except (OSError, ValueError, RecursionError):
            return None
        if used:
            with suppress(OSError):  # the folder of somebody else
                os.utime(path)
        return value if isinstance(value, dict) else None

    def note_recipe(self, kind: str, key: str, value: Mapping[str, Any]) -> None:
        """Remember what a recipe made."""
        write_atomically(self.recipe_path(kind, key), json.dumps(value, indent=1).encode())

    def remember(self, kind: str, key: str, value: Mapping[str, Any]) -> None:
        """As `note_recipe`, for what the next run can do without: a cache that is full forgets it."""
        with suppress(OSError):
            self.note_recipe(kind, key, value)

    def recipe_path(self, kind: str, key: str) -> Path:
        """The path of a recipe's note, whether or not it exists."""
        if not _HEX.fullmatch(key) or not re.fullmatch(r"[a-z0-9_-]+", kind):
            raise ValueError(f"not a recipe: {kind!r}, {key!r}")
        return self.root / "recipes" / kind / f"{key}.json"


# Who uses the cache: a lock for every process that does, so that nothing is removed beneath it.
#
# Whoever begins to use it sweeps what killed processes left, where nobody else uses it: scratch folders,
# and
# the locks of uses.


LOCKS = "locks"
"""The folder of the cache's locks."""

GATE = "gate.lock"
"""Held for a moment by whoever begins to use the cache, and by a cleaning as long as that takes."""

OF_A_USE = re.compile(r"use-[0-9]+-[0-9a-f]{8}")
"""The name of a lock of a process that uses the cache: its id, and digits drawn by lot."""

OF_A_MAKER = re.compile(
    r"evaluate|prepare-[a-z0-9_-]+|(generated|golden|images|replay|samples|scene|train)-[0-9a-f]{16}"
)
"""The name of a lock of what is made: by its tool, or by the beginning of its recipe's key."""

OF_A_SCRATCH = re.compile(r"tmp[a-z0-9_]+")
"""The name of a folder that `Cache.scratch` makes."""

SAY_AFTER_S = 2.0
"""Seconds of waiting for another process before a message."""

MOST_WAIT_S = 3600.0
"""How long another process is waited for: far above the longest preparation of a model."""


@contextmanager
def waiting(lock: FileLock, does: str) -> Iterator[None]:
    """Hold a lock; after a moment of waiting, log what another process `does` and the longest wait.

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
    """The folder of the locks, which need not be there; UnavailableError where it is a link.

    The target of a link may belong to another user, and a cleaning removes files there.
    """
    folder = cache.root / LOCKS
    linked = False
    with suppress(OSError):  # a cache folder that cannot be: whoever writes there says so
        linked = folder.is_symlink()
    if linked:
        raise UnavailableError(
            f"the cache folder {cache.root} cannot be used",
            why=f"{folder} is a link, and the cache's locks need a folder of its own",
            fix="remove that link, or set EDGEBENCH_CACHE_DIR to another folder",
        )
    return folder


def is_lock(name: str) -> bool:
    """Whether a file of that name in the folder of the locks is one that EdgeBench makes."""
    stem, dot, suffix = name.rpartition(".")
    return name == GATE or (
        dot + suffix == ".lock" and bool(OF_A_USE.fullmatch(stem) or OF_A_MAKER.fullmatch(stem))
    )


@contextmanager
def using(cache: Cache) -> Iterator[None]:
    """While this is open no other process removes files of the cache.

    The system gives the lock back when its process dies, however it dies. A cache folder that cannot be
    written is used without a lock: no process can remove files there. UnavailableError where the locks are
    a link.
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
    """Remove what killed processes left, where no other process uses the cache. Requires the gate."""
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


# Files that are made once and kept: the cache's objects under a recipe, checked before they are used.


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
    """What the cache notes of a kept file; the recipes' folder has notes of other kinds, too."""

    sha256: str
    suffix: str
    size_bytes: int
    note: Mapping[str, Any]
    note_sha256: str


def as_file_record(noted: Mapping[str, Any] | None) -> FileRecord | None:
    """What was noted as the recipe of a kept file; None for another kind of note, or a damaged one."""
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
        and recipe.note_sha256 == _note_sha256(recipe.note)
    )
    return recipe if sound else None


def _note_sha256(note: Mapping[str, Any]) -> str:
    """The hash of a note: golden scores with a flipped bit would fail every session of their artifact."""
    return hashlib.sha256(json.dumps(note, sort_keys=True).encode()).hexdigest()


def find(cache: Cache, kind: str, key: str) -> CachedFile | None:
    """What that recipe made; None where it must be made (again).

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
    """Move a file of `cache.scratch()` into the cache, under that recipe."""
    path, digest = cache.add_file(file, suffix)
    note_fields = dict(note or {})
    recipe = FileRecord(digest, suffix, path.stat().st_size, note_fields, _note_sha256(note_fields))
    cache.note_recipe(kind, key, recipe._asdict())
    return CachedFile(path, digest, recipe.size_bytes, recipe.note)


def forget(cache: Cache, kind: str, key: str) -> None:
    """Remove a recipe and the file that it made, where the system allows it."""
    with suppress(OSError):
        if (recipe := as_file_record(cache.recipe(kind, key, used=False))) is not None:
            cache.object_path(recipe.sha256, recipe.suffix).unlink(missing_ok=True)
        cache.recipe_path(kind, key).unlink(missing_ok=True)


def obtain(cache: Cache, kind: str, key: str, suffix: str, write: Callable[[Path], object]) -> CachedFile:
    """The file of a recipe; `write` makes it at a path, where the cache does not hold it."""
    file = find(cache, kind, key)
    if file is None:
        with making(cache, f"{kind.partition('-')[0]}-{key[:16]}") as scratch:
            file = find(cache, kind, key)  # another process may have made it while this one waited
            if file is None:
                made = scratch / f"made{suffix}"
                write(made)
                file = store(cache, kind, key, made, suffix)
    return file


@contextmanager
def making(cache: Cache, name: str) -> Iterator[Path]:
    """One maker at a time of what is called `name`; gives a scratch folder, removed at the end.

    `name` is one that `OF_A_MAKER` takes: cleaning removes the locks of such names alone.
    Waits for another maker, and says so after a moment.
    UnavailableError when the cache folder cannot be written, or is full, or the other maker does not end.
    """
    if not OF_A_MAKER.fullmatch(name):
        raise ValueError(f"not the name of what is made: {name!r}, expected {OF_A_MAKER.pattern}")
    try:
        with using(cache):
            folder = lock_folder(cache)
            folder.mkdir(parents=True, exist_ok=True)
            with waiting(FileLock(folder / f"{name}.lock"), f"makes such files ({name})"):
                scratch = cache.scratch()
                try:
                    yield scratch
                finally:
                    shutil.rmtree(scratch)  # folders too: helper processes' temporary files lie here
    except OSError as error:
        raise unwritable(cache.root, error) from error


# What lies in the cache folder, and how it is removed: the cache's own files, by their names, alone.

KINDS: Mapping[str, str] = {
    "tflite": ".tflite of the families",
    "own-tflite": ".tflite of your models",
    "onnx": "ONNX",
    "openvino-ir": "OpenVINO IR of your models",
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
    """The names in the cache folder, and among its locks, that are not the cache's: they are never removed.

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
    """Those of the files that were last used before a moment; all of them without one."""
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
