"""Firmware files from outside: read once, bounded, and held against the memory of the board they are for."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from edgebench.errors import InputError
from edgebench.regular_files import read_regular, reason

from .boards import BOARDS, Board, Usage, does_not_fit, usage_of
from .elf_sections import Section, flashed_ranges, sections_of

_MOST_BYTES = 64 << 20


@dataclass(frozen=True)
class FirmwareFile:
    """What is known of an .elf file.

    Attributes:
        elf: its bytes.
        sections: its flash and RAM, section by section.
        usage: the board's memory, and how much of it is taken.
    """

    elf: bytes
    sections: tuple[Section, ...]
    usage: tuple[Usage, ...]


def read_firmware(path: Path, board: Board) -> FirmwareFile:
    """A file that fits the board.

    Raises:
        InputError: it cannot be read, is no program for an Arm, or is for a board with other addresses.
        UnsupportedError: it needs more memory than the board has; `why` says by how much.
    """
    try:
        elf = read_regular(path, _MOST_BYTES)
    except OSError as error:
        raise InputError(f"{path} cannot be read", why=reason(error), fix="name an .elf file") from error
    try:
        sections, ranges = sections_of(elf), flashed_ranges(elf)
    except InputError as error:
        raise InputError(f"{path} is no firmware", why=error.why, fix=error.fix) from None
    usage = usage_of(sections, board.regions())
    _require_fitting(path, board, usage)
    _require_addresses(path, board, ranges)
    return FirmwareFile(elf, sections, usage)


def _require_fitting(path: Path, board: Board, usage: tuple[Usage, ...]) -> None:
    overflows = {
        entry.region.name: entry.used_bytes - entry.region.size_bytes
        for entry in usage
        if entry.used_bytes > entry.region.size_bytes
    }
    if overflows:
        raise does_not_fit(path.name, board, overflows)


def _require_addresses(path: Path, board: Board, ranges: tuple[range, ...]) -> None:
    """InputError unless the file is written to the board's flash, from its beginning on."""
    flash = board.regions()[0]
    lowest, highest = min(item.start for item in ranges), max(item.stop for item in ranges)
    if lowest != flash.start or highest > flash.start + flash.size_bytes:
        others = [other.name for other in BOARDS if other.regions()[0].start == lowest]
        raise InputError(
            f"{path.name} is not for {board.title}",
            why=f"it is written to {lowest:#010x} to {highest:#010x}, and the board's flash is at "
            f"{flash.start:#010x} to {flash.start + flash.size_bytes:#010x}",
            fix=f"--board {others[0]}" if others else f"edgebench cortexm build --board {board.name}",
        )
