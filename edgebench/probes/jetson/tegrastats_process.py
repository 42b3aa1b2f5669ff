"""The running tegrastats: started, read in bounded pieces, and ended with the probe."""

import ctypes
import os
import select
import signal
import subprocess
import sys
from typing import Callable, List, Optional, Tuple

from ..basics import ProbeMissing, now_ns

STALL_S = 8.0
MOST_LINE_BYTES = 8192
MOST_STDERR_BYTES = 2000
MOST_LINES, MOST_BYTES = 1000, 1 << 20  # in a second, of a program that is asked for twenty lines
READ_BYTES = 65536
PR_SET_PDEATHSIG = 1

FIX_ALONE = "see what `tegrastats --interval 50` prints on the board"
FIX_PATH = "name the program as tegrastats:/PATH, or use another meter"

Line = Tuple[int, str]  # its stamp in ns, and its text


class TegrastatsProcess:
    """Its lines, stamped as they come; ProbeMissing as soon as it stalls, floods or ends.

    Args:
        path: the program.
        interval_ms: between two lines.
    """

    def __init__(self, path: str, interval_ms: int) -> None:
        self.path = path
        try:
            self._process = subprocess.Popen(
                [path, "--interval", str(interval_ms)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                bufsize=0,
                preexec_fn=_end_with_parent(),
            )
        except OSError as error:
            raise ProbeMissing("{} cannot be started: {}".format(path, error), FIX_PATH, port=path) from None
        assert self._process.stdout and self._process.stderr
        self._stdout, self._stderr = self._process.stdout.fileno(), self._process.stderr.fileno()
        self._open = [self._stdout, self._stderr]
        self._unfinished = b""  # a line whose end has not come
        self._too_long = False  # the line in hand
        self._errors = b""
        self._lines: List[Line] = []
        self._heard_ns = self._stamp_ns = now_ns()
        self._second, self._bytes, self._count = 0, 0, 0

    def lines(self, timeout_s: float, wake: Optional[int] = None) -> List[Line]:
        """What has come, within this time and as soon as something has; none after a signal to `wake`.

        Raises:
            ProbeMissing: it has ended, prints nothing, or far more than it was asked for.
        """
        if self._stdout not in self._open:
            raise ProbeMissing("tegrastats ended: {}".format(self._how_it_ended()), FIX_ALONE)
        watched = self._open + ([] if wake is None else [wake])
        for descriptor in select.select(watched, [], [], max(0.0, timeout_s))[0]:
            if descriptor == wake:
                continue
            data = os.read(descriptor, READ_BYTES)
            if not data:
                self._open.remove(descriptor)
            elif descriptor == self._stdout:
                self._take_in(data)
            else:
                self._errors = (self._errors + data)[-MOST_STDERR_BYTES:]
        if not self._lines and now_ns() - self._heard_ns > STALL_S * 1e9:
            raise ProbeMissing("tegrastats has printed nothing for {:g} s".format(STALL_S), FIX_ALONE)
        lines, self._lines = self._lines, []
        return lines

    def close(self) -> None:
        """End it; safe to call twice."""
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdout, self._process.stderr):
            if pipe is not None:
                pipe.close()

    def _take_in(self, data: bytes) -> None:
        self._heard_ns = now_ns()
        pieces = (self._unfinished + data).split(b"\n")
        self._unfinished = pieces.pop()
        self._require_moderate(len(data), len(pieces))
        for piece in pieces:
            if not self._too_long and piece.strip():
                self._add(piece)
            self._too_long = False
        if len(self._unfinished) > MOST_LINE_BYTES:
            if not self._too_long:
                self._add(self._unfinished)  # no line of tegrastats is as long: it will be refused
            self._unfinished, self._too_long = b"", True

    def _add(self, line: bytes) -> None:
        # Lines that come together have stamps that rise all the same.
        self._stamp_ns = max(self._heard_ns, self._stamp_ns + 1)
        self._lines.append((self._stamp_ns, line.decode("ascii", "backslashreplace")))

    def _require_moderate(self, read_bytes: int, lines: int) -> None:
        second = self._heard_ns // 1000000000
        if second != self._second:
            self._second, self._bytes, self._count = second, 0, 0
        self._bytes += read_bytes
        self._count += lines
        if self._bytes > MOST_BYTES or self._count > MOST_LINES:
            what = "tegrastats printed {} lines and {} bytes within a second"
            raise ProbeMissing(what.format(self._count, self._bytes), FIX_ALONE)

    def _how_it_ended(self) -> str:
        """Its exit code and its last words."""
        try:
            code = self._process.wait(timeout=1.0)
            how = "exit code {}".format(code) if code >= 0 else "signal {}".format(-code)
        except subprocess.TimeoutExpired:
            how = "it closed its output"
        words = self._errors.decode("ascii", "backslashreplace").strip().splitlines()
        return "{}: {}".format(how, words[-1]) if words else how


def _end_with_parent() -> Optional[Callable[[], None]]:
    """Called by the child before it becomes the program: it is killed when this process ends, however."""
    if not sys.platform.startswith("linux"):
        return None
    prctl = ctypes.CDLL(None).prctl
    return lambda: prctl(PR_SET_PDEATHSIG, int(signal.SIGKILL))
