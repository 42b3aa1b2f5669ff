"""Firmware that `edgebench cortexm build` makes, and what it takes of a board's memory."""

from __future__ import annotations

import os
from dataclasses import asdict
from pathlib import Path

from rich.console import Console

from edgebench.cli.common import say
from edgebench.errors import UsageError
from edgebench.prepare.cache import Cache, using
from edgebench.report.listings import write_json
from edgebench.report.renderers.blocks import Block, Heading, Table, of_figures
from edgebench.report.renderers.terminal import print_blocks
from edgebench.suggest import choose

from ..artifacts import prepared
from ..backend import CortexMBackend
from ..boards import Board, Firmware
from ..building import LineOptions, build
from ..choices import BAUD, ENERGY_BAUD, ENGINES
from ..engines import Engine, brightness
from ..engines import tflm as tflm_engine
from ..firmware_supply import engine_of
from ..tflm_library import VARIABLE, tflm_library
from .option_types import FIRST_LIGHT, MODEL


def require_one(file: Path | None, model: str | None, engine: str | None, tflm: Path | None) -> Path | None:
    """The file of firmware; None where a model is built. UsageError for neither or both."""
    if (file is None) == (model is None):
        raise UsageError(
            "neither firmware nor a model was named" if file is None else "firmware and a model were named",
            fix="give FILE.elf, or --model",
        )
    if file is not None and (engine or tflm):
        raise UsageError("--engine and --tflm are of a build", fix="leave them out, or give --model")
    return file


def build_image(
    board: Board,
    model: str | None,
    engine: str | None,
    tflm: Path | None,
    *,
    baud: int | None = None,
    energy: bool = False,
    benchmark_id: str | None = None,
    to_run: bool = True,
) -> Firmware:
    """Firmware in the cache, as the options of `build` say it.

    Without a user's TFLM only its memory is known, which does where it is not `to_run`. EdgeBenchError as
    preparation, engine and `build` have it.
    """
    cache = Cache()
    line = LineOptions(baud or (ENERGY_BAUD if energy else BAUD), energy, benchmark_id)
    with using(cache):
        return build(board, _engine(board, model, engine, tflm, cache, to_run), cache, say, line)


def _engine(
    board: Board, model: str | None, engine: str | None, tflm: Path | None, cache: Cache, to_run: bool
) -> Engine:
    model = model or MODEL
    named = tflm is not None or bool(os.environ.get(VARIABLE))
    if model == FIRST_LIGHT:
        if engine is not None or tflm is not None:
            raise UsageError(
                f"{FIRST_LIGHT} is no network, and takes no engine", fix="leave out --engine and --tflm"
            )
        return brightness()
    by_suffix = {".tflite": "tflm", ".onnx": "generated"}.get(Path(model).suffix.lower())
    name = engine or ("tflm" if tflm else by_suffix or ("tflm" if named or not to_run else "generated"))
    if name not in ENGINES:
        raise UsageError(f"there is no engine {name!r}", fix=choose(name, ENGINES))
    if name != "tflm" and tflm is not None:
        raise UsageError("--tflm needs the engine tflm", fix="leave out --tflm or --engine")
    if name == "tflm" and to_run:
        tflm_library(board, tflm)  # before anything is prepared
    artifact = prepared(model, name, CortexMBackend(), cache, say)
    if name == "tflm" and not (to_run or named):
        say(
            "note: TFLM's own code is not counted (of MobileNet v1 60 kB of flash, with CMSIS-NN 100); "
            f"{VARIABLE} or --tflm names yours"
        )
        return tflm_engine(artifact, None, say)
    return engine_of(name, artifact, board, cache, say, tflm=tflm)


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
