"""Taking EdgeBench off a board again: its files and nothing else."""

from __future__ import annotations

from dataclasses import dataclass

from edgebench.errors import UnavailableError
from edgebench.link.board_failures import raise_refusal
from edgebench.link.board_lock import PutBackReply, holder
from edgebench.link.connection import Connection
from edgebench.link.replies import Count, checked
from edgebench.link.timeouts import Timeouts


@dataclass(frozen=True)
class Cleaned:
    """What was removed: files, their bytes, and how many others were left in that folder."""

    files: int
    bytes: int
    left: int


class _Removed(PutBackReply):
    held: bool
    files: Count = 0
    size: Count = 0
    left: Count = 0


def clean_board(connection: Connection, name: str, timeouts: Timeouts) -> Cleaned:
    """Have the agent remove the files under its folder; it is of no more use after that.

    Raises:
        UnavailableError: while any harness measures there.
    """
    message = connection.request({"op": "clean", "holder": holder()}, timeouts.connect).message
    if (error := message.get("error")) is not None:
        raise_refusal(error, name)
    removed = checked(_Removed, message)
    if not removed.held:
        raise UnavailableError(
            f"{name} is in use", why="another harness measures there", fix="clean it when that one is done"
        )
    removed.note(name)
    return Cleaned(removed.files, removed.size, removed.left)
