"""The local link: the agent as a process beside the harness."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Collection
from pathlib import Path

from edgebench.errors import UnavailableError
from edgebench.link.zipapp import whole_agent


class LocalLink:
    """Starts the agent on the machine that the harness runs on.

    Args:
        agent: the zipapp.
        python: the agent's interpreter; None for the harness's own.
        folder: where files that are sent are kept; with one, files are sent rather than shared.
        without: environment variables of this process that the agent does not get.
    """

    name = "this machine"
    kind = "this machine"
    comes_back = False

    def __init__(
        self,
        agent: Path,
        python: str | None = None,
        folder: Path | None = None,
        without: Collection[str] = (),
    ) -> None:
        self._agent = agent
        self._without = frozenset(without)
        self._command = [python or sys.executable, str(agent), "serve"]
        self.shares_files = folder is None
        if folder is not None:
            self._command.append(str(folder))

    def start(self) -> subprocess.Popen[bytes]:
        """The agent, in a session of its own: a terminal's Ctrl-C is the harness's to handle."""
        whole_agent(self._agent)
        try:
            return subprocess.Popen(
                self._command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                bufsize=0,
                start_new_session=True,
                env={name: value for name, value in os.environ.items() if name not in self._without},
            )
        except OSError as error:
            raise UnavailableError(
                f"the agent cannot be started with {self._command[0]}",
                why=str(error),
                fix="name a Python interpreter that exists on the device",
            ) from error

    def close(self) -> None:
        """There is nothing beside the agent."""
