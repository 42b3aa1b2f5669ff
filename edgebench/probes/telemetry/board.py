"""Clocks, temperatures, load and memory of the board, from /sys and /proc.

- cpufreq: `cpufreq/policy*/scaling_cur_freq` in kHz, fastest and slowest of the cores that the worker has;
- thermal zones: `thermal_zone*/{type,temp}` in thousandths of a degree Celsius; Edge TPUs on PCIe likewise,
  `class/apex/apex_*/temp`;
- `/proc/loadavg`, and MemAvailable of `/proc/meminfo`.
"""

import os
import re
from typing import Callable, List, Optional

from .source import (
    MAX_FILES,
    NAN,
    Absent,
    Channel,
    OpenFile,
    Source,
    channels_of,
    files_left_out,
    number_or_nan,
    numbered_folders,
    open_numbers,
    readable_numbers,
    stripped_text,
    trailing_number,
)
from .worker_process import allowed_cores, core_numbers

APEX = "sys/class/apex/apex_*"
CPU = "sys/devices/system/cpu"
THERMAL = "sys/class/thermal"


def find_clocks(root: str, worker: Optional[int]) -> Source:
    """The fastest and the slowest clock of the cores that the worker may use."""
    folder = os.path.join(root, CPU, "cpufreq")
    policies = numbered_folders(folder, "policy*")
    if not policies:
        raise Absent("{} has no policy: virtual machines have none".format(folder))
    own = [policy for policy in policies if _has_worker_core(policy, root, worker)]
    others = ", ".join(os.path.basename(policy) for policy in policies if policy not in own)
    foreign = "the worker may not use the cores of {}".format(others[:1000]) if others else ""
    paths = [os.path.join(policy, "scaling_cur_freq") for policy in own]
    files = open_numbers(paths, foreign)
    left_out = "; ".join(filter(None, (files_left_out(files, paths), foreign)))

    def read() -> List[float]:
        clocks_khz = readable_numbers(files)
        return [max(clocks_khz) / 1000, min(clocks_khz) / 1000] if clocks_khz else [NAN, NAN]

    return Source(channels_of("clock", "MHz", "cpu_clock_max", "cpu_clock_min"), read, left_out)


def _has_worker_core(policy: str, root: str, worker: Optional[int]) -> bool:
    """Whether the worker may use any of the policy's cores; also where that is not told."""
    try:
        cores = core_numbers(stripped_text(os.path.join(policy, "related_cpus")))
        return not allowed_cores(root, worker).isdisjoint(cores)
    except (OSError, ValueError, Absent):
        return True


def find_temperatures(root: str, worker: Optional[int]) -> Source:
    """Thermal zones, and Edge TPUs on PCIe."""
    folder = os.path.join(root, THERMAL)
    zones, cards = numbered_folders(folder, "thermal_zone*"), numbered_folders(root, APEX)
    channels, files = [], []
    for place in zones[:MAX_FILES] + cards[:MAX_FILES]:
        try:
            [file] = open_numbers([os.path.join(place, "temp")])
            name = os.path.basename(place)
            if place in zones:
                kind = re.sub(r"[^A-Za-z0-9_.-]", "_", stripped_text(os.path.join(place, "type")))[:40]
                name = "{}-{}".format(trailing_number(place), kind)
        except (OSError, Absent):
            continue
        channels.append(Channel("temperature." + name, "temperature", "C"))
        files.append(file)
    if not files:
        raise Absent("{} has no zone that can be read".format(folder))
    left_out = files_left_out(files, zones, cards)
    return Source(channels, lambda: [file.number() / 1000 for file in files], left_out)


def find_load(root: str, worker: Optional[int]) -> Source:
    """How many processes ran or waited to, over the last minute."""
    file = OpenFile(os.path.join(root, "proc/loadavg"))
    read: Callable[[], float] = lambda: float(file.text().partition(" ")[0])  # noqa: E731
    read()
    return Source(channels_of("load", "processes", "load_1min"), lambda: [number_or_nan(read)])


def find_memory(root: str, worker: Optional[int]) -> Source:
    """What the kernel can give without swapping."""
    file = OpenFile(os.path.join(root, "proc/meminfo"))

    def read() -> float:
        match = re.search(r"^MemAvailable:\s+(\d+) kB", file.text(), re.MULTILINE)
        if match is None:
            raise ValueError("/proc/meminfo has no MemAvailable")
        return float(match.group(1)) * 1024

    read()
    return Source(channels_of("memory", "B", "memory_available"), lambda: [number_or_nan(read)])
