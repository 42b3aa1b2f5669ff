"""The slots in which an agent has workers, by number: the workers of one session run side by side."""

import os
import shutil
import sys
import time
from functools import partial
from typing import AbstractSet, Any, Callable, Dict, List, Mapping, Optional, Sequence, Set, Tuple

from .children import Child, DescriptorWatch, Orphan, end_orphans
from .clock import SPAWNED_NS, Clock
from .files import remove_tree
from .frames import Frame, Message, Send

# One slot for a worker: the process in it, the deadline of what it was asked, and how the last one ended.


WORKER = "EDGEBENCH_WORKER"
"""The environment variable that tells a worker, and whatever it starts, the number of its slot."""


class WorkerSlot:
    """At most one worker at a time; whatever it sends goes to the host with the slot's number as `worker`.

    Args:
        number: of the slot.
        watch: of the supervisor.
        send: a message to the host, with its payload.
        clock: the board's, ns.

    Attributes:
        deadline: on time.monotonic, when the worker is killed; None where it owes nothing.
    """

    def __init__(self, number: int, watch: DescriptorWatch, send: Send, clock: Clock) -> None:
        self.number = number
        self.deadline: Optional[float] = None
        self._watch = watch
        self._send_to_host = send
        self._clock = clock
        self._worker: Optional[Child] = None
        self._asked_ns = 0  # when the latest request was passed on
        self._limit_s = 0.0  # of the latest request
        self._progress = 0.0  # likewise
        self._unanswered: Set[Any] = set()  # the ids of requests
        self._timed_out = False
        self._stop_id: Any = None  # of a stop that waits for the worker's end
        self._oom_kills: Optional[int] = None
        self._last_end: Message = {}
        self._scratch = ""

    @property
    def pid(self) -> Optional[int]:
        """Of the worker; None where the slot is free."""
        return None if self._worker is None else self._worker.pid

    @property
    def ended(self) -> bool:
        """Whether there is a worker whose process has ended."""
        return self._worker is not None and self._worker.ended() is not None

    @property
    def stderr_tail(self) -> str:
        """The end of what the worker, or the last one here, wrote on stderr."""
        return self._worker.tail.text() if self._worker else str(self._last_end.get("stderr_tail", ""))

    def start(self, message: Message, scratch: str = "") -> None:
        """Start a worker with the `python`, `env`, `prefix` and `affinity` of the message.

        One that builds is given a folder as `scratch`, which is gone when the worker is.

        RuntimeError where one runs here already.
        """
        if self._worker is not None:
            raise RuntimeError("a worker is still running in slot {}".format(self.number))
        python = os.path.expanduser(message.get("python") or sys.executable)
        command = list(message.get("prefix") or []) + [python, sys.argv[0], "worker"]
        if message.get("affinity"):
            command.append("--affinity=" + ",".join(str(int(cpu)) for cpu in message["affinity"]))
        if scratch:
            command.append("--building=" + scratch)
        self._scratch = scratch
        self._oom_kills = _oom_kills()
        self._timed_out = False
        self._last_end = {}
        self._unanswered.clear()
        env = dict(message.get("env") or {})
        env[WORKER] = str(self.number)
        env[SPAWNED_NS] = str(self._clock())  # the last thing before it is started
        self._worker = Child(command, env)
        self._watch.add_child(self._worker, self.hear)

    def ask(self, message: Message, payload: bytes) -> None:
        """Pass a request on to the worker, which has the message's `limit_s` to answer it.

        The host is told of the last end where there is no worker.
        """
        if self._worker is None:
            self._send(dict(self._last_end, event="ended"))
            return
        self._limit_s = float(message["limit_s"])
        self.deadline = time.monotonic() + self._limit_s
        self._unanswered.add(message.get("id"))
        self._progress = 0.0
        self._asked_ns = self._clock()
        self._worker.outgoing.add(message, payload)
        self._watch.write(self._worker.outgoing.descriptor, self._worker.flush)

    def hear(self, frame: Frame) -> None:
        """Pass on what the worker says."""
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
        if self._worker is None:
            return dict(self._last_end)
        self._stop_id = message.get("id")
        grace_s = float(message.get("grace_s", 0.0))
        if grace_s <= 0:
            self._worker.kill()
        self.deadline = time.monotonic() + max(grace_s, 0.0)
        return None

    def kill_if_late(self, now: float) -> None:
        """Kill the worker where its deadline is over; `now` is on time.monotonic."""
        if self._worker is not None and self.deadline is not None and now >= self.deadline:
            self._timed_out = self._stop_id is None
            self.deadline = None
            self._worker.kill()

    def report_end(self, end_left_running: Callable[[], List[Orphan]]) -> None:
        """Free the slot of a worker that has ended, and tell the host how.

        Args:
            end_left_running: ends what the worker has started and left; gives what cannot be ended.
        """
        worker = self._worker
        end = None if worker is None else worker.ended()
        assert worker is not None and end is not None
        worker.pass_on(worker.drain(), self.hear)
        self._watch.close_child(worker)
        left_running = end_left_running()
        self._forget_scratch()
        self._worker = None
        self.deadline = None
        before, now = self._oom_kills, _oom_kills()
        more_killed = before is not None and now is not None and now > before
        self._last_end = {
            "code": end.code,
            "signal": end.signal,
            "timed_out": self._timed_out,
            "limit_s": self._limit_s if self._timed_out else None,
            "out_of_memory": end.signal == "SIGKILL" and not self._timed_out and more_killed,
            "problem": worker.problem,
            "stderr_tail": worker.tail.text(),
            "left_running": [orphan._asdict() for orphan in left_running],
        }
        answered = {"event": "ended"} if self._stop_id is None else {"re": self._stop_id}
        self._stop_id = None
        self._send(dict(self._last_end, **answered))

    def close(self) -> None:
        """Kill the worker, if there is one, and tell nobody."""
        if self._worker is not None:
            self._worker.close()
            self._forget_scratch()

    def _forget_scratch(self) -> None:
        if self._scratch:
            remove_tree(self._scratch)
            self._scratch = ""

    def _send(self, message: Message, payload: bytes = b"") -> None:
        self._send_to_host(dict(message, worker=self.number), payload)


def _oom_kills() -> Optional[int]:
    """How many processes the kernel has killed for memory since it booted, where it tells."""
    try:
        with open("/proc/vmstat") as file:
            for line in file:
                if line.startswith("oom_kill "):
                    return int(line.split()[1])
    except (OSError, ValueError):
        pass
    return None


# Whether a worker can be started as a target's launch says: its prefix's program, and its CPUs.


Launch = Mapping[str, Any]


def launch_faults(launch: Launch) -> List[Tuple[str, str]]:
    """What stands in its way, each as what is wrong and how to mend it; nothing where it can be started.

    Args:
        launch: `env`, `prefix` and `affinity` as they come in a request; what is absent is as if empty.
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
        faults.append(
            (what, "name CPUs of the board in launch.affinity: `nproc --all` tells how many it has")
        )
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


MOST_SLOTS = 64


class WorkerSlots:
    """Starts workers, tells the host how they ended, and ends what they leave behind.

    Args:
        watch, send, clock: as a WorkerSlot has them.
    """

    def __init__(self, watch: DescriptorWatch, send: Send, clock: Clock) -> None:
        self._watch = watch
        self._send = send
        self._clock = clock
        self._slots: Dict[int, WorkerSlot] = {}

    def named(self, message: Message) -> WorkerSlot:
        """The slot that a message names as `worker`, 0 to 63; ValueError where it names none."""
        number = message.get("worker")
        if not isinstance(number, int) or not 0 <= number < MOST_SLOTS:
            raise ValueError("no number of a worker's slot: {!r}".format(number))
        if number not in self._slots:
            self._slots[number] = WorkerSlot(number, self._watch, self._send, self._clock)
        return self._slots[number]

    @property
    def running(self) -> Dict[int, int]:
        """The processes of the workers, by the number of their slots."""
        return {slot.number: slot.pid for slot in self._slots.values() if slot.pid is not None}

    def start(self, message: Message, scratch: str = "") -> None:
        """Start a worker in the slot that the message names, as its launch says; in `scratch` it may build.

        RuntimeError where one runs there already, or the launch cannot be carried out here.
        """
        slot = self.named(message)
        faults = launch_faults(message)
        if faults:
            raise RuntimeError("; ".join("{}: {}".format(what, fix) for what, fix in faults))
        slot.start(message, scratch)

    def deadlines(self) -> List[float]:
        """When the workers that owe something are late, on time.monotonic."""
        return [slot.deadline for slot in self._slots.values() if slot.deadline is not None]

    def kill_the_late(self, now: float) -> None:
        """Kill the workers whose deadline is over; `now` is on time.monotonic."""
        for slot in self._slots.values():
            slot.kill_if_late(now)

    def collect_the_ended(self, probe_pids: AbstractSet[int]) -> None:
        """Free the slots of workers that have ended, end what each has left behind, and tell the host."""
        for slot in self._slots.values():
            if slot.ended:
                slot.report_end(partial(self._end_left_by, slot.number, probe_pids))

    def close(self) -> None:
        """Kill all workers."""
        for slot in self._slots.values():
            slot.close()

    def _end_left_by(self, number: int, probe_pids: AbstractSet[int]) -> List[Orphan]:
        """End what a worker started in a session of its own, which is this process's child by now.

        Whose it is, its environment says. What does not say it ends with the first worker that does.
        """
        others = {slot: pid for slot, pid in self.running.items() if slot != number}
        marks = ["{}={}".format(WORKER, slot) for slot in others]
        return end_orphans(probe_pids | set(others.values()), spared_marks=marks)
