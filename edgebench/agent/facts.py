"""What a board says of itself: model, processor, memory, system, clocks, load and temperatures.

Every fact that cannot be had is None, and `absent` says why.
"""

import glob
import os
import platform
import pwd
import struct
import sys
import sysconfig
from typing import Any, Callable, Dict, Iterable, List, Optional

from . import hardware, nvidia
from .bootstrap import board_folder
from .clock import resolution_ns
from .files import FileStore
from .lock import lock_place
from .openvino_files import openvino_files
from .packages import packages
from .small_files import Absent, field, text

ROOT_ENVIRONMENT = "EDGEBENCH_BOARD_ROOT"
CPUFREQ = "sys/devices/system/cpu/cpu0/cpufreq"
ZONES = "sys/class/thermal/thermal_zone*"
MAX_ZONES = 64

# CPU part numbers of Arm Ltd. (implementer 0x41), which is all that many arm64 kernels say.
ARM_PARTS = {
    "0xd03": "Cortex-A53",
    "0xd04": "Cortex-A35",
    "0xd05": "Cortex-A55",
    "0xd07": "Cortex-A57",
    "0xd08": "Cortex-A72",
    "0xd09": "Cortex-A73",
    "0xd0b": "Cortex-A76",
    "0xd42": "Cortex-A78AE",
}


def facts_root() -> str:
    """/, unless EDGEBENCH_BOARD_ROOT names another folder, for tests."""
    chosen = os.environ.get(ROOT_ENVIRONMENT, "")
    return chosen if os.path.isabs(chosen) else "/"


def board_facts(root: Optional[str] = None, path: Optional[Iterable[str]] = None) -> Dict[str, Any]:
    """The facts.

    Args:
        root: where /proc, /sys, /etc and /var are found; None for `facts_root()`.
        path: the folders that packages are looked for in; None for `sys.path`.
    """
    root = facts_root() if root is None else root
    facts: Dict[str, Any] = {}
    absent: Dict[str, str] = {}
    for name, find in FINDERS.items():
        try:
            facts[name] = find(root)
        except (OSError, ValueError, Absent) as error:
            facts[name] = None
            absent[name] = _reason(error)
    folders = list(sys.path if path is None else path)
    facts["packages"] = packages(folders)
    facts["openvino"] = openvino_files(folders)
    facts["absent"] = absent
    facts["private"] = _private()
    return facts


def _reason(error: Exception) -> str:
    if isinstance(error, OSError) and error.filename:
        return "{}: {}".format(error.filename, error.strerror)
    return str(error)


def _private() -> Dict[str, str]:
    """The names that identify a person or a machine: for taking them out of texts, never for a record."""
    try:
        user = pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        user = ""
    return {"user": user, "node": platform.node(), "home": os.path.expanduser("~")}


def _board(root: str) -> str:
    for path in ("proc/device-tree/model", "sys/class/dmi/id/product_name"):
        try:
            return text(root, path)
        except OSError:
            continue
    raise Absent("neither /proc/device-tree/model nor /sys/class/dmi/id/product_name is there")


def _cpu(root: str) -> str:
    try:
        return field(root, "proc/cpuinfo", "model name", "Hardware")
    except Absent:
        part = field(root, "proc/cpuinfo", "CPU part")
        return ARM_PARTS.get(part.lower(), "CPU part {}".format(part))


def _disk(root: str) -> int:
    return FileStore(board_folder()).free_bytes()


def _kept_bytes(root: str) -> int:
    return FileStore(board_folder()).kept_bytes()


def _kilobytes(name: str) -> "Callable[[str], int]":
    def find(root: str) -> int:
        return int(field(root, "proc/meminfo", name).split()[0]) * 1024

    return find


def _megahertz(name: str) -> "Callable[[str], float]":
    def find(root: str) -> float:
        return int(text(root, "{}/{}".format(CPUFREQ, name))) / 1000

    return find


def _load(root: str) -> List[float]:
    return [float(part) for part in text(root, "proc/loadavg").split()[:3]]


def _temperatures(root: str) -> Dict[str, float]:
    temperatures_c: Dict[str, float] = {}
    for zone in sorted(glob.glob(os.path.join(glob.escape(root), ZONES)))[:MAX_ZONES]:
        try:
            number = os.path.basename(zone)[len("thermal_zone") :]
            name = "{}-{}".format(number, text(zone, "type"))
            temperatures_c[name] = int(text(zone, "temp")) / 1000
        except (OSError, ValueError):
            continue
    if not temperatures_c:
        raise Absent("/sys/class/thermal has no zone that can be read")
    return temperatures_c


def _cores(root: str) -> Optional[int]:
    return os.cpu_count()


def _usable(root: str) -> List[int]:
    if not hasattr(os, "sched_getaffinity"):
        raise Absent("this system has no affinities")
    return sorted(os.sched_getaffinity(0))


def _managed(root: str) -> bool:
    """Whether pip refuses to install into this Python (PEP 668); a virtual environment takes packages."""
    mark = os.path.join(sysconfig.get_path("stdlib"), "EXTERNALLY-MANAGED")
    return sys.prefix == sys.base_prefix and os.path.exists(mark)


FINDERS: Dict[str, Callable[[str], Any]] = {
    "board": _board,
    "soc": hardware.soc,
    "cpu": _cpu,
    "cores": _cores,
    "usable_cores": _usable,
    "memory_bytes": _kilobytes("MemTotal"),
    "memory_available_bytes": _kilobytes("MemAvailable"),
    "disk_available_bytes": _disk,
    "disk_kept_bytes": _kept_bytes,
    "lock_folder": lambda root: lock_place(),
    "os": lambda root: field(root, "etc/os-release", "PRETTY_NAME"),
    "kernel": lambda root: "{} {}".format(platform.system(), platform.release()),
    "machine": lambda root: platform.machine(),
    "l4t": hardware.l4t,
    "python": lambda root: platform.python_version(),
    "python_bits": lambda root: struct.calcsize("P") * 8,
    "python_executable": lambda root: sys.executable,
    "python_externally_managed": _managed,
    "governor": lambda root: text(root, CPUFREQ + "/scaling_governor"),
    "clock_now_mhz": _megahertz("scaling_cur_freq"),
    "clock_max_mhz": _megahertz("cpuinfo_max_freq"),
    "clock_min_mhz": _megahertz("scaling_min_freq"),
    "clock_limit_mhz": _megahertz("scaling_max_freq"),
    "power_mode": hardware.power_mode,
    "power_modes": hardware.power_modes,
    "pinned_clocks": nvidia.pinned_clocks,
    "usb_accelerators": hardware.usb_accelerators,
    "pcie_accelerators": hardware.pcie_accelerators,
    "libraries": hardware.libraries,
    "gpu": nvidia.gpu,
    "nvidia_libraries": nvidia.nvidia_libraries,
    "load_average": _load,
    "temperatures_c": _temperatures,
    "timer_resolution_ns": lambda root: resolution_ns(),
}
