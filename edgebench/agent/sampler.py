"""The process of one probe: opens it, and sends what it samples, chunk by chunk, until it is stopped."""

import glob
import grp
import json
import os
import signal
import stat
import sys
from array import array
from typing import Any, Dict, List, Sequence, Tuple

from .bootstrap import user_name
from .building import import_sent
from .children import take_over_descriptors
from .clock import injected
from .frames import FrameStream

# What a probe is read from, as the system has it: who may open it, and which processes have it open.


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
    return "{} {}:{}".format(stat.filemode(status.st_mode), user_name(status.st_uid), _group(status.st_gid))


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


def _group(number: int) -> str:
    try:
        return grp.getgrgid(number).gr_name
    except KeyError:
        return str(number)


PROBE = "edgebench_probe"
MAX_VERBATIM, MAX_READING = 5, 200  # rejected readings that are told, and characters of each
DEVICE, PERMISSION = "device", "permission"  # steps at which a probe without a word of it was refused
NAN = float("nan")


def main(arguments: List[str]) -> int:
    """`probe CODE ADDRESS`: the probe's files as JSON, as `import_sent` takes them, and what it opens."""
    code, address = arguments
    stream = take_over_descriptors()
    try:
        module: Any = import_sent(PROBE, json.loads(code))
        probe = module.open_probe(address)
        _require_channels(probe.info)
    except Exception as error:
        stream.write(_missing(error))
        return 0
    # A stop is a signal, because the probe sleeps between samples; it takes one last sample and ends.
    signal.signal(signal.SIGTERM, lambda number, frame: probe.stop())
    probe.start()
    access = access_of(str(getattr(probe, "port", "")))
    stream.write({"kind": "info", "info": probe.info, "access": access})
    on_clock = injected()
    rejections = Rejections(probe.info)
    try:
        for stamps, values in probe:
            if on_clock is not None:
                stamps = [on_clock(stamp) for stamp in stamps]
            outages = getattr(probe, "outages", None)
            while outages:  # before the samples of that time, which a session's end waits for
                why = str(outages.pop(0))
                stream.write({"kind": "lost" if why else "back", "reason": why[:2000]})
            stream.write(*_chunk(stamps, rejections.within_range(values)))
            rejections.tell(probe, stream)
        rejections.tell(probe, stream)
    except BrokenPipeError:
        return 1
    except Exception as error:
        rejections.tell(probe, stream)
        stream.write(dict(_missing(error), kind="failed"))
    return 0


class Rejections:
    """Readings that are no samples: out of their channel's range, or, by the probe's word, not to be parsed.

    Args:
        info: of the probe, whose channels may have a `range`.
    """

    def __init__(self, info: Dict[str, Any]) -> None:
        self._ranges = {
            channel["name"]: channel["range"] for channel in info["channels"] if channel.get("range")
        }
        self._count = 0
        self._first: List[str] = []

    def within_range(self, values: Dict[str, Sequence[float]]) -> Dict[str, Sequence[float]]:
        """The values by channel, with no number in the place of each that is out of range."""
        return {name: self._accepted_readings(name, column) for name, column in values.items()}

    def tell(self, probe: Any, stream: FrameStream) -> None:
        """Send how many there were since the last time, and the first of them; nothing for none."""
        unparsed = getattr(probe, "rejected", None)
        while unparsed:
            self._add(str(unparsed.pop(0)))
        if self._count:
            stream.write({"kind": "rejected", "count": self._count, "first": self._first})
            self._count, self._first = 0, []

    def _accepted_readings(self, name: str, column: Sequence[float]) -> Sequence[float]:
        if name not in self._ranges:
            return column
        low, high = self._ranges[name]
        kept = []
        for value in column:
            outside = value < low or value > high  # which no number is not
            if outside:
                self._add("{}={!r}".format(name, value))
            kept.append(NAN if outside else value)
        return kept

    def _add(self, reading: str) -> None:
        self._count += 1
        if len(self._first) < MAX_VERBATIM:
            self._first.append(reading[:MAX_READING])


def _require_channels(info: Dict[str, Any]) -> None:
    """ValueError for channels that a chunk cannot have: the probe alone is refused, and not the agent."""
    names = [channel["name"] for channel in info["channels"]]
    twice = sorted({repr(name) for name in names if names.count(name) > 1})
    if twice:
        raise ValueError("the probe has several channels named {}".format(", ".join(twice[:5])))


def _missing(error: Exception) -> Dict[str, Any]:
    reason = str(getattr(error, "reason", None) or "{}: {}".format(type(error).__name__, error))
    denied = bool(getattr(error, "denied", False))
    access = access_of(str(getattr(error, "port", "")))
    if denied and access["permission"]:
        reason += " ({})".format(access["permission"])
    if access["held_by"]:
        reason += "; it is open in {}".format(", ".join(access["held_by"]))
    return {
        "kind": "missing",
        "reason": reason[:2000],
        "fix": str(getattr(error, "fix", ""))[:2000],
        "denied": denied,
        "step": str(getattr(error, "step", ""))[:40] or (PERMISSION if denied else DEVICE),
        "access": access,
    }


def _chunk(stamps: Sequence[int], values: Dict[str, Sequence[float]]) -> Tuple[Dict[str, Any], bytes]:
    """Stamps int64, then one float64 column a channel in the named order, all little-endian."""
    names = list(values)
    columns: List[array[Any]] = [array("q", stamps)] + [array("d", values[name]) for name in names]
    if sys.byteorder == "big":
        for column in columns:
            column.byteswap()
    message = {"kind": "chunk", "n": len(stamps), "channels": names}
    return message, b"".join(column.tobytes() for column in columns)
