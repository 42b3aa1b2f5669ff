"""What a link promises: an agent's process with two pipes, and files that reach the device."""

from __future__ import annotations

import subprocess
from typing import Protocol


class Link(Protocol):
    """A way to a machine with a Python.

    Attributes:
        name: for messages, such as `this machine` or a host name.
        shares_files: whether the device sees the host's files under the same paths.
    """

    name: str
    shares_files: bool

    def start(self) -> subprocess.Popen[bytes]:
        """An agent that serves frames on its stdin and stdout; UnavailableError when it cannot be started."""
