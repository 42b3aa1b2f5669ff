"""A device with an agent: one open connection, and a fresh worker for every session."""

from __future__ import annotations

import contextlib
import functools
import getpass
import logging
import os
import socket
import time
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from edgebench import interruption
from edgebench.agent import frames
from edgebench.agent.frames import Message, ProtocolError
from edgebench.errors import DiskFullError, EdgeBenchError, SessionError, UnavailableError
from edgebench.link.agent_session import AgentSession, BoardBuilds
from edgebench.link.board_findings import mode_in_force
from edgebench.link.connection import Connection, LinkLost, ignore, unavailable
from edgebench.link.failures import Explain, lost_before, session_error, unexplained
from edgebench.link.local import raise_refusal
from edgebench.link.placing import Placer
from edgebench.link.replies import (
    AnyReply,
    Count,
    Hello,
    LaunchFaults,
    PowerModeObstacle,
    PutBack,
    Reply,
    checked,
)
from edgebench.link.session_loop import Timeouts
from edgebench.link.session_probes import SessionProbes
from edgebench.link.ssh import Link
from edgebench.link.worker import Board
from edgebench.records.model import Artifact
from edgebench.records.session import SessionSettings
from edgebench.records.target import Launch
from edgebench.records.values import Json
from edgebench.suggest import printable

# One harness a board: the agent holds the machine's lock, this waits for it and says who has it.


ASK_EVERY_S = 0.5
_log = logging.getLogger(__name__)


class _Holder(BaseModel):
    """Who holds a board; nothing of it is trusted to be there, short, or printable."""

    model_config = ConfigDict(extra="ignore")

    host: str = ""
    user: str = ""
    pid: int | None = None
    since_utc: str = ""

    def words(self) -> str:
        """`user ann on desk, process 4711, since 2026-05-01T10:00:00Z`; of another user no host and time."""
        parts = [f"user {self.user}{f' on {self.host}' if self.host else ''}"] if self.user else []
        parts += [f"process {self.pid}"] if self.pid is not None else []
        parts += [f"since {self.since_utc}"] if self.since_utc else []
        text = ", ".join(parts) or "a process that the board does not name"
        return printable(text, 300)


class _Locked(Reply):
    """The lock's answer: `pid` is the agent's own, `boot` tells one machine from another."""

    held: bool
    holder: _Holder = Field(default_factory=_Holder)
    pid: int | None = None
    boot: str = ""


@functools.cache
def _held_boards(process: int) -> dict[tuple[str, int | None], tuple[str, Connection]]:
    """What this harness's agents hold, by machine and agent's process: the name here, and the connection."""
    return {}


def holder() -> dict[str, str]:
    """What the user's other harnesses read while this one holds a board."""
    try:
        user = getpass.getuser()
    except (KeyError, OSError):
        user = ""
    return {
        "host": socket.gethostname()[:100],
        "user": user[:100],
        "since_utc": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
    }


def take_lock(connection: Connection, name: str, wait_s: float, timeout_s: float) -> bool:
    """Wait until the board is this harness's; whether this very agent holds the lock.

    False when another agent of this harness holds it by the same name, whose sessions take turns with this
    one's, or when the board cannot keep a lock, which is noted.

    Args:
        connection: the agent.
        name: the board's, for messages.
        wait_s: for another harness to let go.
        timeout_s: for one answer.

    Raises:
        UnavailableError: when the other one still holds it after that, with its user, or when this harness
            measures the same machine by another name.
        NoPermissionError: when another user can write the board's folder.
    """
    deadline = time.monotonic() + wait_s
    noted = False
    held_boards = _held_boards(os.getpid())
    while True:
        message = connection.request({"op": "lock", "holder": holder()}, timeout_s).message
        error = message.get("error")
        if isinstance(error, dict) and error.get("unsafe"):
            raise_refusal(error, name)
        if error is not None:
            _log.warning("%s keeps no lock, so another harness may measure there too", name)
            return False
        answer = checked(_Locked, message)
        if answer.held:
            held_boards[answer.boot, answer.pid] = name, connection
            return True
        own_name, own = held_boards.get((answer.boot, answer.holder.pid), ("", None))
        if own is not None and own.alive:
            if own_name == name:
                return False
            raise UnavailableError(
                f"{name} is the machine that this run measures as {own_name}",
                why="one session at a time is measured on a machine",
                fix="give both targets one host, so that they take turns",
            )
        words = answer.holder.words()
        left = deadline - time.monotonic()
        if left <= 0:
            raise UnavailableError(
                f"{name} is in use",
                why=f"held by {words}",
                fix="wait for that one, or set EDGEBENCH_LOCK_WAIT_S to wait here for longer",
            )
        if not noted:
            _log.warning("%s is in use by %s: waiting up to %.0f s", name, words, left)
            noted = True
        interruption.pause(min(ASK_EVERY_S, left))


# Taking EdgeBench off a board again: its files and nothing else.


class Cleaned(Reply):
    """What was removed: files, their size in bytes, and how many others were left in that folder.

    `held` is False where another harness measures there, and nothing was removed.
    """

    held: bool
    files: Count = 0
    size: Count = 0
    left: Count = 0


def clean_board(connection: Connection, name: str, timeouts: Timeouts) -> Cleaned:
    """Have the agent remove the files under its folder; it is of no more use after that.

    Raises:
        UnavailableError: while any harness measures there.
    """
    message = connection.request({"op": "clean", "holder": holder()}, timeouts.connect).message
    if (error := message.get("error")) is not None:
        raise_refusal(error, name)
    removed = checked(Cleaned, message)
    if not removed.held:
        raise UnavailableError(
            f"{name} is in use", why="another harness measures there", fix="clean it when that one is done"
        )
    return removed


SIGN_OF_LIFE_S = 600.0
"""An agent that hears nothing for an hour ends itself: it is asked for the time before that."""

RETRY_S = 0.5
MOST_RETRY_S = 5.0


class AgentDevice:
    """Implements `Device` over a link; opened once for all sessions of an experiment.

    Args:
        link: the way there.
        runner_files: what travels to the board; the first is the runner.
        timeouts: for each stage; from the environment when not given.
        explain: what the backend knows of a session's failure.
        own_clock: whether its runner brings a time of its own.
        builds: whether, under a session's options, it makes what it loads on the board.
        locks: whether the board is kept from other harnesses until `close`; only looking needs no lock.

    Raises:
        UnavailableError: when no agent answers there, or another harness holds the board.
        NoPermissionError: when the board refuses the user, or the user's SSH refuses the board.
    """

    placement_cost: Literal["cheap", "slow", "manual"]  # slow where a power mode is set for its sessions

    def __init__(
        self,
        link: Link,
        runner_files: tuple[Path, ...],
        timeouts: Timeouts | None = None,
        *,
        locks: bool = True,
        explain: Explain = unexplained,
        own_clock: bool = False,
        builds: Callable[[Mapping[str, Json]], bool] | None = None,
    ) -> None:
        self._builds = builds
        self._explain = explain
        self._own_clock = own_clock
        self._link = link
        self._locks = locks
        self._runner_files = runner_files
        self._timeouts = timeouts or Timeouts.from_environment()
        self._facts: dict[str, Json] | None = None
        self._lost_at: float | None = None  # when waiting for it was given up
        self._held = False
        self.placement_cost = "cheap"
        self._power_mode: int | None = None  # that is set, also by an agent that is started anew
        self._mode_before = ""
        try:
            self._connection, self._hello = self._connect()
        except BaseException:
            link.close()
            raise
        self._use_connection()

    def describe(self) -> dict[str, Json]:
        """The board's facts, each None with its reason under `absent` where it cannot be had.

        `private` holds the names of host and user: for taking them out of messages, not for a record.
        SessionError (`protocol_error`) for an answer that holds no facts.
        """
        try:
            frame = self._alive().request({"op": "facts"}, self._timeouts.connect)
            facts = frame.message.get("facts")
            if not isinstance(facts, dict):
                raise ProtocolError("an answer without facts")
        except ProtocolError as error:
            self._connection.close()
            raise session_error(error, "start") from error
        except (LinkLost, EdgeBenchError) as error:
            self._connection.close()
            # The board was there before: it is the next session that is lost, not the experiment.
            if self._facts is not None:
                return self._facts
            if isinstance(error, EdgeBenchError):
                raise
            raise unavailable(self._link.name, error) from error
        private = facts.get("private")
        names = {**(private if isinstance(private, dict) else {}), "link": self._link.name}
        own = {"link": self._link.kind, "platform": self._hello.platform}
        self._facts = {**facts, **own, "private": names}
        return self._facts

    def launch_faults(self, launch: Launch) -> tuple[tuple[str, str], ...]:
        """What of a launch cannot be carried out there: what is wrong, and the fix.

        SessionError (`protocol_error`) for an answer that holds none; UnavailableError where none comes.
        """
        asked = {"env": dict(launch.env), "prefix": list(launch.prefix), "affinity": list(launch.affinity)}
        return self._ask(LaunchFaults, {"op": "launch", **asked}, self._timeouts.connect).faults

    def _ask(
        self,
        kind: type[AnyReply],
        message: Message,
        timeout_s: float,
        connection: Connection | None = None,
    ) -> AnyReply:
        """The agent's answer; one that is gone, or answers otherwise, is closed and reported."""
        connection = connection or self._alive()
        try:
            return checked(kind, connection.request(message, timeout_s).message)
        except ProtocolError as error:
            connection.close()
            raise session_error(error, "start") from error
        except LinkLost as error:
            connection.close()
            raise unavailable(self._link.name, error) from error

    def power_mode_obstacle(self) -> str:
        """What keeps the board's user from setting its power mode; "" where nothing does. Changes nothing.

        SessionError (`protocol_error`) for an invalid answer; UnavailableError without an answer.
        """
        return self._power_mode_request({"op": "power_mode_obstacle"}, self._alive())

    def set_power_mode(self, number: int) -> str:
        """Put the board into a power mode of nvpmodel and pin its clocks, until the device is closed.

        The agent puts back what was in force before, also when this harness is gone. Sessions of one mode are
        better kept together from now on.

        Returns:
            "" where both are read back; else what stood in the way, and nothing is changed.
        """
        self.placement_cost = "slow"
        self._mode_before = mode_in_force(self._facts or {})
        connection = self._alive()
        self._power_mode = number
        return self._set_power_mode(connection)

    def _set_power_mode(self, connection: Connection) -> str:
        # The board is put back before its agent ends: that takes as long as nvpmodel takes.
        connection.close_s = self._timeouts.power_mode
        return self._power_mode_request({"op": "set_power_mode", "mode": self._power_mode}, connection)

    def _power_mode_request(self, message: Message, connection: Connection) -> str:
        reply = self._ask(PowerModeObstacle, message, self._timeouts.power_mode, connection)
        return printable(reply.obstacle)

    def _require_power_mode(self, connection: Connection) -> None:
        """SessionError where something else on the board has changed the mode; it is set for the next one."""
        if self._power_mode is None:
            return
        now = mode_in_force(self._facts or {})
        if now.partition(" ")[0] == str(self._power_mode):
            return
        obstacle = self._set_power_mode(connection)
        raise SessionError(
            f"{self._link.name} was in power mode {now}, and {self._power_mode} had been set",
            status="error",
            stage="start",
            why=obstacle or "another program, or a user, has changed it meanwhile; it is set again",
            fix="let nothing else run nvpmodel there while it is measured",
        )

    def session(self, artifact: Artifact, settings: SessionSettings) -> AgentSession:
        """A fresh worker with the artifact loaded, once entered.

        A lost agent is started again, and a board that was lost is waited for;
        SessionError when it does not come back, or is not in the power mode that was set.
        """
        try:
            connection = self._alive()
            if self._locks and not self._held:
                self._take_lock(connection)
            self._require_power_mode(connection)
        except (LinkLost, ProtocolError) as error:
            raise lost_before(str(error)) from error
        except DiskFullError as error:
            raise session_error(error, "start") from error
        except SessionError:
            raise
        except EdgeBenchError as error:
            raise lost_before(": ".join(part for part in (error.what, error.why) if part)) from error
        builds = self._board_builds if self._builds and self._builds(settings.options) else None
        return AgentSession(self._board, artifact, settings, builds)

    @contextlib.contextmanager
    def sampling(self, probes: SessionProbes, place: str) -> Iterator[Callable[[float], None]]:
        """Have probes sample, without a worker, until the block ends; their last samples are then there.

        Yields a function that receives what they send for a number of seconds.

        Raises:
            UnavailableError: the agent is lost, or sends what no probe says.
        """
        connection = self._alive()
        connection.listen(lambda frame: _pass_on(frame, probes))
        asked_s = time.monotonic()

        def listen(seconds: float) -> None:
            nonlocal asked_s
            connection.listen_until(lambda: False, seconds)
            if time.monotonic() - asked_s > SIGN_OF_LIFE_S:
                asked_s = time.monotonic()
                connection.request({"op": "clock"}, self._timeouts.connect)

        try:
            try:
                probes.start(connection, self._board.placer, self._timeouts.probe, place)
                yield listen
            finally:
                if connection.alive:
                    probes.stop(connection, self._timeouts.stop)
                connection.listen(ignore)
        except (LinkLost, ProtocolError) as error:
            raise unavailable(self._link.name, error) from error

    def clean(self) -> Cleaned:
        """Remove everything that EdgeBench keeps on the board, and end the agent.

        Raises:
            UnavailableError: when the board does not answer, or a measurement runs there.
        """
        try:
            return clean_board(self._alive(), self._link.name, self._timeouts)
        except (LinkLost, ProtocolError) as error:
            raise unavailable(self._link.name, error) from error
        finally:
            self.close()

    def close(self) -> None:
        """Put the power mode back, end the agent and everything that it started; safe to call twice."""
        try:
            if self._power_mode is not None:
                self._put_back_power_mode()
        finally:
            self._connection.close()
            self._link.close()

    def _put_back_power_mode(self) -> None:
        """By the agent that set it; of one that is gone it is not known whether it did."""
        self._power_mode = None
        name = self._link.name
        try:
            frame = self._connection.request({"op": "put_back_power_mode"}, self._timeouts.power_mode)
            if words := checked(PutBack, frame.message).text:
                _log.warning("%s: %s", name, printable(words, 1000))
        except (LinkLost, ProtocolError) as error:
            warning = "%s: whether power mode %s is put back is not known (%s): edgebench doctor tells"
            _log.warning(warning, name, self._mode_before, error)

    def _alive(self) -> Connection:
        if not self._connection.alive:
            self._connection.close()
            self._connection, self._hello = self._connect_again()
            self._use_connection()
        return self._connection

    def _use_connection(self) -> None:
        """Files and builds are those of the connection that is open now."""
        connection, link = self._connection, self._link
        placer = Placer(connection, link.shares_files, self._timeouts.connect, link.name)
        self._board = Board(
            connection, placer, self._runner_files, self._timeouts, self._explain, self._own_clock
        )
        self._board_builds = BoardBuilds(self._board)

    def _connect_again(self) -> tuple[Connection, Hello]:
        """A board that boots takes a minute; after one failed wait, it is tried once."""
        patient = self._link.comes_back and self._lost_at is None
        limit_s = self._timeouts.reconnect if patient else 0.0
        if patient:
            _log.warning("%s was lost: waiting for it to come back, %.0f s at most", self._link.name, limit_s)
        deadline = time.monotonic() + limit_s
        pause_s = RETRY_S
        while True:
            try:
                connection, hello = self._connect()
            except DiskFullError:
                raise  # it is back, and waiting frees no space
            except UnavailableError:
                left = deadline - time.monotonic()
                if left <= 0:
                    self._lost_at = time.monotonic()
                    raise
                interruption.pause(min(pause_s, left))
                pause_s = min(2 * pause_s, MOST_RETRY_S)
            else:
                self._lost_at = None
                if patient:
                    _log.warning("%s is back", self._link.name)
                return connection, hello

    def _connect(self) -> tuple[Connection, Hello]:
        connection = Connection(self._link.start(), ignore, self._timeouts.connect)
        self._held = False
        try:
            frame = connection.request({"op": "hello"}, self._timeouts.connect)
            hello = checked(Hello, frame.message)
            if hello.protocol != frames.VERSION:
                raise ProtocolError(f"the agent speaks version {hello.protocol}, not {frames.VERSION}")
            if hello.left_power_mode and self._power_mode is None:
                _log.warning("%s: %s", self._link.name, printable(hello.left_power_mode, 1000))
            if self._locks:
                self._take_lock(connection)
            if self._power_mode is not None and (obstacle := self._set_power_mode(connection)):
                raise UnavailableError(
                    f"power mode {self._power_mode} could not be set on {self._link.name} again",
                    why=obstacle,
                    fix=f"on the board: sudo nvpmodel -m {self._power_mode}",
                )
        except (LinkLost, ProtocolError) as error:
            connection.close()
            raise unavailable(self._link.name, error) from error
        except BaseException:
            connection.close()
            raise
        return connection, hello

    def _take_lock(self, connection: Connection) -> None:
        # Asked again at each session where another device of this harness had it.
        timeouts = self._timeouts
        self._held = take_lock(connection, self._link.name, timeouts.lock, timeouts.connect)


def _pass_on(frame: frames.Frame, probes: SessionProbes) -> None:
    if frame.message.get("event") == "probe":
        probes.hear(frame)
