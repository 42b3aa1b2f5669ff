"""A child's descriptors: frames get descriptors of their own, and whatever prints goes to stderr."""

import os
import sys

from .frames import FrameStream


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


def _die_with_parent() -> None:
    if not sys.platform.startswith("linux"):
        return
    import ctypes
    import signal

    pr_set_pdeathsig = 1
    ctypes.CDLL(None).prctl(pr_set_pdeathsig, int(signal.SIGKILL))
