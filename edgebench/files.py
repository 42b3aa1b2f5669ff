"""Files: opened where they are regular and bounded, written whole or not at all; zip archives and TOML."""

from __future__ import annotations

import errno
import os
import re
import stat
import tomllib
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from io import BufferedReader
from pathlib import Path
from typing import Any
from zipfile import ZipFile

from edgebench.errors import StoredResultError, UsageError
from edgebench.suggest import short

_KINDS: tuple[tuple[Callable[[int], bool], str], ...] = (
    (stat.S_ISDIR, "it is a folder"),
    (stat.S_ISFIFO, "it is a pipe, and only regular files are read"),
    (stat.S_ISSOCK, "it is a socket, and only regular files are read"),
    (stat.S_ISCHR, "it is a device, and only regular files are read"),
    (stat.S_ISBLK, "it is a device, and only regular files are read"),
)
_UNITS = ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"))


def expand_home(path: Any) -> Any:
    """Replace `~` at the start of a path by the user's home, also in a list of paths; other values stay."""
    if isinstance(path, list | tuple):
        return [expand_home(item) for item in path]
    if isinstance(path, str | Path) and str(path).startswith("~"):
        return type(path)(os.path.expanduser(path))  # noqa: PTH111  # `~name` of nobody is left as it is
    return path


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


# Files appear whole or not at all: written under a temporary name, then renamed.


RECORDS = (
    "experiment.json", "run.json", "scene.jpg", "images.json", "trials", ".lock", ".lock-holder.json",
)  # fmt: skip
"""What a stored result consists of, directly in its folder; `edgebench.results.layout` names each."""


def require_unstored(path: Path, option: str) -> None:
    """UsageError where an output that a user named with `option` would be part of a result's own records."""
    real = path.parent.resolve() / path.name  # a link with that name is replaced, and not followed
    for folder in real.parents:
        is_result = any((folder / name).exists() for name in RECORDS[:2])
        if is_result and real.relative_to(folder).parts[0] in RECORDS:
            raise UsageError(
                f"{option} {path} is part of the stored result {folder.name}",
                why="its records are what was measured: no output replaces them or is put among them",
                fix=f"name another file or folder with {option}",
            )


def require_folder(folder: Path, option: str) -> None:
    """UsageError where `folder` is not there, or is none: a mistyped path makes no tree of folders.

    Args:
        folder: in which a file or a folder that a user named is about to be made.
        option: with which the user named it.
    """
    if not folder.exists():
        raise UsageError(f"there is no folder {folder}", fix=f"make it first (mkdir -p), or correct {option}")
    if not folder.is_dir():
        raise UsageError(f"{folder} is no folder", fix=f"mend {option}: a file in it cannot be written")
    require_unstored(folder, option)


def require_file_name(path: Path, option: str, endings: Sequence[str] = ()) -> None:
    """UsageError where no file can be written: its folder is missing, or the name is not a file's.

    Args:
        path: the file.
        option: by which a user names it.
        endings: of which it has one, as that says its form. Default: any.
    """
    if endings and path.suffix.lower() not in endings:
        raise UsageError(
            f"{option}: {path.name!r} does not say in which form to write",
            fix=f"end the file's name in one of {', '.join(endings)}",
        )
    require_folder(path.parent, option)
    require_unstored(path, option)
    if path.exists() and not path.is_file():
        raise UsageError(f"{option} {path} is no plain file", fix="name a file in a folder of yours")


def require_writable(folder: Path) -> None:
    """OSError, as the file system gives it, where no file can be made in a folder; leaves none there."""
    probe = folder / f".writing-{os.urandom(8).hex()}"
    probe.touch(exist_ok=False)
    probe.unlink()


def write_atomically(path: Path, data: bytes, *, private: bool = False) -> None:
    """Put `data` at `path`, replacing the file that is there; a killed writer leaves the old file.

    A `private` file is its owner's alone to read, whatever the umask allows.

    The parent folders are made. Raises OSError as the file system does, and for a device or a pipe, in whose
    place root would otherwise leave a file.
    """
    if path.exists() and not path.is_file():
        raise OSError(errno.EINVAL, "what is there is no plain file", str(path))
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.parent / f".writing-{os.urandom(8).hex()}"
    try:
        mode = 0o600 if private else 0o666
        with open(temporary, "xb", opener=lambda name, flags: os.open(name, flags, mode)) as file:
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
        fix=f"choose another path with {option}",
    )


# Zip archives from outside, judged by their directory before anything in them is unpacked.
#
# A file of 2 MB can unfold to gigabytes. What the directory says of a member's size is what zipfile unpacks
# of
# it at most.


MOST_MEMBERS = 10_000
MOST_JSON_BYTES = 64 << 20
"""Of a description in JSON: that of a model with thousands of layers has some MB."""


class TooLarge(ValueError):
    """An archive that unfolds to more than it may; says to how much."""


def require_bounded(archive: ZipFile, most_bytes: int, *, most_members: int = MOST_MEMBERS) -> None:
    """TooLarge where an archive's members are too many, or unfold to more than `most_bytes` together."""
    members = archive.infolist()
    if len(members) > most_members:
        raise TooLarge(f"it holds {len(members)} files, and {most_members} are the most that are read")
    for member in members:
        if member.filename.endswith(".json") and member.file_size > MOST_JSON_BYTES:
            raise TooLarge(
                f"its description unfolds to {member.file_size >> 20} MiB, and {MOST_JSON_BYTES >> 20} MiB "
                "are the most that is read"
            )
    unfolded = sum(member.file_size for member in members)
    if unfolded > most_bytes:
        raise TooLarge(f"it unfolds to {unfolded >> 20} MiB, and {most_bytes >> 20} MiB are the most")


def require_distinct_arrays(archive: ZipFile) -> None:
    """Raises ValueError if a .npz holds two arrays of one name: numpy reads one of them without a word."""
    names = Counter(name.removesuffix(".npy") for name in archive.namelist())
    if repeated := [name for name, count in names.items() if count > 1]:
        raise ValueError(f"it holds {short(repeated[0])} more than once")


# The one reader of TOML files, of profiles, targets, settings and scenarios: bounded, errors in words.


MAX_BYTES = 256 * 1024
"""Far above the largest file that is written by hand; the parser's time grows with its square."""

MAX_DEPTH = 32
"""Tables and lists within each other, and the parts of a dotted key; no document of EdgeBench has ten."""

# The time of Python's parser grows with the square of a key's parts, so that a long key is found before it is
# parsed. Comments and strings are passed over as wholes, as what stands in them is no key; one that is not
# ended goes as far as it can, so that no character is looked at many times.
_COMMENT = r"#[^\n]*+"
_TEXT = r""""{3}(?:[^"\\]|\\(?s:.)?|"(?!""))*+(?:"{3,5}+|\Z)"""
_LITERAL_TEXT = r"""'{3}(?:[^']|'(?!''))*+(?:'{3,5}+|\Z)"""
_WORD = r"""(?:[A-Za-z0-9_-]++|"(?:[^"\\\n]|\\[^\n]?)*+(?:"|$)|'[^'\n]*+(?:'|$))"""
_TOKEN = re.compile(
    rf"{_COMMENT}|{_TEXT}|{_LITERAL_TEXT}"
    rf"|(?P<long_key>{_WORD}(?:[ \t]*+\.[ \t]*+{_WORD}){{{MAX_DEPTH},}}+)|{_WORD}",
    re.MULTILINE,
)
_LONG_NUMBER = re.compile(r"(?<![\w.])[0-9](?:_?[0-9]){999,}+")


@dataclass(frozen=True)
class TomlFile:
    """A TOML file that was read.

    Attributes:
        tables: what it says; whole numbers are within 64 bits.
        text: as it stands, for the lines of later errors.
        data: its bytes, for its hash.
    """

    tables: dict[str, Any]
    text: str
    data: bytes


def read_toml(path: Path, what: str = "", *, fix: str) -> TomlFile:
    """A TOML file; UsageError, with its line where one is at fault, for what is none.

    Args:
        path: a regular file of at most `MAX_BYTES`.
        what: the kind of file for messages, such as "profile".
        fix: what to do where it cannot be read; its contents are to be corrected there.
    """
    where = f"{what} {path}".strip()
    try:
        data = read_regular(path, MAX_BYTES)
    except OSError as error:
        raise UsageError(f"{where} cannot be read", why=reason(error), fix=fix) from error
    return parse_toml(data, where)


def parse_toml(data: bytes, where: str) -> TomlFile:
    """The TOML document in these bytes; `where` names it in messages. UsageError as `read_toml`.

    A mark of byte order at its start is passed over.
    """
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise _not_toml(where, not_utf8(error), "save it as UTF-8") from error
    if key := next((token for token in _TOKEN.finditer(text) if token["long_key"]), None):
        raise _not_toml(where, f"a key of more than {MAX_DEPTH} parts ({_at(text, key)})")
    try:
        tables = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:  # which names line and column
        raise _not_toml(where, str(error)[:300]) from error
    except ValueError as error:  # Python converts numbers of some thousand digits alone
        number = _LONG_NUMBER.search(text)
        place = f" ({_at(text, number)})" if number else ""
        raise _not_toml(where, f"a number of thousands of digits{place}") from error
    except RecursionError as error:
        raise _too_deep(where) from error
    _require_bounded(tables, where)
    return TomlFile(tables, text, data)


def _require_bounded(tables: dict[str, Any], where: str) -> None:
    """UsageError for numbers beyond TOML's 64 bits, and for what lies too deep to be printed or checked.

    Without recursion: dotted keys nest without the parser's noticing.
    """
    waiting: list[tuple[str, Any, int]] = [("", tables, 0)]
    while waiting:
        key, value, depth = waiting.pop()
        if depth > MAX_DEPTH:
            raise _too_deep(where)
        if isinstance(value, dict):
            waiting += [(name, inner, depth + 1) for name, inner in value.items()]
        elif isinstance(value, list):
            waiting += [(key, inner, depth + 1) for inner in value]
        elif isinstance(value, int) and not -(2**63) <= value < 2**63:
            raise _not_toml(
                where, f"the number at {short(key)} has more than 64 bits", "write a smaller number"
            )


def _not_toml(where: str, why: str, fix: str = "mend that line") -> UsageError:
    return UsageError(f"{where} is not TOML", why=why, fix=fix)


def _too_deep(where: str) -> UsageError:
    why = f"it is nested too deeply: at most {MAX_DEPTH} levels are read"
    return _not_toml(where, why, "write it with fewer levels")


def _at(text: str, token: re.Match[str]) -> str:
    return f"at line {text.count(chr(10), 0, token.start()) + 1}"
