"""One slot for a worker: the process in it, the deadline of what it was asked, and how the last one ended."""

import os
import sys
import time
from typing import Any, Callable, List, Optional, Set

from .children import Child
from .clock import Clock
from .descriptor_watch import DescriptorWatch
from .files import remove_tree
from .frames import Frame, Message, Send
from .orphans import Orphan
from .spawning import SPAWNED_NS

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
        self._worker.outgoing.add(message, payload)
        self._watch.write(self._worker.outgoing.descriptor, self._worker.flush)

    def hear(self, frame: Frame) -> None:
        """Pass on what the worker says."""
        if self._stop_id is None:
            self.renew(frame.message)
        self._send(dict(frame.message, now_ns=self._clock()), frame.payload)

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
        killed_for_memory = (
            end.signal == "SIGKILL" and not self._timed_out and _more(self._oom_kills, _oom_kills())
        )
        self._last_end = {
            "code": end.code,
            "signal": end.signal,
            "timed_out": self._timed_out,
            "limit_s": self._limit_s if self._timed_out else None,
            "out_of_memory": killed_for_memory,
            "problem": worker.problem,
            "stderr_tail": worker.tail.text(),
            "left_running": [orphan._asdict() for orphan in left_running],
        }
        if self._stop_id is not None:
            self._send(dict(self._last_end, re=self._stop_id))
            self._stop_id = None
        else:
            self._send(dict(self._last_end, event="ended"))

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


def _more(before: Optional[int], after: Optional[int]) -> bool:
    return before is not None and after is not None and after > before
