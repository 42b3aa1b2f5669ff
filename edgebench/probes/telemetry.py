"""Telemetry: clocks, temperatures, throttling, load, memory, and how often the worker was interrupted.

A monitor and no meter: it says nothing about power. It runs at a low rate in a process of its own, on files
that it opens once. Sources, each absent with its reason where a board has none:

- cpufreq: `cpufreq/policy*/scaling_cur_freq` in kHz, the fastest and the slowest policy;
- thermal zones: `thermal_zone*/{type,temp}` in thousandths of a degree Celsius; Edge TPUs on PCIe likewise,
  `class/apex/apex_*/temp`;
- throttling: the Raspberry Pi firmware's bits, from sysfs or `vcgencmd get_throttled` (bit 0 under-voltage,
  1 clock capped, 2 throttled, 3 soft temperature limit, 16 to 19 the same since the board started); the x86
  counters `thermal_throttle/*_throttle_count`; the state of cooling devices that slow a processor;
- `/proc/loadavg`, and MemAvailable of `/proc/meminfo`;
- of every thread of the worker, counted from the start: context switches from `/proc/PID/task/*/status`, and
  how long it ran and waited for a core from `schedstat` beside it (a thread pool that spins and yields is
  switched involuntarily thousands of times a second and waits for nobody);
- of the cores that the worker may use, from `/proc/stat` in clock ticks: how long they worked, for whomever,
  and how long a hypervisor gave them to others (steal).
"""

import glob
import os
import re
import select
import shutil
import subprocess
import time
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Optional, Tuple

PLACE = "board"
MONITOR = True
WORKER_PID = "EDGEBENCH_WORKER_PID"
DEFAULT_HZ = 1.0
HZ_RANGE = (0.05, 10.0)
CHUNK_S = 5.0
MAX_FILES = 16
MAX_THREADS = 256
MAX_STAT = 1 << 18  # of /proc/stat, whose lines of cores come first
VCGENCMD_S = 10.0  # a process a sample would cost more than all the rest
NAN = float("nan")

APEX = "sys/class/apex/apex_*"
CPU = "sys/devices/system/cpu"
FIRMWARE = "sys/devices/platform/soc/soc:firmware/get_throttled"
# Fans and the like are cooling devices too, and slow nothing down.
SLOWS = re.compile("cpu|gpu|processor|devfreq|balanced|throttle|emergency", re.IGNORECASE)

Pair = Tuple[int, int]
Chunk = Tuple[List[int], Dict[str, List[float]]]
Channel = NamedTuple("Channel", [("name", str), ("quantity", str), ("unit", str)])
Source = NamedTuple("Source", [("channels", List[Channel]), ("read", Callable[[], List[float]])])


class Absent(Exception):
    """Why a source is not there."""


class ProbeMissing(Exception):
    """There is no telemetry here."""

    denied = False

    def __init__(self, reason: str, fix: str) -> None:
        super(ProbeMissing, self).__init__(reason)
        self.reason = reason
        self.fix = fix


class TelemetryProbe:
    """Whatever the board tells, at `rate_hz`; a value that cannot be read any more is not a number."""

    def __init__(self, address: str, rate_hz: float, root: str, worker: Optional[int]) -> None:
        self._period_s = 1 / rate_hz
        self._in_chunk = max(1, int(CHUNK_S * rate_hz))
        self._running = True
        # A sleep that a stop cuts short: nobody waits a second for the end of a session.
        self._wake, self._waker = os.pipe()
        self._sources: List[Source] = []
        absent: Dict[str, str] = {}
        for name, find in FINDERS:
            try:
                self._sources.append(find(root, worker))
            except (OSError, ValueError, Absent) as error:
                absent[name] = str(error)
        channels = [channel for source in self._sources for channel in source.channels]
        if not channels:
            raise ProbeMissing(
                "the board tells nothing: {}".format("; ".join(absent.values())), "mount /proc and /sys"
            )
        self._names = [channel.name for channel in channels]
        self.info: Dict[str, Any] = {
            "kind": "telemetry",
            "address": address,
            "rate_hz": rate_hz,
            "resolution": "what the kernel gives",
            "scope": "",
            "channels": [dict(channel._asdict()) for channel in channels],
            "absent": absent,
        }

    def start(self) -> None:
        """Nothing to do: the first sample is taken as soon as somebody asks for one."""

    def stop(self) -> None:
        """End the iteration after one more sample."""
        self._running = False
        os.write(self._waker, b"x")

    def __iter__(self) -> Iterator[Chunk]:
        due = time.monotonic()
        last = False
        while not last:
            stamps: List[int] = []
            values: Dict[str, List[float]] = {name: [] for name in self._names}
            while not last and len(stamps) < self._in_chunk:
                patience = due - time.monotonic()
                if self._running and patience > 0:
                    select.select([self._wake], [], [], patience)
                due = max(due, time.monotonic() - self._period_s) + self._period_s
                last = not self._running
                self._sample(stamps, values)
            yield stamps, values

    def _sample(self, stamps: List[int], values: Dict[str, List[float]]) -> None:
        stamps.append(_now_ns())
        at = 0
        for source in self._sources:
            for value in source.read():
                values[self._names[at]].append(value)
                at += 1


class _Held:
    """A small file that is opened once and read again and again."""

    def __init__(self, path: str) -> None:
        self._file = os.open(path, os.O_RDONLY)
        self.text()

    def text(self) -> str:
        return os.pread(self._file, 4096, 0).decode("ascii", "replace")

    def number(self) -> float:
        """Its only number, or no number where it cannot be had now."""
        return _quiet(lambda: float(self.text()))


def _held(paths: List[str]) -> List[_Held]:
    """Those of some files that can be read as a number; Absent with the reason where none can."""
    files, why = [], "there is none"
    for path in paths[:MAX_FILES]:
        try:
            file = _Held(path)
            float(file.text())
            files.append(file)
        except (OSError, ValueError) as error:
            why = str(error)
    if not files:
        raise Absent(why)
    return files


def _clocks(root: str, worker: Optional[int]) -> Source:
    pattern = os.path.join(root, CPU, "cpufreq", "policy*", "scaling_cur_freq")
    paths = sorted(glob.glob(pattern))
    if not paths:
        raise Absent(
            "{} has no policy: virtual machines have none".format(os.path.join(root, CPU, "cpufreq"))
        )
    files = _held(paths)

    def read() -> List[float]:
        found = [value for value in (file.number() / 1000 for file in files) if value == value]
        return [max(found), min(found)] if found else [NAN, NAN]

    return Source([Channel("cpu_clock_max", "clock", "MHz"), Channel("cpu_clock_min", "clock", "MHz")], read)


def _temperatures(root: str, worker: Optional[int]) -> Source:
    folder = os.path.join(root, "sys/class/thermal")
    channels, files = [], []
    for zone in sorted(glob.glob(os.path.join(folder, "thermal_zone*")), key=_numbered)[:MAX_FILES]:
        try:
            [file] = _held([os.path.join(zone, "temp")])
            kind = re.sub(r"[^A-Za-z0-9_.-]", "_", _first(os.path.join(zone, "type")))[:40]
        except (OSError, Absent):
            continue
        name = "temperature.{}-{}".format(_numbered(zone), kind)
        channels.append(Channel(name, "temperature", "C"))
        files.append(file)
    for card in sorted(glob.glob(os.path.join(root, APEX)), key=_numbered)[:MAX_FILES]:
        try:
            [file] = _held([os.path.join(card, "temp")])
        except (OSError, Absent):
            continue
        channels.append(Channel("temperature.{}".format(os.path.basename(card)), "temperature", "C"))
        files.append(file)
    if not files:
        raise Absent("{} has no zone that can be read".format(folder))
    return Source(channels, lambda: [file.number() / 1000 for file in files])


def _firmware(root: str, worker: Optional[int]) -> Source:
    try:
        file = _Held(os.path.join(root, FIRMWARE))
        read: Callable[[], float] = lambda: _bits(file.text())  # noqa: E731
        read()
    except (OSError, ValueError):
        command = shutil.which("vcgencmd")
        if command is None:
            raise Absent("no Raspberry Pi firmware: neither {} nor vcgencmd".format(FIRMWARE)) from None
        read = _Vcgencmd(command).read
        if read() != read():
            raise Absent("vcgencmd get_throttled says nothing") from None
    return Source([Channel("throttle_flags", "throttle", "bits")], lambda: [_quiet(read)])


class _Vcgencmd:
    """The firmware's bits by its own tool, asked now and then and remembered in between."""

    def __init__(self, command: str) -> None:
        self._command = command
        self._due = 0.0
        self._last = NAN

    def read(self) -> float:
        now = time.monotonic()
        if now >= self._due:
            self._due = now + VCGENCMD_S
            try:
                said = subprocess.check_output(
                    [self._command, "get_throttled"], stderr=subprocess.DEVNULL, timeout=2
                )
                self._last = _bits(said.decode("ascii", "replace"))
            except (OSError, ValueError, subprocess.SubprocessError):
                self._last = NAN
        return self._last


def _bits(text: str) -> float:
    """`50005` and `throttled=0x50005` alike."""
    return float(int(text.strip().rpartition("=")[2], 16) & 0xFFFFFFFF)


def _quiet(read: Callable[[], float]) -> float:
    try:
        return read()
    except (OSError, ValueError):
        return NAN


def _counters(root: str, worker: Optional[int]) -> Source:
    pattern = os.path.join(root, CPU, "cpu[0-9]*", "thermal_throttle", "core_throttle_count")
    paths = sorted(glob.glob(pattern))
    if not paths:
        raise Absent("no thermal_throttle counters: they are x86's, and not of virtual machines")
    package = os.path.join(os.path.dirname(paths[0]), "package_throttle_count")
    files = _held([package] + paths if os.path.exists(package) else paths)
    return Source(
        [Channel("throttle_count", "throttle", "events")], lambda: [sum(file.number() for file in files)]
    )


def _cooling(root: str, worker: Optional[int]) -> Source:
    folder = os.path.join(root, "sys/class/thermal")
    paths = []
    for device in sorted(glob.glob(os.path.join(folder, "cooling_device*")), key=_numbered):
        try:
            kind = _first(os.path.join(device, "type"))
        except OSError:
            continue
        if SLOWS.search(kind) and "fan" not in kind.lower():
            paths.append(os.path.join(device, "cur_state"))
    if not paths:
        raise Absent("{} has no cooling device that slows a processor".format(folder))
    files = _held(paths)

    def read() -> List[float]:
        found = [value for value in (file.number() for file in files) if value == value]
        return [max(found) if found else NAN]

    return Source([Channel("cooling_state", "throttle", "state")], read)


def _load(root: str, worker: Optional[int]) -> Source:
    file = _Held(os.path.join(root, "proc/loadavg"))
    float(file.text().partition(" ")[0])
    return Source(
        [Channel("load_1min", "load", "processes")],
        lambda: [_quiet(lambda: float(file.text().partition(" ")[0]))],
    )


def _memory(root: str, worker: Optional[int]) -> Source:
    file = _Held(os.path.join(root, "proc/meminfo"))

    def read() -> float:
        found = re.search(r"^MemAvailable:\s+(\d+) kB", file.text(), re.MULTILINE)
        if found is None:
            raise ValueError("/proc/meminfo has no MemAvailable")
        return float(found.group(1)) * 1024

    read()
    return Source([Channel("memory_available", "memory", "B")], lambda: [_quiet(read)])


class _Threads:
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
            raise Absent("/proc has no {} of the worker's threads".format(file))
        self._totals = [0, 0]

    def read(self) -> List[float]:
        for task in self._tasks:
            try:
                threads = os.listdir(task)[:MAX_THREADS]
            except OSError:
                continue
            for thread in threads:
                found = self._of(os.path.join(task, thread, self._file))
                if found is None:
                    continue
                before = self._last.get(thread, (0, 0))
                if found[0] < before[0] or found[1] < before[1]:  # another thread under the same number
                    before = (0, 0)
                self._totals[0] += found[0] - before[0]
                self._totals[1] += found[1] - before[1]
                self._last[thread] = found
        return [float(total) for total in self._totals]

    def _of(self, path: str) -> Optional[Pair]:
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


def _switches(root: str, worker: Optional[int]) -> Source:
    counters = _Threads(_tasks_of(root, worker), "status", _switches_in)
    return Source(
        [
            Channel("voluntary_switches", "context_switches", "switches"),
            Channel("involuntary_switches", "context_switches", "switches"),
        ],
        counters.read,
    )


def _waiting(root: str, worker: Optional[int]) -> Source:
    counters = _Threads(_tasks_of(root, worker), "schedstat", _times_in)
    return Source(
        [Channel("worker_running", "time", "ns"), Channel("worker_waiting", "time", "ns")], counters.read
    )


def _cores(root: str, worker: Optional[int]) -> Source:
    if worker is None:
        raise Absent("no worker runs beside it")
    tick_ns = 1e9 / os.sysconf("SC_CLK_TCK")
    allowed = _allowed(os.path.join(root, "proc", str(worker), "status"))
    file = os.open(os.path.join(root, "proc/stat"), os.O_RDONLY)

    def now() -> List[float]:
        busy, stolen = _ticks(os.pread(file, MAX_STAT, 0), allowed)
        return [busy * tick_ns, stolen * tick_ns]

    first = now()

    def read() -> List[float]:
        try:
            return [value - before for value, before in zip(now(), first)]
        except (OSError, ValueError):
            return [NAN, NAN]

    return Source([Channel("cores_busy", "time", "ns"), Channel("cores_stolen", "time", "ns")], read)


def _allowed(status: str) -> List[int]:
    """The numbers of the cores that a process may use."""
    with open(status, "rb") as file:
        found = re.search(rb"^Cpus_allowed_list:\s*([0-9,-]+)", file.read(8192), re.MULTILINE)
    if found is None:
        raise Absent("{} does not say which cores the worker may use".format(status))
    numbers: List[int] = []
    for part in found.group(1).decode("ascii").split(","):
        first, _, last = part.partition("-")
        # No machine has more: a damaged file is not a reason to count to a billion.
        numbers.extend(range(int(first), min(int(last or first), int(first) + 4095) + 1))
    return numbers


def _ticks(stat: bytes, cores: List[int]) -> Pair:
    """Ticks that these cores worked (user, nice, system, irq, softirq; guests are in user), and steal."""
    wanted = set(cores)
    busy = stolen = seen = 0
    for line in stat.splitlines():
        found = re.match(rb"cpu(\d+) ", line)
        if found is None or int(found.group(1)) not in wanted:
            continue
        fields = [int(field) for field in line.split()[1:9]]
        if len(fields) < 8:
            raise ValueError("/proc/stat does not tell steal")
        busy += fields[0] + fields[1] + fields[2] + fields[5] + fields[6]
        stolen += fields[7]
        seen += 1
    if not seen:
        raise ValueError("/proc/stat has none of the worker's cores")
    return busy, stolen


def _tasks_of(root: str, worker: Optional[int]) -> List[str]:
    if worker is None:
        raise Absent("no worker runs beside it")
    folder = os.path.join(root, "proc")
    return [os.path.join(folder, str(pid), "task") for pid in _session_of(folder, worker)]


def _session_of(folder: str, leader: int) -> List[int]:
    """The processes of the worker's session: a launch prefix such as sudo stays in front of the worker."""
    found = [leader]
    for path in glob.glob(os.path.join(glob.escape(folder), "[0-9]*", "stat")):
        try:
            with open(path, "rb") as file:
                fields = file.read(4096).rpartition(b")")[2].split()
            if int(fields[3]) == leader:
                found.append(int(os.path.basename(os.path.dirname(path))))
        except (OSError, ValueError, IndexError):
            continue
    return sorted(set(found))[:MAX_FILES]


def _first(path: str) -> str:
    with open(path, "rb") as file:
        return file.read(200).decode("ascii", "replace").strip()


def _numbered(path: str) -> int:
    """The number that a folder's name ends with: thermal_zone10 comes after thermal_zone9."""
    found = re.search(r"(\d+)$", path)
    return int(found.group(1)) if found else -1


Find = Callable[[str, Optional[int]], Source]
FINDERS: List[Tuple[str, Find]] = [
    ("clocks", _clocks),
    ("temperatures", _temperatures),
    ("throttle flags", _firmware),
    ("throttle counters", _counters),
    ("cooling devices", _cooling),
    ("load", _load),
    ("memory", _memory),
    ("context switches", _switches),
    ("waiting for a core", _waiting),
    ("other work on its cores", _cores),
]


def open_probe(address: str) -> TelemetryProbe:
    """The probe of `telemetry:` (once a second), `telemetry:HZ`, or `telemetry:HZ:/another/root`."""
    text, _, root = address.partition(":")
    try:
        rate_hz = float(text) if text else DEFAULT_HZ
    except ValueError:
        rate_hz = NAN
    if not HZ_RANGE[0] <= rate_hz <= HZ_RANGE[1]:
        raise ProbeMissing(
            "{!r} is no rate".format(text),
            "give a rate from {} to {} Hz, such as telemetry:1".format(*HZ_RANGE),
        )
    worker = os.environ.get(WORKER_PID, "")
    return TelemetryProbe(address, rate_hz, root or "/", int(worker) if worker.isdigit() else None)


def _now_ns() -> int:
    exact = getattr(time, "monotonic_ns", None)  # Python 3.7 has it
    return int(exact() if exact else time.monotonic() * 1e9)
