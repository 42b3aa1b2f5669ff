"""Requests and replies with an agent: the host blocks in the kernel until something arrives.

Replies are matched by their id; what comes unasked (a worker's end, a probe's chunk) goes to a listener.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import subprocess
import time
from collections.abc import Callable
from types import TracebackType

from edgebench import stopping
from edgebench.agent.frames import (
    READ_BYTES,
    Buffer,
    Decoder,
    Frame,
    Message,
    ProtocolError,
    encode,
    write_all,
)
from edgebench.errors import UnavailableError

CLOSE_S = 5.0
TAIL_BYTES = 16384


class LinkLost(Exception):
    """The agent is gone, or does not answer; `tail` is what it last wrote to stderr."""

    def __init__(self, what: str, tail: str = "") -> None:
        super().__init__(what)
        self.tail = tail


class NoAnswer(LinkLost):
    """The agent is there and has not answered in time."""


class Connection:
    """One agent process and the frames to and from it.

    Args:
        process: with pipes for stdin, stdout and stderr.
        listener: called with every frame that answers no request.

    The thread that makes it uses it: that thread's interrupts end its waits.
    """

    def __init__(self, process: subprocess.Popen[bytes], listener: Callable[[Frame], None]) -> None:
        assert process.stdin and process.stdout and process.stderr
        self._process = process
        self._listener = listener
        self._stdin = process.stdin.fileno()
        self._stdout = process.stdout.fileno()
        self._stderr = process.stderr.fileno()
        os.set_blocking(self._stdout, False)
        os.set_blocking(self._stderr, False)
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._stdout, selectors.EVENT_READ)
        self._selector.register(self._stderr, selectors.EVENT_READ)
        self._interrupts = stopping.of_this_thread()
        if self._interrupts is not None:
            self._selector.register(self._interrupts, selectors.EVENT_READ)
        self._decoder = Decoder()
        self._arrived: list[Frame] = []
        self._tail = bytearray()
        self._id = 0
        self._closed = False

    @property
    def alive(self) -> bool:
        """Whether the agent's process runs and its pipes are open."""
        return not self._closed and self._process.poll() is None

    def listen(self, listener: Callable[[Frame], None]) -> None:
        """Send what comes unasked to another listener from now on."""
        self._listener = listener

    def send(self, message: Message, payload: Buffer = b"") -> int:
        """Send a request and return its id; LinkLost when the agent is gone."""
        if self._closed:
            # The descriptor's number may be somebody else's by now.
            raise LinkLost("the connection is closed", self.tail())
        self._id += 1
        try:
            for piece in encode({**message, "id": self._id}, payload):
                write_all(self._stdin, piece)
        except (BrokenPipeError, ValueError) as error:
            self._collect()
            raise LinkLost("the agent has ended", self.tail()) from error
        return self._id

    def wait(
        self, request: int, timeout_s: float, progressed: Callable[[Frame], None] | None = None
    ) -> Frame:
        """The reply to a request; frames that answer nothing go to the listener, who may raise.

        `progressed` is given those that say how far the request is.

        NoAnswer after `timeout_s` without a sign of life, LinkLost when the agent has ended,
        ProtocolError when what it sends is no frame.
        """
        deadline = time.monotonic() + timeout_s
        while True:
            while self._arrived:
                frame = self._arrived.pop(0)
                answers = frame.message.get("re")
                if answers is None:
                    self._listener(frame)
                elif answers == request and "progress" in frame.message:
                    deadline = time.monotonic() + timeout_s
                    if progressed is not None:
                        progressed(frame)
                elif answers == request:
                    return frame
                # Anything else answers a request that was given up; nobody waits for it any more.
            left = deadline - time.monotonic()
            if left <= 0:
                raise NoAnswer(f"no answer within {timeout_s:g} s", self.tail())
            self._receive(left)

    def request(self, message: Message, timeout_s: float, payload: Buffer = b"") -> Frame:
        """Send a request and wait for its reply."""
        return self.wait(self.send(message, payload), timeout_s)

    def poll(self) -> None:
        """Hand what has already arrived to the listener, without waiting; replies stay for who waits."""
        if self._closed:
            return
        while self._receive(0.0):
            pass
        for frame in [frame for frame in self._arrived if frame.message.get("re") is None]:
            self._arrived.remove(frame)
            self._listener(frame)

    def listen_until(self, settled: Callable[[], bool], timeout_s: float) -> bool:
        """Hand what arrives to the listener until `settled()`; False when the time is over first."""
        deadline = time.monotonic() + timeout_s
        self.poll()
        while not settled():
            left = deadline - time.monotonic()
            if left <= 0:
                return False
            self._receive(left)
            self.poll()
        return True

    def tail(self) -> str:
        """The end of what the agent itself wrote to stderr."""
        return self._tail.decode("utf-8", "backslashreplace")

    def close(self) -> None:
        """Close the agent's stdin, which ends it and its children; kill it when it stays."""
        if self._closed:
            return
        self._closed = True
        self._selector.close()
        process = self._process
        assert process.stdin and process.stdout and process.stderr
        try:
            with contextlib.suppress(OSError):
                process.stdin.close()
            # Nobody reads its frames any more: an agent that is still writing must not wait for that.
            process.stdout.close()
            process.stderr.close()
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(CLOSE_S)
        finally:
            if process.poll() is None:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()

    def __enter__(self) -> Connection:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _receive(self, timeout_s: float) -> bool:
        """Take in what is there, waiting for it at most that long; whether there was anything."""
        if self._closed:
            raise LinkLost("the connection is closed", self.tail())
        ready = [key.fd for key, _ in self._selector.select(timeout_s)]
        if self._interrupts is not None:
            self._interrupts.check()
        if self._stderr in ready:
            data = os.read(self._stderr, READ_BYTES)
            if not data:
                self._selector.unregister(self._stderr)
            self._tail += data
            del self._tail[:-TAIL_BYTES]
        if self._stdout in ready:
            data = os.read(self._stdout, READ_BYTES)
            if not data:
                self._collect()
                raise LinkLost("the agent has ended", self.tail())
            self._arrived += self._decoder.feed(data)
        return bool(ready)

    def _collect(self) -> None:
        """Read what is left on stderr, so that the reason for an end is told."""
        with contextlib.suppress(OSError, ValueError):
            while data := os.read(self._stderr, READ_BYTES):
                self._tail += data
                del self._tail[:-TAIL_BYTES]


def unavailable(name: str, error: Exception) -> UnavailableError:
    """An agent that never answered, as the user sees it."""
    tail = getattr(error, "tail", "").strip().splitlines()
    return UnavailableError(
        f"the agent on {name} does not answer",
        why=tail[-1] if tail else str(error),
        fix="check that the Python named for it runs there, 3.6 or newer",
    )


__all__ = ["Connection", "LinkLost", "NoAnswer", "ProtocolError", "unavailable"]
