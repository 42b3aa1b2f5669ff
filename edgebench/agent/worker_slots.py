"""The slots in which an agent has workers, by number: the workers of one session run side by side."""

import contextlib
import os
import shutil
import sys
import time
from typing import AbstractSet, Any, Dict, List, Mapping, Optional, Sequence, Set, Tuple

from .children import Child, DescriptorWatch, Orphan, end_orphans
from .clock import SPAWNED_NS, Clock
from .facts import cpu_quota, facts_root
from .files import remove_tree
from .frames import Frame, Message, Send

WORKER = "EDGEBENCH_WORKER"
"""The environment variable that tells a worker, and whatever it starts, the number of its slot."""

CPU_QUOTA = "EDGEBENCH_CPU_QUOTA"
"""The environment variable that tells a worker how many cores its container's CPU quota allows."""

MOST_SLOTS = 64


class WorkerSlot:
    """At most one worker at a time; whatever it sends goes to the host with the slot's number as `worker`.

    Args:
        number: of the slot.
        watch: of the supervisor.
        send: a message to the host, with its payload.
        clock: the board's, ns.

    Attributes:
        worker: the process; None where the slot is free.
        deadline: on time.monotonic, when the worker is killed; None where it owes nothing.
        last_end: how the last worker ended, as a message to the host.
    """

    def __init__(self, number: int, watch: DescriptorWatch, send: Send, clock: Clock) -> None:
        self.number = number
        self.worker: Optional[Child] = None
        self.deadline: Optional[float] = None
        self.last_end: Message = {}
        self._watch = watch
        self._send_to_host = send
        self._clock = clock
        self._asked_ns = 0  # when the latest request was passed on
        self._limit_s = 0.0  # of the latest request
        self._progress = 0.0  # likewise
        self._unanswered: Set[Any] = set()  # the ids of requests
        self._timed_out = False
        self._stop_id: Any = None  # of a stop that waits for the worker's end
        self._oom_kills: Optional[int] = None
        self._scratch = ""

    @property
    def stderr_tail(self) -> str:
        """The end of what the worker, or the last one here, wrote on stderr."""
        return self.worker.tail() if self.worker else str(self.last_end.get("stderr_tail", ""))

    def start(self, message: Message, scratch: str = "") -> List[int]:
        """Start a worker with the `python`, `env`, `prefix`, `affinity` and `share` of the message.

        One that builds is given a folder as `scratch`, which is gone when the worker is. Returns the cores
        that it is pinned to; empty where it is not.

        RuntimeError where one runs here already, or the launch cannot be carried out on this board.
        """
        if self.worker is not None:
            raise RuntimeError("a worker is still running in slot {}".format(self.number))
        faults = launch_faults(message)
        if faults:
            raise RuntimeError("; ".join("{}: {}".format(what, fix) for what, fix in faults))
        python = os.path.expanduser(message.get("python") or sys.executable)
        command = list(message.get("prefix") or []) + [python, sys.argv[0], "worker"]
        cores = own_cores(message)
        if cores:
            command.append("--affinity=" + ",".join(map(str, cores)))
        if scratch:
            command.append("--building=" + scratch)
        self._scratch = scratch
        self._oom_kills = _oom_kills()
        self._timed_out = False
        self.last_end = {}
        self._unanswered.clear()
        env = dict(message.get("env") or {})
        env[WORKER] = str(self.number)
        with contextlib.suppress(OSError, ValueError):  # the board's facts have the reason
            quota = cpu_quota(facts_root())
            env.update({} if quota is None else {CPU_QUOTA: str(quota)})
        env[SPAWNED_NS] = str(self._clock())  # the last thing before it is started
        self.worker = Child(command, env, self.hear)
        self._watch.add_child(self.worker)
        return cores

    def ask(self, message: Message, payload: bytes) -> None:
        """Pass a request on to the worker, which has the message's `limit_s` to answer it.

        Without a worker the host gets the last end.
        """
        if self.worker is None:
            self._send(dict(self.last_end, event="ended"))
            return
        self._limit_s = float(message["limit_s"])
        self.deadline = time.monotonic() + self._limit_s
        self._unanswered.add(message.get("id"))
        self._progress = 0.0
        self._asked_ns = self._clock()
        self.worker.outgoing.add(message, payload)
        self._watch.write(self.worker.outgoing.descriptor, self.worker.flush)

    def hear(self, frame: Frame) -> None:
        """Pass on what the worker sends."""
        if self._stop_id is None:
            self.renew(frame.message)
        self._send(dict(frame.message, now_ns=self._clock(), asked_ns=self._asked_ns), frame.payload)

    def renew(self, message: Message) -> None:
        """Further progress gives a request its whole time again; what it has answered has no deadline."""
        progress = message.get("progress")
        if progress is None:
            self._unanswered.discard(message.get("re"))
            if not self._unanswered:
                self.deadline = None
        elif isinstance(progress, (int, float)) and progress > self._progress:
            self._progress = progress
            self.deadline = time.monotonic() + self._limit_s

    def stop(self, message: Message) -> Optional[Message]:
        """End the worker, after the message's `grace_s`; None where the reply is sent when it is gone."""
        if self.worker is None:
            return dict(self.last_end)
        self._stop_id = message.get("id")
        grace_s = float(message.get("grace_s", 0.0))
        if grace_s <= 0:
            self.worker.kill()
        self.deadline = time.monotonic() + max(grace_s, 0.0)
        return None

    def kill_if_late(self, now: float) -> None:
        """Kill the worker where its deadline is over; `now` is on time.monotonic."""
        if self.worker is not None and self.deadline is not None and now >= self.deadline:
            self._timed_out = self._stop_id is None
            self.deadline = None
            self.worker.kill()

    def collect(self, spared: AbstractSet[int], other_slots: Sequence[int]) -> None:
        """Free the slot where its worker has ended, end what that left behind, and tell the host.

        What a worker started in a session of its own is this process's child by now. Its environment names
        the worker; a process without that name ends with the first worker.

        Args:
            spared: children that go on.
            other_slots: those with workers, whose children go on.
        """
        worker = self.worker
        end = None if worker is None else worker.ended()
        if worker is None or end is None:
            return
        worker.drain()
        self._watch.close_child(worker)
        marks = ["{}={}".format(WORKER, number) for number in other_slots]
        left_running: List[Orphan] = end_orphans(spared, spared_marks=marks)
        remove_tree(self._scratch)
        self.worker = self.deadline = None
        before, now = self._oom_kills, _oom_kills()
        more_killed = before is not None and now is not None and now > before
        self.last_end = {
            "code": end.code,
            "signal": end.signal,
            "timed_out": self._timed_out,
            "limit_s": self._limit_s if self._timed_out else None,
            "out_of_memory": end.signal == "SIGKILL" and not self._timed_out and more_killed,
            "problem": worker.problem,
            "stderr_tail": worker.tail(),
            "left_running": [orphan._asdict() for orphan in left_running],
        }
        answered = {"event": "ended"} if self._stop_id is None else {"re": self._stop_id}
        self._stop_id = None
        self._send(dict(self.last_end, **answered))

    def close(self) -> None:
        """Kill the worker, if there is one; the host gets no message."""
        if self.worker is not None:
            self.worker.close()
            remove_tree(self._scratch)

    def _send(self, message: Message, payload: bytes = b"") -> None:
        self._send_to_host(dict(message, worker=self.number), payload)


def _oom_kills() -> Optional[int]:
    """How many processes the kernel has killed for memory since it booted; None where it does not tell."""
    try:
        with open("/proc/vmstat") as file:
            for line in file:
                if line.startswith("oom_kill "):
                    return int(line.split()[1])
    except (OSError, ValueError):
        pass
    return None


def own_cores(launch: Mapping[str, Any]) -> List[int]:
    """The cores that a worker is pinned to: its `affinity`; with a `share` [place, of] a part of that.

    Without an affinity a share is one of all cores that this process may use. All shares are equally large.
    RuntimeError where there are too few cores, or this system pins no process to any.
    """
    cores = [int(cpu) for cpu in launch.get("affinity") or []]
    share = launch.get("share")
    if not share:
        return cores
    if not hasattr(os, "sched_setaffinity"):
        raise RuntimeError("workers cannot share cores: this system does not pin a process to some of them")
    cores = cores or sorted(os.sched_getaffinity(0))
    place, workers = share
    each = len(cores) // workers
    if not each:
        raise RuntimeError("{} workers share {} cores: each needs one of its own".format(workers, len(cores)))
    return cores[place * each : (place + 1) * each]


def launch_faults(launch: Mapping[str, Any]) -> List[Tuple[str, str]]:
    """Why a worker cannot be started as a target's launch asks, each with its fix; empty where it can.

    Args:
        launch: `env`, `prefix` and `affinity` as they are in a request; what is absent counts as empty.
    """
    env = dict(os.environ, **(launch.get("env") or {}))
    faults = []
    prefix: Sequence[str] = launch.get("prefix") or []
    if prefix and shutil.which(prefix[0], path=env.get("PATH")) is None:
        what = "the program {} of launch.prefix is not there, or cannot be run".format(prefix[0])
        faults.append((what, "install it there, or name another in launch.prefix (its whole path is safest)"))
    absent = _absent_cpus(launch.get("affinity") or [])
    if absent:
        listed = ", ".join(str(cpu) for cpu in absent)
        what = "launch.affinity names CPU {}, which is not there, or not this user's to use".format(listed)
        fix = "name CPUs of the board in launch.affinity: `nproc --all` tells how many it has"
        faults.append((what, fix))
    return faults


def _absent_cpus(cpus: Sequence[int]) -> List[int]:
    """Those of these CPUs that a process of this user cannot be put on; the system alone knows which."""
    absent: List[int] = []
    if not cpus:
        return absent
    before = os.sched_getaffinity(0)
    try:
        for cpu in cpus:
            # Of several, the system takes those that it has and passes over the others.
            try:
                os.sched_setaffinity(0, [int(cpu)])
            except OSError:
                absent.append(int(cpu))
    finally:
        os.sched_setaffinity(0, before)
    return absent


class WorkerSlots(Dict[int, WorkerSlot]):
    """The slots by their numbers; each exists from the first message that names it.

    Args:
        watch, send, clock: as a WorkerSlot has them.
    """

    def __init__(self, watch: DescriptorWatch, send: Send, clock: Clock) -> None:
        super(WorkerSlots, self).__init__()
        self._of_slots = watch, send, clock

    def named(self, message: Message) -> WorkerSlot:
        """The slot that a message names as `worker`, 0 to 63; ValueError where it names none."""
        number = message.get("worker")
        if not isinstance(number, int) or not 0 <= number < MOST_SLOTS:
            raise ValueError("no number of a worker's slot: {!r}".format(number))
        if number not in self:
            self[number] = WorkerSlot(number, *self._of_slots)
        return self[number]

    def running(self) -> Dict[int, int]:
        """The processes of the workers, by the number of their slots."""
        return {slot.number: slot.worker.pid for slot in self.values() if slot.worker is not None}

    def deadlines(self) -> List[float]:
        """When the workers that owe something are late, on time.monotonic."""
        return [slot.deadline for slot in self.values() if slot.deadline is not None]

    def collect_the_ended(self, probe_pids: AbstractSet[int]) -> None:
        """Free the slots of workers that have ended, end what each has left behind, and tell the host."""
        for slot in self.values():
            others = self.running()
            others.pop(slot.number, None)
            slot.collect(probe_pids | set(others.values()), list(others))
