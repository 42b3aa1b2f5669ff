"""The boards that there is firmware for, and how much memory they have."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from edgebench.errors import UnsupportedError, UsageError
from edgebench.suggest import choose

from .elf_sections import Section

FIRMWARE = Path(__file__).parent / "firmware"

_CORTEX_M7 = ("-mcpu=cortex-m7", "-mthumb", "-mfpu=fpv5-d16", "-mfloat-abi=hard")
_REGION = re.compile(
    r"^\s*(\w+)\s*\((\w+)\)\s*:\s*ORIGIN\s*=\s*(0x[0-9a-fA-F]+),\s*LENGTH\s*=\s*(\d+)([KM])$", re.M
)


@dataclass(frozen=True)
class Region:
    """Memory of a board as its linker script has it."""

    name: str
    start: int
    size_bytes: int


@dataclass(frozen=True)
class Board:
    """A folder under firmware/ports.

    Attributes:
        name: as users give it.
        title: as people are told it.
        port: the folder's name; its linker script is called the same.
        cpu_flags: of the compiler.
        openocd_target: OpenOCD's script for its processor; "" for a board that QEMU emulates.
    """

    name: str
    title: str
    port: str
    cpu_flags: tuple[str, ...]
    openocd_target: str = ""

    @property
    def emulated(self) -> bool:
        """Whether the board is QEMU's: there is nothing to flash."""
        return not self.openocd_target

    @property
    def folder(self) -> Path:
        """Where the port's sources lie."""
        return FIRMWARE / "ports" / self.port

    @property
    def linker_script(self) -> Path:
        """With the board's memory."""
        return self.folder / f"{self.port}.ld"

    def regions(self) -> tuple[Region, ...]:
        """The board's memory."""
        return regions_of(self.linker_script.read_text())


BOARDS = (
    Board("mps2-an500", "Arm MPS2 with AN500, as QEMU emulates it", "mps2_an500", _CORTEX_M7),
    Board("nucleo-h743zi2", "ST Nucleo-H743ZI2", "stm32h743", _CORTEX_M7, "target/stm32h7x.cfg"),
)


def board_of(name: str) -> Board:
    """The board of that name; UsageError where there is none."""
    for board in BOARDS:
        if board.name == name:
            return board
    raise UsageError(f"there is no board {name!r}", fix=choose(name, [board.name for board in BOARDS]))


def regions_of(linker_script: str) -> tuple[Region, ...]:
    """What its MEMORY block has, in its order."""
    factor = {"K": 1 << 10, "M": 1 << 20}
    return tuple(
        Region(name, int(start, 16), int(count) * factor[unit])
        for name, _, start, count, unit in _REGION.findall(linker_script)
    )


@dataclass(frozen=True)
class Usage:
    """How much of a region is taken."""

    region: Region
    used_bytes: int


def usage_of(sections: Sequence[Section], regions: Sequence[Region]) -> tuple[Usage, ...]:
    """What sections take of each region; contents of RAM count in the first region, FLASH, too."""
    return tuple(
        Usage(
            region,
            sum(section.flash_bytes for section in sections)
            if index == 0
            else sum(
                section.ram_bytes
                for section in sections
                if region.start <= section.address < region.start + region.size_bytes
            ),
        )
        for index, region in enumerate(regions)
    )


def does_not_fit(firmware: str, board: Board, overflows: Mapping[str, int]) -> UnsupportedError:
    """The refusal of firmware that takes so many bytes more than a region has, by the region's name."""
    sizes = {region.name: region.size_bytes for region in board.regions()}
    return UnsupportedError(
        f"{firmware} does not fit on {board.title}",
        why="; ".join(
            f"{region} takes {more:,} bytes more than the board's {sizes[region]:,}"
            for region, more in overflows.items()
        ),
        fix="take a smaller model, another engine or a board with more memory",
    )
