"""The worker that a monitor runs beside: its processes, and the cores that it may use."""

import glob
import os
import re
from typing import List, Optional, Set

from .source import MAX_FILES, Absent


def allowed_cores(root: str, worker: Optional[int]) -> Set[int]:
    """The numbers of the cores that the worker may use; Absent where there is no worker."""
    if worker is None:
        raise Absent("no worker runs beside it")
    status = os.path.join(root, "proc", str(worker), "status")
    with open(status, "rb") as file:
        match = re.search(rb"^Cpus_allowed_list:\s*([0-9,-]+)", file.read(8192), re.MULTILINE)
    if match is None:
        raise Absent("{} does not say which cores the worker may use".format(status))
    return core_numbers(match.group(1).decode("ascii"))


def core_numbers(text: str) -> Set[int]:
    """The numbers of a kernel's list of cores, `0-3,8` or `0 1 2`."""
    numbers: Set[int] = set()
    for part in text.replace(",", " ").split():
        first, _, last = part.partition("-")
        # No machine has more: a damaged file is not a reason to count to a billion.
        numbers.update(range(int(first), min(int(last or first), int(first) + 4095) + 1))
    return numbers


def task_folders(root: str, worker: Optional[int]) -> List[str]:
    """The folders with the threads of the worker's processes; Absent where there is no worker."""
    if worker is None:
        raise Absent("no worker runs beside it")
    folder = os.path.join(root, "proc")
    return [os.path.join(folder, str(pid), "task") for pid in _session_processes(folder, worker)]


def _session_processes(folder: str, leader: int) -> List[int]:
    """The processes of the worker's session: a launch prefix such as sudo stays in front of the worker."""
    processes = {leader}
    for path in glob.glob(os.path.join(glob.escape(folder), "[0-9]*", "stat")):
        try:
            with open(path, "rb") as file:
                fields = file.read(4096).rpartition(b")")[2].split()
            if int(fields[3]) == leader:
                processes.add(int(os.path.basename(os.path.dirname(path))))
        except (OSError, ValueError, IndexError):
            continue
    return sorted(processes)[:MAX_FILES]
