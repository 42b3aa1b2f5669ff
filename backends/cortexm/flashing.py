"""Firmware onto a board: by OpenOCD or st-flash over the board's ST-LINK."""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from edgebench.errors import EdgeBenchError, UnavailableError, UsageError
from edgebench.suggest import choose
from edgebench.vocabulary.values import Progress

from .boards import Board
from .choices import SERIAL_PATTERN, TOOLS
from .firmware_files import read_firmware

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
    firmware = read_firmware(elf, board)
    with tempfile.TemporaryDirectory(prefix="edgebench-flash-") as name:
        folder = Path(name)
        (folder / _ELF).write_bytes(firmware.elf)
        progress(f"flashing {board.name} by {program.name}")
        if program.name == "openocd":
            _run(_openocd(program, board, serial), folder)
        else:
            _run([_objcopy(), "-O", "binary", _ELF, _BINARY], folder)
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
    for name in wanted:
        path = shutil.which(name)
        if path is not None:
            return Path(path)
    raise UnavailableError(
        "the board cannot be flashed",
        why=f"not installed: {', '.join(wanted)}",
        fix=" or ".join(f"apt install {TOOLS[name]}" for name in wanted),
    )


def _objcopy() -> str:
    path = shutil.which(_OBJCOPY)
    if path is None:
        raise UnavailableError(
            "the board cannot be flashed by st-flash",
            why=f"it takes a binary, and {_OBJCOPY} is not installed",
            fix="apt install binutils-arm-none-eabi, or flash by openocd",
        )
    return path


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
