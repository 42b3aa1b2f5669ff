"""Firmware onto the board of a run: built for its artifact, flashed, or given to an emulator that is started.

What is done is told as warnings of this module's logger, which a run shows as notes: it takes a while, and it
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

from edgebench.errors import EdgeBenchError, SessionError, UnavailableError, UsageError
from edgebench.prepare.cache import Cache
from edgebench.prepare.families import spec
from edgebench.records.model import Artifact
from edgebench.records.values import Progress, Variant
from edgebench.suggest import choose

from . import engines
from .boards import BOARDS, Board, Firmware, board_of, read_firmware
from .building import LineOptions, build
from .choices import ENGINES, SERIAL_PATTERN, TOOLS
from .emulator import ICOUNT_SHIFT, Emulator, emulator_program
from .engines import Engine, brightness, model_id
from .options import CortexMOptions
from .tflm_library import cross_compiler, tflm_library

# Which engine a firmware has: by its name, of an artifact that was prepared for it.


def engine_of(
    name: str, artifact: Artifact, board: Board, cache: Cache, progress: Progress, *, tflm: Path | None = None
) -> Engine:
    """The engine of that name with the artifact.

    Args:
        name: one of ENGINES.
        artifact: prepared by `preparing.chain_of` for that engine.
        board: that the firmware is for.
        cache: that keeps what is made.
        progress: called with what is made.
        tflm: where the TFLM is that the user built; None: as the environment says.

    Raises:
        UsageError: there is no such engine.
        UnavailableError: what it takes is not here.
        InputError: the TFLM is none, or is for another processor.
        UnsupportedError: it does not take the artifact.
        BuildError: its generator refuses it.
    """
    require_engine(name)
    if name == "generated":
        return engines.generated(artifact, cache, progress)
    return engines.tflm(artifact, tflm_library(board, tflm), progress)


def require_engine(name: str) -> None:
    """UsageError unless there is such an engine."""
    if name not in ENGINES:
        raise UsageError(f"there is no engine {name!r}", fix=choose(name, ENGINES))


# Firmware onto a board: by OpenOCD or st-flash over the board's ST-LINK.


LONGEST_S = 180.0
"""How long flashing may take; 2 MB take less than a minute."""

_OBJCOPY = "arm-none-eabi-objcopy"
_LONGEST_OUTPUT = 2000
_ELF, _BINARY = "firmware.elf", "firmware.bin"


class FlashError(EdgeBenchError):
    """A program that did not flash; `why` has the end of what it wrote."""


def flash(
    board: Board, elf: Path, tool: str | None, progress: Progress, *, serial: str | None = None
) -> None:
    """Write a firmware to a board, verify it and reset the board.

    Args:
        board: that it is for; a real one.
        elf: the firmware; validated, and copied, so that nothing of its name reaches the program.
        tool: one of TOOLS; None for the first that is installed.
        progress: called with what is done.
        serial: of the ST-LINK, where several are plugged in.

    Raises:
        UsageError: the board is emulated, the tool unknown or the serial number none.
        InputError: the file is no firmware for the board.
        UnsupportedError: it needs more memory than the board has.
        UnavailableError: neither program is installed.
        FlashError: the program ended with an error, or did not end.
    """
    program = require_flashing(board, tool, serial)
    content, _ = read_firmware(elf, board)
    with tempfile.TemporaryDirectory(prefix="edgebench-flash-") as name:
        folder = Path(name)
        (folder / _ELF).write_bytes(content)
        progress(f"flashing {board.name} by {program.name}")
        if program.name == "openocd":
            _run(_openocd(program, board, serial), folder)
        else:
            if (objcopy := shutil.which(_OBJCOPY)) is None:
                raise UnavailableError(
                    "the board cannot be flashed by st-flash",
                    why=f"it takes a binary, and {_OBJCOPY} is not installed",
                    fix="apt install binutils-arm-none-eabi, or flash by openocd",
                )
            _run([objcopy, "-O", "binary", _ELF, _BINARY], folder)
            _run(_st_flash(program, board, serial), folder)
    progress(f"flashed and verified: {board.name} has been reset")


def require_flashing(board: Board, tool: str | None, serial: str | None = None) -> Path:
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
    return _program(tool)


def _openocd(program: Path, board: Board, serial: str | None) -> list[str]:
    """OpenOCD's manual: `program` of "Flash Programming", and the ports that it would listen at."""
    ports = [word for port in ("gdb", "tcl", "telnet") for word in ("-c", f"{port}_port disabled")]
    choice = [] if serial is None else ["-c", f"adapter serial {serial}"]
    return [
        *(str(program), *ports, "-f", "interface/stlink.cfg", *choice, "-f", board.openocd_target),
        *("-c", f"program {_ELF} verify reset exit"),
    ]


def _st_flash(program: Path, board: Board, serial: str | None) -> list[str]:
    """st-flash(1): options, then the command; it verifies what it has written."""
    choice = [] if serial is None else ["--serial", serial]
    return [str(program), "--reset", *choice, "write", _BINARY, f"{board.regions()[0].start:#010x}"]


def _program(tool: str | None) -> Path:
    if tool is not None and tool not in TOOLS:
        raise UsageError(f"there is no program {tool!r} that flashes", fix=choose(tool, TOOLS))
    wanted = list(TOOLS) if tool is None else [tool]
    if path := next(filter(None, map(shutil.which, wanted)), None):
        return Path(path)
    raise UnavailableError(
        "the board cannot be flashed",
        why=f"not installed: {', '.join(wanted)}",
        fix=" or ".join(f"apt install {TOOLS[name]}" for name in wanted),
    )


def _run(command: Sequence[str], folder: Path) -> None:
    """Carry out a command in a folder; FlashError with what it wrote where it fails or does not end."""
    name = Path(command[0]).name
    fix = (
        "see that the board's ST-LINK is plugged in and that no other program uses it; "
        "without permission for it: be in the group plugdev, then plug it in again"
    )
    try:
        done = subprocess.run(
            command,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            timeout=LONGEST_S,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        output = error.stdout.decode(errors="replace") if isinstance(error.stdout, bytes) else ""
        raise FlashError(
            f"{name} has not ended within {LONGEST_S:.0f} s",
            why=_end_of(output),
            fix=fix,
        ) from None
    if done.returncode != 0:
        raise FlashError(f"{name} ended with {done.returncode}", why=_end_of(done.stdout), fix=fix)


def _end_of(output: str) -> str:
    return output.strip()[-_LONGEST_OUTPUT:] or "it wrote nothing"


_log = logging.getLogger(__name__)


def firmware_with(artifact: Artifact, options: CortexMOptions, cache: Cache, progress: Progress) -> Firmware:
    """Firmware with the artifact for the board that the options name; EdgeBenchError as `build` has it."""
    board = required_board(options)
    engine = engine_of(options.engine, artifact, board, cache, progress)
    return build(board, engine, cache, progress, LineOptions(options.baud))


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
            raise _other_model(artifact, carried, self._options.board, _commands(artifact, self._options))
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
