"""Telemetry: clocks, temperatures, throttling, load, memory, and how often the worker was interrupted.

A monitor and no meter: it says nothing about power. It runs at a low rate in a process of its own, on files
that it opens once. Sources, each absent with its reason where a board has none:

- cpufreq: `cpufreq/policy*/scaling_cur_freq` in kHz, fastest and slowest of the cores that the worker has;
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
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Optional, Set, Tuple

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


class Source(NamedTuple):
    """Channels that are read together; `left_out` says what else was there and is not read, and why."""

    channels: List[Channel]
    read: Callable[[], List[float]]
    left_out: str = ""


def _channels(quantity: str, unit: str, *names: str) -> List[Channel]:
    return [Channel(name, quantity, unit) for name in names]


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
                if self._sources[-1].left_out:
                    absent["other " + name] = self._sources[-1].left_out
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


def _held(paths: List[str], why: str = "there is none") -> List[_Held]:
    """Those files that can be read as a number; Absent with the reason, `why` of no files, where none can."""
    files = []
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


def _rest(files: List[_Held], *kinds: List[str]) -> str:
    """Why fewer files are read than there are of each kind; nothing where all are."""
    there, tried = sum(map(len, kinds)), sum(min(len(paths), MAX_FILES) for paths in kinds)
    most = "{} of {} are read (at most {})".format(len(files), there, MAX_FILES) if tried < there else ""
    mute = "{} of {} cannot be read".format(tried - len(files), there) if len(files) < tried else ""
    return "; ".join(filter(None, (most, mute)))


def _of_its_cores(policy: str, root: str, worker: Optional[int]) -> bool:
    """Whether the worker may use any of the policy's cores; also where that is not told."""
    try:
        return not _allowed(root, worker).isdisjoint(_numbers(_first(os.path.join(policy, "related_cpus"))))
    except (OSError, ValueError, Absent):
        return True


def _clocks(root: str, worker: Optional[int]) -> Source:
    folder = os.path.join(root, CPU, "cpufreq")
    policies = _ordered(folder, "policy*")
    if not policies:
        raise Absent("{} has no policy: virtual machines have none".format(folder))
    own = [policy for policy in policies if _of_its_cores(policy, root, worker)]
    others = ", ".join(os.path.basename(policy) for policy in policies if policy not in own)
    foreign = "the worker may not use the cores of {}".format(others[:1000]) if others else ""
    paths = [os.path.join(policy, "scaling_cur_freq") for policy in own]
    files = _held(paths, foreign)
    left_out = "; ".join(filter(None, (_rest(files, paths), foreign)))

    def read() -> List[float]:
        found = [value for value in (file.number() / 1000 for file in files) if value == value]
        return [max(found), min(found)] if found else [NAN, NAN]

    return Source(_channels("clock", "MHz", "cpu_clock_max", "cpu_clock_min"), read, left_out)


def _temperatures(root: str, worker: Optional[int]) -> Source:
    folder = os.path.join(root, "sys/class/thermal")
    zones, cards = _ordered(folder, "thermal_zone*"), _ordered(root, APEX)
    channels, files = [], []
    for place in zones[:MAX_FILES] + cards[:MAX_FILES]:
        try:
            [file] = _held([os.path.join(place, "temp")])
            name = os.path.basename(place)
            if place in zones:
                kind = re.sub(r"[^A-Za-z0-9_.-]", "_", _first(os.path.join(place, "type")))[:40]
                name = "{}-{}".format(_numbered(place), kind)
        except (OSError, Absent):
            continue
        channels.append(Channel("temperature." + name, "temperature", "C"))
        files.append(file)
    if not files:
        raise Absent("{} has no zone that can be read".format(folder))
    return Source(channels, lambda: [file.number() / 1000 for file in files], _rest(files, zones, cards))


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
    return Source(_channels("throttle", "bits", "throttle_flags"), lambda: [_quiet(read)])


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
    folders = [os.path.join(core, "thermal_throttle") for core in _ordered(root, CPU + "/cpu[0-9]*")]
    paths = [os.path.join(folder, "core_throttle_count") for folder in folders if os.path.isdir(folder)]
    if not paths:
        raise Absent("no thermal_throttle counters: they are x86's, and not of virtual machines")
    package = os.path.join(os.path.dirname(paths[0]), "package_throttle_count")
    paths = [package] + paths if os.path.exists(package) else paths
    files = _held(paths)
    channels = _channels("throttle", "events", "throttle_count")
    return Source(channels, lambda: [sum(file.number() for file in files)], _rest(files, paths))


def _cooling(root: str, worker: Optional[int]) -> Source:
    folder = os.path.join(root, "sys/class/thermal")
    paths = []
    for device in _ordered(folder, "cooling_device*"):
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

    return Source(_channels("throttle", "state", "cooling_state"), read, _rest(files, paths))


def _load(root: str, worker: Optional[int]) -> Source:
    file = _Held(os.path.join(root, "proc/loadavg"))
    read: Callable[[], float] = lambda: float(file.text().partition(" ")[0])  # noqa: E731
    read()
    return Source(_channels("load", "processes", "load_1min"), lambda: [_quiet(read)])


def _memory(root: str, worker: Optional[int]) -> Source:
    file = _Held(os.path.join(root, "proc/meminfo"))

    def read() -> float:
        found = re.search(r"^MemAvailable:\s+(\d+) kB", file.text(), re.MULTILINE)
        if found is None:
            raise ValueError("/proc/meminfo has no MemAvailable")
        return float(found.group(1)) * 1024

    read()
    return Source(_channels("memory", "B", "memory_available"), lambda: [_quiet(read)])


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
    names = ("voluntary_switches", "involuntary_switches")
    return Source(_channels("context_switches", "switches", *names), counters.read)


def _waiting(root: str, worker: Optional[int]) -> Source:
    counters = _Threads(_tasks_of(root, worker), "schedstat", _times_in)
    return Source(_channels("time", "ns", "worker_running", "worker_waiting"), counters.read)


def _cores(root: str, worker: Optional[int]) -> Source:
    allowed = _allowed(root, worker)
    tick_ns = 1e9 / os.sysconf("SC_CLK_TCK")
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

    return Source(_channels("time", "ns", "cores_busy", "cores_stolen"), read)


def _allowed(root: str, worker: Optional[int]) -> Set[int]:
    """The numbers of the cores that the worker may use."""
    if worker is None:
        raise Absent("no worker runs beside it")
    status = os.path.join(root, "proc", str(worker), "status")
    with open(status, "rb") as file:
        found = re.search(rb"^Cpus_allowed_list:\s*([0-9,-]+)", file.read(8192), re.MULTILINE)
    if found is None:
        raise Absent("{} does not say which cores the worker may use".format(status))
    return _numbers(found.group(1).decode("ascii"))


def _numbers(text: str) -> Set[int]:
    """The numbers of a kernel's list of cores, `0-3,8` or `0 1 2`."""
    numbers: Set[int] = set()
    for part in text.replace(",", " ").split():
        first, _, last = part.partition("-")
        # No machine has more: a damaged file is not a reason to count to a billion.
        numbers.update(range(int(first), min(int(last or first), int(first) + 4095) + 1))
    return numbers


def _ticks(stat: bytes, cores: Set[int]) -> Pair:
    """Ticks that these cores worked (user, nice, system, irq, softirq; guests are in user), and steal."""
    busy = stolen = seen = 0
    for line in stat.splitlines():
        found = re.match(rb"cpu(\d+) ", line)
        if found is None or int(found.group(1)) not in cores:
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
        return file.read(4096).decode("ascii", "replace").strip()


def _numbered(path: str) -> int:
    """The number that a folder's name ends with."""
    found = re.search(r"(\d+)$", path)
    return int(found.group(1)) if found else -1


def _ordered(folder: str, pattern: str) -> List[str]:
    """The folders of a pattern by their numbers: policy10 comes after policy9."""
    return sorted(glob.glob(os.path.join(folder, pattern)), key=_numbered)


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
