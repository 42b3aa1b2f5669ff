"""The base of every backend whose device runs Python: it supplies preparation, checks and a runner."""

from __future__ import annotations

from typing import ClassVar

from edgebench.contract import Backend, Target
from edgebench.errors import NoPermissionError
from edgebench.link.agent_device import AgentDevice
from edgebench.link.local import LocalLink
from edgebench.link.zipapp import agent_file
from edgebench.models.cache import Cache


class AgentBackend(Backend):
    """Gives `open`: the agent on this machine, started with the target's Python."""

    takes_host = True
    board_packages: ClassVar[tuple[str, ...]] = ()
    """Distributions that bring the runtime; one of them must be there on the board. Best first."""

    def open(self, target: Target) -> AgentDevice:
        """Start the agent; UnavailableError when it does not answer."""
        try:
            agent, _ = agent_file(Cache())
        except OSError as error:
            raise NoPermissionError(
                "the cache folder cannot be written",
                why=str(error),
                fix="set EDGEBENCH_CACHE_DIR to a folder that can",
            ) from error
        return AgentDevice(LocalLink(agent, target.launch.python), self.runner_files())
