"""Files that a user or a foreign folder names: opened only where they are regular files of a bounded size.

A pipe without a writer would block its reader, a device may never end or act on being opened, and a sparse
file of terabytes would take all memory. Whatever is wrong is an OSError whose `strerror` says it in words,
so that it is caught and told where a missing file is.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable
from io import BufferedReader
from pathlib import Path

_KINDS: tuple[tuple[Callable[[int], bool], str], ...] = (
    (stat.S_ISDIR, "it is a folder"),
    (stat.S_ISFIFO, "it is a pipe, and only regular files are read"),
    (stat.S_ISSOCK, "it is a socket, and only regular files are read"),
    (stat.S_ISCHR, "it is a device, and only regular files are read"),
    (stat.S_ISBLK, "it is a device, and only regular files are read"),
)
_UNITS = ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"))


def require_regular(path: Path | str, most_bytes: int | None = None) -> os.stat_result:
    """The state of a regular file that a library is about to open by its name.

    Args:
        path: links are followed.
        most_bytes: how large it may be; None for any size.

    Raises:
        OSError: there is none, it may not be looked at, or it is something else or too large; `strerror`
            is a reason for people.
    """
    try:
        state = os.stat(path)  # noqa: PTH116  # thousands are read in a row, and a name is enough
    except ValueError as error:  # a null character in the name
        raise OSError(errno.EINVAL, "its name holds a null character", str(path)) from error
    _refuse(state, path, most_bytes)
    return state


def open_regular(path: Path, most_bytes: int | None = None) -> BufferedReader:
    """A regular file, opened for reading; OSError as `require_regular` has it.

    It is looked at before it is opened, as opening alone may act on a device, and again afterwards, as it may
    be another by then.
    """
    handle, _ = _opened(path, most_bytes)
    try:
        return os.fdopen(handle, "rb")
    except BaseException:
        os.close(handle)
        raise


def read_regular(path: Path | str, most_bytes: int) -> bytes:
    """The bytes of a regular file of at most `most_bytes`; OSError as `require_regular` has it.

    No more is read than its size was when it was opened: it may grow meanwhile.
    """
    handle, left_bytes = _opened(path, most_bytes)
    parts = []
    try:
        while left_bytes and (part := os.read(handle, left_bytes)):
            parts.append(part)
            left_bytes -= len(part)
    finally:
        os.close(handle)
    return b"".join(parts)


def _opened(path: Path | str, most_bytes: int | None) -> tuple[int, int]:
    """A file descriptor of a regular file, for reading, and how many bytes it had then."""
    require_regular(path, most_bytes)
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0))
    try:
        state = os.fstat(handle)
        _refuse(state, path, most_bytes)
    except BaseException:
        os.close(handle)
        raise
    return handle, state.st_size


def reason(error: Exception) -> str:
    """Why a file could not be read, on one line and without its path: for the `why` of a message."""
    if isinstance(error, UnicodeDecodeError):
        return not_utf8(error)
    return getattr(error, "strerror", None) or (str(error) or type(error).__name__).splitlines()[0]


def not_utf8(error: UnicodeDecodeError) -> str:
    """Which line of a text file is at fault; the error is that of decoding the whole file at once."""
    return f"line {error.object.count(bytes([10]), 0, error.start) + 1} is not UTF-8 text"


def _refuse(state: os.stat_result, path: Path | str, most_bytes: int | None) -> None:
    for is_kind, why in _KINDS:
        if is_kind(state.st_mode):
            raise OSError(errno.EISDIR if stat.S_ISDIR(state.st_mode) else errno.EINVAL, why, str(path))
    if most_bytes is not None and state.st_size > most_bytes:
        raise OSError(errno.EFBIG, f"it has more than {_size(most_bytes)}", str(path))


def _size(count: int) -> str:
    for unit, name in _UNITS:
        if count >= unit and count % unit == 0:
            return f"{count // unit} {name}"
    return f"{count} bytes"
