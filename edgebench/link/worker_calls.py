"""What a session asks of its worker, and what becomes of each way in which a request can end."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterator

from edgebench.agent.frames import Frame, Message, ProtocolError
from edgebench.agent.worker import PREDICT_STEP
from edgebench.errors import NoPermissionError, SessionError, UnavailableError
from edgebench.link.clockmatch import SessionClock
from edgebench.link.connection import Connection, LinkLost, NoAnswer
from edgebench.link.failures import from_end, from_link, from_placing, from_protocol, from_reply
from edgebench.link.replies import ClockReading, Ended, LeftRunning, Progressed, checked, failure_in
from edgebench.vocabulary.values import Json

AGENT_GRACE_S = 15.0
"""How much longer than the agent's own limit the host waits, before the agent itself counts as lost."""

Explain = Callable[[SessionError], SessionError | None]


def unexplained(error: SessionError) -> None:
    """There is nothing to add to it."""


def explained(error: SessionError, explain: Explain) -> SessionError:
    """The error in the backend's words where it has some; each error is explained once."""
    if error.explained:
        return error
    words = explain(error) or error
    words.explained = True
    return words


class WorkerEnded(Exception):
    """The worker's process is gone, and nobody had asked it to end."""

    def __init__(self, end: Ended) -> None:
        super().__init__("the worker has ended")
        self.end = end


class ImageProgress:
    """How many of its images a worker has predicted.

    Args:
        images: all of them.
        report: called with how many are done, and with all, whenever there are more.
    """

    def __init__(self, images: int, report: Callable[[int, int], None]) -> None:
        self._images = images
        self._report = report
        self.done = 0

    def reach(self, done: int) -> bool:
        """Take in a note; whether it is further than before. More than there are is no progress."""
        if not self.done < done <= self._images:
            return False
        self.done = done
        self._report(done, self._images)
        return True

    def longest_s(self, limit_s: float) -> float:
        """For all images, where a note of progress, each few hundred of them, may take `limit_s`."""
        return limit_s * math.ceil(self._images / PREDICT_STEP)


class WorkerCalls:
    """Requests to one worker of a session.

    Args:
        connection: of the device.
        clock: told of what is asked and of every reply.
        explain: what the backend knows of a failure.
        tail_s: for the answer to what the worker last wrote on stderr.
        worker: the number of its slot.

    What ends the session, and is heard where nothing may fail, is raised by the next request or wait.

    Attributes:
        stderr_tail: the end of what the worker wrote there, as far as it is known by now.
        left_running: what it had started and did not end.
    """

    def __init__(
        self, connection: Connection, clock: SessionClock, explain: Explain, tail_s: float, worker: int = 0
    ) -> None:
        self._worker = worker
        self._connection = connection
        self._clock = clock
        self._explain = explain
        self._tail_s = tail_s
        self._deferred: ProtocolError | WorkerEnded | None = None
        self.stderr_tail = ""
        self.left_running: tuple[LeftRunning, ...] = ()

    def call(
        self,
        operation: str,
        stage: str,
        timeout_s: float,
        progress: ImageProgress | None = None,
        **fields: Json,
    ) -> Frame:
        """Ask for something and wait for the reply; SessionError for whatever ends the session."""
        return self.wait(self.send(operation, stage, timeout_s, fields), stage, timeout_s, progress=progress)

    def send(self, operation: str, stage: str, timeout_s: float, fields: Message) -> int:
        """Ask for something; the id of the request. The agent ends a worker that has not answered in time."""
        with self.as_session_error(stage):
            self._raise_deferred()
            self._clock.asked()
            request = {"to": "worker", "worker": self._worker, "op": operation, "limit_s": timeout_s}
            return self._connection.send({**request, **fields})

    def wait(
        self,
        request: int,
        stage: str,
        timeout_s: float,
        grace_s: float = AGENT_GRACE_S,
        progress: ImageProgress | None = None,
    ) -> Frame:
        """The reply to a request, where it is no failure."""
        limit_s = timeout_s + grace_s
        with self.as_session_error(stage):
            self._raise_deferred()
            if progress is None:
                return self._reply(self._connection.wait(request, limit_s), stage)

            def further(frame: Frame) -> bool:
                note = checked(Progressed, frame.message)
                self._clock.note_reply(note.now_ns)
                return progress.reach(note.progress)

            longest_s = progress.longest_s(limit_s)
            return self._reply(self._connection.wait(request, limit_s, further, longest_s), stage)

    def follow(self, request: int, stage: str, timeout_s: float, grace_s: float = AGENT_GRACE_S) -> Frame:
        """The next frame of a request that is answered in several; `leave` says that it is the last."""
        with self.as_session_error(stage):
            self._raise_deferred()
            return self._reply(self._connection.follow(request, timeout_s + grace_s), stage)

    def leave(self) -> None:
        """Nobody waits any more for what is still to come of a request that was followed."""
        self._connection.leave()

    def poll(self) -> None:
        """Hear what has arrived, without waiting; never fails."""
        with self._deferring():
            self._connection.poll()

    def require_no_fault(self) -> None:
        """ProtocolError where something was no frame, or no report of a probe, and nothing has failed yet."""
        if isinstance(self._deferred, ProtocolError):
            raise self._deferred

    def ask_tail(self) -> str:
        """What the worker last wrote on stderr."""
        frame = self._connection.request({"op": "tail", "worker": self._worker}, self._tail_s)
        self.stderr_tail = str(frame.message.get("stderr_tail", ""))
        return self.stderr_tail

    def note_stopped(self, end: Ended) -> None:
        """Keep what is to be known of a worker that was told to stop."""
        self._note(end)
        if end.signal not in (None, "SIGKILL"):
            self.stderr_tail += f"\nedgebench: the worker ended by {end.signal} after it was told to stop\n"

    @contextlib.contextmanager
    def at_the_end(self) -> Iterator[None]:
        """What ends a session may fail; an agent that is silent then is waited for once and no more."""
        with self._deferring():
            try:
                yield
            except NoAnswer:
                self._connection.close()

    @contextlib.contextmanager
    def as_session_error(self, stage: str) -> Iterator[None]:
        """Whatever ends the session in here becomes the SessionError that says so."""
        try:
            yield
        except WorkerEnded as ended:
            self._note(ended.end)
            error = from_end(ended.end, stage)
            raise explained(error, self._explain) from None
        except LinkLost as error:
            raise from_link(error, stage) from None
        except (UnavailableError, NoPermissionError) as error:
            raise from_placing(error, stage) from None
        except ProtocolError as error:
            raise from_protocol(error, stage, self.stderr_tail) from None

    @contextlib.contextmanager
    def _deferring(self) -> Iterator[None]:
        """What ends the session in here is kept, but for a lost connection: that says so itself each time."""
        try:
            yield
        except LinkLost:
            pass
        except (ProtocolError, WorkerEnded) as error:
            self._deferred = self._deferred or error

    def _raise_deferred(self) -> None:
        if self._deferred is not None:
            raise self._deferred

    def _reply(self, frame: Frame, stage: str) -> Frame:
        if failure := failure_in(frame):
            error = from_reply(*failure, stage, self.ask_tail())
            raise explained(error, self._explain)
        self._clock.note_reply(checked(ClockReading, frame.message).now_ns)
        return frame

    def _note(self, end: Ended) -> None:
        self.stderr_tail = end.stderr_tail
        self.left_running = end.left_running
