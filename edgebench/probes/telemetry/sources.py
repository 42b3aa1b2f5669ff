"""A source of telemetry: channels that are read together, on small files that stay open."""

import glob
import os
import re
from typing import Callable, Dict, List, NamedTuple, Optional, Sequence, Set, Tuple

from ..basics import NAN, OpenFile

MAX_FILES = 100

Channel = NamedTuple("Channel", [("name", str), ("quantity", str), ("unit", str)])


class Source(NamedTuple):
    """Channels that are read together."""

    channels: List[Channel]
    read: Callable[[], List[float]]


Find = Callable[[str, Sequence[int]], Source]
"""Looks for a source below a root folder, for the workers' processes; Absent with the reason without one."""


class SourceAbsent(Exception):
    """Reason that a source is not there."""


def channels_of(quantity: str, unit: str, *names: str) -> List[Channel]:
    """Channels of one quantity."""
    return [Channel(name, quantity, unit) for name in names]


def open_numbers(paths: List[str], why: str = "there is none") -> List[OpenFile]:
    """Open the files that hold a number; Absent with the reason, `why` of no files, where none can."""
    files = []
    for path in paths[:MAX_FILES]:
        try:
            file = OpenFile(path)
            float(file.text())
            files.append(file)
        except (OSError, ValueError) as error:
            why = str(error)
    if not files:
        raise SourceAbsent(why)
    return files


def watched(channels: List[Channel], read: Callable[[], List[float]]) -> Source:
    """A source that can be read now; its values are not a number whenever it cannot be read later."""
    read()

    def read_or_nan() -> List[float]:
        try:
            return read()
        except (OSError, ValueError):
            return [NAN] * len(channels)

    return Source(channels, read_or_nan)


def readable_numbers(files: List[OpenFile]) -> List[float]:
    """The numbers of those files that can be read now; ValueError where there are none."""
    values = [value for value in (file.number() for file in files) if value == value]
    if not values:
        raise ValueError("no file can be read")
    return values


def stripped_text(path: str) -> str:
    """The start of a file, stripped."""
    with open(path, "rb") as file:
        return file.read(4096).decode("ascii", "replace").strip()


def trailing_number(path: str) -> int:
    """The number that a folder's name ends with; -1 without one."""
    return int((re.findall(r"\d+$", path) or [-1])[0])


def numbered_folders(folder: str, pattern: str) -> List[str]:
    """The folders of a pattern by their numbers: policy10 comes after policy9."""
    return sorted(glob.glob(os.path.join(folder, pattern)), key=trailing_number)


# The worker that a monitor runs beside: its processes, and the cores that it may use.


def _running(workers: Sequence[int]) -> Sequence[int]:
    if not workers:
        raise SourceAbsent("no worker runs in its session")
    return workers


def allowed_cores(root: str, workers: Sequence[int]) -> Set[int]:
    """The numbers of the cores that any of the workers may use; Absent where there is no worker."""
    cores: Set[int] = set()
    for worker in _running(workers):
        status = os.path.join(root, "proc", str(worker), "status")
        with open(status, "rb") as file:
            match = re.search(rb"^Cpus_allowed_list:\s*([0-9,-]+)", file.read(8192), re.MULTILINE)
        if match is None:
            raise SourceAbsent("{} does not say which cores the worker may use".format(status))
        cores |= core_numbers(match.group(1).decode("ascii"))
    return cores


def core_numbers(text: str) -> Set[int]:
    """The numbers of a kernel's list of cores, `0-3,8` or `0 1 2`."""
    numbers: Set[int] = set()
    for part in text.replace(",", " ").split():
        first, _, last = part.partition("-")
        # No machine has more: a damaged file is not a reason to count to a billion.
        numbers.update(range(int(first), min(int(last or first), int(first) + 4095) + 1))
    return numbers


def task_folders(root: str, workers: Sequence[int]) -> List[str]:
    """The folders with the threads of the workers' processes; Absent where there is no worker."""
    leaders, folder = set(_running(workers)), os.path.join(root, "proc")
    processes = set(leaders)  # of their sessions: a launch prefix such as sudo stays in front of a worker
    for path in glob.glob(os.path.join(glob.escape(folder), "[0-9]*", "stat")):
        try:
            with open(path, "rb") as file:
                fields = file.read(4096).rpartition(b")")[2].split()
            if int(fields[3]) in leaders:
                processes.add(int(os.path.basename(os.path.dirname(path))))
        except (OSError, ValueError, IndexError):
            continue
    return [os.path.join(folder, str(pid), "task") for pid in sorted(processes)[:MAX_FILES]]


# Clocks, temperatures, load and memory of the board, from /sys and /proc.
#
# - cpufreq: `cpufreq/policy*/scaling_cur_freq` in kHz, fastest and slowest of the worker's cores;
# - thermal zones: `thermal_zone*/{type,temp}` in thousandths of a degree Celsius; Edge TPUs on PCIe
# likewise,
# `class/apex/apex_*/temp`;
# - `/proc/loadavg`, and MemAvailable of `/proc/meminfo`.


APEX = "sys/class/apex/apex_*"
CPU = "sys/devices/system/cpu"
THERMAL = "sys/class/thermal"


def find_clocks(root: str, workers: Sequence[int]) -> Source:
    """The fastest and the slowest clock of the cores that the worker may use."""
    folder = os.path.join(root, CPU, "cpufreq")
    policies = numbered_folders(folder, "policy*")
    if not policies:
        raise SourceAbsent("{} has no policy: virtual machines have none".format(folder))
    own = [policy for policy in policies if _has_worker_core(policy, root, workers)]
    names = ", ".join(map(os.path.basename, policies))
    foreign = "the worker may not use the cores of {}".format(names[:1000])
    files = open_numbers([os.path.join(policy, "scaling_cur_freq") for policy in own], foreign)

    def read() -> List[float]:
        clocks_khz = readable_numbers(files)
        return [max(clocks_khz) / 1000, min(clocks_khz) / 1000]

    return watched(channels_of("clock", "MHz", "cpu_clock_max", "cpu_clock_min"), read)


def _has_worker_core(policy: str, root: str, workers: Sequence[int]) -> bool:
    """Return True if the worker may use any of the policy's cores; also where that is not told."""
    try:
        cores = core_numbers(stripped_text(os.path.join(policy, "related_cpus")))
        return not allowed_cores(root, workers).isdisjoint(cores)
    except (OSError, ValueError, SourceAbsent):
        return True


def find_temperatures(root: str, workers: Sequence[int]) -> Source:
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
        except (OSError, SourceAbsent):
            continue
        channels.append(Channel("temperature." + name, "temperature", "C"))
        files.append(file)
    if not files:
        raise SourceAbsent("{} has no zone that can be read".format(folder))
    return Source(channels, lambda: [file.number() / 1000 for file in files])


def find_load(root: str, workers: Sequence[int]) -> Source:
    """Find the number of processes that ran or waited to, over the last minute."""
    file = OpenFile(os.path.join(root, "proc/loadavg"))
    channels = channels_of("load", "processes", "load_1min")
    return watched(channels, lambda: [float(file.text().partition(" ")[0])])


def find_memory(root: str, workers: Sequence[int]) -> Source:
    """Find the memory that the kernel can give without swapping."""
    file = OpenFile(os.path.join(root, "proc/meminfo"))

    def read() -> List[float]:
        match = re.search(r"^MemAvailable:\s+(\d+) kB", file.text(), re.MULTILINE)
        if match is None:
            raise ValueError("/proc/meminfo has no MemAvailable")
        return [float(match.group(1)) * 1024]

    return watched(channels_of("memory", "B", "memory_available"), read)


# How the kernel treated the worker: context switches, waiting, and who else had its cores.
#
# - of every thread of the worker, counted from the start: context switches from `/proc/PID/task/*/status`,
# and
# how long it ran and waited for a core from `schedstat` beside it (a thread pool that spins and yields is
# switched involuntarily thousands of times a second and waits for nobody);
# - of the cores that the worker may use, from `/proc/stat` in clock ticks: how long they worked, for
# whomever,
# and how long a hypervisor gave them to others (steal).


MAX_THREADS = 256
MAX_STAT = 1 << 18  # of /proc/stat, whose lines of cores come first

Pair = Tuple[int, int]


class ThreadCounters:
    """Two counters of every thread of some processes, summed up from the first reading on.

    Args:
        tasks: the processes' `task` folders.
        file: the name of a thread's file there.
        parse: both counters out of its bytes; ValueError or IndexError where they are not in it.
    """

    def __init__(self, tasks: List[str], file: str, parse: Callable[[bytes], Pair]) -> None:
        self._tasks = tasks
        self._file = file
        self._parse = parse
        self._last: Dict[str, Pair] = {}
        self._totals = [0, 0]
        self.read()
        if not self._last:
            raise SourceAbsent("/proc has no {} of the worker's threads".format(file))
        self._totals = [0, 0]

    def read(self) -> List[float]:
        """Both sums, from the start to now."""
        for task in self._tasks:
            try:
                threads = os.listdir(task)[:MAX_THREADS]
            except OSError:
                continue
            for thread in threads:
                counters = self._counters_of(os.path.join(task, thread, self._file))
                if counters is None:
                    continue
                before = self._last.get(thread, (0, 0))
                if counters[0] < before[0] or counters[1] < before[1]:
                    before = (0, 0)  # another thread under the same number
                self._totals[0] += counters[0] - before[0]
                self._totals[1] += counters[1] - before[1]
                self._last[thread] = counters
        return [float(total) for total in self._totals]

    def _counters_of(self, path: str) -> Optional[Pair]:
        """None for a thread that is gone."""
        try:
            file = os.open(path, os.O_RDONLY)
        except OSError:
            return None
        try:
            return self._parse(os.read(file, 8192))
        except (OSError, ValueError, IndexError):
            return None
        finally:
            os.close(file)


def _switches_in(status: bytes) -> Pair:
    end = status.rpartition(b"\nvoluntary_ctxt_switches:")[2].split()
    return int(end[0]), int(end[2])


def _times_in(schedstat: bytes) -> Pair:
    fields = schedstat.split()
    return int(fields[0]), int(fields[1])


def find_switches(root: str, workers: Sequence[int]) -> Source:
    """Voluntary and involuntary context switches of the worker's threads."""
    counters = ThreadCounters(task_folders(root, workers), "status", _switches_in)
    names = ("voluntary_switches", "involuntary_switches")
    return Source(channels_of("context_switches", "switches", *names), counters.read)


def find_waiting(root: str, workers: Sequence[int]) -> Source:
    """Find how long the worker's threads ran, and how long they waited for a core."""
    counters = ThreadCounters(task_folders(root, workers), "schedstat", _times_in)
    return Source(channels_of("time", "ns", "worker_running", "worker_waiting"), counters.read)


def find_cores(root: str, workers: Sequence[int]) -> Source:
    """Find how long the worker's cores worked, and how long a hypervisor gave them to others."""
    allowed = allowed_cores(root, workers)
    tick_ns = 1e9 / os.sysconf("SC_CLK_TCK")
    file = os.open(os.path.join(root, "proc/stat"), os.O_RDONLY)

    def since_boot() -> List[float]:
        busy, stolen = _ticks(os.pread(file, MAX_STAT, 0), allowed)
        return [busy * tick_ns, stolen * tick_ns]

    first = since_boot()
    channels = channels_of("time", "ns", "cores_busy", "cores_stolen")
    return watched(channels, lambda: [value - before for value, before in zip(since_boot(), first)])


def _ticks(stat: bytes, cores: Set[int]) -> Pair:
    """Ticks that these cores worked (user, nice, system, irq, softirq; guests are in user), and steal."""
    busy = stolen = lines = 0
    for line in stat.splitlines():
        match = re.match(rb"cpu(\d+) ", line)
        if match is None or int(match.group(1)) not in cores:
            continue
        fields = [int(field) for field in line.split()[1:9]]
        if len(fields) < 8:
            raise ValueError("/proc/stat does not tell steal")
        busy += fields[0] + fields[1] + fields[2] + fields[5] + fields[6]
        stolen += fields[7]
        lines += 1
    if not lines:
        raise ValueError("/proc/stat has none of the worker's cores")
    return busy, stolen


# Whether the processor was slowed down: firmware, x86 counters, cooling devices.
#
# The Raspberry Pi firmware's bits, from sysfs (bit 0 under-voltage, 1 clock capped, 2 throttled, 3 soft
# temperature limit, 16 to 19 the same since the board started; below soc@107c000000 on a Raspberry Pi 5), and
# the under-voltage alarm of the hwmon driver `rpi_volt`; the x86 counters
# `thermal_throttle/*_throttle_count`; the state of cooling devices that slow a processor.


FIRMWARE = "sys/devices/platform/soc/soc:firmware/get_throttled"
FIRMWARE_5 = "sys/devices/platform/soc@*/*:firmware/get_throttled"
HWMON = "sys/class/hwmon/hwmon*"
ALARM = "in0_lcrit_alarm"
# Fans and the like are cooling devices too, and slow nothing down.
SLOWS = re.compile("cpu|gpu|processor|devfreq|balanced|throttle|emergency", re.IGNORECASE)


def find_firmware(root: str, workers: Sequence[int]) -> Source:
    """The Raspberry Pi firmware's bits, with the alarm of its driver as bit 0."""
    paths = [os.path.join(root, FIRMWARE)] + glob.glob(os.path.join(root, FIRMWARE_5))
    for folder in numbered_folders(root, HWMON):
        name = os.path.join(folder, "name")
        if os.path.isfile(name) and stripped_text(name) == "rpi_volt":
            paths.append(os.path.join(folder, ALARM))
    files = [OpenFile(path) for path in paths if os.path.isfile(path)]
    if not files:
        raise SourceAbsent("there is no {}, no {} and no rpi_volt".format(FIRMWARE, FIRMWARE_5))

    def read() -> List[float]:
        bits = 0
        for file in files:
            bits |= int(file.text(), 16) & 0xFFFFFFFF
        return [float(bits)]

    return watched(channels_of("throttle", "bits", "throttle_flags"), read)


def find_counters(root: str, workers: Sequence[int]) -> Source:
    """Find how often cores and package were throttled, added up."""
    folders = [os.path.join(core, "thermal_throttle") for core in numbered_folders(root, CPU + "/cpu[0-9]*")]
    paths = [os.path.join(folder, "core_throttle_count") for folder in folders if os.path.isdir(folder)]
    if not paths:
        raise SourceAbsent("no thermal_throttle counters: they are x86's, and not of virtual machines")
    package = os.path.join(os.path.dirname(paths[0]), "package_throttle_count")
    paths = [package] + paths if os.path.exists(package) else paths
    files = open_numbers(paths)
    channels = channels_of("throttle", "events", "throttle_count")
    return Source(channels, lambda: [sum(file.number() for file in files)])


def find_cooling(root: str, workers: Sequence[int]) -> Source:
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
        raise SourceAbsent("{} has no cooling device that slows a processor".format(folder))
    files = open_numbers(paths)
    channels = channels_of("throttle", "state", "cooling_state")
    return watched(channels, lambda: [max(readable_numbers(files))])
