"""Errors that a user sees: what went wrong, why, and how to fix it, each on one line."""

from __future__ import annotations

import copyreg
from typing import Any

EXIT_OK = 0
EXIT_ERROR = 1
EXIT_USAGE = 2
EXIT_NOT_MET = 3
EXIT_UNDECIDED = 4
EXIT_TRIALS_FAILED = 5
EXIT_INTERRUPTED = 130


class EdgeBenchError(Exception):
    """Something that a user can act on.

    Args:
        what: what went wrong, one sentence without a full stop.
        why: the cause, where it is known.
        fix: what to do about it.
    """

    exit_code: int = EXIT_ERROR

    def __init__(self, what: str, *, why: str = "", fix: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.why = why
        self.fix = fix

    def __reduce__(self) -> tuple[Any, ...]:
        """For pickle, which would make it again without its other arguments."""
        return copyreg.__newobj__, (type(self), *self.args), self.__dict__  # type: ignore[attr-defined]

    def __str__(self) -> str:
        return "\n".join(part for part in (self.what, self.why, self.fix) if part)

    @property
    def one_line(self) -> str:
        """What went wrong, why, and what to do about it."""
        return "; ".join(part for part in (self.what, self.why, self.fix) if part)


class UsageError(EdgeBenchError):
    """The command line, an option, a profile or a name that does not exist (exit code 2)."""

    exit_code: int = EXIT_USAGE


class InterruptedByUser(EdgeBenchError):
    """Ctrl-C or its kin where there is nothing yet to keep (exit code 128 and the signal's number)."""

    exit_code: int = EXIT_INTERRUPTED


class InputError(EdgeBenchError):
    """A file from outside (image, weights, profile) that cannot be read as what it should be."""


class StoredResultError(EdgeBenchError):
    """A result folder that is truncated, foreign, locked by another writer, or not writable."""


class UnsupportedError(EdgeBenchError):
    """A variant that this device cannot take, with the figure or the reason that says so."""


class UnavailableError(EdgeBenchError):
    """A device, meter or runtime that is not there; `fix` says how to get it."""


def not_installed(what: str, name: str, fix: str) -> UnavailableError:
    """What cannot be done because a package or a program is not installed."""
    return UnavailableError(what, why=f"{name} is not installed", fix=fix)


class DiskFullError(UnavailableError):
    """A board's disk that has no room for what has to be placed there."""


class NoPermissionError(EdgeBenchError):
    """A device or meter that is there and may not be read; `fix` says how to allow it."""


class SessionError(EdgeBenchError):
    """A session that ended without its measurement; the experiment goes on without it.

    Args:
        status: one of `crash`, `timeout`, `out_of_memory`, `lost_connection`, `protocol_error`,
            `disk_full`, `load_failed`, `golden_mismatch`, `error`.
        stage: where it happened: `start`, `load`, `golden`, `scene`, `measure`, `predict`, `stop`.
        signal: the signal's name where one ended the worker, such as `SIGSEGV`.
        stderr_tail: the last lines of what the worker wrote to stderr.

    Attributes:
        explained: whether its backend has been asked for words that know the device (Backend.explain).
    """

    def __init__(
        self,
        what: str,
        *,
        status: str,
        stage: str,
        signal: str | None = None,
        stderr_tail: str = "",
        why: str = "",
        fix: str = "",
    ) -> None:
        super().__init__(what, why=why, fix=fix)
        self.status = status
        self.stage = stage
        self.signal = signal
        self.stderr_tail = stderr_tail
        self.explained = False
