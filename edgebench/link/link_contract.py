"""What a link promises: an agent's process with two pipes, and files that reach the device."""

from __future__ import annotations

import subprocess
from typing import Protocol


class Link(Protocol):
    """A way to a machine with a Python.

    Attributes:
        name: for messages to the user, such as `this machine` or an address.
        kind: what a record says of it: `this machine` or `ssh`, never an address.
        shares_files: whether the device sees the host's files under the same paths.
        comes_back: whether a device that is lost may be waited for: a board that boots.
    """

    name: str
    kind: str
    shares_files: bool
    comes_back: bool

    def start(self) -> subprocess.Popen[bytes]:
        """An agent that serves frames on its stdin and stdout; UnavailableError when it cannot be started."""

    def close(self) -> None:
        """End what `start` left open beside the agents; safe to call twice, and `start` may follow."""
