"""Where the files of an experiment are, which names are allowed, and listings that trust nothing."""

from __future__ import annotations

import hashlib
import os
import re
import stat
from pathlib import Path

from edgebench.errors import StoredResultError, UsageError
from edgebench.files import RECORDS
from edgebench.version import __version__

SCHEMA_VERSION = 3
"""Version of the records on disk; no other one is read."""

EXPERIMENT_FILE, RUN_FILE, SCENE_FILE, IMAGES_FILE, TRIALS_FOLDER, LOCK_FILE, HOLDER_FILE = RECORDS
SESSION_FILE = "session.json"
TRIAL_FILE = "trial.json"
SESSIONS_FOLDER = "sessions"
WRITING_PREFIX = ".writing-"
TABLES = ("passes", "batches", "windows", "probes", "predictions")

_NAME = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,79}")
_KEY = re.compile(r"[0-9a-f]{16}")
_SESSION = re.compile(r"[0-9]{3,6}")


def check_name(name: str) -> str:
    """The name of an experiment, as it is; UsageError when it cannot be a folder's name."""
    if not _NAME.fullmatch(name) or name == "latest":
        raise UsageError(
            f"{name[:100]!r} cannot name an experiment",
            why="up to 80 letters, digits, '.', '_' and '-', not a dot first, and not 'latest'",
            fix="choose another --name",
        )
    return name


def other_version(version: int) -> str:
    """Name records that this EdgeBench does not read."""
    return f"records of version {version}"


def trial_folder(experiment: Path, key: str) -> Path:
    """The folder of a trial; ValueError unless `key` is 16 lower-case hex digits."""
    if not _KEY.fullmatch(key):
        raise ValueError(f"not a trial's key: {key[:100]!r}")
    return experiment.joinpath(TRIALS_FOLDER, key)


def sessions_folder(experiment: Path, key: str) -> Path:
    """The folder of a trial's sessions; ValueError unless `key` is 16 lower-case hex digits."""
    return trial_folder(experiment, key) / SESSIONS_FOLDER


def session_folder(experiment: Path, key: str, n: int) -> Path:
    """The folder of a session: `000`, `001`, ...; ValueError for a number without such a name."""
    if not 0 <= n <= 999_999:
        raise ValueError(f"not a session's number: {n}")
    return sessions_folder(experiment, key) / f"{n:03}"


def numbers_in(sessions: Path | str) -> list[int]:
    """The numbers of a trial's session folders, sorted, whatever they contain; other names are skipped."""
    try:
        names = [name for name in os.listdir(sessions) if _SESSION.fullmatch(name)]  # noqa: PTH208
    except (FileNotFoundError, NotADirectoryError):
        return []
    numbers = {int(name) for name in names if f"{int(name):03}" == name}
    return sorted(numbers)


def regular_file(path: Path | str, root: Path) -> int | None:
    """The size in bytes of a regular file that is in `root`, None when there is no such file.

    StoredResultError for a link that leads out of `root`, and for anything that is not a plain file
    (a pipe would block its reader). The folders between `root` and the file are `inside`'s to check.
    """
    try:
        status = os.lstat(path)
        if stat.S_ISLNK(status.st_mode):
            inside(Path(path), root)
            status = os.stat(path)  # noqa: PTH116  # names, no objects: a large result asks thousands of times
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise StoredResultError(f"{path} cannot be read", why=error.strerror or str(error)) from error
    if not stat.S_ISREG(status.st_mode):
        raise StoredResultError(f"{path} is not a plain file", fix="remove it from the result folder")
    return status.st_size


def inside(path: Path, root: Path) -> Path:
    """The path with its links followed; StoredResultError when it leads out of `root`.

    A path without links below `root` is returned as it is.
    """
    if _is_plain(path, root):
        return path
    try:
        real = path.resolve()
        if real.is_relative_to(root.resolve()):
            return real
    except (OSError, RuntimeError) as error:
        raise StoredResultError(f"{path} cannot be followed", why=str(error)) from error
    raise StoredResultError(
        f"{path} leads out of the result folder",
        why=f"it is a link to {real}",
        fix="copy the files into the result folder instead of linking them",
    )


def _is_plain(path: Path, root: Path) -> bool:
    """Whether each step from `root` down to `path` is there and no link: then there is nothing to follow.

    A large result asks thousands of times, and following would take longer than reading.
    """
    above = len(root.parts)
    names = path.parts
    if names[:above] != root.parts or ".." in names or len(names) == above:
        return False
    step = os.fspath(root)
    for name in names[above:]:
        step = f"{step}{os.sep}{name}"
        try:
            if stat.S_ISLNK(os.lstat(step).st_mode):
                return False
        except OSError:
            return False
    return True


# The index of a folder of results, in the cache: what `edgebench.results.listing` and completion share.

INDEX = "results-index"
"""The kind of its recipe: {"results": {name: [state, what the records say], ...}}."""


def index_key(output_dir: Path) -> str:
    """Under which the cache has the index of a folder."""
    from edgebench.prepare.cache import canonical_hash

    return canonical_hash({"folder": str(output_dir.absolute()), "edgebench": __version__})


def records_state(folder: Path) -> tuple[int, str]:
    """When its experiment.json was written, in ns since 1970, and what changes once a record does.

    A session's folder is renamed into place and not written again, so the time of the folder above it tells
    of each new or removed one. OSError where a record may not be looked at.
    """
    written = os.stat(folder / EXPERIMENT_FILE)  # noqa: PTH116  # text, no objects: a lab has 10,000 results
    parts = [_place(written)]
    trials = os.path.join(folder, TRIALS_FOLDER)  # noqa: PTH118
    keys = sorted(os.listdir(trials)) if os.path.isdir(trials) else []  # noqa: PTH112, PTH208
    for path in (
        f"{folder}{os.sep}{RUN_FILE}",
        *(f"{trials}{os.sep}{key}{os.sep}{SESSIONS_FOLDER}" for key in keys),
    ):
        try:
            parts.append(_place(os.stat(path)))  # noqa: PTH116
        except (FileNotFoundError, NotADirectoryError):
            parts.append(path)
    return written.st_mtime_ns, hashlib.blake2b(os.fsencode("/".join(parts)), digest_size=16).hexdigest()


def _place(status: os.stat_result) -> str:
    return f"{status.st_ino}:{status.st_size}:{status.st_mtime_ns}"
