"""A device with an agent: one open connection, and a fresh worker for every session."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from edgebench.agent import frames
from edgebench.agent.frames import Frame, ProtocolError
from edgebench.contract import Json, SessionSettings
from edgebench.link.agent_session import AgentSession
from edgebench.link.base import Link
from edgebench.link.connection import Connection, LinkLost, unavailable
from edgebench.link.placing import Placer
from edgebench.link.replies import Hello, checked
from edgebench.link.timeouts import Timeouts
from edgebench.models.artifact import Artifact


class AgentDevice:
    """Implements `Device` over a link; opened once for all sessions of an experiment.

    Args:
        link: the way there.
        runner_files: what travels to the board; the first is the runner.
        timeouts: for each stage; from the environment when not given.

    Raises:
        UnavailableError: when no agent answers there.
    """

    placement_cost: Literal["cheap", "slow", "manual"] = "cheap"

    def __init__(self, link: Link, runner_files: tuple[Path, ...], timeouts: Timeouts | None = None) -> None:
        self._link = link
        self._runner_files = runner_files
        self._timeouts = timeouts or Timeouts.from_environment()
        self._connection, self._hello = self._connect()
        self._placer = self._placing()

    def describe(self) -> dict[str, Json]:
        """The board's facts, each None with its reason under `absent` where it cannot be had."""
        try:
            frame = self._alive().request({"op": "facts"}, self._timeouts.connect)
        except (LinkLost, ProtocolError) as error:
            raise unavailable(self._link.name, error) from error
        facts = frame.message.get("facts")
        if not isinstance(facts, dict):
            raise unavailable(self._link.name, ProtocolError("an answer without facts"))
        return {"link": self._link.name, "platform": self._hello.platform, **facts}

    def session(self, artifact: Artifact, settings: SessionSettings) -> AgentSession:
        """A fresh worker with the artifact loaded, once entered.

        An agent that was lost in an earlier session is started anew.
        """
        connection = self._alive()
        return AgentSession(
            connection, self._placer, artifact, settings, self._runner_files[0], self._timeouts
        )

    def close(self) -> None:
        """End the agent and everything that it started; safe to call twice."""
        self._connection.close()

    def _alive(self) -> Connection:
        if not self._connection.alive:
            self._connection.close()
            self._connection, self._hello = self._connect()
            self._placer = self._placing()
        return self._connection

    def _placing(self) -> Placer:
        return Placer(self._connection, self._link.shares_files, self._timeouts.connect)

    def _connect(self) -> tuple[Connection, Hello]:
        connection = Connection(self._link.start(), _ignore)
        try:
            frame = connection.request({"op": "hello"}, self._timeouts.connect)
            hello = checked(Hello, frame.message)
            if hello.protocol != frames.VERSION:
                raise ProtocolError(f"the agent speaks version {hello.protocol}, not {frames.VERSION}")
        except (LinkLost, ProtocolError) as error:
            connection.close()
            raise unavailable(self._link.name, error) from error
        except BaseException:
            connection.close()
            raise
        return connection, hello


def _ignore(frame: Frame) -> None:
    """Between sessions nothing unasked is of use to anyone."""
