"""Descriptors: a child's frames get some of their own, whatever prints goes to stderr, and pipes are read."""

import ctypes
import os
import signal
import sys
from typing import Callable, Optional

from .frames import READ_BYTES, FrameStream

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
    _die_with_parent()
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
    """What can be read now from a descriptor that does not block: None for nothing yet, b"" at the end."""
    try:
        return os.read(descriptor, READ_BYTES)
    except BlockingIOError:
        return None


def _die_with_parent() -> None:
    if sys.platform.startswith("linux"):
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, int(signal.SIGKILL))
