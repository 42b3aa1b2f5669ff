"""The three pipes of a process: every wait for them has a limit, and an interrupt of the thread ends it."""

from __future__ import annotations

import contextlib
import fcntl
import os
import selectors
import subprocess
import time
from collections import deque
from collections.abc import Callable, Sequence

from edgebench import interruption
from edgebench.agent.descriptors import read_available
from edgebench.agent.frames import Buffer

TAIL_BYTES = 16384
PIPE_BYTES = 1 << 20
"""Asked of the kernel for stdin: with its usual 64 KiB a large write would take many turns."""

SLOWEST_BYTES_S = 1000
"""A link that moves more slowly than this is as good as stuck, even where it never stands still for long."""

LAST_READS = 64
"""How often what is left on stderr is read for, before a writer that goes on is left alone."""


class Stalled(Exception):
    """What is written is not taken in."""


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
        """Read what is left on stderr, so that the reason for an end is told."""
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
