"""What of a 32-bit ELF file takes flash and RAM, section by section, and what of it is written to flash."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from edgebench.errors import InputError

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
        ram_bytes: of it in RAM; 0 for what is read where it lies in flash.
    """

    name: str
    address: int
    flash_bytes: int
    ram_bytes: int


def sections_of(elf: bytes) -> tuple[Section, ...]:
    """All sections that take memory, in the file's order; InputError for what is no 32-bit little-endian ELF.

    What can be written lies in flash, too, where it has contents: they are copied to RAM at start.
    """
    with _refusing():
        return tuple(_sections(elf))


def flashed_ranges(elf: bytes) -> tuple[range, ...]:
    """The addresses that a program for an Arm is written to, each range with contents in the file.

    InputError for what is no such program.
    """
    with _refusing():
        _require_elf(elf)
        if struct.unpack_from("<HH", elf, 0x10) != (_EXECUTABLE, _ARM):
            raise ValueError("it is no program for an Arm processor")
        (table,) = struct.unpack_from("<I", elf, 0x1C)
        size, count = struct.unpack_from("<HH", elf, 0x2A)
        headers = [_PROGRAM_HEADER.unpack_from(elf, table + index * size) for index in range(count)]
        loaded = [
            (address, length) for kind, _, _, address, length, *_ in headers if kind == _LOADED and length
        ]
        if not loaded:
            raise ValueError("it holds nothing that is loaded")
        return tuple(range(address, address + length) for address, length in loaded)


@contextmanager
def _refusing() -> Iterator[None]:
    """InputError for a file that is not what it should be, however its reading fails."""
    try:
        yield
    except (struct.error, IndexError, UnicodeDecodeError):
        why = "it is cut off, or what it says of its sections is not true"
        raise InputError("this is no firmware", why=why, fix="build it again") from None
    except ValueError as error:
        raise InputError("this is no firmware", why=str(error), fix="build it again") from None


def _require_elf(elf: bytes) -> None:
    if elf[:6] != b"\x7fELF\x01\x01":
        raise ValueError("it is no 32-bit little-endian ELF file")


def _sections(elf: bytes) -> list[Section]:
    _require_elf(elf)
    (table,) = struct.unpack_from("<I", elf, 0x20)
    size, count, names_index = struct.unpack_from("<HHH", elf, 0x2E)
    headers = [_HEADER.unpack_from(elf, table + index * size) for index in range(count)]
    names_start = headers[names_index][4]
    sections = []
    for name, kind, flags, address, _, length, *_ in headers:
        if not flags & _ALLOCATED or length == 0:
            continue
        start = names_start + name
        flash = 0 if kind == _NOBITS else length
        ram = length if flags & _WRITE or kind == _NOBITS else 0
        end = elf.find(b"\0", start, start + _LONGEST_NAME)
        if end < 0:
            raise IndexError("a name without an end")
        sections.append(Section(elf[start:end].decode(), address, flash, ram))
    return sections
