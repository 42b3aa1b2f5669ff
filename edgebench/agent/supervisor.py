"""The agent's supervisor: relays frames between host, worker and probes, and sleeps in between.

It wakes for a frame, for a child's end, or for the deadline that the host gave a request. It polls only while
it ends what a worker left behind, for two seconds at most.
When the host closes its side, or anything else ends the supervisor, every child ends with it, and so does
what a child started in a session of its own.
"""

import json
import os
import platform
import secrets
import selectors
import signal
import sys
import time
from types import FrameType
from typing import Any, Callable, Dict, List, Optional, Set

from . import frames
from .bootstrap import UnsafeFolder, board_folder
from .children import Child
from .clock import monotonic_clock
from .content import sha256_of
from .facts import board_facts
from .files import FileStore, boot
from .frames import Frame, Message
from .launching import launch_faults
from .lock import BoardLock
from .orphans import adopt_orphans, end_orphans

RUN_TOKEN = "EDGEBENCH_RUN_TOKEN"
PROBE_STOP_S = 3.0
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
        self._host_in = read_from
        self._host_out = frames.Outgoing(write_to)
        self._files = FileStore(folder)
        self._lock = BoardLock(note_folder)
        self._heard = time.monotonic()
        self._clock = monotonic_clock()
        self._decoder = frames.Decoder()
        self._selector = selectors.DefaultSelector()
        self._held_back: Dict[int, Any] = {}  # by descriptor, children that are not read from
        self._worker: Optional[Child] = None
        self._worker_deadline: Optional[float] = None
        self._worker_limit_s = 0.0
        self._worker_asked: Set[Any] = set()  # the ids of requests that it has not answered
        self._worker_progress = 0.0  # of the latest request
        self._timed_out = False
        self._stopping: Any = None  # the id of a stop that waits for the worker's end
        self._last_end: Message = {}
        self._oom_kills: Optional[int] = None
        self._probes: Dict[str, Child] = {}
        self._probes_deadline: Optional[float] = None
        self._probes_stopping: Any = None
        self._ending = False  # once the host has been told why

    def run(self) -> None:
        """Serve until the host closes its side, or has sent nothing for an hour beyond the deadline of
        the request in hand.
        """
        wake_out, wake_in = os.pipe()
        os.set_blocking(wake_out, False)
        os.set_blocking(wake_in, False)
        signal.set_wakeup_fd(wake_in)
        signal.signal(signal.SIGCHLD, lambda number, frame: None)
        self._selector.register(self._host_in, selectors.EVENT_READ, "host")
        self._selector.register(wake_out, selectors.EVENT_READ, "wake")
        try:
            while self._turn(wake_out):
                pass
        finally:
            signal.set_wakeup_fd(-1)
            for child in list(self._probes.values()) + ([self._worker] if self._worker else []):
                child.close()
            self._files.forget()
            self._lock.release()

    def _turn(self, wake: int) -> bool:
        self._hold_back()
        for key, _events in self._selector.select(self._patience_s()):
            if self._selector.get_map().get(key.fd) is not key:
                continue  # its child was ended by what came before it
            if key.data == "wake":
                os.read(wake, 4096)
            elif callable(key.data):
                self._write(key.fd, key.data)
            elif key.data == "host":
                data = os.read(self._host_in, frames.READ_BYTES)
                if not data:
                    return False
                self._heard = time.monotonic()
                for frame in self._decoder.feed(data):
                    self._handle(frame)
            else:
                self._read_child(key.fd, key.data)
        self._end_the_late()
        self._collect_the_ended()
        if self._ending and not self._host_out.flush():
            return False
        return time.monotonic() < self._silent_at()

    def _patience_s(self) -> Optional[float]:
        due = [at for at in (self._worker_deadline, self._probes_deadline) if at is not None]
        return max(0.0, min(due + [self._silent_at()]) - time.monotonic())

    def _silent_at(self) -> float:
        return max(self._heard, self._worker_deadline or 0.0) + SILENCE_S

    def _hold_back(self) -> None:
        """Read what the children send only while little of it waits for the host."""
        if self._host_out.waiting_bytes > MOST_WAITING_BYTES:
            for key in list(self._selector.get_map().values()):
                if isinstance(key.data, tuple) and key.data[2] == "stdout":
                    self._held_back[key.fd] = key.data
                    self._selector.unregister(key.fd)
        else:
            while self._held_back:
                descriptor, data = self._held_back.popitem()
                self._selector.register(descriptor, selectors.EVENT_READ, data)

    # --- the host ---

    def _send(self, message: Message, payload: bytes = b"") -> None:
        self._host_out.add(message, payload)
        self._write(self._host_out.descriptor, self._host_out.flush)

    def _write(self, descriptor: int, flush: Callable[[], bool]) -> None:
        """Write what is taken in now, and the rest when there is room."""
        if not flush():
            self._ignore(descriptor)
        elif descriptor not in self._selector.get_map():
            self._selector.register(descriptor, selectors.EVENT_WRITE, flush)

    def _handle(self, frame: Frame) -> None:
        message = frame.message
        if message.get("to") == "worker":
            if self._worker is None:
                self._send({"event": "ended", **self._last_end})
                return
            self._worker_limit_s = float(message["limit_s"])
            self._worker_deadline = time.monotonic() + self._worker_limit_s
            self._worker_asked.add(message.get("id"))
            self._worker_progress = 0.0
            self._worker.outgoing.add(message, frame.payload)
            self._write(self._worker.outgoing.descriptor, self._worker.flush)
            return
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
        operation = message.get("op")
        if operation == "clock":
            return {"now_ns": self._clock()}
        if operation == "hello":
            return {
                "protocol": frames.VERSION,
                "python": platform.python_version(),
                "platform": platform.platform(),
                "pid": os.getpid(),
            }
        if operation == "facts":
            return {"facts": board_facts()}
        if operation == "launch":
            return {"faults": launch_faults(message)}
        if operation == "have":
            return {"path": self._files.have(message["name"])}
        if operation == "room":
            return {"free_bytes": self._files.free_bytes()}
        if operation == "put":
            return {"path": self._files.put(message["name"], message["offset"], payload, message["last"])}
        if operation == "lock":
            return self._take_lock(message)
        if operation == "clean":
            return self._clean(message)
        if operation == "start":
            return self._start_worker(message)
        if operation == "tail":
            return {
                "stderr_tail": self._worker.tail.text()
                if self._worker
                else self._last_end.get("stderr_tail", "")
            }
        if operation == "stop":
            return self._stop_worker(message)
        if operation == "probe_start":
            return self._start_probe(message)
        if operation == "probe_stop":
            return self._stop_probes(message)
        raise ValueError("unknown operation {!r}".format(operation))

    # --- the board ---

    def _take_lock(self, message: Message) -> Message:
        held = self._lock.held
        holder = self._lock.take(dict(message["holder"]))
        if holder is None and not held:
            self._files.sweep()
        return {"held": holder is None, "holder": holder or {}, "pid": os.getpid(), "boot": boot()}

    def _clean(self, message: Message) -> Message:
        reply = self._take_lock(message)
        return dict(reply, **self._files.clean()._asdict()) if reply["held"] else reply

    # --- the worker ---

    def _start_worker(self, message: Message) -> Message:
        if self._worker is not None:
            raise RuntimeError("a worker is still running")
        if _is_damaged(sys.argv[0]):
            self._ending = True  # the next agent's start finds it out and has it sent again
            raise RuntimeError("the agent's file was damaged since the agent was started")
        faults = launch_faults(message)
        if faults:
            raise RuntimeError("; ".join("{}: {}".format(what, fix) for what, fix in faults))
        self._end_leftover_probes()
        python = os.path.expanduser(message.get("python") or sys.executable)
        command = list(message.get("prefix") or []) + [python, sys.argv[0], "worker"]
        if message.get("affinity"):
            command.append("--affinity=" + ",".join(str(int(number)) for number in message["affinity"]))
        self._oom_kills = _oom_kills()
        self._timed_out = False
        self._last_end = {}
        self._worker_asked.clear()
        self._worker = Child(command, dict(message.get("env") or {}))
        self._watch(self._worker, "worker")
        return {}

    def _stop_worker(self, message: Message) -> Optional[Message]:
        if self._worker is None:
            return dict(self._last_end)
        self._stopping = message.get("id")
        grace = float(message.get("grace_s", 0.0))
        if grace <= 0:
            self._worker.kill()
        # The reply is sent when the process is gone.
        self._worker_deadline = time.monotonic() + max(grace, 0.0)
        return None

    def _worker_frame(self, frame: Frame) -> None:
        if self._stopping is None:
            self._renew(frame.message)
        self._send(dict(frame.message, now_ns=self._clock()), frame.payload)

    def _renew(self, message: Message) -> None:
        """Further progress gives a request its whole time again; what it has answered has no deadline."""
        progress = message.get("progress")
        if progress is None:
            self._worker_asked.discard(message.get("re"))
            if not self._worker_asked:
                self._worker_deadline = None
        elif isinstance(progress, (int, float)) and progress > self._worker_progress:
            self._worker_progress = progress
            self._worker_deadline = time.monotonic() + self._worker_limit_s

    def _worker_ended(self, worker: Child) -> None:
        end = worker.ended()
        assert end is not None
        for frame in worker.drain():
            self._worker_frame(frame)
        self._forget(worker)
        # What it started in a session of its own is this process's child by now.
        left_running = end_orphans({probe.pid for probe in self._probes.values()})
        self._worker = None
        self._worker_deadline = None
        killed_for_memory = (
            end.signal == "SIGKILL" and not self._timed_out and _more(self._oom_kills, _oom_kills())
        )
        self._last_end = {
            "code": end.code,
            "signal": end.signal,
            "timed_out": self._timed_out,
            "limit_s": self._worker_limit_s if self._timed_out else None,
            "out_of_memory": killed_for_memory,
            "problem": worker.problem,
            "stderr_tail": worker.tail.text(),
            "left_running": [orphan._asdict() for orphan in left_running],
        }
        if self._stopping is not None:
            self._send(dict(self._last_end, re=self._stopping))
            self._stopping = None
        else:
            self._send(dict(self._last_end, event="ended"))

    # --- the probes ---

    def _start_probe(self, message: Message) -> Message:
        name = str(message["name"])
        if name in self._probes:
            raise RuntimeError("the probe {} is running already".format(name))
        command = [sys.executable, sys.argv[0], "probe", json.dumps(message["code"]), str(message["address"])]
        # A monitor watches the worker beside which it was started.
        env = {"EDGEBENCH_WORKER_PID": str(self._worker.pid)} if self._worker else {}
        probe = Child(command, env)
        self._probes[name] = probe
        self._watch(probe, name)
        return {}

    def _stop_probes(self, message: Message) -> Optional[Message]:
        if not self._probes:
            return {}
        self._probes_stopping = message.get("id")
        self._probes_deadline = time.monotonic() + PROBE_STOP_S
        for probe in self._probes.values():
            probe.terminate()
        return None

    def _end_leftover_probes(self) -> None:
        """End those of an earlier session that nobody stopped: their samples are nobody's."""
        for probe in self._probes.values():
            self._forget(probe)
        self._probes.clear()
        self._probes_deadline = None
        self._probes_stopping = None

    def _probe_frame(self, name: str, frame: Frame) -> None:
        self._send(dict(frame.message, event="probe", probe=name), frame.payload)

    def _probe_ended(self, name: str, probe: Child) -> None:
        end = probe.ended()
        assert end is not None
        for frame in probe.drain():
            self._probe_frame(name, frame)
        self._forget(probe)
        del self._probes[name]
        self._send(
            {
                "event": "probe",
                "probe": name,
                "kind": "ended",
                "code": end.code,
                "signal": end.signal,
                "asked": self._probes_stopping is not None,
                "stderr_tail": probe.tail.text()[-2000:],
            }
        )
        if not self._probes:
            self._probes_deadline = None
            if self._probes_stopping is not None:
                self._send({"re": self._probes_stopping})
                self._probes_stopping = None

    # --- children in general ---

    def _watch(self, child: Child, name: str) -> None:
        self._selector.register(child.stdout, selectors.EVENT_READ, (child, name, "stdout"))
        self._selector.register(child.stderr, selectors.EVENT_READ, (child, name, "stderr"))

    def _forget(self, child: Child) -> None:
        for descriptor in (child.stdout, child.stderr, child.outgoing.descriptor):
            self._ignore(descriptor)
        child.close()

    def _ignore(self, descriptor: int) -> None:
        self._held_back.pop(descriptor, None)
        if descriptor in self._selector.get_map():
            self._selector.unregister(descriptor)

    def _read_child(self, descriptor: int, data: Any) -> None:
        child, name, pipe = data
        if pipe == "stderr":
            if not child.read_tail():
                self._ignore(descriptor)
            return
        arrived = child.read_frames()
        if arrived is None:
            self._ignore(descriptor)
            return
        for frame in arrived:
            if child is self._worker:
                self._worker_frame(frame)
            else:
                self._probe_frame(name, frame)

    def _end_the_late(self) -> None:
        now = time.monotonic()
        if self._worker is not None and self._worker_deadline is not None and now >= self._worker_deadline:
            self._timed_out = self._stopping is None
            self._worker_deadline = None
            self._worker.kill()
        if self._probes_deadline is not None and now >= self._probes_deadline:
            self._probes_deadline = None
            for probe in self._probes.values():
                probe.kill()

    def _collect_the_ended(self) -> None:
        if self._worker is not None and self._worker.ended() is not None:
            self._worker_ended(self._worker)
        for name, probe in list(self._probes.items()):
            if probe.ended() is not None:
                self._probe_ended(name, probe)


def _is_damaged(path: str) -> bool:
    """Whether the agent's own file is another one than its name, a SHA-256, says."""
    digest, suffix = os.path.splitext(os.path.basename(path))
    return suffix == ".pyz" and len(digest) == 64 and sha256_of(path) != digest


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
