"""The agent's children: their pipes, the tail of their stderr, and how they ended."""

import os
import signal
import subprocess
from typing import Callable, Dict, List, NamedTuple, Optional

from .descriptors import end_with_parent, read_available
from .frames import Buffer, Decoder, Frame, Outgoing, ProtocolError

TAIL_BYTES = 65536

End = NamedTuple("End", [("code", Optional[int]), ("signal", Optional[str])])


class Tail:
    """The last bytes of a stream, bounded."""

    def __init__(self, limit: int = TAIL_BYTES) -> None:
        self._limit = limit
        self._held = bytearray()

    def add(self, data: Buffer) -> None:
        """Keep these bytes and forget the oldest."""
        self._held += data
        del self._held[: -self._limit]

    def text(self) -> str:
        """What is held, as text; bytes that are not UTF-8 become escapes."""
        return self._held.decode("utf-8", "backslashreplace")


class Child:
    """One process in a group of its own, so that a terminal's Ctrl-C does not reach it.

    Args:
        command: program and arguments.
        env: variables set on top of the agent's own.
    """

    def __init__(self, command: List[str], env: Dict[str, str]) -> None:
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            env=dict(os.environ, **env),
            start_new_session=True,
            preexec_fn=end_with_parent(),  # this process has one thread
        )
        assert self._process.stdin and self._process.stdout and self._process.stderr
        self.outgoing = Outgoing(self._process.stdin.fileno())
        self.stdout = self._process.stdout.fileno()
        self.stderr = self._process.stderr.fileno()
        os.set_blocking(self.stdout, False)
        os.set_blocking(self.stderr, False)
        self.pid = self._process.pid
        self.tail = Tail()
        self.problem: Optional[str] = None
        self._decoder = Decoder()

    def flush(self) -> bool:
        """Pass on what waits for the child; whether anything is left. One that is gone has nothing left."""
        try:
            return self.outgoing.flush()
        except BrokenPipeError:
            self.outgoing.drop()
            return False

    def read_frames(self) -> Optional[List[Frame]]:
        """The frames that have come, or None when the child has closed its side.

        Bytes that are no frame end the child: `problem` says what they were.
        """
        data = read_available(self.stdout)
        if data is None:
            return []
        try:
            if data:
                return self._decoder.feed(data)
            self._decoder.end()
        except ProtocolError as error:
            # A worker that died while it wrote has an end of its own to report.
            if data:
                self.problem = str(error)
                self.kill()
        return None

    def pass_on(self, frames: List[Frame], hear: Callable[[Frame], None]) -> bool:
        """Call `hear` with each frame; whether all could be sent on.

        One that cannot, being no JSON or too long once it is written anew, ends the child as bytes do that
        are no frame.
        """
        try:
            for frame in frames:
                hear(frame)
        except (ProtocolError, ValueError, RecursionError) as error:
            self.problem = "no frame that can be passed on: {}".format(error)
            self.kill()
            return False
        return True

    def read_tail(self) -> bool:
        """Keep what has come on stderr; False when the child has closed it."""
        data = read_available(self.stderr)
        if data:
            self.tail.add(data)
        return data != b""

    def drain(self) -> List[Frame]:
        """Everything that is still in the pipes, without waiting for more."""
        frames: List[Frame] = []
        while self.problem is None:
            data = read_available(self.stdout)
            if not data:
                break
            try:
                frames += self._decoder.feed(data)
            except ProtocolError as error:
                self.problem = str(error)
        while True:
            data = read_available(self.stderr)
            if not data:
                return frames
            self.tail.add(data)

    def ended(self) -> Optional[End]:
        """How the process ended, or None while it runs."""
        code = self._process.poll()
        if code is None:
            return None
        if code >= 0:
            return End(code, None)
        return End(None, signal_name(-code))

    def terminate(self) -> None:
        """Ask the process to end."""
        if self._process.poll() is None:
            self._process.terminate()

    def kill(self) -> None:
        """End the process and whatever it started in its group, at once."""
        try:
            os.killpg(self._process.pid, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            if self._process.poll() is None:
                self._process.kill()

    def close(self) -> None:
        """Kill the whole group, collect the process, and close the pipes."""
        self.kill()
        self._process.wait()
        for file in (self._process.stdin, self._process.stdout, self._process.stderr):
            if file is not None:
                file.close()


def signal_name(number: int) -> str:
    """`SIGSEGV` for 11; the number itself for one without a name."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return "signal {}".format(number)
