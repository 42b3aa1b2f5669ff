"""One harness a board: the agent holds the machine's lock, this waits for it and says who has it."""

from __future__ import annotations

import functools
import getpass
import logging
import os
import socket
import time
from datetime import UTC, datetime
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from edgebench import interruption
from edgebench.errors import UnavailableError
from edgebench.link.board_failures import raise_refusal
from edgebench.link.connection import Connection
from edgebench.link.replies import Reply, checked
from edgebench.printable import printable

ASK_EVERY_S = 0.5
_log = logging.getLogger(__name__)


class _Holder(BaseModel):
    """Who holds a board; nothing of it is trusted to be there, short, or printable."""

    model_config = ConfigDict(extra="ignore")

    host: str = ""
    user: str = ""
    pid: int | None = None
    since_utc: str = ""

    def words(self) -> str:
        """`user ann on desk, process 4711, since 2026-05-01T10:00:00Z`; of another user no host and time."""
        parts = [f"user {self.user}{f' on {self.host}' if self.host else ''}"] if self.user else []
        parts += [f"process {self.pid}"] if self.pid is not None else []
        parts += [f"since {self.since_utc}"] if self.since_utc else []
        text = ", ".join(parts) or "a process that the board does not name"
        return printable(text, 300)


class PutBack(BaseModel):
    """What became of a power mode that was changed: whether it is as it was before, in words."""

    model_config = ConfigDict(extra="ignore")

    done: bool
    text: Annotated[str, Field(max_length=20_000)]


class PutBackReply(Reply):
    """What an agent has put back; None where it had changed nothing."""

    put_back: PutBack | None = None

    def note(self, name: str) -> None:
        """Tell the user of it."""
        if self.put_back is not None:
            _log.warning("%s: %s", name, printable(self.put_back.text, 1000))


class _Locked(PutBackReply):
    """The lock's answer: `pid` is the agent's own, `boot` tells one machine from another.

    What is put back was left by an agent that was killed.
    """

    held: bool
    holder: _Holder = Field(default_factory=_Holder)
    pid: int | None = None
    boot: str = ""


@functools.cache
def _held_boards(process: int) -> dict[tuple[str, int | None], tuple[str, Connection]]:
    """What this harness's agents hold, by machine and agent's process: the name here, and the connection."""
    return {}


def holder() -> dict[str, str]:
    """What the user's other harnesses are told while this one holds a board."""
    try:
        user = getpass.getuser()
    except (KeyError, OSError):
        user = ""
    return {
        "host": socket.gethostname()[:100],
        "user": user[:100],
        "since_utc": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
    }


def take_lock(connection: Connection, name: str, wait_s: float, timeout_s: float) -> bool:
    """Wait until the board is this harness's; whether this very agent holds the lock.

    False when another agent of this harness holds it by the same name, whose sessions take turns with this
    one's, or when the board cannot keep a lock, which is noted.

    Args:
        connection: the agent.
        name: the board's, for messages.
        wait_s: for another harness to let go.
        timeout_s: for one answer.

    Raises:
        UnavailableError: when the other one still holds it after that, with its user, or when this harness
            measures the same machine by another name.
        NoPermissionError: when another user can write the board's folder.
    """
    deadline = time.monotonic() + wait_s
    noted = False
    held_boards = _held_boards(os.getpid())
    while True:
        message = connection.request({"op": "lock", "holder": holder()}, timeout_s).message
        error = message.get("error")
        if isinstance(error, dict) and error.get("unsafe"):
            raise_refusal(error, name)
        if error is not None:
            _log.warning("%s keeps no lock, so another harness may measure there too", name)
            return False
        answer = checked(_Locked, message)
        if answer.held:
            answer.note(name)
            held_boards[answer.boot, answer.pid] = name, connection
            return True
        own_name, own = held_boards.get((answer.boot, answer.holder.pid), ("", None))
        if own is not None and own.alive:
            if own_name == name:
                return False
            raise UnavailableError(
                f"{name} is the machine that this run measures as {own_name}",
                why="one session at a time is measured on a machine",
                fix="give both targets one host, so that they take turns",
            )
        words = answer.holder.words()
        left = deadline - time.monotonic()
        if left <= 0:
            raise UnavailableError(
                f"{name} is in use",
                why=f"held by {words}",
                fix="wait for that one, or set EDGEBENCH_LOCK_WAIT_S to wait here for longer",
            )
        if not noted:
            _log.warning("%s is in use by %s: waiting up to %.0f s", name, words, left)
            noted = True
        interruption.pause(min(ASK_EVERY_S, left))
