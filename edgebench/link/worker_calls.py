"""Requests to one worker of a session, and its replies."""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Protocol

from edgebench.agent.frames import Frame, Message
from edgebench.link.clockmatch import SessionClock
from edgebench.link.connection import Connection
from edgebench.link.failures import from_reply
from edgebench.link.replies import ClockReading, Ended, LeftRunning, Progressed, checked, failure_in
from edgebench.link.session_faults import SessionFaults
from edgebench.link.stamp_checks import Span
from edgebench.vocabulary.artifact import Artifact
from edgebench.vocabulary.session import SessionSettings
from edgebench.vocabulary.target import Launch
from edgebench.vocabulary.values import Json

AGENT_GRACE_S = 15.0
"""How much longer than the agent's own limit the host waits, before the agent itself counts as lost."""

HEAR_S = 1.0
"""How often probes are heard while nothing else is asked of a device."""


class WorkProgress(Protocol):
    """How far a request is, by the notes that its worker sends."""

    def reach(self, note: Progressed) -> bool:
        """Take in a note; whether it is further than before."""

    def longest_s(self, limit_s: float) -> float:
        """For all of it, where `limit_s` may go by without progress."""


class CountedProgress:
    """How many of its images, or load bursts, a worker has done.

    Args:
        count: all of them.
        report: called with how many are done, and with all, whenever there are more.
        step: how many there are for each note of progress.
    """

    def __init__(self, count: int, report: Callable[[int, int], None], step: int = 1) -> None:
        self._count = count
        self._report = report
        self._step = step
        self.done = 0

    def reach(self, note: Progressed) -> bool:
        """Take in a note; whether it is further than before. More than there are is no progress."""
        done = note.progress
        if not self.done < done <= self._count:
            return False
        self.done = done
        self._report(done, self._count)
        return True

    def longest_s(self, limit_s: float) -> float:
        """For all of them, where each `step` of them may take `limit_s`."""
        return limit_s * math.ceil(self._count / self._step)


def start_fields(launch: Launch) -> Message:
    """What a start says of how a process is launched."""
    return {
        "python": launch.python,
        "env": dict(launch.env),
        "prefix": list(launch.prefix),
        "affinity": list(launch.affinity),
    }


def runner_options(artifact: Artifact, settings: SessionSettings) -> dict[str, Json]:
    """A runner's options: the session's, the variant's precision, and shapes that the file leaves open."""
    shapes = artifact.input_shapes
    open_shapes = {"input_shapes": [list(shape) for shape in shapes]} if shapes else {}
    return {**settings.options, "precision": artifact.as_variant.precision, **open_shapes}


class WorkerCalls:
    """Requests to one worker of a session.

    Args:
        connection: of the device.
        clock: told of what is asked and of every reply.
        faults: of the session.
        tail_s: for the answer to what the worker last wrote on stderr.
        number: of its slot in the agent.
        name: of the worker, in words.

    Attributes:
        stderr_tail: the end of what the worker wrote there, as far as it is known by now.
        left_running: what it had started and did not end.
    """

    def __init__(
        self,
        connection: Connection,
        clock: SessionClock,
        faults: SessionFaults,
        tail_s: float,
        number: int = 0,
        name: str = "the worker",
    ) -> None:
        self._connection = connection
        self._clock = clock
        self._faults = faults
        self._tail_s = tail_s
        self.number = number
        self.name = name
        self.stderr_tail = ""
        self.left_running: tuple[LeftRunning, ...] = ()
        self._before_start_ns = 0  # of the device's clock

    @property
    def span(self) -> Span:
        """When what the worker answered last can have been done, on the device's clock."""
        return self._clock.span_of(self.number)

    @property
    def span_since_start(self) -> Span:
        """From the device's clock before the worker was started to its reading with the latest reply."""
        return self.span._replace(from_ns=self._before_start_ns)

    def start(self, launch: Message, timeout_s: float) -> None:
        """Start the worker's process with `start_fields`; with `build` it may build and does nothing else."""
        with self.as_session_error("start"):
            self._before_start_ns = self._clock.latest_ns
            message = {"op": "start", "worker": self.number, **launch}
            if failure := failure_in(self._connection.request(message, timeout_s)):
                raise from_reply(*failure, "start", "", self.name)

    def call(
        self,
        operation: str,
        stage: str,
        timeout_s: float,
        progress: WorkProgress | None = None,
        **fields: Json,
    ) -> Frame:
        """Ask for something and wait for the reply; SessionError for whatever ends the session."""
        return self.wait(self.send(operation, stage, timeout_s, fields), stage, timeout_s, progress=progress)

    def send(self, operation: str, stage: str, timeout_s: float, fields: Message) -> int:
        """Ask for something; the id of the request. The agent ends a worker that has not answered in time."""
        with self.as_session_error(stage):
            self._faults.raise_deferred()
            self._clock.asked(self.number)
            request = {"to": "worker", "worker": self.number, "op": operation, "limit_s": timeout_s}
            return self._connection.send({**request, **fields})

    def wait(
        self,
        request: int,
        stage: str,
        timeout_s: float,
        grace_s: float = AGENT_GRACE_S,
        progress: WorkProgress | None = None,
    ) -> Frame:
        """The reply to a request, where it is no failure."""
        limit_s = timeout_s + grace_s
        with self.as_session_error(stage):
            self._faults.raise_deferred()
            if progress is None:
                return self.admit(self._connection.wait(request, limit_s), stage)

            def further(frame: Frame) -> bool:
                note = checked(Progressed, frame.message)
                self._clock.note_reply(note.now_ns, self.number)
                return progress.reach(note)

            longest_s = progress.longest_s(limit_s)
            return self.admit(self._connection.wait(request, limit_s, further, longest_s), stage)

    def hear_for(self, seconds: float, stage: str, heard: Callable[[float], None]) -> None:
        """Take in what the probes send for so long; `heard` is told every HEAR_S how many are gone."""
        began_s = time.monotonic()
        while (gone_s := time.monotonic() - began_s) < seconds:
            heard(gone_s)
            with self.as_session_error(stage):
                self._connection.listen_until(lambda: False, min(HEAR_S, seconds - gone_s))

    def admit(self, frame: Frame, stage: str) -> Frame:
        """Take in a reply, and when it came; SessionError where it says that the request failed."""
        if failure := failure_in(frame):
            raise self._faults.explained(from_reply(*failure, stage, self.ask_tail(), self.name))
        self._clock.note_reply(checked(ClockReading, frame.message).now_ns, self.number)
        return frame

    def ask_tail(self) -> str:
        """What the worker last wrote on stderr."""
        tail = {"op": "tail", "worker": self.number}
        frame = self._connection.request(tail, self._faults.patience_s(self._tail_s))
        self.stderr_tail = str(frame.message.get("stderr_tail", ""))
        return self.stderr_tail

    def stop(self, grace_s: float, gently: bool) -> None:
        """End the process: one that may close its runner first has `grace_s` for it.

        WorkerEnded where it, or another worker, has ended before.
        """
        if gently:
            end = {"to": "worker", "worker": self.number, "op": "end", "limit_s": grace_s}
            self._connection.request(end, grace_s + AGENT_GRACE_S)
        limit_s = grace_s if gently else 0.0
        stop = {"op": "stop", "worker": self.number, "grace_s": limit_s}
        frame = self._connection.request(stop, self._faults.patience_s(limit_s + AGENT_GRACE_S))
        self.note_stopped(checked(Ended, frame.message))

    def note_stopped(self, end: Ended) -> None:
        """Keep what is to be known of a worker that was told to stop."""
        self.note_end(end)
        if end.signal not in (None, "SIGKILL"):
            self.stderr_tail += f"\nedgebench: {self.name} ended by {end.signal} after it was told to stop\n"

    def note_end(self, end: Ended) -> None:
        """Keep what is to be known of a worker that has ended."""
        self.stderr_tail = end.stderr_tail
        self.left_running = end.left_running

    def left_running_text(self) -> str:
        """What was left running, as it follows a worker's stderr where no session's facts can have it."""
        return "".join(f"\nedgebench: {process.words()}" for process in self.left_running)

    @contextlib.contextmanager
    def as_session_error(self, stage: str) -> Iterator[None]:
        """Whatever ends the session in here becomes the SessionError that says so."""
        with self._faults.as_session_error(stage, lambda: self.stderr_tail):
            yield


def follow(
    connection: Connection,
    faults: SessionFaults,
    requests: Mapping[int, WorkerCalls],
    stage: str,
    limit_s: float,
) -> tuple[int, Frame]:
    """The next frame that answers any of several requests, and which of them, as it arrives.

    Args:
        connection: of the device.
        faults: of the session.
        requests: by id, whom each was sent to.
        stage: of the session.
        limit_s: without any such frame.
    """
    with faults.as_session_error(stage):
        faults.raise_deferred()
        frame = connection.follow(requests, limit_s)
        request = int(frame.message["re"])
    calls = requests[request]
    with calls.as_session_error(stage):
        return request, calls.admit(frame, stage)
