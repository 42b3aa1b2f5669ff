"""Requests and replies with an agent: the host blocks in the kernel until something arrives.

Replies are matched by their id; what comes unasked (a worker's end, a probe's chunk) goes to a listener.
"""

from __future__ import annotations

import contextlib
import fcntl
import math
import os
import selectors
import signal
import subprocess
import time
from collections import deque
from collections.abc import Callable, Collection, Sequence
from typing import Any

from edgebench import interruption
from edgebench.agent.children import read_available
from edgebench.agent.frames import Buffer, Decoder, Frame, Message, ProtocolError, encode
from edgebench.errors import UnavailableError

# The three pipes of a process: every wait for them has a limit, and an interrupt of the thread ends it.


TAIL_BYTES = 16384
PIPE_BYTES = 1 << 20
"""Asked of the kernel for stdin: with its usual 64 KiB a large write would take many turns."""

SLOWEST_BYTES_S = 1000
"""A link that moves more slowly than this is as good as stuck, even where it never stands still for long."""

LAST_READS = 64
"""Most reads of what is left on stderr; a writer that goes on is left alone then."""


class Stalled(Exception):
    """The other side reads nothing of what is written."""


class Pipes:
    """stdin, stdout and stderr of one process; none of them blocks from here on.

    Args:
        process: with pipes for all three.
        hear: called with what comes on stdout, and with b"" at its end; may raise.
        tail_bytes: how much of the end of stderr is kept.
    """

    def __init__(
        self,
        process: subprocess.Popen[bytes],
        hear: Callable[[bytes], None],
        tail_bytes: int = TAIL_BYTES,
    ) -> None:
        assert process.stdin and process.stdout and process.stderr
        self._hear = hear
        self._stdin = process.stdin.fileno()
        self._stdout = process.stdout.fileno()
        self._stderr = process.stderr.fileno()
        self._selector = selectors.PollSelector()  # no descriptor of its own to close
        self._interrupts: interruption.Interrupts | None = None
        self._tail_bytes = tail_bytes
        self.tail = bytearray()
        self.longest_stall_s = 0.0  # of all writes: the longest that nothing was taken in
        for descriptor in (self._stdin, self._stdout, self._stderr):
            os.set_blocking(descriptor, False)
        _widen(self._stdin)
        self._selector.register(self._stdout, selectors.EVENT_READ)
        self._selector.register(self._stderr, selectors.EVENT_READ)

    def receive(self, timeout_s: float) -> int:
        """Take in what is there, waiting for it at most that long; how many bytes that were.

        KeyboardInterrupt when one comes for this thread.
        """
        self._hear_interrupts()
        ready = {key.fd for key, _ in self._selector.select(max(timeout_s, 0.0))}
        if self._interrupts is not None:
            self._interrupts.check()
        taken = 0
        if self._stderr in ready:
            taken += self._take_stderr()
        if self._stdout in ready:
            data = read_available(self._stdout)
            if data is not None:
                taken += len(data)
                self._hear(data)
        return taken

    def write(self, pieces: Sequence[Buffer], limit_s: float) -> None:
        """Write all of it, taking in meanwhile what comes, so that neither side waits for the other.

        Args:
            pieces: one after the other; not copied.
            limit_s: how long nothing at all may be taken in; a slow link that moves is not stuck.

        Raises:
            Stalled: nothing was taken in for that long, or it moves more slowly than SLOWEST_BYTES_S.
            BrokenPipeError: the process has ended, or closed its stdin.
            KeyboardInterrupt: one came for this thread. In every case part of it may have been written.
        """
        left = deque(view for piece in pieces if (view := memoryview(piece).cast("B")).nbytes)
        moved_s = time.monotonic()
        latest_s = moved_s + limit_s + sum(view.nbytes for view in left) / SLOWEST_BYTES_S
        while left:
            written = self._write_some(left[0])
            now_s = time.monotonic()
            if written:
                self.longest_stall_s = max(self.longest_stall_s, now_s - moved_s)
                moved_s = now_s
                left[0] = left[0][written:]
                if not left[0].nbytes:
                    left.popleft()
                continue
            wait_s = min(moved_s + limit_s, latest_s) - now_s
            if wait_s <= 0 and latest_s < moved_s + limit_s:
                raise Stalled(f"it took in less than {SLOWEST_BYTES_S} bytes a second")
            if wait_s <= 0:
                raise Stalled(f"it took in nothing for {limit_s:g} s")
            self._receive_or_room(wait_s)

    def collect(self) -> None:
        """Read what is left on stderr, so that the reason for an end is known."""
        for _ in range(LAST_READS):
            if not self._take_stderr():
                return

    def tail_text(self) -> str:
        """The end of what came on stderr."""
        return self.tail.decode("utf-8", "backslashreplace")

    def _hear_interrupts(self) -> None:
        """Be woken by those of whichever thread waits."""
        interrupts = interruption.of_this_thread()
        if interrupts is self._interrupts:
            return
        if self._interrupts is not None:
            self._selector.unregister(self._interrupts)
        if interrupts is not None:
            self._selector.register(interrupts, selectors.EVENT_READ)
        self._interrupts = interrupts

    def _write_some(self, view: memoryview) -> int:
        try:
            return os.write(self._stdin, view)
        except BlockingIOError:
            return 0

    def _receive_or_room(self, timeout_s: float) -> None:
        self._selector.register(self._stdin, selectors.EVENT_WRITE)
        try:
            self.receive(timeout_s)
        finally:
            self._selector.unregister(self._stdin)

    def _take_stderr(self) -> int:
        data = read_available(self._stderr)
        if data is None:
            return 0
        if not data and self._stderr in self._selector.get_map():
            self._selector.unregister(self._stderr)
        self.tail += data
        del self.tail[: -self._tail_bytes]
        return len(data)


def _widen(descriptor: int) -> None:
    """Make the pipe hold as much as a piece of a file, where the kernel grants it."""
    if (set_size := getattr(fcntl, "F_SETPIPE_SZ", None)) is None:
        return
    with contextlib.suppress(OSError):  # as small as ever, it works all the same
        fcntl.fcntl(descriptor, set_size, PIPE_BYTES)


# JSON from a device as data that files can hold: text without lone surrogates, finite numbers, bounded depth.


MAX_DEPTH = 32
"""Lists and objects within each other; EdgeBench's own messages have 5."""

_NUMBERS = range(-(1 << 63), 1 << 64)


def plain_message(message: Message) -> Message:
    """Return a message that records, tables and pages can hold. Raises ProtocolError if that cannot be.

    A lone surrogate, which is how Python reads a name that is not UTF-8, becomes its escape: a board may
    well have such a file or user.
    """
    return {_text(name): _plain(item, 1) for name, item in message.items()}


def _plain(value: Any, depth: int) -> Any:
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, dict | list) and depth >= MAX_DEPTH:
        raise ProtocolError(f"a message nested more than {MAX_DEPTH} deep")
    if isinstance(value, dict):
        return {_text(name): _plain(item, depth + 1) for name, item in value.items()}
    if isinstance(value, list):
        return [_plain(item, depth + 1) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        raise ProtocolError(f"a message with the number {value}, which JSON does not have")
    if isinstance(value, int) and value not in _NUMBERS:
        raise ProtocolError("a message with a whole number of more than 64 bits")
    return value


def _text(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "backslashreplace").decode()
    return text


CLOSE_S = 5.0
WRITE_STALL_S = 60.0
POLL_BYTES = 4 << 20
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

    Attributes:
        pipes: of the process.

    An answer to a request that is not open is a ProtocolError.
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
        self.pipes = Pipes(process, self._hear)
        self._decoder = Decoder()
        self._arrived: deque[Frame] = deque()
        self._followed: set[int] = set()
        self._asked: set[int] = set()  # requests without an answer so far
        self._id = 0
        self._broken: LinkLost | ProtocolError | None = None  # why nothing more can be sent or understood
        self._closed = False
        self.close_s = CLOSE_S  # how long its end is waited for before it is killed

    @property
    def alive(self) -> bool:
        """True while the agent's process runs, its pipes are open and it sends frames."""
        return not self._closed and not self._broken and self._process.poll() is None

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
            self.pipes.write(pieces, min(stall_s, self._stall_s))
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
        frame = self._next(self._followed, time.monotonic() + timeout_s)
        if frame is None:
            raise NoAnswer(f"no answer within {timeout_s:g} s", self.tail())
        if "progress" not in frame.message:
            self._followed.discard(frame.message["re"])
        return frame

    def leave(self) -> None:
        """Follow no request any more: their further replies are dropped."""
        self._followed = set()

    def request(self, message: Message, timeout_s: float, payload: Buffer = b"") -> Frame:
        """Send a request and wait for its reply."""
        return self.wait(self.send(message, payload, timeout_s), timeout_s)

    def poll(self) -> int:
        """Hand what has already arrived to the listener, without waiting; replies stay for who waits.

        An agent that sends faster than this reads is read up to POLL_BYTES.

        Returns:
            how many bytes had arrived.
        """
        if self._closed:
            return 0
        left = POLL_BYTES
        self._sort(None)
        while left > 0 and (taken := self._receive(0.0)):
            left -= taken
            self._sort(None)
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
        return self.pipes.tail_text()

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

    def _require_open(self) -> None:
        if self._closed:
            # The descriptor's number may be somebody else's by now.
            raise LinkLost("the connection is closed", self.tail())
        if self._broken is not None:
            raise self._broken

    def _next(self, requests: Collection[int], deadline_s: float) -> Frame | None:
        """The next frame that says something of any of these requests; None when the time is over."""
        while (frame := self._sort(requests)) is None:
            left_s = deadline_s - time.monotonic()
            if left_s <= 0:
                return None
            self._receive(left_s)
        return frame

    def _sort(self, requests: Collection[int] | None) -> Frame | None:
        """Hand what answers nothing to the listener, who may raise, up to the first reply to one of these.

        Replies to requests that are followed stay in their order, all replies without `requests`. Other
        replies are dropped: their requests were given up.
        """
        kept: list[Frame] = []
        try:
            while self._arrived:
                frame = self._arrived.popleft()
                answers = frame.message.get("re")
                is_due = requests is not None and answers in requests
                if answers is not None and not is_due and (requests is None or answers in self._followed):
                    kept.append(frame)
                    continue
                if answers is None:
                    self._listener(frame)
                elif is_due:
                    return frame
            return None
        finally:
            self._arrived.extendleft(reversed(kept))

    def _receive(self, timeout_s: float) -> int:
        """Take in what is there, waiting for it at most that long; how many bytes that were."""
        self._require_open()
        return self.pipes.receive(timeout_s)

    def _hear(self, data: bytes) -> None:
        if not data:
            raise self._ended()
        try:
            frames = [
                Frame(plain_message(frame.message), frame.payload) for frame in self._decoder.feed(data)
            ]
            for frame in frames:
                self._admit(frame)
        except ProtocolError as error:
            self._broken = error
            raise
        self._arrived.extend(frames)

    def _admit(self, frame: Frame) -> None:
        """Raise ProtocolError for an answer to a request that is not open."""
        answers = frame.message.get("re")
        if answers is not None and (not isinstance(answers, int) or answers not in self._asked):
            raise ProtocolError(f"an answer to a request that is not open: {str(answers)[:80]}")
        if answers is not None and "progress" not in frame.message:
            self._asked.discard(answers)

    def _ended(self) -> LinkLost:
        self.pipes.collect()
        return LinkLost("the agent has ended", self.tail())


def ignore(frame: Frame) -> None:
    """The listener between sessions: what comes unasked then is dropped."""


def unavailable(name: str, error: Exception) -> UnavailableError:
    """An agent that never answered, as the user sees it."""
    tail = getattr(error, "tail", "").strip().splitlines()
    return UnavailableError(
        f"the agent on {name} does not answer",
        why=tail[-1] if tail else str(error),
        fix="check that the Python named for it runs there, 3.6 or newer",
    )
