"""What the firmware of a microcontroller takes without its model: flash, and RAM beside the input."""

from __future__ import annotations

import importlib
import sys

from benchmarks.row import Row
from edgebench.errors import UnavailableError
from edgebench.prepare.cache import Cache

FLASH_BAR_KB = 16.0
RAM_BAR_KB = 2.0
INPUT_BYTES = 3072


def rows(cache: Cache, pairs: int) -> list[Row]:
    """Two rows a board; none, with the reason, where there is no cross-compiler."""
    boards, building, engines = (
        importlib.import_module(f"edgebench.backends.cortexm.{name}")
        for name in ("boards", "building", "engines")
    )
    figures = []
    for board in boards.BOARDS:
        try:
            firmware = building.build(board, engines.brightness(INPUT_BYTES), cache, _say)
        except UnavailableError as error:
            print(f"firmware: not taken: {error.why}", file=sys.stderr)
            return []
        sections = {section.name: (section.flash_bytes, section.ram_bytes) for section in firmware.sections}
        flash_kb = sum(flash for flash, _ in sections.values()) / 1024
        # The resident input, and the engine's copy of it, which is the engine's.
        ram_kb = (sum(ram for _, ram in sections.values()) - 2 * INPUT_BYTES) / 1024
        name = f"firmware for {board.name} without model and engine"
        figures += [
            Row(f"{name}, flash", flash_kb, "KB", FLASH_BAR_KB, None, {"sections": sections}),
            Row(f"{name}, RAM beside the input", ram_kb, "KB", RAM_BAR_KB),
        ]
    return figures


def _say(text: str) -> None:
    print(text, file=sys.stderr)
