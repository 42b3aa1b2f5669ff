"""The agent's supervisor: relays frames between host, workers and probes, and sleeps in between.

It wakes for a frame, for a child's end, or for the deadline that the host gave a request. It polls only while
it ends what a worker left behind, for two seconds at most.
When the host closes its side, or anything else ends the supervisor, every child ends with it, and so does
what a child started in a session of its own.

A request with `"to": "worker"` goes on to the worker whose slot it names as `worker`, any other is answered
here. Whatever a worker sends, and how it ended, comes with its slot.
"""

import json
import os
import platform
import secrets
import signal
import sys
import time
from functools import partial
from types import FrameType
from typing import Any, Callable, Dict, List, Optional, Sequence, Set

from . import frames
from .bootstrap import UnsafeFolder, board_folder
from .children import Child, DescriptorWatch, End, adopt_orphans, end_orphans
from .clock import Clock, monotonic_clock
from .facts import board_facts, facts_root, memory_available
from .files import FileStore, boot, sha256_of
from .frames import Frame, Message, Send
from .lock import BoardLock
from .power_modes import PowerModes
from .worker_slots import WorkerSlot, WorkerSlots, launch_faults

# What an agent answers for the board itself: facts, clock, lock, power mode, and files that it is sent.


Answer = Callable[[Message, bytes], Message]


class BoardRequests:
    """Answers at once; whatever an operation raises is its answer's `error`.

    Args:
        folder: where files that are sent are kept.
        note_folder: where it is noted who holds the machine's lock, and what power mode was in force.
        clock: the board's, ns.

    Attributes:
        operations: by name, what answers a message and its payload.
    """

    def __init__(self, folder: str, note_folder: str, clock: Clock) -> None:
        self._files = FileStore(folder)
        self._lock = BoardLock(note_folder)
        self._power_modes = PowerModes(note_folder, facts_root())
        self._clock = clock
        self._builds = 0
        self.operations: Dict[str, Answer] = {
            "clock": lambda message, payload: {"now_ns": self._clock()},
            "hello": self._hello,
            "facts": lambda message, payload: {"facts": board_facts()},
            "launch": lambda message, payload: {"faults": launch_faults(message)},
            "have": lambda message, payload: {"path": self._files.have(message["name"])},
            "room": lambda message, payload: {"free_bytes": self._files.free_bytes()},
            "memory": lambda message, payload: {"available_bytes": memory_available(facts_root())},
            "put": self._put,
            "lock": self._take_lock,
            "power_mode_obstacle": lambda message, payload: {"obstacle": self._power_modes.obstacle()},
            "set_power_mode": self._set_power_mode,
            "put_back_power_mode": lambda message, payload: self._put_back(),
            "clean": self._clean,
        }

    def close(self) -> None:
        """Put the power mode back, and let go of the lock, and of files that were not sent whole."""
        self._files.forget()
        try:
            put_back = self._power_modes.put_back()
            if put_back and not put_back.done:
                print(put_back.text, file=sys.stderr)  # where it can still be read
        finally:
            self._lock.release()

    def new_scratch(self) -> str:
        """A folder of its own for a worker that builds; it is the worker that makes it."""
        self._builds += 1
        return self._files.scratch(self._builds)

    def _put(self, message: Message, payload: bytes) -> Message:
        return {"path": self._files.put(message["name"], message["offset"], payload, message["last"])}

    def _take_lock(self, message: Message, payload: bytes) -> Message:
        held = self._lock.held
        holder = self._lock.take(dict(message["holder"]))
        reply: Message = {"held": holder is None, "holder": holder or {}, "pid": os.getpid(), "boot": boot()}
        if holder is None and not held:
            self._files.sweep()
        return reply

    def _set_power_mode(self, message: Message, payload: bytes) -> Message:
        if not self._lock.held:
            return {"obstacle": "another connection holds the board's lock"}
        return {"obstacle": self._power_modes.set(int(message["mode"]))}

    def _put_back(self) -> Message:
        """What was put back, or why not; empty where nothing was to be."""
        put_back = self._power_modes.put_back()
        return {"text": put_back.text if put_back else ""}

    def _clean(self, message: Message, payload: bytes) -> Message:
        reply = self._take_lock(message, payload)
        return dict(reply, **self._files.clean()._asdict()) if reply["held"] else reply

    def _hello(self, message: Message, payload: bytes) -> Message:
        return {
            "protocol": frames.VERSION,
            "python": platform.python_version(),
            "platform": platform.platform(),
            "pid": os.getpid(),
            "left_power_mode": self._power_modes.left(),
        }


STOP_S = 3.0
TAIL_CHARACTERS = 2000


class ProbeProcesses:
    """Starts probes by the names that the host gives them, and passes on what they sample and how each ended.

    Args:
        watch: of the supervisor.
        send: a message to the host, with its payload.

    Attributes:
        deadline: on time.monotonic, when those that were asked to end are killed; None where none was.
    """

    def __init__(self, watch: DescriptorWatch, send: Send) -> None:
        self._watch = watch
        self._send = send
        self._probes: Dict[str, Child] = {}
        self.deadline: Optional[float] = None
        self._stop_id: Any = None  # of a stop that waits for the last one's end

    @property
    def pids(self) -> Set[int]:
        """The processes that run."""
        return {probe.pid for probe in self._probes.values()}

    def start(self, message: Message, worker_pids: Sequence[int]) -> None:
        """Start the probe `name` from its `code`, for the `address`.

        One of that name that still runs is ended: whoever asks again has given it up.

        Args:
            message: the request.
            worker_pids: the workers that a monitor watches.
        """
        name = str(message["name"])
        if name in self._probes:
            self._watch.close_child(self._probes.pop(name))
        command = [sys.executable, sys.argv[0], "probe", json.dumps(message["code"]), str(message["address"])]
        env = {"EDGEBENCH_WORKER_PID": ",".join(map(str, worker_pids))} if worker_pids else {}
        probe = self._probes[name] = Child(command, env, partial(self._hear, name))
        self._watch.add_child(probe)

    def stop(self, message: Message) -> Optional[Message]:
        """Ask all of them to end; None where the reply is sent when the last is gone."""
        if not self._probes:
            return {}
        self._stop_id = message.get("id")
        self.deadline = time.monotonic() + STOP_S
        for probe in self._probes.values():
            probe.terminate()
        return None

    def end_leftover(self) -> None:
        """End those of an earlier session that were never stopped: no session wants their samples."""
        for probe in self._probes.values():
            self._watch.close_child(probe)
        self._probes.clear()
        self.deadline = None
        self._stop_id = None

    def kill_the_late(self, now: float) -> None:
        """Kill those that were asked to end and have not; `now` is on time.monotonic."""
        if self.deadline is not None and now >= self.deadline:
            self.deadline = None
            for probe in self._probes.values():
                probe.kill()

    def collect_the_ended(self) -> None:
        """Tell the host which have ended, and answer its stop after the last."""
        for name, probe in list(self._probes.items()):
            end = probe.ended()
            if end is not None:
                self._report_end(name, probe, end)

    def close(self) -> None:
        """Kill all of them."""
        for probe in self._probes.values():
            probe.close()

    def _hear(self, name: str, frame: Frame) -> None:
        self._send(dict(frame.message, event="probe", probe=name), frame.payload)

    def _report_end(self, name: str, probe: Child, end: End) -> None:
        probe.drain()
        self._watch.close_child(probe)
        del self._probes[name]
        ended = {
            "event": "probe",
            "probe": name,
            "kind": "ended",
            "code": end.code,
            "signal": end.signal,
            "asked": self._stop_id is not None,
            "stderr_tail": probe.tail()[-TAIL_CHARACTERS:],
        }
        self._send(ended, b"")
        if not self._probes:
            self.deadline = None
            if self._stop_id is not None:
                self._send({"re": self._stop_id}, b"")
                self._stop_id = None


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
        self._watch.read(wake_out, lambda: os.read(wake_out, 4096))  # what wakes says nothing more
        try:
            while self._turn():
                pass
        finally:
            signal.set_wakeup_fd(-1)
            self._probes.close()
            for slot in self._workers.values():
                slot.close()
            self._board.close()

    def _turn(self) -> bool:
        """Sleep, and handle what has arrived; whether to go on."""
        self._watch.holds_back = self._host_out.waiting_bytes > MOST_WAITING_BYTES
        deadlines = self._workers.deadlines() + [self._silent_at()]
        if self._probes.deadline is not None:
            deadlines.append(self._probes.deadline)
        self._watch.wait(max(0.0, min(deadlines) - time.monotonic()))
        if self._host_closed:
            return False
        now = time.monotonic()
        for slot in self._workers.values():
            slot.kill_if_late(now)
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
        if operation in self._board.operations and message.get("to") != "worker":
            return self._board.operations[operation](message, payload)
        if operation == "probe_start":
            running = self._workers.running()
            self._probes.start(message, [running[n] for n in message["workers"] if n in running])
            return {}
        if operation == "probe_stop":
            return self._probes.stop(message)
        slot = self._workers.named(message)
        if message.get("to") == "worker":
            slot.ask(message, payload)
            return None
        if operation == "start":
            return self._start_worker(slot, message)
        if operation == "tail":
            return {"stderr_tail": slot.stderr_tail}
        if operation == "stop":
            return slot.stop(message)
        raise ValueError("unknown operation {!r}".format(operation))

    def _start_worker(self, slot: WorkerSlot, message: Message) -> Message:
        if _is_damaged(sys.argv[0]):
            self._ending = True  # the next agent's start finds it out and has it sent again
            raise RuntimeError("the agent's file was damaged since the agent was started")
        if not self._workers.running():
            self._probes.end_leftover()
        return {"cores": slot.start(message, self._board.new_scratch() if message.get("build") else "")}


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
