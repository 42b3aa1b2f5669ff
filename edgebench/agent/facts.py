"""What a board says of itself: model, processor, memory, system, clocks, load and temperatures.

Every fact that cannot be had is None, and `absent` says why.
"""

import glob
import os
import platform
import re
import sys
from typing import Any, Callable, Dict, List, Optional

from .clock import resolution_ns

CPUFREQ = "sys/devices/system/cpu/cpu0/cpufreq"
MAX_TEXT = 4096


class Absent(Exception):
    """Why a fact cannot be had."""


def board_facts(root: str = "/") -> Dict[str, Any]:
    """The facts, read below `root` (another folder than / in tests)."""
    facts: Dict[str, Any] = {}
    absent: Dict[str, str] = {}
    for name, find in FINDERS.items():
        try:
            facts[name] = find(root)
        except (OSError, ValueError, Absent) as error:
            facts[name] = None
            absent[name] = str(error)
    facts["absent"] = absent
    return facts


def _text(root: str, path: str) -> str:
    with open(os.path.join(root, path), "rb") as file:
        return file.read(MAX_TEXT).decode("utf-8", "replace").strip("\0\n ")


def _field(root: str, path: str, *names: str) -> str:
    with open(os.path.join(root, path), "rb") as file:
        text = file.read(1 << 20).decode("utf-8", "replace")
    for name in names:
        found = re.search(r"^{}\s*[:=]\s*(.+)$".format(re.escape(name)), text, re.MULTILINE)
        if found:
            return found.group(1).strip().strip('"')
    raise Absent("/{} has no {}".format(path, " or ".join(names)))


def _board(root: str) -> str:
    for path in ("proc/device-tree/model", "sys/class/dmi/id/product_name"):
        try:
            return _text(root, path)
        except OSError:
            continue
    raise Absent("neither /proc/device-tree/model nor /sys/class/dmi/id/product_name is there")


def _kilobytes(name: str) -> "Callable[[str], int]":
    def find(root: str) -> int:
        return int(_field(root, "proc/meminfo", name).split()[0]) * 1024

    return find


def _megahertz(name: str) -> "Callable[[str], float]":
    def find(root: str) -> float:
        return int(_text(root, "{}/{}".format(CPUFREQ, name))) / 1000

    return find


def _load(root: str) -> List[float]:
    return [float(part) for part in _text(root, "proc/loadavg").split()[:3]]


def _temperatures(root: str) -> Dict[str, float]:
    found: Dict[str, float] = {}
    for zone in sorted(glob.glob(os.path.join(root, "sys/class/thermal/thermal_zone*"))):
        try:
            number = os.path.basename(zone)[len("thermal_zone") :]
            name = "{}-{}".format(number, _text(zone, "type"))
            found[name] = int(_text(zone, "temp")) / 1000
        except (OSError, ValueError):
            continue
    if not found:
        raise Absent("/sys/class/thermal has no zone that can be read")
    return found


def _cores(root: str) -> Optional[int]:
    return os.cpu_count()


def _usable(root: str) -> List[int]:
    if not hasattr(os, "sched_getaffinity"):
        raise Absent("this system has no affinities")
    return sorted(os.sched_getaffinity(0))


FINDERS: Dict[str, Callable[[str], Any]] = {
    "board": _board,
    "cpu": lambda root: _field(root, "proc/cpuinfo", "model name", "Hardware", "Model", "CPU implementer"),
    "cores": _cores,
    "usable_cores": _usable,
    "memory_bytes": _kilobytes("MemTotal"),
    "memory_available_bytes": _kilobytes("MemAvailable"),
    "os": lambda root: _field(root, "etc/os-release", "PRETTY_NAME"),
    "kernel": lambda root: "{} {}".format(platform.system(), platform.release()),
    "machine": lambda root: platform.machine(),
    "python": lambda root: platform.python_version(),
    "python_executable": lambda root: sys.executable,
    "governor": lambda root: _text(root, CPUFREQ + "/scaling_governor"),
    "clock_now_mhz": _megahertz("scaling_cur_freq"),
    "clock_max_mhz": _megahertz("cpuinfo_max_freq"),
    "load_average": _load,
    "temperatures_c": _temperatures,
    "timer_resolution_ns": lambda root: resolution_ns(),
}
