"""One command, one answer: messages by a deadline, matched to their command by content and never by count.

A board that resets when its port is opened, or a line that doubles bytes, leaves an `m-ready` too many: an
answer ends with the first `m-ready` after all that the command has to bring.
"""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence

from edgebench.printable import printable

from .faults import AnswerTimeout, BoardReset, ErrorAnswer
from .line import Line
from .messages import Banner, BoardError, LineSplitter, Message, Ready, parse, shown

ANSWER_S = 5.0
"""How long an answer may take that needs no inference, beside the bytes on their way."""
MOST_OF_A_KIND = 128
"""Messages of an answer that are kept: help of some firmware has some dozens of lines of text."""
_QUOTED_LINES = 5
_QUOTED_CHARACTERS = 80
_LONGEST_ANSWER_BYTES = 2048
_BITS_A_BYTE = 10


class Exchange:
    """Commands and messages over a line.

    Args:
        line: to the board; whoever opened it closes it.
        baud: of the line, for how long bytes take.
        clock_ns: the host's monotonic clock.
    """

    def __init__(self, line: Line, baud: int, clock_ns: Callable[[], int] = time.monotonic_ns) -> None:
        self.line = line
        self.byte_s = _BITS_A_BYTE / baud
        self.clock_ns = clock_ns
        self._splitter = LineSplitter()
        self._pending: deque[bytes] = deque()
        self._recent: deque[bytes] = deque(maxlen=_QUOTED_LINES)

    def answer_s(self) -> float:
        """How long an answer without inferences may take at this baud."""
        return ANSWER_S + _LONGEST_ANSWER_BYTES * self.byte_s

    def send(self, command: str) -> None:
        """A command, with its end."""
        self._recent.clear()
        self.line.write(command.encode("ascii") + b"%")

    def forget(self) -> None:
        """Drop what has come and has not been looked at."""
        self.line.drop_input()
        self._splitter.clear()
        self._pending.clear()

    def next_message(self, wait_s: float) -> Message | None:
        """The next message; None when no line ended in this time."""
        if not self._pending:
            deadline_ns = self.clock_ns() + round(wait_s * 1e9)
            while not self._receive(max(deadline_ns - self.clock_ns(), 0) / 1e9):
                if self.clock_ns() >= deadline_ns:
                    return None
        line = self._pending.popleft()
        self._recent.append(line)
        return parse(line)

    def _receive(self, wait_s: float) -> bool:
        """Whether a line is there, after at most one read."""
        self._pending.extend(self._splitter.lines(self.line.read(wait_s)))
        return bool(self._pending)

    def messages(self, wait_s: float) -> Iterator[Message]:
        """All messages that come in this time."""
        deadline_ns = self.clock_ns() + round(wait_s * 1e9)
        while True:
            message = self.next_message(max(deadline_ns - self.clock_ns(), 0) / 1e9)
            if message is None:
                return
            yield message
            if self.clock_ns() >= deadline_ns:  # of a board that never stops
                return

    def came(self) -> list[str]:
        """The last lines that came since the command, for a fault's words."""
        lines = [*self._recent, *([self._splitter.begun] if self._splitter.begun else [])]
        return [printable(shown(line), _QUOTED_CHARACTERS) for line in lines[-_QUOTED_LINES:]]

    def ask(
        self,
        command: str,
        awaited: str,
        is_whole: Callable[[Sequence[Message]], bool],
        wait_s: float | None = None,
    ) -> list[Message]:
        """The answer to a command, without its `m-ready`.

        Args:
            command: without its `%`.
            awaited: what `is_whole` looks for, for a fault's words.
            is_whole: whether these messages are all that the command has to bring.
            wait_s: how long all of it may take.

        Raises:
            ErrorAnswer: the board refused.
            BoardReset: its boot banner came.
            AnswerTimeout: the answer did not come, or not whole.
        """
        limit_s = self.answer_s() if wait_s is None else wait_s
        self.send(command)
        answer: list[Message] = []
        kinds: Counter[type[Message]] = Counter()
        for message in self.messages(limit_s):
            if isinstance(message, Banner):
                raise self.reset(command, awaited)
            if isinstance(message, Ready):
                self._raise_error(command, awaited, answer)
                if is_whole(answer):
                    return answer
            elif kinds[type(message)] < MOST_OF_A_KIND:
                kinds[type(message)] += 1
                answer.append(message)
        raise AnswerTimeout(
            f"no whole answer to `{command}%` within {limit_s:.0f} s", awaited=awaited, came=self.came()
        )

    def reset(self, command: str, awaited: str) -> BoardReset:
        """The fault of a boot banner."""
        return BoardReset(
            f"the board was reset amid its answer to `{command}%`",
            awaited=awaited,
            came=self.came(),
            fix="see that its supply holds under load; firmware that faults resets the board, too",
        )

    def _raise_error(self, command: str, awaited: str, answer: Sequence[Message]) -> None:
        for message in answer:
            if isinstance(message, BoardError):
                raise ErrorAnswer(command, message.text, awaited=awaited, came=self.came())
