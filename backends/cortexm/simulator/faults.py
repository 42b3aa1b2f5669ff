"""What goes wrong on a real line or board, on purpose and each time alike."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from .clock import Clock
from .engine import Engine
from .firmware import Answer, Cause
from .identity import Identity


class Stalled(Exception):
    """The board answers nothing any more."""


class Unplugged(Exception):
    """The port is gone."""


class Fault:
    """One that does nothing: what a fault does not touch goes on as it is.

    Attributes:
        name: as `--fault` takes it.
        description: one line, in which N is its number.
        default: N where none is given; None: there is no N.
        watches_opens: whether it has to know of every host that opens the port.
    """

    name: ClassVar[str]
    description: ClassVar[str]
    default: ClassVar[int | None] = None
    watches_opens: ClassVar[bool] = False

    def __init__(self, n: int) -> None:
        self.n = n
        self._occasions = 0

    def is_due(self) -> bool:
        """Whether this occasion is an Nth."""
        self._occasions += 1
        return self._occasions % self.n == 0

    def identity(self, identity: Identity) -> Identity:
        """What the firmware says of itself."""
        return identity

    def opened(self) -> None:
        """A host has opened the port, not for the first time; may raise BoardReset."""

    def received(self, data: bytes) -> bytes:
        """What of a host's bytes reaches the board."""
        return data

    def answer(self, answer: Answer, clock: Clock, engine: Engine) -> Iterator[str]:
        """The lines that the board sends; may raise BoardReset, Stalled and Unplugged between them."""
        return answer.lines

    def sent(self, data: bytes) -> bytes:
        """What of the board's bytes reaches the host."""
        return data


def is_command(answer: Answer, word: str) -> bool:
    """Whether the lines answer a command with this first word."""
    return answer.cause is Cause.COMMAND and answer.command.split()[:1] == [word]
