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
    from .image import build_image, print_memory

    if output is not None:
        require_file_name(output, "-o")
    known = board_of(board)
    image = build_image(known, model, engine, tflm, baud, energy)
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
def size(file: FileArgument, board: BoardOption = EMULATED, json_: JsonOption = False) -> None:
    """Show what firmware takes of a board's flash and RAM, section by section.

    What does not fit is refused as it is by a run, with the bytes that are missing.

    Example: edgebench cortexm size board.elf --board nucleo-h743zi2
    """
    from ..boards import board_of, read_firmware
    from .image import print_memory, write_memory

    known = board_of(board)
    _, firmware = read_firmware(file, known)
    (write_memory if json_ else print_memory)(stdout(), known, firmware)


@app.command()
def flash(file: FileArgument, board: BoardOption = REAL, serial: SerialOption = None) -> None:
    """Flash a board over its ST-LINK, by OpenOCD.

    The file is checked against the board's memory first; it is verified, and the
    board is reset.

    Example: edgebench cortexm flash board.elf
    """
    from ..boards import board_of
    from ..firmware_supply import flash as flash_board

    flash_board(board_of(board), file, say, serial=serial)


app.command()(simulate)
