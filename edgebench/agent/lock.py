"""One harness a board: a lock that names its holder, so that two do not ruin each other's figures.

The lock is the kernel's (flock): it ends with the agent, however that one ends.
"""

import errno
import fcntl
import json
import os
from typing import Any, Dict, Optional

MAX_BYTES = 4096
NAME = "lock"

Holder = Dict[str, Any]


class BoardLock:
    """The lock of one folder.

    Args:
        folder: made when the lock is taken.
    """

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._path = os.path.join(folder, NAME)
        self._descriptor: Optional[int] = None

    @property
    def held(self) -> bool:
        """Whether this process holds it."""
        return self._descriptor is not None

    def take(self, holder: Holder) -> Optional[Holder]:
        """None when it is held now; else who holds it, as far as that one said.

        Args:
            holder: what others are told while it is held, as JSON.

        Raises:
            OSError: when the file cannot be made.
        """
        while self._descriptor is None:
            os.makedirs(self._folder, mode=0o700, exist_ok=True)
            descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                said = _read(descriptor)
                os.close(descriptor)
                if error.errno in (errno.EWOULDBLOCK, errno.EACCES):
                    return said
                raise
            # Who cleaned the folder meanwhile has unlinked the file that this descriptor locks.
            if _same(descriptor, self._path):
                _write(descriptor, holder)
                self._descriptor = descriptor
            else:
                os.close(descriptor)
        return None

    def release(self) -> None:
        """Let others have it."""
        if self._descriptor is not None:
            os.ftruncate(self._descriptor, 0)
            os.close(self._descriptor)
            self._descriptor = None


def _same(descriptor: int, path: str) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), os.stat(path))
    except FileNotFoundError:
        return False


def _read(descriptor: int) -> Holder:
    try:
        said = json.loads(os.pread(descriptor, MAX_BYTES, 0).decode("utf-8", "replace"))
    except ValueError:
        return {}
    return said if isinstance(said, dict) else {}


def _write(descriptor: int, holder: Holder) -> None:
    os.ftruncate(descriptor, 0)
    os.pwrite(descriptor, json.dumps(holder).encode("ascii")[:MAX_BYTES], 0)
