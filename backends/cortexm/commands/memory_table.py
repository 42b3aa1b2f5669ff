"""What firmware takes of a board's memory, for people and as JSON."""

from __future__ import annotations

from typing import Any

from rich.console import Console

from edgebench.report.console import cell, line, new_table
from edgebench.report.model_tables import write_json

from ..boards import Usage
from ..elf_sections import Section
from .image import Image


def print_memory(console: Console, image: Image) -> None:
    """Two tables: flash and RAM by section, and what is taken of each of the board's memories."""
    line(console, f"memory of {image.board.title}")
    table = new_table(console, [("section", False), ("address", True), ("flash", True), ("RAM", True)])
    for section in image.sections:
        figures = (f"{section.address:#010x}", f"{section.flash_bytes:,}", f"{section.ram_bytes:,}")
        table.add_row(*(cell(console, text) for text in (section.name, *figures)))
    console.print(table)
    console.print()
    table = new_table(console, [("memory", False), ("taken", True), ("of bytes", True), ("", True)])
    for entry in image.usage:
        share = f"{100 * entry.used_bytes / entry.region.size_bytes:.1f} %"
        figures = (f"{entry.used_bytes:,}", f"{entry.region.size_bytes:,}", share)
        table.add_row(*(cell(console, text) for text in (entry.region.name, *figures)))
    console.print(table)


def write_memory(console: Console, image: Image) -> None:
    """The same as a JSON document."""
    write_json(
        console,
        {
            "firmware": {
                "path": str(image.elf),
                "board": image.board.name,
                "sections": [_section(section) for section in image.sections],
                "memory": [_usage(entry) for entry in image.usage],
            }
        },
    )


def _section(section: Section) -> dict[str, Any]:
    return {
        "name": section.name,
        "address": section.address,
        "flash_bytes": section.flash_bytes,
        "ram_bytes": section.ram_bytes,
    }


def _usage(entry: Usage) -> dict[str, Any]:
    return {
        "name": entry.region.name,
        "start": entry.region.start,
        "size_bytes": entry.region.size_bytes,
        "used_bytes": entry.used_bytes,
    }
