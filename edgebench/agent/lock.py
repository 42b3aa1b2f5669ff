"""One harness a machine: the kernel's lock on `/`, which every user can open and none can replace.

The lock is flock on a descriptor that is opened for reading. Nothing is made for it, so there is no owner, no
mode and no name that another user could take first; the kernel keeps it for folders of network file systems
within the machine too, and it ends with the agent, however that one ends. A container or chroot with a `/` of
its own has a lock of its own. EDGEBENCH_BOARD_LOCK names another folder, for tests that run side by side; a
board says which one it is among its facts.

The kernel names the holder (/proc/locks). A holder's note about itself is in its own user's folder, and only
that user sees it.
"""

import errno
import fcntl
import json
import os
from typing import Any, Dict, List, Optional

from .bootstrap import make_private, require_private, user_name

ENVIRONMENT = "EDGEBENCH_BOARD_LOCK"
MAX_BYTES = 4096
NOTE = "lock"

Holder = Dict[str, Any]


def lock_place() -> str:
    """The folder whose lock is the machine's; OSError for a name that is no whole path."""
    chosen = os.path.expanduser(os.environ.get(ENVIRONMENT) or "/")
    if not os.path.isabs(chosen):
        raise OSError(errno.EINVAL, "{}={} is no absolute path".format(ENVIRONMENT, chosen))
    return chosen


class BoardLock:
    """The lock of one machine.

    Args:
        folder: of this user, for the note; made when the lock is taken.
        place: what is locked; `lock_place()` unless given.
    """

    def __init__(self, folder: str, place: Optional[str] = None) -> None:
        self._folder = folder
        self._note = os.path.join(folder, NOTE)
        self._place = place
        self._descriptor: Optional[int] = None

    @property
    def held(self) -> bool:
        """Whether this process holds it."""
        return self._descriptor is not None

    def take(self, holder: Holder) -> Optional[Holder]:
        """None when this process now holds the lock; else the holder's pid and user, and for the same user
        its note; {} where the system names no holder.

        Args:
            holder: the note for this user's other harnesses while it is held, as JSON.

        Raises:
            UnsafeFolder: when another user can write the folder.
            OSError: when the machine keeps no lock.
        """
        if self._descriptor is not None:
            return None
        try:
            make_private(self._folder)
            require_private(self._folder)
        except OSError:
            pass  # without that folder there is no note; the machine's lock needs none
        descriptor = os.open(self._place or lock_place(), os.O_RDONLY | os.O_CLOEXEC)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            locked = os.fstat(descriptor)
            os.close(descriptor)
            if error.errno in (errno.EWOULDBLOCK, errno.EACCES):
                return self._holder(locked)
            raise
        self._descriptor = descriptor
        self._write(dict(holder, pid=os.getpid()))
        return None

    def release(self) -> None:
        """Let others have it."""
        if self._descriptor is not None:
            try:
                os.unlink(self._note)
            except OSError:
                pass
            os.close(self._descriptor)
            self._descriptor = None

    def _holder(self, locked: os.stat_result) -> Holder:
        pid, note = locker(locked), self._read()
        # The note of an agent that was killed is still there, and another user's lies elsewhere.
        if pid is None:
            return note if _lives(note.get("pid")) else {}
        if note.get("pid") == pid:
            return note
        return {"pid": pid, "user": _user(pid)}

    def _read(self) -> Holder:
        try:
            with open(self._note, "rb") as file:
                note = json.loads(file.read(MAX_BYTES).decode("utf-8", "replace"))
        except (OSError, ValueError, RecursionError):
            return {}
        return note if isinstance(note, dict) else {}

    def _write(self, holder: Holder) -> None:
        try:
            descriptor = os.open(self._note, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            try:
                os.write(descriptor, json.dumps(holder).encode("ascii")[:MAX_BYTES])
            finally:
                os.close(descriptor)
        except OSError:
            pass  # a full disk: the lock holds, and its holder is known by process and user


def locker(locked: os.stat_result, table: str = "/proc/locks") -> Optional[int]:
    """The process that holds the flock of a file, where the kernel tells (see proc_locks(5))."""
    device = (os.major(locked.st_dev), os.minor(locked.st_dev))
    by_inode: List[int] = []
    by_device: List[int] = []
    try:
        with open(table) as file:
            lines = [line.split() for line in file]
    except OSError:
        return None
    for fields in (line for line in lines if len(line) > 5 and (line[1], line[3]) == ("FLOCK", "WRITE")):
        major, minor, inode = fields[5].split(":")
        if int(inode) == locked.st_ino and int(fields[4]) > 0:
            by_inode.append(int(fields[4]))
            if (int(major, 16), int(minor, 16)) == device:
                by_device.append(int(fields[4]))
    # What stat says of a device is not what the table says, on btrfs and on layers.
    holders = by_device or by_inode
    return holders[0] if len(holders) == 1 else None


def _lives(pid: Any) -> bool:
    """Whether a process of this user has that number."""
    if not isinstance(pid, int) or pid <= 0:
        return False
    try:
        os.kill(pid, 0)
    except (OSError, OverflowError):
        return False
    return True


def _user(pid: int) -> str:
    """The name of a process's user, or its number; nothing where the system hides it."""
    try:
        return user_name(os.stat("/proc/{}".format(pid)).st_uid)
    except OSError:
        return ""
