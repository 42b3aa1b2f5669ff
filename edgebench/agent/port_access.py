"""What a probe is read from, as the system has it: who may open it, and which processes have it open."""

import glob
import grp
import os
import pwd
import stat
from typing import Any, Dict, List

DEVICES = "/dev/"
PROCESSES = "/proc"
MOST_HOLDERS = 5


def access_of(port: str) -> Dict[str, Any]:
    """`port`, its `permission`, and of a device's node in `held_by` the other processes that have it open.

    Args:
        port: a node, a file, a program or a library; empty for a probe that is read from none.
    """
    is_node = os.path.realpath(port).startswith(DEVICES) if port else False
    return {"port": port, "permission": permission(port), "held_by": holders(port) if is_node else []}


def permission(path: str) -> str:
    """Mode, owner and group, as `crw-rw---- root:dialout`; empty where there is no such file."""
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return ""
    return "{} {}:{}".format(stat.filemode(status.st_mode), _user(status.st_uid), _group(status.st_gid))


def holders(path: str) -> List[str]:
    """The processes other than this that have a file open, as `screen (pid 123)`; those of this user, or all
    for root.
    """
    target = os.path.realpath(path)
    names = []
    for folder in glob.glob(os.path.join(PROCESSES, "[0-9]*")):
        pid = os.path.basename(folder)
        if pid != str(os.getpid()) and _has_open(os.path.join(folder, "fd"), target):
            names.append("{} (pid {})".format(_name(folder), pid))
    return sorted(names)[:MOST_HOLDERS]


def _has_open(folder: str, target: str) -> bool:
    try:
        return any(os.readlink(os.path.join(folder, name)) == target for name in os.listdir(folder))
    except OSError:  # another user's, or it has ended
        return False


def _name(folder: str) -> str:
    try:
        with open(os.path.join(folder, "comm"), errors="replace") as file:
            return file.read(64).strip()
    except OSError:
        return "a process"


def _user(number: int) -> str:
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return str(number)


def _group(number: int) -> str:
    try:
        return grp.getgrgid(number).gr_name
    except KeyError:
        return str(number)
