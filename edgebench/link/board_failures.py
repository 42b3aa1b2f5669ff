"""Why a board, this machine or one far away, does not take in what EdgeBench keeps there."""

from __future__ import annotations

import errno
from typing import NoReturn

from edgebench.errors import DiskFullError, EdgeBenchError, NoPermissionError, UnavailableError
from edgebench.link.local import LocalLink
from edgebench.printable import printable

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
    """Another user of the board can write where EdgeBench's files would lie; `what` are the board's words."""
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
