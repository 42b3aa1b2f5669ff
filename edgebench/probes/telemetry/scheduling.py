"""How the kernel treated the worker: context switches, waiting, and who else had its cores.

- of every thread of the worker, counted from the start: context switches from `/proc/PID/task/*/status`, and
  how long it ran and waited for a core from `schedstat` beside it (a thread pool that spins and yields is
  switched involuntarily thousands of times a second and waits for nobody);
- of the cores that the worker may use, from `/proc/stat` in clock ticks: how long they worked, for whomever,
  and how long a hypervisor gave them to others (steal).
"""

import os
import re
from typing import Callable, Dict, List, Optional, Set, Tuple

from .source import NAN, Absent, Source, channels_of
from .worker_process import allowed_cores, task_folders

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
            raise Absent("/proc has no {} of the worker's threads".format(file))
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


def find_switches(root: str, worker: Optional[int]) -> Source:
    """Voluntary and involuntary context switches of the worker's threads."""
    counters = ThreadCounters(task_folders(root, worker), "status", _switches_in)
    names = ("voluntary_switches", "involuntary_switches")
    return Source(channels_of("context_switches", "switches", *names), counters.read)


def find_waiting(root: str, worker: Optional[int]) -> Source:
    """How long the worker's threads ran, and how long they waited for a core."""
    counters = ThreadCounters(task_folders(root, worker), "schedstat", _times_in)
    return Source(channels_of("time", "ns", "worker_running", "worker_waiting"), counters.read)


def find_cores(root: str, worker: Optional[int]) -> Source:
    """How long the worker's cores worked, and how long a hypervisor gave them to others."""
    allowed = allowed_cores(root, worker)
    tick_ns = 1e9 / os.sysconf("SC_CLK_TCK")
    file = os.open(os.path.join(root, "proc/stat"), os.O_RDONLY)

    def since_boot() -> List[float]:
        busy, stolen = _ticks(os.pread(file, MAX_STAT, 0), allowed)
        return [busy * tick_ns, stolen * tick_ns]

    first = since_boot()

    def read() -> List[float]:
        try:
            return [value - before for value, before in zip(since_boot(), first)]
        except (OSError, ValueError):
            return [NAN, NAN]

    return Source(channels_of("time", "ns", "cores_busy", "cores_stolen"), read)


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
