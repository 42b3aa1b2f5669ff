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
import shutil
import stat
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any

import platformdirs

from edgebench.atomic import write_atomically
from edgebench.errors import UnavailableError
from edgebench.regular_files import open_regular, reason

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


def _state_of(path: Path) -> tuple[int, ...] | None:
    """What changes when a file does: its kind, size, times and place; None where there is none."""
    try:
        status = path.lstat()
    except FileNotFoundError:
        return None
    return status.st_mode, status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino


def _remove(path: Path) -> None:
    """Take away what lies under an object's name, whatever it is; not what a link leads to."""
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
    folder = Path(os.environ.get("EDGEBENCH_CACHE_DIR") or platformdirs.user_cache_dir("edgebench"))
    with suppress(RuntimeError):  # `~name` of nobody: a folder of that name
        # No shell has expanded what comes from a service's or a container's settings.
        return folder.expanduser()
    return folder


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
        """Where the object of that hash lies, or would lie."""
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
        """Move a file that lies in `scratch()` into the store; returns path and hash."""
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
        """What was noted under a recipe's key, or None (also when the note cannot be read).

        The time of change of the recipe's file is when it was last `used`, as cleaning goes by.
        """
        path = self._recipe_path(kind, key)
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
        write_atomically(self._recipe_path(kind, key), json.dumps(value, indent=1).encode())

    def remember(self, kind: str, key: str, value: Mapping[str, Any]) -> None:
        """As `note_recipe`, for what the next run can do without: a cache that is full forgets it."""
        with suppress(OSError):
            self.note_recipe(kind, key, value)

    def _recipe_path(self, kind: str, key: str) -> Path:
        if not _HEX.fullmatch(key) or not re.fullmatch(r"[a-z0-9_-]+", kind):
            raise ValueError(f"not a recipe: {kind!r}, {key!r}")
        return self.root / "recipes" / kind / f"{key}.json"
