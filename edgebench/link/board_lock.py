"""One harness a board: the agent holds the lock, this waits for it and says who has it."""

from __future__ import annotations

import functools
import getpass
import logging
import os
import secrets
import socket
import time
from datetime import UTC, datetime

from pydantic import BaseModel, ConfigDict, Field

from edgebench import stopping
from edgebench.errors import UnavailableError
from edgebench.link.connection import Connection
from edgebench.link.replies import Reply, checked

ASK_EVERY_S = 0.5
_log = logging.getLogger(__name__)


class _Holder(BaseModel):
    """What a holder said of itself; nothing of it is trusted to be there, short, or printable."""

    model_config = ConfigDict(extra="ignore")

    owner: str = ""
    host: str = "somebody"
    user: str = ""
    pid: int | None = None
    since_utc: str = ""

    def words(self) -> str:
        """`ann on desk, process 4711, since 2026-05-01T10:00:00Z`."""
        user = f"{self.user} on " if self.user else ""
        pid = f", agent's process {self.pid}" if self.pid is not None else ""
        since = f", since {self.since_utc}" if self.since_utc else ""
        text = f"{user}{self.host}{pid}{since}"
        return "".join(one if one.isprintable() else "?" for one in text)[:300]


class _Locked(Reply):
    held: bool
    holder: _Holder = Field(default_factory=_Holder)


@functools.cache
def _owner(process: int) -> str:
    """What tells this harness from every other; devices that one harness opens share their board."""
    return secrets.token_hex(8)


def holder() -> dict[str, str]:
    """What others are told while this harness holds a board."""
    try:
        user = getpass.getuser()
    except (KeyError, OSError):
        user = ""
    return {
        "owner": _owner(os.getpid()),
        "host": socket.gethostname()[:100],
        "user": user[:100],
        "since_utc": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
    }


def take_lock(connection: Connection, name: str, wait_s: float, timeout_s: float) -> bool:
    """Wait until the board is this harness's; whether this very agent holds the lock.

    False when another agent of this harness holds it, or when the board cannot keep a lock, which is noted.

    Args:
        connection: the agent.
        name: the board's, for messages.
        wait_s: for another harness to let go.
        timeout_s: for one answer.

    Raises:
        UnavailableError: when the other one still holds it after that, with its name.
    """
    deadline = time.monotonic() + wait_s
    noted = False
    while True:
        message = connection.request({"op": "lock", "holder": holder()}, timeout_s).message
        if "error" in message:
            _log.warning("%s keeps no lock, so another harness may measure there too", name)
            return False
        answer = checked(_Locked, message)
        if answer.held or answer.holder.owner == _owner(os.getpid()):
            return answer.held
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
        stopping.pause(min(ASK_EVERY_S, left))
