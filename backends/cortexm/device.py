"""An open line to one board: what the board is, and its sessions."""

from __future__ import annotations

import contextlib
import logging
from typing import Literal

from edgebench.errors import UnavailableError, UsageError
from edgebench.link.window_lengths import USUAL, WindowLengths
from edgebench.vocabulary.artifact import Artifact
from edgebench.vocabulary.session import SessionSettings
from edgebench.vocabulary.target import Target
from edgebench.vocabulary.values import Json

from .board_profile import BoardProfile
from .conversation import Conversation
from .faults import LineFault, LineLost
from .firmware_supply import FirmwareSupply
from .line import Line, open_line
from .options import CortexMOptions
from .session import CortexMSession

_log = logging.getLogger(__name__)


class CortexMDevice:
    """Implements `Device`; the port stays open from one session to the next.

    Args:
        target: what is measured, with its port.
        lengths: of the windows of its sessions.
    """

    placement_cost: Literal["cheap", "slow", "manual"]

    def __init__(self, target: Target, lengths: WindowLengths = USUAL) -> None:
        self._port = target.port
        self._options = CortexMOptions.model_validate(dict(target.options))
        self._lengths = lengths
        self._supply = FirmwareSupply(self._options)
        self._open: tuple[Line, Conversation] | None = None
        # Other firmware is flashed by hand where the run does not do it.
        self.placement_cost = "slow" if self._options.flash else "manual"

    # --- the contract ---

    def describe(self) -> dict[str, Json]:
        """The board's name and its processor with the clock, as its firmware says them.

        A board that does not answer, and may be flashed, is given firmware that does. SessionError where it
        does not answer as it should.
        """
        try:
            board = self._identify_or_flash()
            if board.is_emulated:
                self.disconnect()
            return board.description()
        except LineFault as fault:
            self.disconnect()
            raise fault.as_session_error("start") from fault

    def _identify_or_flash(self) -> BoardProfile:
        try:
            return self.identify()
        except LineFault as fault:
            if not self._supply.may_flash:
                raise
            _log.warning("%s does not answer (%s): it is flashed", self._options.board, fault.what)
        self.disconnect()
        self._supply.flash_first_light()
        return self.identify()

    def session(self, artifact: Artifact, settings: SessionSettings) -> CortexMSession:
        """A session on whatever firmware answers, once it carries the artifact."""
        return CortexMSession(self, artifact, settings, self._lengths)

    def close(self) -> None:
        """Give the port back."""
        self.disconnect()

    # --- what its sessions need ---

    def connect(self) -> Conversation:
        """The conversation with the board, opened where it is not; UnavailableError or NoPermissionError."""
        if self._open is None:
            line = open_line(self._required_port(), self._options.baud)
            self._open = line, Conversation(line, self._options.baud)
        return self._open[1]

    def identify(self) -> BoardProfile:
        """What the board says of itself, after it was resynchronised; LineFault."""
        conversation = self.connect()
        try:
            conversation.resynchronise()
            return BoardProfile(conversation.name(), conversation.profile())
        except LineLost as fault:
            if reason := self._supply.why_ended():
                raise LineLost("the emulated board has ended", why=reason) from fault
            raise

    def provide(self, artifact: Artifact) -> None:
        """Firmware with the artifact onto the board, where the options allow it; else SessionError."""
        carried = self.identify().profile.model_id
        self.disconnect()
        self._supply.supply(artifact, carried)
        if not self._supply.emulates:
            _log.warning("waiting for the board to answer with its new firmware")

    def _required_port(self) -> str:
        if self._supply.emulates:
            if self._port is not None:
                raise port_and_emulated_board(self._options.board)
            return self._supply.port
        if self._port is None:
            raise no_port()
        return self._port

    @property
    def icount_shift(self) -> int | None:
        """Of the emulator that was started here, else as the options have it."""
        return self._supply.icount_shift

    def disconnect(self) -> None:
        """Close the line; the next session opens it again.

        An emulated board that was started here ends: its firmware polls its line, and would keep a core of
        this machine busy while others are measured.
        """
        if self._open is not None:
            with contextlib.suppress(LineFault):
                self._open[0].close()
            self._open = None
        self._supply.close()


def port_and_emulated_board(board: str | None) -> UsageError:
    """Two boards were named."""
    return UsageError(
        f"--port and an emulated board ({board}) that --flash starts", fix="leave out --port, or --flash"
    )


def no_port() -> UnavailableError:
    """Nobody said where the board is."""
    return UnavailableError(
        "the device cortex-m is at a serial port, and none was named",
        fix="name it by --port, such as /dev/ttyACM0 (`edgebench doctor --device cortex-m` lists them)",
    )
