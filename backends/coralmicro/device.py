"""One board at its address: what it is, and its sessions."""

from __future__ import annotations

import contextlib
import logging
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Literal

from pydantic import Field, field_validator

from edgebench.contract import BackendOptions, PathText
from edgebench.errors import UnavailableError, UsageError
from edgebench.link.clock_match import as_session_error
from edgebench.link.schedule import Timeouts
from edgebench.records.model import Artifact
from edgebench.records.session import SessionSettings
from edgebench.records.target import Target
from edgebench.records.values import Json

from .board_address import USUAL_HOST, HarnessLock, board_address, missing_interface
from .faults import PLUG_IN, NobodyAnswers
from .micro_board import MicroBoard
from .rpc_call import USUAL, BoardDescription, Limits, RpcClient
from .session import CoralMicroSession, misfit, why_not_taken

# `--set` of a Coral Dev Board Micro.


class CoralMicroOptions(BackendOptions):
    """Where the board is decides no figure, and is nobody's business."""

    places = frozenset({"address"})

    address: str = Field(
        default=USUAL_HOST,
        max_length=300,
        description=f"of the board, as HOST or HOST:PORT; over USB it is {USUAL_HOST}",
    )
    allow_cpu: bool = Field(
        default=False, description="take a model that is not compiled, on the Cortex-M7 and marked so"
    )
    artifact: PathText = Field(
        default="",
        description="a compiled model, or a folder of them as edgetpu_compiler names them (--artifact)",
    )

    @field_validator("address")
    @classmethod
    def _check_address(cls, address: str) -> str:
        try:
            board_address(address)
        except UsageError as error:
            raise ValueError(f"{error.what}: {error.why}; {error.fix}") from None
        return address


_log = logging.getLogger(__name__)

ASK_AGAIN_S = 1.0
"""How often a board is asked that has answered before and is gone: it may be booting."""


class CoralMicroDevice:
    """Implements `Device`; nothing stays open, because each call is a connection of its own.

    Args:
        target: what is measured, with the board's address among its options.
        limits: of single calls.
        sleep: waits so many seconds.
    """

    placement_cost: Literal["cheap", "slow", "manual"] = "cheap"

    def __init__(
        self, target: Target, limits: Limits = USUAL, sleep: Callable[[float], None] = time.sleep
    ) -> None:
        self._address = board_address(CoralMicroOptions.model_validate(dict(target.options)).address)
        self._timeouts = Timeouts.from_environment()
        build_s = min(limits.build_s, self._timeouts.load)
        self._client = RpcClient(self._address, replace(limits, build_s=build_s))
        self._sleep = sleep
        self._has_answered = False
        self._lock = HarnessLock(self._address)

    def hold(self) -> None:
        """Keep this user's other harnesses off it until `close`; UnavailableError where one is on it."""
        self._lock.take(self._timeouts.lock)

    def connect(self) -> BoardDescription:
        """What the board says of itself; UnavailableError where nobody answers, else a MicroFault."""
        if why := missing_interface(self._address):
            raise UnavailableError(f"no board answers at {self._address.authority}", why=why, fix=PLUG_IN)
        try:
            description = MicroBoard(self._client).description
        except NobodyAnswers as fault:
            raise UnavailableError(fault.what, why=fault.why, fix=fault.fix) from fault
        self._has_answered = True
        return description

    # --- the contract ---

    def describe(self) -> dict[str, Json]:
        """The board, its processors with their clocks, its temperature; SessionError as it answers."""
        with as_session_error("start"):
            board = self._answering().description
        # Both processors with their clocks: another clock is another device.
        facts: dict[str, Json] = {
            "board": board.board,
            "cpu": ", ".join(filter(None, (board.cpu, board.tpu))),
            "firmware": f"{board.firmware} {board.version}",
        }
        if board.temperature_c is not None:
            facts["temperatures_c"] = {"Edge TPU": board.temperature_c}
        return facts

    @contextlib.contextmanager
    def session(self, artifact: Artifact, settings: SessionSettings) -> Iterator[CoralMicroSession]:
        """A session on the board, which is given the artifact's model where it has another.

        Nothing is held: a call is a connection of its own.
        """
        if why := why_not_taken(artifact):
            raise misfit(why, "take an int8 model of pictures, at a batch of 1")
        with as_session_error("start"):
            board = self._answering()
        session = CoralMicroSession(board, artifact, settings, self._timeouts)
        session.start()
        yield session

    def close(self) -> None:
        """Others may have the board."""
        self._lock.release()

    def _answering(self) -> MicroBoard:
        """A board that answers; one that has answered before is waited for, as after a reset."""
        board = MicroBoard(self._client)
        give_up_s = time.monotonic() + self._timeouts.reconnect
        is_awaited = False
        while True:
            try:
                board.describe()
            except NobodyAnswers:
                if not self._has_answered or time.monotonic() >= give_up_s:
                    raise
            else:
                self._has_answered = True
                return board
            if not is_awaited:
                _log.warning("the board does not answer any more: it is waited for")
            is_awaited = True
            self._sleep(ASK_AGAIN_S)
