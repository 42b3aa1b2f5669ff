"""The firmware that a command is about: a file that is there, or one that is built as the options say."""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass
from pathlib import Path

from rich.console import Console

from edgebench.cli.common import say
from edgebench.errors import EdgeBenchError, UsageError
from edgebench.prepare.cache import Cache, using
from edgebench.records.model import PrepareRequest
from edgebench.records.values import Variant
from edgebench.report.blocks import Block, Heading, Table, of_figures
from edgebench.report.listings import write_json
from edgebench.report.terminal import print_blocks

from ..backend import CortexMBackend
from ..boards import Board, Firmware, read_firmware
from ..building import LineOptions, build
from ..choices import BAUD, ENERGY_BAUD
from ..engines import Engine, brightness
from ..firmware_supply import engine_of, require_engine
from ..tflm_library import VARIABLE
from .option_types import FIRST_LIGHT, MODEL


@dataclass(frozen=True)
class Recipe:
    """What firmware is built of, as the options say it; None is what was left out."""

    model: str | None = None
    engine: str | None = None
    tflm: Path | None = None
    baud: int | None = None
    energy: bool = False


def image(file: Path | None, board: Board, recipe: Recipe) -> Firmware:
    """The file, or without one what is built.

    Raises:
        UsageError: there is a file and something to build.
        EdgeBenchError: as `read_firmware` or `build` has it.
    """
    if file is None:
        return build_image(board, recipe)
    if recipe != Recipe():
        raise UsageError(
            "there is a file, and options of one that is built", fix="leave out FILE.elf or those options"
        )
    return read_firmware(file, board)[1]


def build_image(board: Board, recipe: Recipe) -> Firmware:
    """Firmware in the cache; EdgeBenchError as its preparation, its engine and `build` have it."""
    cache = Cache()
    line = LineOptions(recipe.baud or (ENERGY_BAUD if recipe.energy else BAUD), recipe.energy)
    with using(cache):
        return build(board, _engine(board, recipe, cache), cache, say, line)


def _engine(board: Board, recipe: Recipe, cache: Cache) -> Engine:
    name = recipe.engine or ("tflm" if recipe.tflm or os.environ.get(VARIABLE) else "generated")
    require_engine(name)
    if name != "tflm" and recipe.tflm is not None:
        raise UsageError("--tflm is of the engine tflm alone", fix="leave out --tflm or --engine")
    if recipe.model == FIRST_LIGHT:
        if recipe.engine is not None or recipe.tflm is not None:
            raise UsageError(
                f"{FIRST_LIGHT} is no network, and takes no engine", fix="leave out --engine and --tflm"
            )
        return brightness()
    request = PrepareRequest(Variant.parse(recipe.model or MODEL), 1, {"engine": name})
    [artifact] = CortexMBackend().prepare([request], cache, say)
    if isinstance(artifact, EdgeBenchError):
        raise artifact
    return engine_of(name, artifact, board, cache, say, tflm=recipe.tflm)


# What firmware takes of a board's memory, for people and as JSON.


def print_memory(console: Console, board: Board, firmware: Firmware) -> None:
    """Two tables: flash and RAM by section, and what is taken of each of the board's memories."""
    sections = tuple(
        (section.name, f"{section.address:#010x}", f"{section.flash_bytes:,}", f"{section.ram_bytes:,}")
        for section in firmware.sections
    )
    usage = tuple(
        (
            entry.name,
            f"{entry.used_bytes:,}",
            f"{entry.size_bytes:,}",
            f"{100 * entry.used_bytes / entry.size_bytes:.1f} %",
        )
        for entry in firmware.usage
    )
    blocks: list[Block] = [
        Heading(f"memory of {board.title}"),
        Table("sections", of_figures("section", "address", "flash", "RAM"), sections),
        Table("memories", of_figures("memory", "taken", "of bytes", ""), usage),
    ]
    print_blocks(console, blocks)


def write_memory(console: Console, board: Board, firmware: Firmware) -> None:
    """The same as a JSON document."""
    write_json(
        console,
        {
            "firmware": {
                "path": str(firmware.elf),
                "board": board.name,
                "sections": [asdict(section) for section in firmware.sections],
                "memory": [asdict(entry) for entry in firmware.usage],
            }
        },
    )
