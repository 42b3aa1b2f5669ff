"""How a session ended early, in words: from a worker's end, a reply, or a lost link."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from edgebench.agent.frames import ProtocolError
from edgebench.errors import DiskFullError, EdgeBenchError, NoPermissionError, SessionError, UnavailableError
from edgebench.link.connection import Connection, LinkLost, NoAnswer
from edgebench.link.replies import Ended, ImpossibleTimes

_DOING = {
    "start": "starting",
    "build": "building on the board",
    "load": "loading the artifact",
    "golden": "running the golden patches",
    "scene": "placing the scene in memory",
    "measure": "measuring",
    "predict": "predicting the images",
    "stop": "stopping",
}
_SEE_STDERR = "its stderr is kept in session.json"
_OUT_OF_MEMORY = "close other programs, or use a smaller variant or batch"
_TIMED_OUT = "set EDGEBENCH_STAGE_TIMEOUT_S to more seconds where the device needs them"
_OTHER_BUILD = (
    "numpy 1.19.5 on 64-bit ARM takes OPENBLAS_CORETYPE=ARMV8 in launch.env of the targets file; "
    "else install builds for this processor"
)
_CHECK_LINK = "check the device and its connection, then --resume"


class WorkerEnded(Exception):
    """A worker's process is gone without a request to end.

    Args:
        end: how, and whose.
        name: of the worker, in words.
    """

    def __init__(self, end: Ended, name: str = "the worker") -> None:
        super().__init__(f"{name} has ended")
        self.end = end
        self.name = name


# By what was raised: the message, the session's status, and the fix where the error has none.
_CAUSES: tuple[tuple[type[Exception], str, str, str], ...] = (
    (NoAnswer, "the device does not answer while {doing}", "timeout", _CHECK_LINK),
    (LinkLost, "the device was lost while {doing}", "lost_connection", _CHECK_LINK),
    (ImpossibleTimes, "the device's times cannot be right while {doing}", "protocol_error", ""),
    (
        ProtocolError,
        "the device sent an unexpected answer while {doing}",
        "protocol_error",
        "use the same EdgeBench on both sides",
    ),
    (DiskFullError, "{error.what}", "disk_full", ""),
    (EdgeBenchError, "{error.what}", "error", ""),
)


def session_error(error: Exception, stage: str, stderr_tail: str = "") -> SessionError:
    """What ends a session by something that was raised at a stage.

    Args:
        error: a WorkerEnded, or one of the kinds in `_CAUSES`; its own `status`, `why` and `fix` count.
        stage: of the session.
        stderr_tail: what is known of a worker's stderr.
    """
    if isinstance(error, SessionError):
        return error
    if isinstance(error, WorkerEnded):
        return from_end(error.end, stage, error.name)
    what, status, fix = next(row for kind, *row in _CAUSES if isinstance(error, kind))
    return SessionError(
        what.format(doing=_DOING[stage], error=error),
        status=getattr(error, "status", status),
        stage=stage,
        stderr_tail=getattr(error, "tail", stderr_tail),
        why=getattr(error, "why", str(error)),
        fix=getattr(error, "fix", fix),
    )


def from_end(end: Ended, stage: str, worker: str = "the worker") -> SessionError:
    """A worker's process ended by itself; `worker` is which, in words."""
    last = (end.stderr_tail.strip().splitlines() or [""])[-1][:500]
    words = f": {last}" if last else ""
    limit = "" if end.limit_s is None else f" of {end.limit_s:g} s"
    hung = f"it was ended at the time limit{limit} for one request of the stage {stage}: it hung or is slow"
    problem = end.problem or ""
    memory = "the kernel killed it because memory ran out"
    importing = " that was being imported or loaded" if stage in ("start", "load") else ""
    illegal = f"SIGILL, a library{importing} uses an instruction that this processor lacks"
    rows: tuple[tuple[object, str, str, str, str], ...] = (
        (end.timed_out, "did not answer in time", "timeout", hung, _TIMED_OUT),
        (end.out_of_memory, "was ended for memory", "out_of_memory", memory, _OUT_OF_MEMORY),
        (problem, "sent something else than frames", "protocol_error", problem, _SEE_STDERR),
        (end.signal == "SIGILL", "crashed", "crash", f"{illegal}{words}", _OTHER_BUILD),
        (end.signal, "crashed", "crash", f"{end.signal}{words}", _SEE_STDERR),
        (True, "ended", "crash", f"exit code {end.code}{words}", _SEE_STDERR),
    )
    happened, status, why, fix = next(row for holds, *row in rows if holds)
    what = f"{worker} {happened} while {_DOING[stage]}"
    return SessionError(
        what, status=status, stage=stage, signal=end.signal, stderr_tail=end.stderr_tail, why=why, fix=fix
    )


def from_reply(
    status: str, why: str, stage: str, stderr_tail: str, worker: str = "the worker"
) -> SessionError:
    """A worker, or the agent for it, says that the request failed."""
    fix = _OUT_OF_MEMORY if status == "out_of_memory" else _SEE_STDERR
    if status != "out_of_memory" and (lack := first_cause(reversed(_LACKS), [why])):
        fix = lack.fix
    what = f"{worker} failed while {_DOING[stage]}"
    return SessionError(what, status=status, stage=stage, stderr_tail=stderr_tail, why=why, fix=fix)


# What ends a session, wherever it is heard: it becomes the SessionError that says so, once it may fail.


STOP_GRACE_S = 5.0
"""How long a silent agent is waited for once a stop was asked for; see clock_match.LINK_CUT_S."""

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


def lost_before(why: str) -> SessionError:
    """The device was lost in an earlier session, and is not back."""
    what = "the device was lost and is not back"
    return SessionError(what, status="lost_connection", stage="start", why=why, fix=_CHECK_LINK)


class SessionFaults:
    """The faults of one session, of whichever of its workers.

    Args:
        connection: of the device.
        explain: what the backend knows of a failure.

    What ends the session, and is heard where nothing may fail, is raised by `raise_deferred`.

    Attributes:
        stopping: whether a stop was asked for: what is silent then is not waited for.
        stage: of the session, in the words of SessionError.
        stderr_tail: what is known of the stderr of the worker that was asked last.
        others: by the number of a worker that has failed, how far the others were, in words; without one, how
            far each was.
    """

    def __init__(self, connection: Connection, explain: Explain) -> None:
        self._connection = connection
        self.explain = explain
        self._deferred: ProtocolError | WorkerEnded | None = None
        self.stopping = False
        self.stage = "start"
        self.stderr_tail = ""
        self.others: Callable[[int | None], str] = lambda failed: ""

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
        self._connection.close(patience_s=0.0 if self.stopping else None)

    @contextlib.contextmanager
    def at(self, stage: str) -> Iterator[None]:
        """A stage of the session: whatever ends it in here becomes the SessionError that says so."""
        self.stage = stage
        try:
            yield
        except KeyboardInterrupt:
            self.stopping = True
            raise
        except (WorkerEnded, LinkLost, UnavailableError, NoPermissionError, ProtocolError) as error:
            ended = session_error(error, stage, self.stderr_tail)
            if isinstance(error, WorkerEnded):
                ended = explained(ended, self.explain)
            ended.why += self.others(error.end.worker if isinstance(error, WorkerEnded) else None)
            raise ended from None

    @contextlib.contextmanager
    def _deferring(self) -> Iterator[None]:
        """What ends the session in here is kept, but for a lost connection: that says so itself each time."""
        try:
            yield
        except LinkLost:
            pass
        except (ProtocolError, WorkerEnded) as error:
            self._deferred = self._deferred or error


# Failures whose cause is known by their words, and what is said of them.


_MOST_LINE = 300  # characters of a line that is repeated


class Cause(NamedTuple):
    """What a failure's words mean.

    Attributes:
        pattern: of the words.
        what, why, fix: templates (str.format) with the groups of the pattern, the `words` that it found and
            the `line` that they are in.
        fixes: by a device of `edgebench devices`, where it differs from `fix`.
        kind: of the error, where it is not a session's.
    """

    pattern: str
    what: str = ""
    why: str = "{line}"
    fix: str = ""
    fixes: Mapping[str, str] = MappingProxyType({})
    kind: type[EdgeBenchError] = UnavailableError


def first_cause(
    causes: Iterable[Cause], texts: Sequence[str], device: str = "", **words: str
) -> Cause | None:
    """The first cause that fits, with its templates filled in; None where none does.

    Args:
        causes: the likeliest or the most telling first.
        texts: of the failure; each is searched for a cause before the next cause is tried.
        device: a name of `edgebench devices`.
        words: more for the templates.
    """
    for cause in causes:
        for text in texts:
            if match := re.search(cause.pattern, text):
                line = text[text.rfind("\n", 0, match.start()) + 1 :].partition("\n")[0].strip()
                groups = match.groupdict(default="")
                words = {**words, **groups, "words": match.group(), "line": line[:_MOST_LINE]}
                what, why = cause.what.format(**words), cause.why.format(**words)
                fix = cause.fixes.get(device, cause.fix).format(**words)
                return cause._replace(what=what, why=why, fix=fix)
    return None


def explain_by_causes(
    error: SessionError, causes: Iterable[Cause], texts: Sequence[str], device: str, **words: str
) -> SessionError | None:
    """The failure of a session, or of a build, in the words of `first_cause`; None where none fits."""
    if (cause := first_cause(causes, texts, device, **words)) is None:
        return None
    return SessionError(
        cause.what,
        status=error.status,
        stage=error.stage,
        signal=error.signal,
        stderr_tail=error.stderr_tail,
        why=cause.why,
        fix=cause.fix,
    )


# What a loader or Python says of a board that lacks something; the last that fits counts.
_LACKS = (
    Cause(
        r"[Nn]o module named '?(?P<name>[A-Za-z0-9_.]{1,60})'?",
        fix="install {name} for the Python that runs there (edgebench targets check says how), or name "
        "another with --python",
    ),
    Cause(
        r"(?P<name>lib[A-Za-z0-9_.+-]{1,80}): cannot open shared object file",
        fix="install the system's package that has {name}",
    ),
    Cause(
        r"no (LiteRT|TFLite|ONNX) [Rr]untime here",
        fix="install one for the Python that runs there: edgebench targets check says which, and how",
    ),
)
