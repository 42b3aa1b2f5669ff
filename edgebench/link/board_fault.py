"""What a board without an agent did instead of what it was asked for, and how that ends a session."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import ClassVar

from edgebench.agent.frames import ProtocolError
from edgebench.errors import EdgeBenchError, SessionError


class BoardFault(EdgeBenchError):
    """What a board did instead of what it was asked for; a device's kinds of it derive from this.

    Attributes:
        status: of the SessionError that ends a session by it.
    """

    status: ClassVar[str] = "protocol_error"

    def as_session_error(self, stage: str) -> SessionError:
        """What ends a session that was at this stage."""
        return SessionError(self.what, status=self.status, stage=stage, why=self.why, fix=self.fix)


@contextmanager
def as_session_error(stage: str) -> Iterator[None]:
    """What the board did, or its clock, as what ends the session at this stage."""
    try:
        yield
    except BoardFault as fault:
        raise fault.as_session_error(stage) from fault
    except ProtocolError as error:
        raise SessionError(
            "the board's times cannot be right",
            status="protocol_error",
            stage=stage,
            why=str(error),
            fix=getattr(error, "fix", ""),
        ) from error
