"""The first code on a board: puts the agent there once, verified by its hash, and becomes it.

Sent as source over the connection and run by the board's own Python, so it stands alone: standard library
only, and nothing of the package. It answers in lines that start with `MARK`, because login scripts print.
"""

import errno
import functools
import grp
import hashlib
import json
import os
import pwd
import shlex
import stat
import sys
from typing import Any, List, Set

MARK = "edgebench-board:"
ENVIRONMENT = "EDGEBENCH_BOARD_DIR"
MOST_LINKS = 40
ACL = "system.posix_acl_access"


class UnsafeFolder(Exception):
    """Another user of the machine could replace files in a folder; names the folder, and the fix."""


def board_folder() -> str:
    """Where EdgeBench keeps its files on a board: below the user's cache folder, unless told otherwise."""
    chosen = os.path.expanduser(os.environ.get(ENVIRONMENT, ""))
    if os.path.isabs(chosen):
        return chosen
    cache = os.environ.get("XDG_CACHE_HOME", "")
    if not os.path.isabs(cache):
        cache = os.path.join(os.path.expanduser("~"), ".cache")
    return os.path.join(cache, "edgebench", "board")


def make_private(folder: str) -> None:
    """Make a folder, and those above it that are missing, for this user alone, whatever the umask is."""
    above = os.path.dirname(folder)
    if above and not os.path.exists(above):
        make_private(above)
    try:
        os.mkdir(folder, 0o700)
    except FileExistsError:
        if not os.path.isdir(folder):
            raise


def require_private(folder: str) -> None:
    """UnsafeFolder where another user could put, replace or move away a file of this folder.

    Everything on the path, links too, has to belong to this user or to root, and no other user may write
    there. Folders above may have the sticky bit instead, as /tmp: it keeps others from what is not theirs.
    """
    here, links = os.sep, 0
    waiting = _path_components(os.path.abspath(folder))
    _require_own(here, os.lstat(here), shared=bool(waiting))
    while waiting:
        part = waiting.pop()
        if part == os.pardir:
            here = os.path.dirname(here)
            continue
        path = os.path.join(here, part)
        about = os.lstat(path)
        _require_own(path, about, shared=bool(waiting))
        if not stat.S_ISLNK(about.st_mode):
            here = path
            continue
        links += 1
        if links > MOST_LINKS:
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), folder)
        target = os.readlink(path)
        waiting += _path_components(target)
        if os.path.isabs(target):
            here = os.sep


def _path_components(path: str) -> List[str]:
    return [part for part in reversed(path.split(os.sep)) if part not in ("", os.curdir)]


def _require_own(path: str, about: os.stat_result, shared: bool) -> None:
    if not owner_trusted(about):
        raise UnsafeFolder(
            "{} belongs to another user (number {}): set {} or XDG_CACHE_HOME to a folder of your own".format(
                path, about.st_uid, ENVIRONMENT
            )
        )
    if (
        stat.S_ISLNK(about.st_mode)
        or not others_write(path, about)
        or (shared and about.st_mode & stat.S_ISVTX)
    ):
        return
    raise UnsafeFolder(
        "{} can be written by other users: chmod go-w {}, or set {} or XDG_CACHE_HOME to a folder that is "
        "yours alone".format(path, shlex.quote(path), ENVIRONMENT)
    )


def owner_trusted(about: os.stat_result) -> bool:
    """Whether a file is this user's or root's; in a user namespace root is whoever / belongs to."""
    return about.st_uid in (os.getuid(), 0, os.stat(os.sep).st_uid)


def others_write(path: str, about: os.stat_result) -> bool:
    """Whether its mode lets others write a file or folder; a group of its owner alone is no others.

    With an access list the group's bits are the most that the list grants, so that it need not be read.
    """
    if about.st_mode & stat.S_IWOTH:
        return True
    if not about.st_mode & stat.S_IWGRP:
        return False
    try:
        owner, group = pwd.getpwuid(about.st_uid).pw_name, grp.getgrgid(about.st_gid)
    except KeyError:
        return True
    # What Debian and others make for each user, with a umask that lets it write.
    if group.gr_name != owner or not set(group.gr_mem) <= {owner}:
        return True
    return bool(_primary_members(about.st_gid) - {about.st_uid, 0}) or _has_access_list(path)


@functools.lru_cache(maxsize=None)
def _primary_members(group: int) -> Set[int]:
    """The users whose primary group it is, which its list of members leaves out; read once a process."""
    try:
        users = pwd.getpwall()
    except OSError:
        users = []  # a directory service that lists nobody: the group's own list decides
    return {user.pw_uid for user in users if user.pw_gid == group}


def _has_access_list(path: str) -> bool:
    try:
        return bool(os.getxattr(path, ACL))
    except (AttributeError, OSError):
        return False  # none, or a file system or machine without any


def user_name(number: int) -> str:
    """The name of a user, or the number of one without a name."""
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return str(number)


def tell(**message: Any) -> None:
    """One marked line to the host."""
    os.write(1, "{}{}\n".format(MARK, json.dumps(message)).encode("ascii"))


def receive(path: str, digest: str, size: int) -> None:
    """Read `size` bytes from stdin into place; EOFError, ValueError or OSError leave nothing behind."""
    part = "{}.{}.part".format(path, os.getpid())
    try:
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW
        with os.fdopen(os.open(part, flags, 0o600), "wb") as file:
            left = size
            while left:
                data = os.read(0, min(left, 1 << 16))
                if not data:
                    raise EOFError("the host went away")
                file.write(data)
                left -= len(data)
        if digest_of(part) != digest:
            raise ValueError("the agent arrived damaged")
        os.replace(part, path)
    finally:
        if os.path.exists(part):
            os.unlink(part)


def digest_of(path: str) -> str:
    """The hex SHA-256 of a small file; nothing for one that is not there, or that others can write."""
    try:
        about = os.lstat(path)
        if not stat.S_ISREG(about.st_mode) or not owner_trusted(about) or others_write(path, about):
            return ""
        with open(path, "rb") as file:
            return hashlib.sha256(file.read()).hexdigest()
    except FileNotFoundError:
        return ""


def become_agent(digest: str, size: int) -> None:
    """Have the host send the agent where it is missing, then run it in this process's place."""
    folder = board_folder()
    path = os.path.join(folder, digest + ".pyz")
    try:
        make_private(folder)
        require_private(folder)
        if digest_of(path) != digest:
            tell(state="send")
            receive(path, digest, size)
        tell(state="ready")
        os.execv(sys.executable, [sys.executable, path, "serve", folder])
    except UnsafeFolder as error:
        tell(state="failed", unsafe=True, what=str(error))
        sys.exit(3)
    except (OSError, ValueError, EOFError) as error:
        tell(state="failed", errno=getattr(error, "errno", None), what=str(error))
        sys.exit(3)
