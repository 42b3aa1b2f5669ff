"""What a simulated firmware has done by an engine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol


class BoardReset(Exception):
    """The board starts anew amid whatever it does."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class InferenceFailed(Exception):
    """An engine says that an inference did not work."""


@dataclass(frozen=True)
class EngineFacts:
    """What `profile` says of it.

    Attributes:
        title: name and version.
        input_bytes: of the input tensor.
        scores: of one inference.
        working_bytes: the most memory that an inference works in; None where that is not known.
        copy_us: how long it takes to set the input; None where that is not known.
    """

    title: str
    input_type: Literal["float32", "int8", "uint8"]
    input_bytes: int
    scores: int
    working_bytes: int | None
    copy_us: int | None


@dataclass(frozen=True)
class Inferences:
    """What came of some.

    Attributes:
        scores: of the last one.
        start_ns: before the first, monotonic.
        end_ns: after the last.
    """

    scores: tuple[float, ...]
    start_ns: int
    end_ns: int


class Engine(Protocol):
    """An engine with its model."""

    @property
    def facts(self) -> EngineFacts:
        """The same at all times after `start`."""
        ...

    def start(self) -> bool:
        """Make it ready, at every boot; False: it cannot run, and every `infer` answers an error."""
        ...

    def infer(self, tensor: bytes, times: int) -> Inferences:
        """Inferences of the tensor, which is set before each of them; `times` is at least 1.

        Raises:
            InferenceFailed: it did not work.
            BoardReset: what infers has died, which resets a board.
        """
        ...

    def abort(self) -> None:
        """Die as a runtime does that aborts: BoardReset."""
        ...
