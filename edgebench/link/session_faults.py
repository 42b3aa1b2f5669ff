"""What ends a session, wherever it is heard: it becomes the SessionError that says so, once it may fail."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator

from edgebench.agent.frames import ProtocolError
from edgebench.errors import NoPermissionError, SessionError, UnavailableError
from edgebench.link.connection import Connection, LinkLost, NoAnswer
from edgebench.link.failures import from_end, from_link, from_placing, from_protocol
from edgebench.link.replies import Ended

STOP_GRACE_S = 5.0
"""How long a silent agent is waited for once a stop was asked for; see clockmatch.LINK_CUT_S."""

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
    """A worker's process is gone, and nobody had asked it to end.

    Args:
        end: how, and whose.
        name: of the worker, in words.
    """

    def __init__(self, end: Ended, name: str = "the worker") -> None:
        super().__init__(f"{name} has ended")
        self.end = end
        self.name = name


def no_tail() -> str:
    """Nothing is known of a worker's stderr."""
    return ""


class SessionFaults:
    """The faults of one session, of whichever of its workers.

    Args:
        connection: of the device.
        explain: what the backend knows of a failure.

    What ends the session, and is heard where nothing may fail, is raised by `raise_deferred`.

    Attributes:
        stopping: whether a stop was asked for: what is silent then is not waited for.
    """

    def __init__(self, connection: Connection, explain: Explain) -> None:
        self._connection = connection
        self._explain = explain
        self._deferred: ProtocolError | WorkerEnded | None = None
        self.stopping = False

    def patience_s(self, limit_s: float) -> float:
        """How long an answer of the agent itself is waited for, where it may take `limit_s`."""
        return min(limit_s, STOP_GRACE_S) if self.stopping else limit_s

    def poll(self) -> None:
        """Hear what has arrived, without waiting; never fails."""
        with self._deferring():
            self._connection.poll()

    def raise_deferred(self) -> None:
        """Raise what was heard where nothing might fail."""
        if self._deferred is not None:
            raise self._deferred

    def require_no_fault(self) -> None:
        """ProtocolError where something was no frame, or no report of a probe, and nothing has failed yet."""
        if isinstance(self._deferred, ProtocolError):
            raise self._deferred

    def require_answer(self) -> None:
        """NoAnswer, and a connection that is closed, where the agent is silent after a stop was asked for."""
        try:
            self._connection.request({"op": "clock"}, STOP_GRACE_S)
        except NoAnswer:
            self._connection.close(patience_s=0.0)
            raise

    @contextlib.contextmanager
    def at_the_end(self) -> Iterator[None]:
        """What ends a session may fail; an agent that is silent then is waited for once and no more."""
        with self._deferring():
            try:
                yield
            except NoAnswer:
                self.close()

    def close(self) -> None:
        """Close the connection; a silent agent is killed at once where a stop was asked for."""
        if self.stopping:
            self._connection.close(patience_s=0.0)
        else:
            self._connection.close()

    @contextlib.contextmanager
    def as_session_error(self, stage: str, stderr_tail: Callable[[], str] = no_tail) -> Iterator[None]:
        """Whatever ends the session in here becomes the SessionError that says so.

        Args:
            stage: of the session.
            stderr_tail: what is known of a worker's stderr.
        """
        try:
            yield
        except KeyboardInterrupt:
            self.stopping = True
            raise
        except WorkerEnded as ended:
            raise self.explained(from_end(ended.end, stage, ended.name)) from None
        except LinkLost as error:
            raise from_link(error, stage) from None
        except (UnavailableError, NoPermissionError) as error:
            raise from_placing(error, stage) from None
        except ProtocolError as error:
            raise from_protocol(error, stage, stderr_tail()) from None

    def explained(self, error: SessionError) -> SessionError:
        """The error in the backend's words, where it has some."""
        return explained(error, self._explain)

    @contextlib.contextmanager
    def _deferring(self) -> Iterator[None]:
        """What ends the session in here is kept, but for a lost connection: that says so itself each time."""
        try:
            yield
        except LinkLost:
            pass
        except (ProtocolError, WorkerEnded) as error:
            self._deferred = self._deferred or error
