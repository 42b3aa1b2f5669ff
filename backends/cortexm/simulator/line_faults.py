"""Faults of the line: bytes that are lost, doubled, invented or late."""

from __future__ import annotations

import time
from collections.abc import Iterator

from .clock import Clock
from .engine import BoardReset, Engine
from .faults import Fault, Unplugged, is_command
from .firmware import READY, Answer, Cause

_GARBAGE_LINES = ("m-", "e-[", "m-lap-us-", "m-results-[", "\x1b[2J boot", "x" * 5000)


class _Lossy(Fault):
    def _without_every_nth(self, data: bytes) -> bytes:
        return bytes(byte for byte in data if not self.is_due())


class _LostBytes(_Lossy):
    name = "lost-bytes"
    description = "every Nth byte from the host is lost"
    default = 400_000

    def received(self, data: bytes) -> bytes:
        return self._without_every_nth(data)


class _LostAnswerBytes(_Lossy):
    name = "lost-answer-bytes"
    description = "every Nth byte from the board is lost"
    default = 5000

    def sent(self, data: bytes) -> bytes:
        return self._without_every_nth(data)


class _DoubledReady(Fault):
    name = "doubled-ready"
    description = "every Nth m-ready comes twice"
    default = 5

    def answer(self, answer: Answer, clock: Clock, engine: Engine) -> Iterator[str]:
        for line in answer.lines:
            yield line
            if line == READY and self.is_due():
                yield line


class _BeforeAnswers(Fault):
    """Lines before the answer to every Nth command."""

    def _lines_before(self, answer: Answer, lines: tuple[str, ...]) -> Iterator[str]:
        if answer.cause is Cause.COMMAND and self.is_due():
            yield from lines
        yield from answer.lines


class _StrayReady(_BeforeAnswers):
    name = "stray-ready"
    description = "an m-ready that nothing asked for, before the answer to every Nth command"
    default = 5

    def answer(self, answer: Answer, clock: Clock, engine: Engine) -> Iterator[str]:
        return self._lines_before(answer, (READY,))


class _GarbageLines(_BeforeAnswers):
    name = "garbage-lines"
    description = "lines that are no messages, before the answer to every Nth command"
    default = 5

    def answer(self, answer: Answer, clock: Clock, engine: Engine) -> Iterator[str]:
        return self._lines_before(answer, _GARBAGE_LINES)


class _GarbageBytes(Fault):
    name = "garbage-bytes"
    description = "bytes that are no text, right before every Nth line"
    default = 50

    def answer(self, answer: Answer, clock: Clock, engine: Engine) -> Iterator[str]:
        for line in answer.lines:
            yield "\x00\xff\xa5\x80%" + line if self.is_due() else line


class _Slow(Fault):
    name = "slow"
    description = "the answer to every command comes N ms late"
    default = 50

    def answer(self, answer: Answer, clock: Clock, engine: Engine) -> Iterator[str]:
        if answer.cause is Cause.COMMAND:
            time.sleep(self.n / 1000)
        return answer.lines


class _ResetOnOpen(Fault):
    name = "reset-on-open"
    description = "the board resets, and sends its banner, whenever a host opens the port"
    watches_opens = True

    def opened(self) -> None:
        raise BoardReset("pin")


class _Unplug(Fault):
    name = "unplug"
    description = "the port goes away amid the Nth infer, and the simulator ends"
    default = 1

    def answer(self, answer: Answer, clock: Clock, engine: Engine) -> Iterator[str]:
        is_due = is_command(answer, "infer") and self.is_due()
        for line in answer.lines:
            yield line
            if is_due:
                raise Unplugged


LINE_FAULTS: tuple[type[Fault], ...] = (
    _LostBytes,
    _LostAnswerBytes,
    _DoubledReady,
    _StrayReady,
    _GarbageLines,
    _GarbageBytes,
    _Slow,
    _ResetOnOpen,
    _Unplug,
)
