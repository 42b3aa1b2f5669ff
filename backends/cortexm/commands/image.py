"""The firmware that a command is about: a file that is there, or one that is built as the options say."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from edgebench.cache.objects import Cache
from edgebench.cache.use import using
from edgebench.cli.common import say
from edgebench.errors import EdgeBenchError, UsageError
from edgebench.vocabulary.preparation import PrepareRequest
from edgebench.vocabulary.variant import Variant

from ..backend import CortexMBackend
from ..boards import Board, Usage, board_of
from ..building import LineOptions, build
from ..choices import BAUD, ENERGY_BAUD
from ..elf_sections import Section
from ..engine_choice import engine_of, require_engine
from ..engines import Engine, brightness
from ..firmware_files import read_firmware
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


@dataclass(frozen=True)
class Image:
    """Firmware for a board.

    Attributes:
        board: that it is for.
        elf: the file.
        sections: its flash and RAM, section by section.
        usage: the board's memory, and how much of it is taken.
    """

    board: Board
    elf: Path
    sections: tuple[Section, ...]
    usage: tuple[Usage, ...]


def image(file: Path | None, board_name: str, recipe: Recipe) -> Image:
    """The file, or without one what is built.

    Raises:
        UsageError: there is a file and something to build, or a name that does not exist.
        EdgeBenchError: as `read_firmware` or `build` has it.
    """
    board = board_of(board_name)
    if file is None:
        return build_image(board, recipe)
    if recipe != Recipe():
        raise UsageError(
            "there is a file, and options of one that is built", fix="leave out FILE.elf or those options"
        )
    firmware = read_firmware(file, board)
    return Image(board, file, firmware.sections, firmware.usage)


def build_image(board: Board, recipe: Recipe) -> Image:
    """Firmware in the cache; EdgeBenchError as its preparation, its engine and `build` have it."""
    cache = Cache()
    line = LineOptions(recipe.baud or (ENERGY_BAUD if recipe.energy else BAUD), recipe.energy)
    with using(cache):
        firmware = build(board, _engine(board, recipe, cache), cache, say, line)
    return Image(board, firmware.elf, firmware.sections, firmware.usage)


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
