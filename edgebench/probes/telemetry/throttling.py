"""Whether the processor was slowed down: firmware, x86 counters, cooling devices.

The Raspberry Pi firmware's bits, from sysfs or `vcgencmd get_throttled` (bit 0 under-voltage, 1 clock capped,
2 throttled, 3 soft temperature limit, 16 to 19 the same since the board started); the x86 counters
`thermal_throttle/*_throttle_count`; the state of cooling devices that slow a processor.
"""

import os
import re
import shutil
import subprocess
import time
from typing import Callable, List, Optional

from .board import CPU, THERMAL
from .source import (
    NAN,
    Absent,
    OpenFile,
    Source,
    channels_of,
    files_left_out,
    number_or_nan,
    numbered_folders,
    open_numbers,
    readable_numbers,
    stripped_text,
)

FIRMWARE = "sys/devices/platform/soc/soc:firmware/get_throttled"
VCGENCMD_S = 10.0  # a process a sample would cost more than all the rest
# Fans and the like are cooling devices too, and slow nothing down.
SLOWS = re.compile("cpu|gpu|processor|devfreq|balanced|throttle|emergency", re.IGNORECASE)


def find_firmware(root: str, worker: Optional[int]) -> Source:
    """The Raspberry Pi firmware's bits."""
    try:
        file = OpenFile(os.path.join(root, FIRMWARE))
        read: Callable[[], float] = lambda: _bits(file.text())  # noqa: E731
        read()
    except (OSError, ValueError):
        command = shutil.which("vcgencmd")
        if command is None:
            raise Absent("no Raspberry Pi firmware: neither {} nor vcgencmd".format(FIRMWARE)) from None
        read = Vcgencmd(command).read
        if read() != read():
            raise Absent("vcgencmd get_throttled says nothing") from None
    return Source(channels_of("throttle", "bits", "throttle_flags"), lambda: [number_or_nan(read)])


class Vcgencmd:
    """The firmware's bits by its own tool, asked now and then and remembered in between."""

    def __init__(self, command: str) -> None:
        self._command = command
        self._due = 0.0
        self._last = NAN

    def read(self) -> float:
        """The bits of the last time that it was asked."""
        now = time.monotonic()
        if now >= self._due:
            self._due = now + VCGENCMD_S
            try:
                output = subprocess.check_output(
                    [self._command, "get_throttled"], stderr=subprocess.DEVNULL, timeout=2
                )
                self._last = _bits(output.decode("ascii", "replace"))
            except (OSError, ValueError, subprocess.SubprocessError):
                self._last = NAN
        return self._last


def _bits(text: str) -> float:
    """`50005` and `throttled=0x50005` alike."""
    return float(int(text.strip().rpartition("=")[2], 16) & 0xFFFFFFFF)


def find_counters(root: str, worker: Optional[int]) -> Source:
    """How often cores and package were throttled, added up."""
    folders = [os.path.join(core, "thermal_throttle") for core in numbered_folders(root, CPU + "/cpu[0-9]*")]
    paths = [os.path.join(folder, "core_throttle_count") for folder in folders if os.path.isdir(folder)]
    if not paths:
        raise Absent("no thermal_throttle counters: they are x86's, and not of virtual machines")
    package = os.path.join(os.path.dirname(paths[0]), "package_throttle_count")
    paths = [package] + paths if os.path.exists(package) else paths
    files = open_numbers(paths)
    channels = channels_of("throttle", "events", "throttle_count")
    return Source(channels, lambda: [sum(file.number() for file in files)], files_left_out(files, paths))


def find_cooling(root: str, worker: Optional[int]) -> Source:
    """The highest state of the cooling devices that slow a processor."""
    folder = os.path.join(root, THERMAL)
    paths = []
    for device in numbered_folders(folder, "cooling_device*"):
        try:
            kind = stripped_text(os.path.join(device, "type"))
        except OSError:
            continue
        if SLOWS.search(kind) and "fan" not in kind.lower():
            paths.append(os.path.join(device, "cur_state"))
    if not paths:
        raise Absent("{} has no cooling device that slows a processor".format(folder))
    files = open_numbers(paths)

    def read() -> List[float]:
        states = readable_numbers(files)
        return [max(states) if states else NAN]

    return Source(channels_of("throttle", "state", "cooling_state"), read, files_left_out(files, paths))
