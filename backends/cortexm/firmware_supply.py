"""Firmware onto the board of a run: built for its artifact, flashed, or given to an emulator that is started.

What is done appears as warnings of this module's logger, which a run shows as notes: it takes a while, and it
writes to the user's board.
"""

from __future__ import annotations

import logging
import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from edgebench.errors import EdgeBenchError, SessionError, UnavailableError, UsageError, not_installed
from edgebench.prepare.cache import Cache
from edgebench.records.model import Artifact
from edgebench.records.values import Progress

from . import engines
from .boards import NAMES, Board, Firmware, board_of, read_firmware
from .building import LineOptions, build
from .choices import SERIAL_PATTERN
from .emulator import ICOUNT_SHIFT, Emulator, emulator_program
from .engines import Engine, brightness, model_id
from .options import CortexMOptions
from .profile import load_failed
from .tflm_library import cross_compiler, tflm_library


def engine_of(
    name: str, artifact: Artifact, board: Board, cache: Cache, progress: Progress, *, tflm: Path | None = None
) -> Engine:
    """The engine of that name with the artifact.

    Args:
        name: one of ENGINES.
        artifact: prepared by `chain_of` for that engine.
        board: that the firmware is for.
        cache: that keeps what is made.
        progress: called with what is made.
        tflm: where the TFLM is that the user built; None: as the environment says.

    Raises:
        UnavailableError: what it takes is not here.
        InputError: there is no TFLM, or it is for another processor.
        UnsupportedError: it does not take the artifact.
        BuildError: its generator refuses it.
    """
    if name == "generated":
        return engines.generated(artifact, cache, progress)
    return engines.tflm(artifact, tflm_library(board, tflm), progress)


# Firmware onto a board: by OpenOCD over the board's ST-LINK.


LONGEST_S = 180.0
"""How long flashing may take; 2 MB take less than a minute."""

_OPENOCD = "openocd"
_LONGEST_OUTPUT = 2000
_ELF = "firmware.elf"


class FlashError(EdgeBenchError):
    """A program that did not flash; `why` has the end of what it wrote."""


def flash(board: Board, elf: Path, progress: Progress, *, serial: str | None = None) -> None:
    """Write a firmware to a board, verify it and reset the board.

    Args:
        board: that it is for; a real one.
        elf: the firmware; validated, and copied, so that nothing of its name reaches the program.
        progress: called with what is done.
        serial: of the ST-LINK, where several are plugged in.

    Raises:
        UsageError: the board is emulated or the serial number none.
        InputError: the file is no firmware for the board.
        UnsupportedError: it needs more memory than the board has.
        UnavailableError: OpenOCD is not installed.
        FlashError: OpenOCD ended with an error, or did not end.
    """
    program = require_flashing(board, serial)
    content, _ = read_firmware(elf, board)
    # OpenOCD's manual: `program` of "Flash Programming", and the ports that it would listen at.
    ports = [word for port in ("gdb", "tcl", "telnet") for word in ("-c", f"{port}_port disabled")]
    choice = [] if serial is None else ["-c", f"adapter serial {serial}"]
    command = [
        *(program, *ports, "-f", "interface/stlink.cfg", *choice, "-f", board.openocd_target),
        *("-c", f"program {_ELF} verify reset exit"),
    ]
    with tempfile.TemporaryDirectory(prefix="edgebench-flash-") as folder:
        (Path(folder) / _ELF).write_bytes(content)
        progress(f"flashing {board.name} by {_OPENOCD}")
        _run(command, Path(folder))
    progress(f"flashed and verified: {board.name} has been reset")


def require_flashing(board: Board, serial: str | None = None) -> str:
    """The program that would flash; to be asked before anything is built. Errors as `flash` has them."""
    if board.emulated:
        raise UsageError(
            f"{board.title} cannot be flashed",
            why="it is emulated: QEMU is started with its firmware",
            fix=f"edgebench run --device cortex-m --set board={board.name} --build --flash",
        )
    if serial is not None and not re.fullmatch(SERIAL_PATTERN, serial):
        raise UsageError(
            f"{serial!r} is no serial number of an ST-LINK", fix="`st-info --probe` or `lsusb -v` prints it"
        )
    if (program := shutil.which(_OPENOCD)) is None:
        raise not_installed("the board cannot be flashed", _OPENOCD, f"apt install {_OPENOCD}")
    return program


def _run(command: Sequence[str], folder: Path) -> None:
    """Carry out OpenOCD in a folder; FlashError with what it wrote where it fails or does not end."""
    fix = (
        "see that the board's ST-LINK is plugged in and that no other program uses it; "
        "without permission for it: be in the group plugdev, then plug it in again"
    )
    with (folder / "output").open("w+b") as output:
        try:
            done = subprocess.run(
                command,
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                timeout=LONGEST_S,
                check=False,
            )
            what = f"{_OPENOCD} ended with {done.returncode}" if done.returncode else ""
        except subprocess.TimeoutExpired:
            what = f"{_OPENOCD} has not ended within {LONGEST_S:.0f} s"
        output.seek(0)
        text = output.read().decode(errors="replace").strip()[-_LONGEST_OUTPUT:]
    if what:
        raise FlashError(what, why=text or "it wrote nothing", fix=fix)


_log = logging.getLogger(__name__)


def firmware_with(artifact: Artifact, options: CortexMOptions, cache: Cache, progress: Progress) -> Firmware:
    """Firmware with the artifact for the board that the options name; EdgeBenchError as `build` has it."""
    board = required_board(options)
    engine = engine_of(options.engine, artifact, board, cache, progress)
    line = LineOptions(options.baud, benchmark_id=options.benchmark_id)
    return build(board, engine, cache, progress, line)


def required_board(options: CortexMOptions) -> Board:
    """The board that is built for; UsageError where none is named."""
    if options.board is None:
        fix = f"add --set board=NAME: {' or '.join(NAMES)}"
        raise UsageError("--build and --flash are for a board, and none is named", fix=fix)
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
            require_flashing(board, options.stlink)
    except UnavailableError as error:
        return error
    return None


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
    def emulates(self) -> bool:
        """Whether the board is one that this starts."""
        return self._options.flash and required_board(self._options).emulated

    @property
    def port(self) -> str:
        """The port of the emulated board, which is started with first-light firmware if needed."""
        if self._emulated is None:
            self.flash_first_light()
        assert self._emulated is not None
        return self._emulated.port

    @property
    def icount_shift(self) -> int | None:
        """The shift of the emulated board if it runs; else as the options have it."""
        return self._options.icount_shift if self._emulated is None else ICOUNT_SHIFT

    def flash_first_light(self) -> None:
        """Firmware without a network onto a board that does not answer, so that it can say what it is.

        EdgeBenchError as `build` and `flash` have it.
        """
        board = required_board(self._options)
        self._flash(board, build(board, brightness(), self._cache, _note, LineOptions(self._options.baud)))

    def supply(self, artifact: Artifact, carried: str) -> None:
        """Firmware with the artifact onto a board that carries another model.

        Args:
            artifact: what is to be measured.
            carried: the model that the board says it has.

        Raises:
            SessionError: the options do not allow it, with the command that does it; or it fails.
        """
        if not (self._options.build or self._options.flash):
            fix = f"add --set board={self._options.board or 'NAME'} --build --flash"
            raise _other_model(artifact, carried, self._options.board, fix)
        board = required_board(self._options)
        try:
            firmware = firmware_with(artifact, self._options, self._cache, _note)
            if not self._options.flash:
                command = f"edgebench cortexm flash {firmware.elf} --board {board.name}"
                raise _other_model(artifact, carried, board.name, f"{command}; or add --flash")
            if firmware.sha256 not in self._noted:  # an emulated board is started for each session
                self._noted.add(firmware.sha256)
                taken = ", ".join(
                    f"{usage.name} {usage.used_bytes:,} of {usage.size_bytes:,} bytes"
                    for usage in firmware.usage
                )
                _log.warning("%s: firmware with %s takes %s", board.name, artifact.variant, taken)
            self._flash(board, firmware)
        except SessionError:
            raise
        except EdgeBenchError as error:
            raise load_failed(error.what, error.why, error.fix) from error

    def why_ended(self) -> str:
        """Why the emulated board ended by itself; "" while it runs, or without one."""
        return "" if self._emulated is None else self._emulated.why_ended()

    def close(self) -> None:
        """End the emulated board, where one runs; safe to call twice."""
        if self._emulated is not None:
            self._emulated.close()
            self._emulated = None

    def _flash(self, board: Board, firmware: Firmware) -> None:
        """Onto the board, whose port is closed; it boots then."""
        if board.emulated:
            self.close()
            self._emulated = Emulator(board, firmware.elf)
        else:
            flash(board, firmware.elf, _note, serial=self._options.stlink)


def _note(text: str) -> None:
    _log.warning("%s", text)


def _other_model(artifact: Artifact, carried: str, board: str | None, fix: str) -> SessionError:
    why = f"it has {_short(carried)}, and {_short(model_id(artifact))} was asked for"
    return load_failed(f"the board{f' {board}' if board else ''} carries another model", why, fix)


def _short(model: str) -> str:
    """A model as a firmware names it, with as much of its file's hash as tells two apart."""
    name, colon, sha256 = model.rpartition(":")
    return f"{name}{colon}{sha256[:12]}"
