"""Firmware onto the board of a run: built for its artifact, flashed, or given to an emulator that is started.

What is done is told as warnings of this module's logger, which a run shows as notes: it takes a while, and it
writes to the user's board.
"""

from __future__ import annotations

import logging

from edgebench.cache.objects import Cache
from edgebench.errors import EdgeBenchError, SessionError, UnavailableError, UsageError
from edgebench.models.families.catalogue import spec
from edgebench.vocabulary.artifact import Artifact
from edgebench.vocabulary.values import Progress
from edgebench.vocabulary.variant import Variant

from .boards import BOARDS, Board, board_of
from .building import Firmware, LineOptions, build
from .emulator import ICOUNT_SHIFT, Emulator, emulator_program
from .engine_choice import engine_of
from .engines import Engine, brightness, model_id
from .flashing import flash, require_flashing
from .options import CortexMOptions
from .toolchain import cross_compiler

_log = logging.getLogger(__name__)


def firmware_with(artifact: Artifact, options: CortexMOptions, cache: Cache, progress: Progress) -> Firmware:
    """Firmware with the artifact for the board that the options name; EdgeBenchError as `build` has it."""
    board = required_board(options)
    return _build(
        board, engine_of(options.engine, artifact, board, cache, progress), options, cache, progress
    )


def required_board(options: CortexMOptions) -> Board:
    """The board that is built for; UsageError where none is named."""
    if options.board is None:
        names = " or ".join(board.name for board in BOARDS)
        raise UsageError(
            "--build and --flash are for a board, and none is named", fix=f"add --set board=NAME: {names}"
        )
    return board_of(options.board)


def missing_program(options: CortexMOptions) -> UnavailableError | None:
    """What has to be installed before firmware can be built and brought onto the board; None: nothing."""
    if not (options.build or options.flash):
        return None
    board = required_board(options)
    try:
        cross_compiler()
        if options.flash and board.emulated:
            emulator_program()
        elif options.flash:
            require_flashing(board, None, options.stlink)
    except UnavailableError as error:
        return error
    return None


def _build(
    board: Board, engine: Engine, options: CortexMOptions, cache: Cache, progress: Progress
) -> Firmware:
    return build(board, engine, cache, progress, LineOptions(options.baud))


class FirmwareSupply:
    """What one open device does about its board's firmware, as the options allow.

    Args:
        options: of its target.
        cache: that keeps what is built.
    """

    def __init__(self, options: CortexMOptions, cache: Cache | None = None) -> None:
        self._options = options
        self._cache = cache or Cache()
        self._emulated: Emulator | None = None
        self._noted: set[str] = set()  # of which firmware what it takes is known

    @property
    def may_flash(self) -> bool:
        """Whether the board may be written to."""
        return self._options.flash

    @property
    def emulates(self) -> bool:
        """Whether the board is one that this starts."""
        return self.may_flash and required_board(self._options).emulated

    @property
    def port(self) -> str:
        """Of the emulated board, which is started with first-light firmware where it does not run yet."""
        if self._emulated is None:
            self.flash_first_light()
        assert self._emulated is not None
        return self._emulated.port

    @property
    def icount_shift(self) -> int | None:
        """Of the emulated board, where it runs; else as the options have it."""
        return self._options.icount_shift if self._emulated is None else ICOUNT_SHIFT

    def flash_first_light(self) -> None:
        """Firmware without a network onto a board that does not answer, so that it can say what it is.

        EdgeBenchError as `build` and `flash` have it.
        """
        board = required_board(self._options)
        self._flash(board, _build(board, brightness(), self._options, self._cache, _note))

    def supply(self, artifact: Artifact, carried: str) -> None:
        """Firmware with the artifact onto a board that carries another model.

        Args:
            artifact: what is to be measured.
            carried: the model that the board says it has.

        Raises:
            SessionError: the options do not allow it, with the command that does it; or it fails.
        """
        if not (self._options.build or self._options.flash):
            raise _other_model(artifact, carried, self._options.board, _commands(artifact, self._options))
        board = required_board(self._options)
        try:
            firmware = firmware_with(artifact, self._options, self._cache, _note)
            if not self.may_flash:
                command = f"edgebench cortexm flash {firmware.elf} --board {board.name}"
                raise _other_model(artifact, carried, board.name, f"{command}; or add --flash")
            if firmware.sha256 not in self._noted:  # an emulated board is started for each session
                self._noted.add(firmware.sha256)
                taken = ", ".join(
                    f"{usage.region.name} {usage.used_bytes:,} of {usage.region.size_bytes:,} bytes"
                    for usage in firmware.usage
                )
                _log.warning("%s: firmware with %s takes %s", board.name, artifact.variant, taken)
            self._flash(board, firmware)
        except SessionError:
            raise
        except EdgeBenchError as error:
            raise SessionError(
                error.what, status="load_failed", stage="load", why=error.why, fix=error.fix
            ) from error

    def why_ended(self) -> str:
        """Why the emulated board ended by itself; "" where there is none, or it runs."""
        return "" if self._emulated is None else self._emulated.why_ended()

    def close(self) -> None:
        """End the emulated board, where one runs; safe to call twice."""
        if self._emulated is not None:
            self._emulated.close()
            self._emulated = None

    def _flash(self, board: Board, firmware: Firmware) -> None:
        """Onto the board, which nobody has open; it boots then."""
        if board.emulated:
            self.close()
            self._emulated = Emulator(board, firmware.elf)
        else:
            flash(board, firmware.elf, None, _note, serial=self._options.stlink)


def _note(text: str) -> None:
    _log.warning("%s", text)


def _other_model(artifact: Artifact, carried: str, board: str | None, fix: str) -> SessionError:
    return SessionError(
        f"the board{f' {board}' if board else ''} carries another model",
        status="load_failed",
        stage="load",
        why=f"it has {_short(carried)}, and {_short(model_id(artifact))} was asked for",
        fix=fix,
    )


def _short(model: str) -> str:
    """A model as a firmware names it, with as much of its file's hash as tells two apart."""
    name, colon, sha256 = model.rpartition(":")
    return f"{name}{colon}{sha256[:12]}"


def _commands(artifact: Artifact, options: CortexMOptions) -> str:
    """What flashes the artifact's firmware: a run, and a command for a model that EdgeBench has a name of."""
    board = options.board or "NAME"
    run = f"add --set board={board} --build --flash"
    try:
        spec(Variant.parse(str(artifact.variant)).family)
    except UsageError:
        return run
    baud = "" if options.baud == LineOptions().baud else f" --baud {options.baud}"
    return (
        f"edgebench cortexm flash --board {board} --model {artifact.variant} --engine {options.engine}{baud}"
        f"; or {run}"
    )
