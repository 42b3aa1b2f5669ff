"""The first words of a process at the far end of SSH, before it speaks frames.

Login scripts print what they like: what counts is behind a mark, and the rest is kept for messages.
"""

from __future__ import annotations

import logging
import math
import os
import selectors
import subprocess
import time

from edgebench import stopping

READ_BYTES = 65536
MAX_NOISE_BYTES = 1 << 20
SAY_AFTER_S = 2.0
"""How long nobody is told that a first word is waited for."""

_log = logging.getLogger(__name__)


class OpeningFailed(Exception):
    """The process ended, or said nothing that was due.

    Args:
        code: its exit code; None when it still runs.
        stderr: the end of what it wrote there.
        stdout: what it said instead.
    """

    def __init__(self, code: int | None, stderr: str, stdout: str) -> None:
        super().__init__(stderr or stdout)
        self.code = code
        self.stderr = stderr
        self.stdout = stdout


class Opening:
    """Reads marked lines from a process's stdout until a deadline, and its stderr beside them.

    Args:
        process: with pipes for stdout and stderr; they are non-blocking from here on.
        timeout_s: for all of the opening.
        awaited: what is waited for, as a user is told when it takes longer than a moment; "": nobody is told.
    """

    def __init__(self, process: subprocess.Popen[bytes], timeout_s: float, awaited: str = "") -> None:
        assert process.stdout and process.stderr
        self._process = process
        self._deadline = time.monotonic() + timeout_s
        self._say_at = time.monotonic() + SAY_AFTER_S if awaited else math.inf
        self._waiting = f"waiting for {awaited}, {timeout_s:.0f} s at most"
        self._out = process.stdout.fileno()
        self._err = process.stderr.fileno()
        self._said = bytearray()
        self._complained = bytearray()
        for descriptor in (self._out, self._err):
            os.set_blocking(descriptor, False)

    def after(self, mark: bytes) -> bytes:
        """The rest of the next line that holds the mark; OpeningFailed when none comes."""
        with selectors.DefaultSelector() as selector:
            selector.register(self._out, selectors.EVENT_READ)
            selector.register(self._err, selectors.EVENT_READ)
            if (interrupts := stopping.of_this_thread()) is not None:
                selector.register(interrupts, selectors.EVENT_READ)
            while True:
                start = self._said.find(mark)
                end = self._said.find(b"\n", start) if start >= 0 else -1
                if end >= 0:
                    line = bytes(self._said[start + len(mark) : end])
                    del self._said[: end + 1]
                    return line
                now = time.monotonic()
                left = self._deadline - now
                if now >= self._say_at:
                    _log.warning(self._waiting)
                    self._say_at = math.inf
                ready = {key.fd for key, _ in selector.select(max(min(left, self._say_at - now), 0.0))}
                stopping.check()
                if self._err in ready and not self._take(self._err, self._complained):
                    selector.unregister(self._err)
                if self._out in ready and not self._take(self._out, self._said):
                    raise self._failed(ended=True)
                if left <= 0 or len(self._said) > MAX_NOISE_BYTES:
                    raise self._failed(ended=False)

    def _take(self, descriptor: int, into: bytearray) -> bool:
        try:
            data = os.read(descriptor, READ_BYTES)
        except BlockingIOError:
            return True
        into += data
        if into is self._complained:
            del into[:-READ_BYTES]
        return bool(data)

    def _failed(self, ended: bool) -> OpeningFailed:
        code: int | None = None
        if ended:
            try:
                code = self._process.wait(max(1.0, self._deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                code = None
            while self._take(self._err, self._complained):
                if not self._more():
                    break
        return OpeningFailed(code, _text(self._complained), _text(self._said))

    def _more(self) -> bool:
        with selectors.DefaultSelector() as selector:
            selector.register(self._err, selectors.EVENT_READ)
            return bool(selector.select(0.0))


def _text(data: bytearray) -> str:
    return bytes(data[-4000:]).decode("utf-8", "backslashreplace").strip()
