"""The slots in which an agent has workers, by number: the workers of one session run side by side."""

from functools import partial
from typing import AbstractSet, Dict, List

from .clock import Clock
from .descriptor_watch import DescriptorWatch
from .frames import Message, Send
from .launching import launch_faults
from .orphans import Orphan, end_orphans
from .worker_slot import WORKER, WorkerSlot

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
