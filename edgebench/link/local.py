"""The local link: the agent as a process on the same machine."""

from __future__ import annotations

import errno
import hashlib
import io
import os
import re
import subprocess
import sys
import zipfile
from collections.abc import Collection
from pathlib import Path
from typing import NoReturn

import edgebench.agent
from edgebench.errors import DiskFullError, EdgeBenchError, NoPermissionError, UnavailableError
from edgebench.files import expand_home, write_atomically
from edgebench.prepare.cache import Cache, unwritable
from edgebench.suggest import printable

# The agent as one file: a zipapp of `edgebench.agent` whose bytes, and so whose hash, are stable.


PACKAGE = "edgebench_agent"
_MAIN = f"import sys\n\nfrom {PACKAGE}.main import main\n\nsys.exit(main(sys.argv[1:]))\n"
_EPOCH = (1980, 1, 1, 0, 0, 0)


def agent_bytes() -> bytes:
    """The zipapp's bytes: the same sources give the same bytes on every machine."""
    folder = Path(edgebench.agent.__file__).parent
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr(zipfile.ZipInfo("__main__.py", _EPOCH), _MAIN)
        for source in sorted(folder.glob("*.py")):
            archive.writestr(zipfile.ZipInfo(f"{PACKAGE}/{source.name}", _EPOCH), source.read_bytes())
    return held.getvalue()


def whole_agent(path: Path) -> bytes:
    """The bytes of the zipapp, which is named by its hash; where the file is damaged, it is made again.

    A file that no hash names is taken as it is.

    Raises:
        UnavailableError: the file cannot be made again.
    """
    try:
        data = path.read_bytes()
        if hashlib.sha256(data).hexdigest() == path.stem or not re.fullmatch("[0-9a-f]{64}", path.stem):
            return data
    except OSError:
        pass  # it is gone
    data = agent_bytes()
    if hashlib.sha256(data).hexdigest() != path.stem:
        raise UnavailableError(
            f"the agent {path.name} is damaged",
            why="EdgeBench has changed since it was made",
            fix="run again",
        )
    try:
        write_atomically(path, data)
    except OSError as error:
        raise unwritable(path.parent, error) from error
    return data


def agent_file(cache: Cache) -> tuple[Path, str]:
    """The zipapp in the cache: its path and SHA-256."""
    return cache.add_bytes(agent_bytes(), ".pyz")


class LocalLink:
    """Starts the agent on the machine that the harness runs on.

    Attributes of every link:
        name: for messages to the user, such as `this machine` or an address.
        kind: what a record says of it: `this machine` or `ssh`, never an address.
        shares_files: whether the device sees the host's files under the same paths.
        comes_back: whether a device that is lost may be waited for: a board that boots.

    Args:
        agent: the zipapp.
        python: the agent's interpreter; None for the harness's own.
        folder: where files that are sent are kept; with one, files are sent rather than shared.
        without: environment variables of this process that the agent does not get.
    """

    name = "this machine"
    kind = "this machine"
    comes_back = False

    def __init__(
        self,
        agent: Path,
        python: str | None = None,
        folder: Path | None = None,
        without: Collection[str] = (),
    ) -> None:
        self._agent = agent
        self._without = frozenset(without)
        self._command = [expand_home(python or sys.executable), str(agent), "serve"]
        self.shares_files = folder is None
        if folder is not None:
            self._command.append(str(folder))

    def start(self) -> subprocess.Popen[bytes]:
        """The agent, in a session of its own: a terminal's Ctrl-C is the harness's to handle."""
        whole_agent(self._agent)
        try:
            return subprocess.Popen(
                self._command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                bufsize=0,
                start_new_session=True,
                env={name: value for name, value in os.environ.items() if name not in self._without},
            )
        except OSError as error:
            raise UnavailableError(
                f"the agent cannot be started with {self._command[0]}",
                why=str(error),
                fix="name a Python interpreter that exists on the device",
            ) from error

    def close(self) -> None:
        """Nothing to do: the agent is all that was started."""


# Why a board, this machine or one far away, does not take in what EdgeBench keeps there.


_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_READ_ONLY = {errno.EROFS, errno.EACCES, errno.EPERM}

_FREE_SPACE = "free space there{}, or set EDGEBENCH_BOARD_DIR there to a folder on a larger disk"
NO_ROOM_FOR_FILES = _FREE_SPACE.format(" (edgebench targets clean removes what EdgeBench keeps)")
NO_ROOM_FOR_THE_AGENT = _FREE_SPACE.format("")  # which is what cleans

MAX_WHY = 500


def raise_refusal(
    error: object, address: str, *, subject: str = "", make_room: str = NO_ROOM_FOR_FILES
) -> NoReturn:
    """Raise what a board's answer says of a file, or of its own folder.

    Args:
        error: as it came: with `what`, and perhaps `errno`, and `unsafe` where another user can write there.
        address: the board, for the message.
        subject: what could not be placed.
        make_room: the fix where its disk is full.
    """
    fields = error if isinstance(error, dict) else {"what": error}
    what = str(fields.get("what", ""))[:MAX_WHY]
    if fields.get("unsafe"):
        raise _unsafe_folder(what, address)
    raise not_placed(f"{subject}: {what}" if subject else what, fields.get("errno"), address, make_room)


def not_placed(what: str, number: object, address: str, make_room: str = NO_ROOM_FOR_FILES) -> EdgeBenchError:
    """Why the agent, or a file, cannot be written on the board.

    Args:
        what: the board's words.
        number: its errno, where it gave one.
        address: for the message.
        make_room: the fix where its disk is full.
    """
    what = "; ".join(printable_lines(what))
    if not isinstance(number, int):
        number = None
    if number in _FULL:
        return disk_full(address, what, make_room)
    if number in _READ_ONLY:
        return NoPermissionError(
            f"the cache folder of {address} cannot be written",
            why=what,
            fix="make ~/.cache writable there, or set XDG_CACHE_HOME there to a folder that is",
        )
    return UnavailableError(
        f"files cannot be placed on {address}", why=what, fix="free space on the device, or try again"
    )


def _unsafe_folder(what: str, address: str) -> EdgeBenchError:
    """Another user of the board can write where EdgeBench keeps its files; `what` are the board's words."""
    why, _, fix = "; ".join(printable_lines(what)).partition(": ")
    where = "" if address == LocalLink.name else "on the board: "
    return NoPermissionError(
        f"the cache folder of {address} is not safe from other users",
        why=why,
        fix=where + (fix or "choose another"),
    )


def disk_full(address: str, why: str, make_room: str = NO_ROOM_FOR_FILES) -> DiskFullError:
    """There is no room on the board for what has to be placed there."""
    return DiskFullError(f"the disk of {address} is full", why=why, fix=make_room)


def printable_lines(text: str) -> list[str]:
    """The lines of something that a board, or ssh, said; without frames of '@' and what a terminal obeys."""
    lines = (line.strip().strip("@").strip() for line in text.splitlines())
    return [printable(line, MAX_WHY) for line in lines if line]
