"""One harness of a user a board: the system's lock on a file that is named by a hash of the board's address.

A board answers whoever asks: another harness's sessions would load other blocks amid this one's, and its
inferences would be in this one's power. The lock ends with its process, however that one ends.
"""

from __future__ import annotations

import hashlib
import logging
import time
from collections.abc import Callable

import filelock
import platformdirs

from edgebench import interruption
from edgebench.errors import UnavailableError

from .board_address import BoardAddress

ASK_EVERY_S = 0.5
_log = logging.getLogger(__name__)


class HarnessLock:
    """The lock of the board at an address; targets of one process at the same address share it.

    Args:
        address: of the board.
        pause: waits so many seconds, and lets Ctrl-C through.
    """

    def __init__(self, address: BoardAddress, pause: Callable[[float], None] = interruption.pause) -> None:
        self._name = hashlib.sha256(address.authority.lower().encode()).hexdigest()[:32]
        self._pause = pause
        self._lock: filelock.BaseFileLock | None = None

    def take(self, wait_s: float) -> None:
        """UnavailableError where another harness still has the board after so long."""
        try:
            folder = platformdirs.user_state_path("edgebench", ensure_exists=True)
            lock = filelock.FileLock(folder / f"{self._name}.lock", thread_local=False, is_singleton=True)
            give_up_s = time.monotonic() + wait_s
            is_awaited = False
            while not _taken(lock):
                if time.monotonic() >= give_up_s:
                    raise UnavailableError(
                        "the board is in use",
                        why="another run on this machine measures on it",
                        fix="wait for that one, or set EDGEBENCH_LOCK_WAIT_S to wait here for longer",
                    )
                if not is_awaited:
                    _log.warning("another run measures on the board: waiting up to %.0f s", wait_s)
                is_awaited = True
                self._pause(ASK_EVERY_S)
            self._lock = lock
        except (OSError, NotImplementedError):
            _log.warning("this machine keeps no lock, so another run may measure on the board too")

    def release(self) -> None:
        """Give the board back; safe to call twice."""
        lock, self._lock = self._lock, None
        if lock is not None:
            lock.release()


def _taken(lock: filelock.BaseFileLock) -> bool:
    try:
        lock.acquire(timeout=0)
    except filelock.Timeout:
        return False
    return True
