"""The first words of a process at the far end of SSH, before it speaks frames.

Login scripts print what they like: what counts is behind a mark, and the rest is kept for messages.
"""

from __future__ import annotations

import contextlib
import logging
import math
import subprocess
import time

from edgebench import interruption
from edgebench.agent.frames import Buffer
from edgebench.link.pipes import Pipes, Stalled

TAIL_BYTES = 65536
MAX_NOISE_BYTES = 1 << 20
SAY_AFTER_S = 2.0
"""How long nobody is told that a first word is waited for."""

LEAST_END_S = 1.0
END_EVERY_S = 0.01

_log = logging.getLogger(__name__)


class OpeningFailed(Exception):
    """The process ended, or said nothing that was due.

    Args:
        code: its exit code; None when it still runs.
        stderr: the end of what it wrote there.
        stdout: what it said instead.
        stuck: whether it took in nothing of what it was sent.
    """

    def __init__(self, code: int | None, stderr: str, stdout: str, *, stuck: bool = False) -> None:
        super().__init__(stderr or stdout)
        self.code = code
        self.stderr = stderr
        self.stdout = stdout
        self.stuck = stuck


class Opening:
    """Reads marked lines from a process's stdout until a deadline, and its stderr beside them.

    Args:
        process: with pipes for all three; they are non-blocking from here on.
        timeout_s: for all that is waited for, counted anew where something sent was taken in.
        awaited: what is waited for, as a user is told when it takes longer than a moment; "": nobody is told.
    """

    def __init__(self, process: subprocess.Popen[bytes], timeout_s: float, awaited: str = "") -> None:
        self._process = process
        self._pipes = Pipes(process, self._hear, TAIL_BYTES)
        self._timeout_s = timeout_s
        self._deadline = time.monotonic() + timeout_s
        self._say_at = time.monotonic() + SAY_AFTER_S if awaited else math.inf
        self._waiting = f"waiting for {awaited}, {timeout_s:.0f} s at most"
        self._received = bytearray()

    def after(self, mark: bytes) -> bytes:
        """The rest of the next line that holds the mark; OpeningFailed when none comes."""
        while True:
            start = self._received.find(mark)
            end = self._received.find(b"\n", start) if start >= 0 else -1
            if end >= 0:
                line = bytes(self._received[start + len(mark) : end])
                del self._received[: end + 1]
                return line
            now = time.monotonic()
            left = self._deadline - now
            if now >= self._say_at:
                _log.warning(self._waiting)
                self._say_at = math.inf
            self._pipes.receive(min(left, self._say_at - now))
            if left <= 0:
                raise self._failed(ended=False)

    def send(self, data: Buffer) -> None:
        """Write all of it; OpeningFailed when nothing of it is taken in for as long as the opening may take.

        A process that has closed its stdin is not an error here: what it says tells more.
        """
        try:
            with contextlib.suppress(BrokenPipeError):
                self._pipes.write([data], self._timeout_s)
        except Stalled:
            raise self._failed(ended=False, stuck=True) from None
        self._deadline = time.monotonic() + self._timeout_s

    def _hear(self, data: bytes) -> None:
        if not data:
            raise self._failed(ended=True)
        self._received += data
        if len(self._received) > MAX_NOISE_BYTES:
            raise self._failed(ended=False)

    def _failed(self, ended: bool, stuck: bool = False) -> OpeningFailed:
        code: int | None = None
        if ended:
            until = max(self._deadline, time.monotonic() + LEAST_END_S)
            while (code := self._process.poll()) is None and time.monotonic() < until:
                interruption.pause(END_EVERY_S)
            self._pipes.collect()
        return OpeningFailed(code, _text(self._pipes.tail), _text(self._received), stuck=stuck)


def _text(data: bytearray) -> str:
    return bytes(data[-4000:]).decode("utf-8", "backslashreplace").strip()
