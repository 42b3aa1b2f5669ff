"""The agent's children: their pipes, the tail of their stderr, and how they ended."""

import ctypes
import os
import select
import signal
import subprocess
import sys
import time
from functools import partial
from typing import Callable, Collection, Dict, List, NamedTuple, Optional, Set, Tuple

from .frames import READ_BYTES, Decoder, Frame, FrameStream, Outgoing, ProtocolError

# Descriptors: a child's frames get some of their own, whatever prints goes to stderr, and pipes are read.


PR_SET_PDEATHSIG = 1


def take_over_descriptors() -> FrameStream:
    """Frames over what were stdin and stdout; called before any runner or probe is imported.

    Runtimes print: what reaches descriptor 1 from here on is stderr's, and stdin is empty. On Linux
    the process also asks to end with its parent, however that one ends.
    """
    out = os.dup(1)
    into = os.dup(0)
    os.dup2(2, 1)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    sys.stdout = sys.stderr
    if sys.platform.startswith("linux"):
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, int(signal.SIGKILL))
    return FrameStream(into, out)


def end_with_parent() -> Callable[[], None]:
    """What a child calls before it becomes another program: from then on it ends when this process does.

    On Linux; elsewhere it does nothing, and the child has its closed stdin to go by.
    """
    if not sys.platform.startswith("linux"):
        return lambda: None
    prctl = ctypes.CDLL(None).prctl
    parent = os.getpid()

    def ask() -> None:
        prctl(PR_SET_PDEATHSIG, int(signal.SIGKILL))
        if os.getppid() != parent:
            os._exit(1)

    return ask


def read_available(descriptor: int) -> Optional[bytes]:
    """What can be read now from a descriptor that does not block; None for nothing yet, b"" at the end."""
    try:
        return os.read(descriptor, READ_BYTES)
    except BlockingIOError:
        return None


TAIL_BYTES = 65536

End = NamedTuple("End", [("code", Optional[int]), ("signal", Optional[str])])
Hear = Callable[[Frame], None]


class Child:
    """One process in a group of its own, so that a terminal's Ctrl-C does not reach it.

    Args:
        command: program and arguments.
        env: variables set on top of the agent's own.
        hear: called with each frame that it sends.

    Attributes:
        problem: why it was killed for what it sent; None where it was not.
    """

    def __init__(self, command: List[str], env: Dict[str, str], hear: Hear) -> None:
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
        self._hear = hear
        self.outgoing = Outgoing(self._process.stdin.fileno())
        self.stdout = self._process.stdout.fileno()
        self.stderr = self._process.stderr.fileno()
        os.set_blocking(self.stdout, False)
        os.set_blocking(self.stderr, False)
        self.pid = self._process.pid
        self.problem: Optional[str] = None
        self._tail = bytearray()
        self._decoder = Decoder()

    def flush(self) -> bool:
        """Pass on what waits for the child; whether anything is left. One that is gone has nothing left."""
        try:
            return self.outgoing.flush()
        except BrokenPipeError:
            self.outgoing.drop()
            return False

    def read(self) -> Optional[bool]:
        """Pass on the frames that are there; None where nothing is there yet, False when there are no more.

        Bytes that are no frame, and frames that cannot be sent on because they are no JSON, or too long once
        they are encoded again, end the child: `problem` has the reason.
        """
        data = read_available(self.stdout) if self.problem is None else b""
        if not data:
            return None if data is None else False
        try:
            frames = self._decoder.feed(data)
            try:
                for frame in frames:
                    self._hear(frame)
            except (ProtocolError, ValueError, RecursionError) as error:
                raise ProtocolError("no frame that can be passed on: {}".format(error)) from None
        except ProtocolError as error:
            self.problem = str(error)
            self.kill()
            return False
        return True

    def read_tail(self) -> Optional[bool]:
        """Keep the last TAIL_BYTES of its stderr; as `read`."""
        data = read_available(self.stderr)
        self._tail += data or b""
        del self._tail[:-TAIL_BYTES]
        return None if data is None else bool(data)

    def drain(self) -> None:
        """Take in everything that is still in the pipes, without waiting for more."""
        while self.read():
            pass
        while self.read_tail():
            pass

    def tail(self) -> str:
        """The end of its stderr as text; bytes that are not UTF-8 become escapes."""
        return self._tail.decode("utf-8", "backslashreplace")

    def ended(self) -> Optional[End]:
        """How the process ended; None while it runs."""
        code = self._process.poll()
        if code is None:
            return None
        return End(code, None) if code >= 0 else End(None, signal_name(-code))

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


class DescriptorWatch:
    """What the supervisor sleeps on: descriptors of the host and of its children, and what each one calls.

    Attributes:
        holds_back: whether the children's frames are not read for now.
    """

    def __init__(self) -> None:
        self._readers: Dict[int, Callable[[], object]] = {}
        self._writers: Dict[int, Callable[[], bool]] = {}
        self._frames: Set[int] = set()  # the descriptors of children's frames
        self.holds_back = False

    def read(self, descriptor: int, handle: Callable[[], object]) -> None:
        """Call `handle` whenever the descriptor has something to read, or its end."""
        self._readers[descriptor] = handle

    def write(self, descriptor: int, flush: Callable[[], bool]) -> None:
        """Write what is taken in now; what `flush` leaves is written when there is room."""
        if flush():
            self._writers[descriptor] = flush
        else:
            self._writers.pop(descriptor, None)

    def add_child(self, child: Child) -> None:
        """Read a child's pipes from now on."""
        self._frames.add(child.stdout)
        for descriptor, read in ((child.stdout, child.read), (child.stderr, child.read_tail)):
            self.read(descriptor, partial(self._read_pipe, descriptor, read))

    def close_child(self, child: Child) -> None:
        """End a child and whatever is in its group, and watch it no more."""
        for descriptor in (child.stdout, child.stderr, child.outgoing.descriptor):
            self._ignore(descriptor)
        child.close()

    def wait(self, timeout_s: float) -> None:
        """Sleep until something is ready, and handle all that is."""
        readers, writers = dict(self._readers), dict(self._writers)
        watched = [
            descriptor for descriptor in readers if not (self.holds_back and descriptor in self._frames)
        ]
        readable, writable, _ = select.select(watched, list(writers), [], timeout_s)
        # What is handled first may end the child of another descriptor, and start one in its place.
        for descriptor in readable:
            if self._readers.get(descriptor) is readers[descriptor]:
                readers[descriptor]()
        for descriptor in writable:
            if self._writers.get(descriptor) is writers[descriptor]:
                self.write(descriptor, writers[descriptor])

    def _read_pipe(self, descriptor: int, read: Callable[[], Optional[bool]]) -> None:
        if read() is False:
            self._ignore(descriptor)

    def _ignore(self, descriptor: int) -> None:
        self._readers.pop(descriptor, None)
        self._writers.pop(descriptor, None)
        self._frames.discard(descriptor)


# Processes that a child started in a session of their own: adopted when the child ends, and ended with it.
#
# Linux only (PR_SET_CHILD_SUBREAPER, /proc); elsewhere a child's process group is all that ends with it.


PR_SET_CHILD_SUBREAPER = 36
PATIENCE_S = 2.0
_LOOK_EVERY_S = 0.002
_QUIET_LOOKS = 5

_REFUSED = "it belongs to another user"
_DEAF = "it does not end"
_CHAIN = "it starts others and ends, faster than they can be ended"

Orphan = NamedTuple("Orphan", [("pid", int), ("name", str), ("why", str)])


def adopt_orphans() -> None:
    """From now on a process below this one whose parent ends becomes this one's child."""
    if sys.platform.startswith("linux"):
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, ctypes.c_ulong(1), 0, 0, 0)


def end_orphans(
    spared: Collection[int] = (), patience_s: float = PATIENCE_S, spared_marks: Collection[str] = ()
) -> List[Orphan]:
    """End and collect the children of this process, and theirs; those that go on, with the reason.

    What a process started is adopted when that ends, perhaps too late for the look in hand: only several
    looks in a row that find nothing say that there is nothing. All are stopped before the first is ended, so
    that none starts others meanwhile.

    Args:
        spared: children that are meant to go on.
        patience_s: how long processes may take to end.
        spared_marks: `NAME=value`, in the environment of other children that are meant to go on.
    """
    refused: Set[int] = set()
    give_up = time.monotonic() + patience_s
    quiet, latest = 0, Orphan(0, "", "")
    while True:
        children = [pid for pid in _children() if pid not in spared and not _marked(pid, spared_marks)]
        for number in (signal.SIGSTOP, signal.SIGKILL):
            refused.update([pid for pid in children if not _signalled(pid, number)])
        if any(pid not in refused for pid in children):
            latest = Orphan(children[-1], _stat(children[-1])[0], "")
        going_on = [pid for pid in children if not _collected(pid)]
        quiet = quiet + 1 if len(going_on) == len(children) and refused.issuperset(going_on) else 0
        late = time.monotonic() >= give_up
        if quiet >= _QUIET_LOOKS or (late and going_on):
            return [Orphan(pid, _stat(pid)[0], _REFUSED if pid in refused else _DEAF) for pid in going_on]
        if late:
            return [latest._replace(why=_CHAIN)] if not quiet else []
        time.sleep(_LOOK_EVERY_S if quiet else 0)


def _signalled(pid: int, number: int) -> bool:
    """Whether this user may signal it, if it is still there."""
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        pass
    except PermissionError:
        return False
    return True


def _collected(pid: int) -> bool:
    try:
        return os.waitpid(pid, os.WNOHANG)[0] == pid
    except ChildProcessError:
        return True


def _children() -> List[int]:
    """The processes whose parent is this one; none where there is no /proc."""
    me = os.getpid()
    try:
        numbers = [int(name) for name in os.listdir("/proc") if name.isdigit()]
    except OSError:
        return []
    return [pid for pid in numbers if _stat(pid)[1] == me]


def _marked(pid: int, marks: Collection[str]) -> bool:
    """Whether a process was started with any of these in its environment; not where that is not told."""
    if not marks:
        return False
    try:
        with open("/proc/{}/environ".format(pid), "rb") as file:
            environment = file.read().split(b"\0")
    except OSError:
        return False
    return any(os.fsencode(mark) in environment for mark in marks)


def _stat(pid: int) -> Tuple[str, int]:
    """Name and parent of a process (see proc_pid_stat(5)); "" and 0 of one that is gone."""
    try:
        with open("/proc/{}/stat".format(pid), "rb") as file:
            text = file.read().decode("utf-8", "backslashreplace")
    except OSError:
        return "", 0
    # The name stands in brackets and may hold any of its own.
    before, _, after = text.rpartition(")")
    return before.partition("(")[2], int(after.split()[1])
