"""Build, size and flash firmware for a Cortex-M; simulate one."""

from __future__ import annotations

import typer

from edgebench.cli.common import JsonOption, echo_path, say, stderr, stdout
from edgebench.errors import InputError
from edgebench.files import reason

from ..simulator.simulate import simulate
from .option_types import (
    EMULATED,
    REAL,
    BaudOption,
    BoardOption,
    EnergyOption,
    EngineOption,
    FileArgument,
    ModelOption,
    OutputOption,
    SerialOption,
    TflmOption,
    ToolOption,
)

app = typer.Typer(no_args_is_help=True, help=__doc__)


@app.command()
def build(
    board: BoardOption = EMULATED,
    model: ModelOption = None,
    engine: EngineOption = None,
    tflm: TflmOption = None,
    baud: BaudOption = None,
    energy: EnergyOption = False,
    output: OutputOption = None,
) -> None:
    """Build firmware with a model; print the path of its .elf.

    What it takes of the board's memory goes to standard error. What does not fit
    is refused, with the bytes that are missing.

    Example: edgebench cortexm build --board nucleo-h743zi2 --model brightness
    """
    from edgebench.files import require_file_name, write_atomically

    from ..boards import board_of
    from .image import Recipe, build_image, print_memory

    if output is not None:
        require_file_name(output, "-o")
    known = board_of(board)
    image = build_image(known, Recipe(model, engine, tflm, baud, energy))
    print_memory(stderr(), known, image)
    if output is not None:
        try:
            write_atomically(output, image.elf.read_bytes())
        except OSError as error:
            raise InputError(
                f"{output} cannot be written",
                why=reason(error),
                fix=f"choose another file with -o; the firmware is {image.elf}",
            ) from error
    echo_path(output or image.elf)


@app.command()
def size(
    file: FileArgument = None,
    board: BoardOption = EMULATED,
    model: ModelOption = None,
    engine: EngineOption = None,
    tflm: TflmOption = None,
    baud: BaudOption = None,
    energy: EnergyOption = False,
    json_: JsonOption = False,
) -> None:
    """Show what firmware takes of a board's flash and RAM, section by section.

    What does not fit is refused as it is by a run, with the bytes that are missing.

    Example: edgebench cortexm size --board nucleo-h743zi2 --engine tflm --tflm ~/tflm
    """
    from ..boards import board_of
    from .image import Recipe, image, print_memory, write_memory

    known = board_of(board)
    shown = image(file, known, Recipe(model, engine, tflm, baud, energy))
    (write_memory if json_ else print_memory)(stdout(), known, shown)


@app.command()
def flash(
    file: FileArgument = None,
    board: BoardOption = REAL,
    model: ModelOption = None,
    engine: EngineOption = None,
    tflm: TflmOption = None,
    baud: BaudOption = None,
    energy: EnergyOption = False,
    tool: ToolOption = None,
    serial: SerialOption = None,
) -> None:
    """Flash a board over its ST-LINK, by OpenOCD or st-flash.

    The file is held against the board's memory first; it is verified, and the
    board is reset.

    Examples: edgebench cortexm flash --model brightness
    edgebench cortexm flash firmware.elf --tool st-flash
    """
    from ..boards import board_of
    from ..firmware_supply import flash as flash_board
    from ..firmware_supply import require_flashing
    from .image import Recipe, image

    known = board_of(board)
    require_flashing(known, tool, serial)
    firmware = image(file, known, Recipe(model, engine, tflm, baud, energy))
    flash_board(known, firmware.elf, tool, say, serial=serial)


app.command()(simulate)
