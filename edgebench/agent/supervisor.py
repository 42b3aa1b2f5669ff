"""The agent's supervisor: relays frames between host, workers and probes, and sleeps in between.

It wakes for a frame, for a child's end, or for the deadline that the host gave a request. It polls only while
it ends what a worker left behind, for two seconds at most.
When the host closes its side, or anything else ends the supervisor, every child ends with it, and so does
what a child started in a session of its own.

A request with `"to": "worker"` goes on to the worker whose slot it names as `worker`, any other is answered
here. Whatever a worker sends, and how it ended, comes with its slot.
"""

import os
import secrets
import signal
import sys
import time
from types import FrameType
from typing import List, Optional

from . import frames
from .board_requests import BoardRequests
from .bootstrap import UnsafeFolder, board_folder
from .clock import monotonic_clock
from .content import sha256_of
from .descriptor_watch import DescriptorWatch
from .frames import Frame, Message
from .orphans import adopt_orphans, end_orphans
from .probe_processes import ProbeProcesses
from .worker_slots import WorkerSlots

RUN_TOKEN = "EDGEBENCH_RUN_TOKEN"
# A host that lost its power says no goodbye, and nothing on the board may wait for it for ever.
SILENCE_S = 3600.0
MOST_WAITING_BYTES = 64 << 20
"""For a host that does not read: what the children send further waits with them."""


class Supervisor:
    """One connection to a host.

    Args:
        read_from, write_to: descriptors of the frames.
        folder: where files that are sent are kept.
        note_folder: where it is noted who holds the machine's lock.
    """

    def __init__(self, read_from: int, write_to: int, folder: str, note_folder: str) -> None:
        clock = monotonic_clock()
        self._host_in = read_from
        self._host_out = frames.Outgoing(write_to)
        self._heard = time.monotonic()
        self._decoder = frames.Decoder()
        self._watch = DescriptorWatch()
        self._board = BoardRequests(folder, note_folder, clock)
        self._workers = WorkerSlots(self._watch, self._send, clock)
        self._probes = ProbeProcesses(self._watch, self._send)
        self._host_closed = False
        self._ending = False  # once the host has been told why

    def run(self) -> None:
        """Serve until the host closes its side, or has sent nothing for an hour beyond the deadlines of the
        requests in hand.
        """
        wake_out, wake_in = os.pipe()
        os.set_blocking(wake_out, False)
        os.set_blocking(wake_in, False)
        signal.set_wakeup_fd(wake_in)
        signal.signal(signal.SIGCHLD, lambda number, frame: None)
        self._watch.read(self._host_in, self._read_host)
        self._watch.read(wake_out, lambda: _drop(wake_out))
        try:
            while self._turn():
                pass
        finally:
            signal.set_wakeup_fd(-1)
            self._probes.close()
            self._workers.close()
            self._board.close()

    def _turn(self) -> bool:
        """Sleep, and handle what has come; whether to go on."""
        self._watch.hold_back(self._host_out.waiting_bytes > MOST_WAITING_BYTES)
        deadlines = self._workers.deadlines() + self._probes.deadlines() + [self._silent_at()]
        self._watch.wait(max(0.0, min(deadlines) - time.monotonic()))
        if self._host_closed:
            return False
        now = time.monotonic()
        self._workers.kill_the_late(now)
        self._probes.kill_the_late(now)
        self._workers.collect_the_ended(self._probes.pids)
        self._probes.collect_the_ended()
        if self._ending and not self._host_out.flush():
            return False
        return time.monotonic() < self._silent_at()

    def _silent_at(self) -> float:
        return max([self._heard] + self._workers.deadlines()) + SILENCE_S

    def _read_host(self) -> None:
        data = os.read(self._host_in, frames.READ_BYTES)
        if not data:
            self._host_closed = True
            return
        self._heard = time.monotonic()
        for frame in self._decoder.feed(data):
            self._handle(frame)

    def _send(self, message: Message, payload: bytes = b"") -> None:
        self._host_out.add(message, payload)
        self._watch.write(self._host_out.descriptor, self._host_out.flush)

    def _handle(self, frame: Frame) -> None:
        message = frame.message
        try:
            reply = self._answer(message, frame.payload)
        except UnsafeFolder as error:
            reply = {"error": {"status": "error", "what": str(error), "unsafe": True}}
        except Exception as error:
            what = "{}: {}".format(type(error).__name__, error)
            reply = {"error": {"status": "error", "what": what, "errno": getattr(error, "errno", None)}}
        if reply is not None:
            reply["re"] = message.get("id")
            self._send(reply)

    def _answer(self, message: Message, payload: bytes) -> Optional[Message]:
        """The reply; None where it comes later, from a child or when one is gone."""
        operation = message.get("op")
        if message.get("to") == "worker":
            self._workers.named(message).ask(message, payload)
            return None
        if operation in self._board.operations:
            return self._board.operations[operation](message, payload)
        if operation == "start":
            return self._start_worker(message)
        if operation == "tail":
            return {"stderr_tail": self._workers.named(message).stderr_tail}
        if operation == "stop":
            return self._workers.named(message).stop(message)
        if operation == "probe_start":
            # A monitor watches the worker whose slot is named, or none.
            watched = None if message.get("worker") is None else self._workers.named(message).pid
            self._probes.start(message, watched)
            return {}
        if operation == "probe_stop":
            return self._probes.stop(message)
        raise ValueError("unknown operation {!r}".format(operation))

    def _start_worker(self, message: Message) -> Message:
        if _is_damaged(sys.argv[0]):
            self._ending = True  # the next agent's start finds it out and has it sent again
            raise RuntimeError("the agent's file was damaged since the agent was started")
        if not self._workers.running:
            self._probes.end_leftover()
        self._workers.start(message, self._board.new_scratch() if message.get("build") else "")
        return {}


def _drop(descriptor: int) -> None:
    """What wakes says nothing more."""
    os.read(descriptor, 4096)


def _is_damaged(path: str) -> bool:
    """Whether the agent's own file is another one than its name, a SHA-256, says."""
    digest, suffix = os.path.splitext(os.path.basename(path))
    return suffix == ".pyz" and len(digest) == 64 and sha256_of(path) != digest


def _leave(number: int, frame: Optional[FrameType]) -> None:
    raise SystemExit(128 + number)


def main(arguments: List[str]) -> int:
    """Serve frames on stdin and stdout; the argument is the folder for files that are sent."""
    folder = arguments[0] if arguments else board_folder()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, _leave)
    signal.signal(signal.SIGHUP, _leave)
    out = os.dup(1)
    os.dup2(2, 1)
    adopt_orphans()
    # For what worker and probe hand to each other in places that other users share.
    os.environ[RUN_TOKEN] = secrets.token_hex(16)
    try:
        Supervisor(0, out, folder, board_folder()).run()
    except (BrokenPipeError, ConnectionError):
        pass
    finally:
        end_orphans()
    return 0
