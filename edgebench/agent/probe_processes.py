"""The processes of probes: one each, by the name that the host gave it; all are stopped together."""

import json
import sys
import time
from typing import Any, Dict, List, Optional, Set

from .children import Child
from .descriptor_watch import DescriptorWatch
from .frames import Frame, Message, Send

STOP_S = 3.0
TAIL_CHARACTERS = 2000


class ProbeProcesses:
    """Starts probes, passes on what they sample, and tells the host how each ended.

    Args:
        watch: of the supervisor.
        send: a message to the host, with its payload.
    """

    def __init__(self, watch: DescriptorWatch, send: Send) -> None:
        self._watch = watch
        self._send = send
        self._probes: Dict[str, Child] = {}
        self._deadline: Optional[float] = None
        self._stop_id: Any = None  # of a stop that waits for the last one's end

    @property
    def pids(self) -> Set[int]:
        """The processes that run."""
        return {probe.pid for probe in self._probes.values()}

    def start(self, message: Message, worker_pid: Optional[int]) -> None:
        """Start the probe `name` from its `code`, for the `address`.

        One of that name that still runs is ended: whoever asks again has given it up.

        Args:
            message: the request.
            worker_pid: the worker that a monitor watches; None where it is to watch none.
        """
        name = str(message["name"])
        if name in self._probes:
            self._watch.close_child(self._probes.pop(name))
        command = [sys.executable, sys.argv[0], "probe", json.dumps(message["code"]), str(message["address"])]
        env = {} if worker_pid is None else {"EDGEBENCH_WORKER_PID": str(worker_pid)}
        probe = Child(command, env)
        self._probes[name] = probe
        self._watch.add_child(probe, lambda frame: self._hear(name, frame))

    def stop(self, message: Message) -> Optional[Message]:
        """Ask all of them to end; None where the reply is sent when the last is gone."""
        if not self._probes:
            return {}
        self._stop_id = message.get("id")
        self._deadline = time.monotonic() + STOP_S
        for probe in self._probes.values():
            probe.terminate()
        return None

    def end_leftover(self) -> None:
        """End those of an earlier session that nobody stopped: their samples are nobody's."""
        for probe in self._probes.values():
            self._watch.close_child(probe)
        self._probes.clear()
        self._deadline = None
        self._stop_id = None

    def deadlines(self) -> List[float]:
        """When those that were asked to end are late, on time.monotonic."""
        return [] if self._deadline is None else [self._deadline]

    def kill_the_late(self, now: float) -> None:
        """Kill those that were asked to end and have not; `now` is on time.monotonic."""
        if self._deadline is not None and now >= self._deadline:
            self._deadline = None
            for probe in self._probes.values():
                probe.kill()

    def collect_the_ended(self) -> None:
        """Tell the host of those that have ended, and answer its stop after the last."""
        for name, probe in list(self._probes.items()):
            if probe.ended() is not None:
                self._report_end(name, probe)

    def close(self) -> None:
        """Kill all of them."""
        for probe in self._probes.values():
            probe.close()

    def _hear(self, name: str, frame: Frame) -> None:
        self._send(dict(frame.message, event="probe", probe=name), frame.payload)

    def _report_end(self, name: str, probe: Child) -> None:
        end = probe.ended()
        assert end is not None
        probe.pass_on(probe.drain(), lambda frame: self._hear(name, frame))
        self._watch.close_child(probe)
        del self._probes[name]
        ended = {
            "event": "probe",
            "probe": name,
            "kind": "ended",
            "code": end.code,
            "signal": end.signal,
            "asked": self._stop_id is not None,
            "stderr_tail": probe.tail.text()[-TAIL_CHARACTERS:],
        }
        self._send(ended, b"")
        if not self._probes:
            self._deadline = None
            if self._stop_id is not None:
                self._send({"re": self._stop_id}, b"")
                self._stop_id = None
