"""A simulated board: a firmware with its engine and clock, its resets, and the faults of it and its line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from .clock import Clock
from .engine import BoardReset, Engine
from .faults import Fault, Stalled
from .firmware import MOST_INFERENCES, Answer, Firmware
from .identity import Identity


class Board:
    """Powered on when its port is opened first.

    Args:
        most_inferences: of one `infer`.
    """

    def __init__(
        self,
        identity: Identity,
        engine: Engine,
        clock: Clock,
        faults: Sequence[Fault] = (),
        most_inferences: int = MOST_INFERENCES,
    ) -> None:
        for fault in faults:
            identity = fault.identity(identity)
        self._identity = identity
        self._engine = engine
        self._clock = clock
        self._faults = faults
        self._most_inferences = most_inferences
        self._firmware: Firmware | None = None
        self._is_stalled = False

    def opened(self) -> Iterator[bytes]:
        """What the board sends because a host opened its port: the banner, the first time."""
        if self._firmware is None:
            yield from self._boot("power on")
            return
        try:
            for fault in self._faults:
                fault.opened()
        except BoardReset as reset:
            yield from self._boot(reset.reason)

    def receive(self, data: bytes) -> Iterator[bytes]:
        """What the board sends for bytes of the line, piece by piece as it comes; may raise Unplugged."""
        if self._firmware is None or self._is_stalled:
            return
        for fault in self._faults:
            data = fault.received(data)
        yield from self._answers(self._firmware.receive(data))

    def wait(self) -> Iterator[bytes]:
        """What it sends because nothing comes; as `receive`."""
        if self._firmware is not None and not self._is_stalled:
            yield from self._answers(self._firmware.wait())

    def _answers(self, answers: Iterator[Answer]) -> Iterator[bytes]:
        try:
            for answer in answers:
                yield from self._faulty(answer)
        except Stalled:
            self._is_stalled = True
        except BoardReset as reset:  # what else had come is lost
            yield from self._boot(reset.reason)

    def _boot(self, reason: str) -> Iterator[bytes]:
        self._is_stalled = False
        self._clock.restart()
        self._firmware = Firmware(self._identity, self._engine, self._clock, reason, self._most_inferences)
        yield from self._faulty(self._firmware.boot())

    def _faulty(self, answer: Answer) -> Iterator[bytes]:
        for fault in self._faults:
            answer = Answer(answer.cause, answer.command, fault.answer(answer, self._clock, self._engine))
        for line in answer.lines:
            data = line.encode("latin-1") + b"\r\n"
            for fault in self._faults:
                data = fault.sent(data)
            yield data
