"""Files appear whole or not at all: written under a temporary name, then renamed."""

from __future__ import annotations

import errno
import os
import secrets
from pathlib import Path

from edgebench.errors import StoredResultError, UsageError


def require_folder(folder: Path, option: str) -> None:
    """UsageError where `folder` is not there, or is none: a mistyped path makes no tree of folders.

    Args:
        folder: in which a file or a folder that a user named is about to be made.
        option: with which the user named it.
    """
    if not folder.exists():
        raise UsageError(f"there is no folder {folder}", fix=f"make it first (mkdir -p), or mend {option}")
    if not folder.is_dir():
        raise UsageError(f"{folder} is no folder", fix=f"mend {option}: a file in it cannot be written")


def require_file_name(path: Path, option: str) -> None:
    """UsageError where no file can lie: its folder is missing, or something else than a file has the name."""
    require_folder(path.parent, option)
    if path.exists() and not path.is_file():
        raise UsageError(f"{option} {path} is no plain file", fix="name a file in a folder of yours")


def require_writable(folder: Path) -> None:
    """OSError, as the file system gives it, where no file can be made in a folder; leaves none there."""
    probe = folder / f".writing-{secrets.token_hex(8)}"
    probe.touch(exist_ok=False)
    probe.unlink()


def write_atomically(path: Path, data: bytes) -> None:
    """Put `data` at `path`, replacing the file that is there; a killed writer leaves the old file.

    The parent folders are made. Raises OSError as the file system does, and for a device or a pipe, in whose
    place root would otherwise leave a file.
    """
    if path.exists() and not path.is_file():
        raise OSError(errno.EINVAL, "what is there is no plain file", str(path))
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.parent / f".writing-{secrets.token_hex(8)}"
    try:
        with temporary.open("xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def write_output(path: Path, data: bytes, option: str) -> None:
    """Put `data` where a user named a file with `option`, in one step; StoredResultError where that fails."""
    try:
        write_atomically(path, data)
    except OSError as error:
        raise unwritten(path, error, option) from error


def unwritten(path: Path, error: OSError, option: str) -> StoredResultError:
    """That a file which a user named with `option` cannot be written, and why."""
    return StoredResultError(
        f"{path} cannot be written",
        why=error.strerror or str(error),
        fix=f"choose another file with {option}",
    )
