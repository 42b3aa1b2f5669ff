"""32-bit ELF files of a few bytes: sections, and the program headers of what is loaded."""

import struct


def elf(sections=(), loaded=(), machine=40, kind=2):
    """A file without contents.

    sections: (name, kind, flags, address, bytes); loaded: (address, bytes) of each program header.
    """
    names = b"\0" + b"".join(name.encode() + b"\0" for name, *_ in sections)
    table = 52 + len(names)
    programs = table + 40 * (len(sections) + 1)
    header = b"\x7fELF\x01\x01".ljust(16, b"\0") + struct.pack("<HH", kind, machine) + bytes(8)
    header += struct.pack("<II", programs, table) + bytes(6)
    header += struct.pack("<HH", 32, len(loaded)) + struct.pack("<HHH", 40, len(sections) + 1, len(sections))
    rows, place = [], 1
    for name, section_kind, flags, address, size in sections:
        rows.append(struct.pack("<10I", place, section_kind, flags, address, 0, size, 0, 0, 0, 0))
        place += len(name) + 1
    rows.append(struct.pack("<10I", 0, 3, 0, 0, 52, len(names), 0, 0, 0, 0))
    rows += [struct.pack("<8I", 1, 0, address, address, size, size, 5, 4) for address, size in loaded]
    return header + names + b"".join(rows)
