"""The boards that there is firmware for, and how much memory they have."""

from __future__ import annotations

import re
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from edgebench.errors import InputError, UnsupportedError, UsageError
from edgebench.files import read_regular, reason
from edgebench.suggest import choose

from .choices import LEAST_BAUD, MOST_BAUD

# What of a 32-bit ELF file takes flash and RAM, section by section, and what of it is written to flash.


_NOBITS, _WRITE, _ALLOCATED = 8, 1, 2
_HEADER = struct.Struct("<IIIIIIIIII")  # Tool Interface Standard, ELF 1.2, figure 1-8
_PROGRAM_HEADER = struct.Struct("<IIIIIIII")  # the same, figure 2-1
_LOADED = 1
_EXECUTABLE, _ARM = 2, 40  # e_type and e_machine of figure 1-3
_LONGEST_NAME = 256


@dataclass(frozen=True)
class Section:
    """Memory that a program takes.

    Attributes:
        name: such as `.text`.
        address: where it is when the program runs.
        flash_bytes: of it in flash; 0 for what is only zeroed or reserved.
        ram_bytes: of it in RAM; 0 for what is read in place from flash.
    """

    name: str
    address: int
    flash_bytes: int
    ram_bytes: int


def parsed(elf: bytes) -> tuple[tuple[Section, ...], tuple[range, ...]]:
    """All sections that take memory, in the file's order, and the address ranges that are written to flash.

    What can be written is in flash, too, if it has contents: they are copied to RAM at start. InputError
    for what is no program for a 32-bit Arm.
    """
    try:
        if elf[:6] != b"\x7fELF\x01\x01":
            raise ValueError("it is no 32-bit little-endian ELF file")
        if struct.unpack_from("<HH", elf, 0x10) != (_EXECUTABLE, _ARM):
            raise ValueError("it is no program for an Arm processor")
        programs, table = struct.unpack_from("<II", elf, 0x1C)
        program_size, program_count, size, count, names_index = struct.unpack_from("<HHHHH", elf, 0x2A)
        segments = [
            _PROGRAM_HEADER.unpack_from(elf, programs + index * program_size)
            for index in range(program_count)
        ]
        headers = [_HEADER.unpack_from(elf, table + index * size) for index in range(count)]
        names_start = headers[names_index][4]
        sections = [
            _section(elf, names_start + name, kind, flags, address, length)
            for name, kind, flags, address, _, length, *_ in headers
            if flags & _ALLOCATED and length
        ]
    except (struct.error, IndexError, UnicodeDecodeError):
        why = "it is cut off, or what it says of its sections is not true"
        raise InputError("this is no firmware", why=why, fix="build it again") from None
    except ValueError as error:
        raise InputError("this is no firmware", why=str(error), fix="build it again") from None
    ranges = [
        range(address, address + length) for kind, _, _, address, length, *_ in segments if kind == _LOADED
    ]
    return tuple(sections), tuple(filter(len, ranges))


def _section(elf: bytes, start: int, kind: int, flags: int, address: int, length: int) -> Section:
    """The section of a header; `start` is where its name begins."""
    end = elf.find(b"\0", start, start + _LONGEST_NAME)
    if end < 0:
        raise IndexError("a name without an end")
    flash = 0 if kind == _NOBITS else length
    ram = length if flags & _WRITE or kind == _NOBITS else 0
    return Section(elf[start:end].decode(), address, flash, ram)


FIRMWARE = Path(__file__).parent / "firmware"

_CORTEX_M7 = ("-mcpu=cortex-m7", "-mthumb", "-mfpu=fpv5-d16", "-mfloat-abi=hard")
_REGION = re.compile(
    r"^\s*(\w+)\s*\((\w+)\)\s*:\s*ORIGIN\s*=\s*(0x[0-9a-fA-F]+),\s*LENGTH\s*=\s*(\d+)([KM])$", re.M
)


@dataclass(frozen=True)
class Region:
    """Memory of a board as its linker script has it, and how much of it a firmware takes."""

    name: str
    start: int
    size_bytes: int
    used_bytes: int = 0


@dataclass(frozen=True)
class Board:
    """A folder under firmware/ports.

    Attributes:
        name: as users give it.
        title: as people read it.
        port: the folder's name; its linker script is called the same.
        cpu_flags: of the compiler.
        openocd_target: OpenOCD's script for its processor; "" for a board that QEMU emulates.
        least_baud, most_baud: what its serial port takes.
    """

    name: str
    title: str
    port: str
    cpu_flags: tuple[str, ...]
    openocd_target: str = ""
    least_baud: int = LEAST_BAUD
    most_baud: int = MOST_BAUD

    @property
    def emulated(self) -> bool:
        """Whether the board is QEMU's: there is nothing to flash."""
        return not self.openocd_target

    @property
    def folder(self) -> Path:
        """Where the port's sources are."""
        return FIRMWARE / "ports" / self.port

    @property
    def linker_script(self) -> Path:
        """With the board's memory."""
        return self.folder / f"{self.port}.ld"

    def why_not_baud(self, baud: int) -> str | None:
        """Why its serial port does not take this rate; None: it does."""
        if self.least_baud <= baud <= self.most_baud:
            return None
        return f"{self.title} takes {self.least_baud} to {self.most_baud} baud, not {baud}"

    def regions(self) -> tuple[Region, ...]:
        """The board's memory."""
        return regions_of(self.linker_script.read_text())


BOARDS = (
    Board("mps2-an500", "Arm MPS2 with AN500, as QEMU emulates it", "mps2_an500", _CORTEX_M7),
    # Its flash has two banks of 1 MiB; OpenOCD knows the second one by this script. USART3 divides 100 MHz by
    # 16 to 65,535.
    Board(
        "nucleo-h743zi2",
        "ST Nucleo-H743ZI2",
        "stm32h743",
        _CORTEX_M7,
        "target/stm32h7x_dual_bank.cfg",
        least_baud=1_526,
        most_baud=6_250_000,
    ),
)


NAMES = tuple(board.name for board in BOARDS)

EMULATED = frozenset(board.name for board in BOARDS if board.emulated)


def board_of(name: str) -> Board:
    """The board of that name; UsageError if there is no such name."""
    if name not in NAMES:
        raise UsageError(f"there is no board {name!r}", fix=choose(name, NAMES))
    return BOARDS[NAMES.index(name)]


def regions_of(linker_script: str) -> tuple[Region, ...]:
    """What its MEMORY block has, in its order."""
    factor = {"K": 1 << 10, "M": 1 << 20}
    return tuple(
        Region(name, int(start, 16), int(count) * factor[unit])
        for name, _, start, count, unit in _REGION.findall(linker_script)
    )


def usage_of(sections: Sequence[Section], regions: Sequence[Region]) -> tuple[Region, ...]:
    """What sections take of each region; contents of RAM count in the first region, FLASH, too."""
    flash, *others = regions
    return (
        replace(flash, used_bytes=sum(section.flash_bytes for section in sections)),
        *(
            replace(
                region,
                used_bytes=sum(
                    section.ram_bytes
                    for section in sections
                    if region.start <= section.address < region.start + region.size_bytes
                ),
            )
            for region in others
        ),
    )


def does_not_fit(firmware: str, board: Board, overflows: Mapping[str, int]) -> UnsupportedError:
    """The refusal of firmware that takes more bytes than a region has, by the region's name."""
    sizes = {region.name: region.size_bytes for region in board.regions()}
    return UnsupportedError(
        f"{firmware} does not fit on {board.title}",
        why="; ".join(
            f"{region} takes {more:,} bytes more than the board's {sizes[region]:,}"
            for region, more in overflows.items()
        ),
        fix="take a smaller model, a larger board, or --engine tflm where generated C is too large",
    )


# Firmware files from outside: read once, bounded, and held against the memory of the board they are for.


_MOST_BYTES = 64 << 20


@dataclass(frozen=True)
class Firmware:
    """An image for a board.

    Attributes:
        elf: the file that is flashed, or started by QEMU.
        sections: its flash and RAM, section by section.
        usage: the board's memory, and how much of it is taken.
        sha256: of a file that was built here.
        engine_bytes: the engine's working memory in it: the stack that an inference takes, and its arena.
    """

    elf: Path
    sections: tuple[Section, ...]
    usage: tuple[Region, ...]
    sha256: str = ""
    engine_bytes: int = 0


def read_firmware(path: Path, board: Board) -> tuple[bytes, Firmware]:
    """A file that fits the board, and its bytes.

    Raises:
        InputError: it cannot be read, is no program for an Arm, or is for a board with other addresses.
        UnsupportedError: it needs more memory than the board has; `why` says by how much.
    """
    try:
        elf = read_regular(path, _MOST_BYTES)
    except OSError as error:
        raise InputError(f"{path} cannot be read", why=reason(error), fix="name an .elf file") from error
    try:
        sections, ranges = parsed(elf)
    except InputError as error:
        raise InputError(f"{path} is no firmware", why=error.why, fix=error.fix) from None
    if not ranges:
        why = "it holds nothing that is loaded"
        raise InputError(f"{path} is no firmware", why=why, fix="build it again")
    usage = usage_of(sections, board.regions())
    overflows = {entry.name: more for entry in usage if (more := entry.used_bytes - entry.size_bytes) > 0}
    if overflows:
        raise does_not_fit(path.name, board, overflows)
    # The file is written to the board's flash, from its beginning on.
    flash = usage[0]
    lowest, highest = min(item.start for item in ranges), max(item.stop for item in ranges)
    if lowest != flash.start or highest > flash.start + flash.size_bytes:
        others = [other.name for other in BOARDS if other.regions()[0].start == lowest]
        raise InputError(
            f"{path.name} is not for {board.title}",
            why=f"it is written to {lowest:#010x} to {highest:#010x}, and the board's flash is at "
            f"{flash.start:#010x} to {flash.start + flash.size_bytes:#010x}",
            fix=f"--board {others[0]}" if others else f"edgebench cortexm build --board {board.name}",
        )
    return elf, Firmware(path, sections, usage)
