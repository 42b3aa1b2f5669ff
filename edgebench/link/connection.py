"""Requests and replies with an agent: the host blocks in the kernel until something arrives.

Replies are matched by their id; what comes unasked (a worker's end, a probe's chunk) goes to a listener.
"""

from __future__ import annotations

import contextlib
import itertools
import math
import os
import signal
import subprocess
import time
from collections import deque
from collections.abc import Callable, Collection
from types import TracebackType

from edgebench.agent.frames import (
    Buffer,
    Decoder,
    Frame,
    Message,
    ProtocolError,
    encode,
)
from edgebench.errors import UnavailableError
from edgebench.link.pipes import Pipes, Stalled
from edgebench.link.plain_values import plain_message

CLOSE_S = 5.0
WRITE_STALL_S = 60.0
POLL_BYTES = 4 << 20
MAX_UNREAD_FRAME_BYTES = 32 << 20
"""Of frames that wait to be taken: answers to a few requests, passes, and what probes say beside them."""

UNASKED, UNASKED_A_SECOND = 20_000, 2_000
"""How many frames may come that answer nothing: a probe sends some ten a second."""

Progress = Callable[[Frame], bool]


class LinkLost(Exception):
    """The agent is gone, or does not answer; `tail` is what it last wrote to stderr."""

    def __init__(self, what: str, tail: str = "") -> None:
        super().__init__(what)
        self.tail = tail


class NoAnswer(LinkLost):
    """The agent is there, and has not answered, or not taken in what it is sent, in time."""


class Connection:
    """One agent process and the frames to and from it.

    Args:
        process: with pipes for stdin, stdout and stderr.
        listener: called with every frame that answers no request.
        stall_s: for how long the agent may take in nothing of what it is sent.

    One thread at a time uses it: that thread's interrupts end its waits.

    What the agent sends is bounded, else it is a ProtocolError: MAX_UNREAD_FRAME_BYTES that nobody has
    taken, a number of frames that answer nothing, no answer to what was never asked.
    """

    def __init__(
        self,
        process: subprocess.Popen[bytes],
        listener: Callable[[Frame], None],
        stall_s: float = WRITE_STALL_S,
    ) -> None:
        self._process = process
        self._listener = listener
        self._stall_s = stall_s
        self._pipes = Pipes(process, self._hear)
        self._decoder = Decoder()
        self._arrived: deque[tuple[Frame, int]] = deque()  # each with the bytes that are free without it
        self._kept: deque[tuple[Frame, int]] = deque()  # of the requests that are followed
        self._followed: set[int] = set()
        self._decoding_bytes = 0  # of a frame that is not whole yet
        self._unread_bytes = 0
        self._unasked = 0
        self._opened_s = time.monotonic()
        self._asked: set[int] = set()  # requests without an answer so far
        self._id = 0
        self._broken: LinkLost | ProtocolError | None = None  # why nothing more can be sent or understood
        self._closed = False
        self.close_s = CLOSE_S  # how long its end is waited for before it is killed

    @property
    def alive(self) -> bool:
        """Whether the agent's process runs, its pipes are open, and what goes over them can be understood."""
        return not self._closed and not self._broken and self._process.poll() is None

    @property
    def longest_stall_s(self) -> float:
        """The longest that the agent took in nothing while something was on its way to it."""
        return self._pipes.longest_stall_s

    def forget_stalls(self) -> None:
        """Count the longest stall from here on."""
        self._pipes.longest_stall_s = 0.0

    def listen(self, listener: Callable[[Frame], None]) -> None:
        """Send what comes unasked to another listener from now on."""
        self._listener = listener

    def send(self, message: Message, payload: Buffer = b"", stall_s: float = math.inf) -> int:
        """Send a request and return its id.

        NoAnswer when the agent takes in nothing for `stall_s`, or for the connection's own limit; LinkLost
        when it is gone. A frame that was cut short, by Ctrl-C too, is the last one of the connection, and so
        is what was no frame: the ProtocolError is raised again.
        """
        self._require_open()
        pieces = encode({**message, "id": self._id + 1}, payload)
        self._id += 1
        self._asked.add(self._id)
        self._broken = LinkLost("a request was cut short")  # whatever ends the writing, until it has ended
        try:
            self._pipes.write(pieces, min(stall_s, self._stall_s))
        except Stalled as error:
            raise NoAnswer(str(error), self.tail()) from error
        except BrokenPipeError as error:
            raise self._ended() from error
        self._broken = None
        return self._id

    def wait(
        self, request: int, timeout_s: float, progressed: Progress | None = None, longest_s: float = math.inf
    ) -> Frame:
        """The reply to a request; frames that answer nothing go to the listener, who may raise.

        Args:
            request: what `send` returned.
            timeout_s: without the reply, or progress towards it.
            progressed: given every note of how far the request is; whether it is further than before.
            longest_s: for all of it, whatever progress there is.

        NoAnswer when the time is over, LinkLost when the agent has ended, ProtocolError when what it sends is
        no frame.
        """
        latest_s = time.monotonic() + longest_s
        deadline_s = time.monotonic() + timeout_s
        while True:
            frame = self._next({request}, min(deadline_s, latest_s))
            if frame is None:
                limit_s = timeout_s if deadline_s <= latest_s else longest_s
                raise NoAnswer(f"no answer within {limit_s:g} s", self.tail())
            if "progress" not in frame.message:
                return frame
            if progressed is not None and progressed(frame):
                deadline_s = time.monotonic() + timeout_s

    def follow(self, requests: Collection[int], timeout_s: float) -> Frame:
        """The next frame that answers any of these requests; of each, the last alone is without `progress`.

        From the first call on their frames are kept while others are waited for, until the last has come or
        they are left. What is followed is one set of requests at a time: those that are still unanswered.

        NoAnswer when the time is over without a frame of any.
        """
        self._followed = set(requests)
        frame = (
            self._take_frame(self._kept)
            if self._kept
            else self._next(self._followed, time.monotonic() + timeout_s)
        )
        if frame is None:
            raise NoAnswer(f"no answer within {timeout_s:g} s", self.tail())
        if "progress" not in frame.message:
            self._followed.discard(frame.message["re"])
        return frame

    def leave(self) -> None:
        """Follow no request any more: what is still to come of them is nobody's."""
        self._followed = set()
        while self._kept:
            self._take_frame(self._kept)

    def request(self, message: Message, timeout_s: float, payload: Buffer = b"") -> Frame:
        """Send a request and wait for its reply."""
        return self.wait(self.send(message, payload, timeout_s), timeout_s)

    def poll(self) -> int:
        """Hand what has already arrived to the listener, without waiting; replies stay for who waits.

        Of an agent that sends faster than it is heard, POLL_BYTES and no more.

        Returns:
            how many bytes had arrived.
        """
        if self._closed:
            return 0
        left = POLL_BYTES
        self._tell_unasked()
        while min(left, POLL_BYTES - self._unread_bytes) > 0 and (taken := self._receive(0.0)):
            left -= taken
            self._tell_unasked()
        return POLL_BYTES - left

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
        return self._pipes.tail_text()

    def close(self, patience_s: float | None = None) -> None:
        """Close the agent's stdin, which ends it and its children; kill it where it stays for `close_s`."""
        if self._closed:
            return
        self._closed = True
        process = self._process
        assert process.stdin and process.stdout and process.stderr
        try:
            with contextlib.suppress(OSError):
                process.stdin.close()
            # Nobody reads its frames any more: an agent that is still writing must not wait for that.
            process.stdout.close()
            process.stderr.close()
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(self.close_s if patience_s is None else patience_s)
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

    def _require_open(self) -> None:
        if self._closed:
            # The descriptor's number may be somebody else's by now.
            raise LinkLost("the connection is closed", self.tail())
        if self._broken is not None:
            raise self._broken

    def _next(self, requests: Collection[int], deadline_s: float) -> Frame | None:
        """The next frame that says something of any of these requests; None when the time is over."""
        while True:
            while self._arrived:
                answers = self._arrived[0][0].message.get("re")
                if answers is not None and answers in self._followed and answers not in requests:
                    self._kept.append(self._arrived.popleft())
                    continue
                frame = self._take_frame(self._arrived)
                if answers is None:
                    self._listener(frame)
                elif answers in requests:
                    return frame
                # Anything else answers a request that was given up; nobody waits for it any more.
            left_s = deadline_s - time.monotonic()
            if left_s <= 0:
                return None
            self._receive(left_s)

    def _tell_unasked(self) -> None:
        """Hand what answers nothing to the listener, who may raise; the rest stays, in its order."""
        unasked = deque(item for item in self._arrived if item[0].message.get("re") is None)
        self._arrived = deque(item for item in self._arrived if item[0].message.get("re") is not None)
        try:
            while unasked:
                self._listener(self._take_frame(unasked))
        finally:
            self._arrived.extendleft(reversed(unasked))

    def _take_frame(self, frames: deque[tuple[Frame, int]]) -> Frame:
        frame, size = frames.popleft()
        self._unread_bytes -= size
        return frame

    def _receive(self, timeout_s: float) -> int:
        """Take in what is there, waiting for it at most that long; how many bytes that were."""
        self._require_open()
        return self._pipes.receive(timeout_s)

    def _hear(self, data: bytes) -> None:
        if not data:
            raise self._ended()
        self._decoding_bytes += len(data)
        try:
            frames = [
                Frame(plain_message(frame.message), frame.payload) for frame in self._decoder.feed(data)
            ]
            for frame in frames:
                self._admit(frame)
            if frames and self._unread_bytes > MAX_UNREAD_FRAME_BYTES:
                raise ProtocolError(
                    f"more than {MAX_UNREAD_FRAME_BYTES >> 20} MiB of frames that nobody waits for"
                )
        except ProtocolError as error:
            self._broken = error
            raise
        if not frames:
            return
        # What was read at once is counted with the first of it.
        sizes = itertools.chain([self._decoding_bytes], itertools.repeat(0))
        self._arrived.extend(zip(frames, sizes, strict=False))
        self._unread_bytes += self._decoding_bytes
        self._decoding_bytes = 0

    def _admit(self, frame: Frame) -> None:
        """ProtocolError for an answer to nothing, and for a flood of frames that answer nothing."""
        answers = frame.message.get("re")
        if answers is not None and (not isinstance(answers, int) or answers not in self._asked):
            raise ProtocolError(f"an answer to a request that is not open: {str(answers)[:80]}")
        if answers is not None and "progress" not in frame.message:
            self._asked.discard(answers)
            return
        self._unasked += 1
        if self._unasked > UNASKED + UNASKED_A_SECOND * (time.monotonic() - self._opened_s):
            raise ProtocolError(f"a flood of frames: {self._unasked} that answer nothing")

    def _ended(self) -> LinkLost:
        self._pipes.collect()
        return LinkLost("the agent has ended", self.tail())


def ignore(frame: Frame) -> None:
    """The listener between sessions: what comes unasked then is of use to nobody."""


def unavailable(name: str, error: Exception) -> UnavailableError:
    """An agent that never answered, as the user sees it."""
    tail = getattr(error, "tail", "").strip().splitlines()
    return UnavailableError(
        f"the agent on {name} does not answer",
        why=tail[-1] if tail else str(error),
        fix="check that the Python named for it runs there, 3.6 or newer",
    )


__all__ = ["Connection", "LinkLost", "NoAnswer", "ProtocolError", "ignore", "unavailable"]
