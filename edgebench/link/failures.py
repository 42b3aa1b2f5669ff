"""How a session ended early, in words: from a worker's end, a reply, or a lost link."""

from __future__ import annotations

import re

from edgebench.agent.frames import ProtocolError
from edgebench.errors import DiskFullError, EdgeBenchError, SessionError
from edgebench.link.connection import LinkLost, NoAnswer
from edgebench.link.replies import Ended

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
_OUT_OF_MEMORY = "close other programs, or take a smaller variant or batch"


# What a loader, a shell or Python says of a board that lacks something, and what to do about it.
_LACKS = (
    (
        re.compile(
            r"exec format error|wrong elf class|invalid elf header|cannot execute binary", re.IGNORECASE
        ),
        "take a Python and packages that are built for the board's own processor (uname -m tells it)",
    ),
    (
        re.compile(r"[Nn]o module named '?(?P<name>[A-Za-z0-9_.]{1,60})'?"),
        "install {name} for the Python that runs there (edgebench targets check says how), or name another "
        "with --python",
    ),
    (
        re.compile(r"(?P<name>lib[A-Za-z0-9_.+-]{1,80}): cannot open shared object file"),
        "install the system's package that has {name}",
    ),
    (
        re.compile(r"version `(?P<name>[A-Za-z0-9_.]{1,60})' not found"),
        "take an older release of the package: the board's system has no {name}",
    ),
    (
        re.compile(r"no (LiteRT|TFLite|ONNX) [Rr]untime here"),
        "install one for the Python that runs there: edgebench targets check says which, and how",
    ),
)


def _lacks(why: str) -> str:
    """How to mend what is missing there; nothing where that is not what the words are about."""
    for pattern, fix in reversed(_LACKS):
        if match := pattern.search(why):
            return fix.format(**match.groupdict())
    return ""


def from_end(end: Ended, stage: str, worker: str = "the worker") -> SessionError:
    """A worker's process ended and nobody had asked it to; `worker` is which, in words."""
    doing = _DOING[stage]
    last = (end.stderr_tail.strip().splitlines() or [""])[-1][:500]
    if end.timed_out:
        limit = "" if end.limit_s is None else f" of {end.limit_s:g} s"
        what, status, why, fix = (
            f"{worker} did not answer in time while {doing}",
            "timeout",
            f"it was ended at the time limit{limit} for one request of the stage {stage}: it hung or is slow",
            "set EDGEBENCH_STAGE_TIMEOUT_S to more seconds where the device needs them",
        )
    elif end.out_of_memory:
        what, status, why, fix = (
            f"{worker} was ended for memory while {doing}",
            "out_of_memory",
            "the kernel killed it because memory ran out",
            _OUT_OF_MEMORY,
        )
    elif end.problem:
        what, status, why, fix = (
            f"{worker} sent something else than frames while {doing}",
            "protocol_error",
            end.problem,
            _SEE_STDERR,
        )
    elif end.signal:
        what, status, why, fix = (
            f"{worker} crashed while {doing}",
            "crash",
            f"{end.signal}{': ' + last if last else ''}",
            _SEE_STDERR,
        )
    else:
        what, status, why, fix = (
            f"{worker} ended while {doing}",
            "crash",
            f"exit code {end.code}{': ' + last if last else ''}",
            _SEE_STDERR,
        )
    return SessionError(
        what, status=status, stage=stage, signal=end.signal, stderr_tail=end.stderr_tail, why=why, fix=fix
    )


def from_reply(
    status: str, why: str, stage: str, stderr_tail: str, worker: str = "the worker"
) -> SessionError:
    """A worker, or the agent for it, says that the request failed."""
    what = f"{worker} failed while {_DOING[stage]}"
    fix = _OUT_OF_MEMORY if status == "out_of_memory" else _lacks(why) or _SEE_STDERR
    return SessionError(what, status=status, stage=stage, stderr_tail=stderr_tail, why=why, fix=fix)


def from_link(error: LinkLost, stage: str) -> SessionError:
    """The agent is gone or silent."""
    silent = isinstance(error, NoAnswer)
    return SessionError(
        f"the device {'does not answer' if silent else 'was lost'} while {_DOING[stage]}",
        status="timeout" if silent else "lost_connection",
        stage=stage,
        stderr_tail=error.tail,
        why=str(error),
        fix="check the device and its connection, then --resume",
    )


def from_placing(error: EdgeBenchError, stage: str) -> SessionError:
    """A file that the session needs cannot be placed on the device."""
    status = "disk_full" if isinstance(error, DiskFullError) else "error"
    return SessionError(error.what, status=status, stage=stage, why=error.why, fix=error.fix)


def lost_before(why: str) -> SessionError:
    """The device was lost in an earlier session, and is not back."""
    return SessionError(
        "the device was lost and is not back",
        status="lost_connection",
        stage="start",
        why=why,
        fix="check the device and its connection, then --resume",
    )


def from_protocol(error: ProtocolError, stage: str, stderr_tail: str) -> SessionError:
    """What arrived is no frame, or no answer to what was asked."""
    return SessionError(
        f"the device sent an unexpected answer while {_DOING[stage]}",
        status="protocol_error",
        stage=stage,
        stderr_tail=stderr_tail,
        why=str(error),
        fix=getattr(error, "fix", "use the same EdgeBench on both sides"),
    )
