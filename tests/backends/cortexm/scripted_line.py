"""A Line in memory: a board by what it answers, whose time goes by only when the host waits."""

import importlib
import itertools
from collections import deque

from tests.backends.cortexm.board_faults import FaultyBoard

clocks = importlib.import_module("edgebench.backends.cortexm.simulator.clock")
engines = importlib.import_module("edgebench.backends.cortexm.simulator.engine")
faults = importlib.import_module("edgebench.backends.cortexm.line")

LEAST_READ_NS = 10_000
FOREVER_READ_NS = 500_000_000


class ScriptedLine:
    """Answers each command by a function of its text.

    Args:
        answer: of a command without its `%`; gives bytes, or pairs (seconds after the command, bytes).
        coming: pairs of seconds and of what comes then, whatever is asked.
        forever: what comes after everything else, again and again.
        lost_after: reads until the line is gone.
    """

    port = "/dev/ttyACM3"

    def __init__(self, answer=lambda command: b"", coming=(), forever=b"", lost_after=None):
        self.now_ns = 10**15
        self.written = []
        self.sent = b""
        self.answer = answer
        self._coming = deque((self.now_ns + round(delay_s * 1e9), data) for delay_s, data in coming)
        self.forever = forever
        self._begun = b""
        self._reads_left = itertools.repeat(0) if lost_after is None else iter(range(lost_after))

    def clock_ns(self):
        return self.now_ns

    def write(self, data):
        self.sent += data
        self._begun += data
        while b"%" in self._begun:
            command, _, self._begun = self._begun.partition(b"%")
            self.written.append(command.decode("latin-1"))
            answer = self.answer(self.written[-1])
            for delay_s, part in [(0, answer)] if isinstance(answer, bytes) else answer:
                self._coming.append((self.now_ns + round(delay_s * 1e9), part))

    def read(self, timeout_s):
        if next(self._reads_left, None) is None:
            raise faults.LineLost("the line is gone")
        until_ns = self.now_ns + max(round(timeout_s * 1e9), LEAST_READ_NS)
        if self._coming and self._coming[0][0] <= until_ns:
            due_ns, data = self._coming.popleft()
            self.now_ns = max(due_ns, self.now_ns + LEAST_READ_NS)
            return data
        if self.forever:
            self.now_ns += FOREVER_READ_NS
            return self.forever
        self.now_ns = until_ns
        return b""

    def drop_input(self):
        while self._coming and self._coming[0][0] <= self.now_ns:
            self._coming.popleft()

    def close(self):
        pass


def lines(*texts):
    """Lines as a board sends them, `m-ready` behind them."""
    return "".join(f"{text}\r\n" for text in (*texts, "m-ready")).encode("latin-1")


class FixedScores:
    """An engine with an input of any size, and three scores."""

    facts = engines.EngineFacts("fixed 1", "int8", 200_000, 3, 0, 0)

    def start(self):
        return True

    def infer(self, tensor, times):
        return (0.125, 0.5, 0.375), (0, 0)


class BenchmarkFirmware:
    """The simulator as firmware of another vendor, that knows the benchmark's commands and no more.

    Args:
        answers: of a command, instead of its own: bytes, pairs as of a ScriptedLine, or a function of it.
    """

    def __init__(self, answers=None):
        self._answers = answers or {}
        clock = clocks.SimulatedClock(123, inference_ms=20, nanoseconds=lambda: 0)
        self._board = FaultyBoard(["foreign"], model_id="", engine=FixedScores(), clock=clock)
        list(self._board.opened())

    def __call__(self, command):
        own = self._own(command)
        for beginning, answer in self._answers.items():
            if command.startswith(beginning):
                return answer(own) if callable(answer) else answer
        return own

    def _own(self, command):
        return b"".join(self._board.receive(f"{command}%".encode("latin-1")))

    @property
    def tensor(self):
        rows = self._own("db print").decode().split("\r\n")[:-2]
        return bytes.fromhex("".join(row.removeprefix("m-buffer-") for row in rows).replace("-", ""))
