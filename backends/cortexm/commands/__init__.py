"""Build, size and flash firmware for a Cortex-M; simulate one."""

from __future__ import annotations

import typer

from edgebench.cli.common import JsonOption, echo_path, say, stderr, stdout
from edgebench.errors import InputError
from edgebench.files import reason

from ..simulator.simulate import BenchmarkIdOption, simulate
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
    benchmark_id: BenchmarkIdOption = None,
    output: OutputOption = None,
) -> None:
    """Build firmware with a model; print the path of its .elf.

    What it takes of the board's memory goes to standard error. What does not fit
    is refused, with the bytes that are missing.

    Example: edgebench cortexm build --board nucleo-h743zi2 --model my_int8.tflite
    """
    from edgebench.files import require_file_name, write_atomically

    from ..boards import board_of
    from .image import build_image, print_memory

    if output is not None:
        require_file_name(output, "-o")
    known = board_of(board)
    image = build_image(known, model, engine, tflm, baud=baud, energy=energy, benchmark_id=benchmark_id)
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
    json_: JsonOption = False,
) -> None:
    """Show what firmware takes of a board's flash and RAM, section by section.

    With --model it is built first; without your TFLM all but TFLM's own code is
    counted. What does not fit is refused, with the bytes that are missing.

    Examples: edgebench cortexm size board.elf --board nucleo-h743zi2
    edgebench cortexm size --model my_int8.tflite --board nucleo-h743zi2
    """
    from ..boards import board_of, read_firmware
    from .image import build_image, print_memory, require_one, write_memory

    known = board_of(board)
    if (path := require_one(file, model, engine, tflm)) is None:
        firmware = build_image(known, model, engine, tflm, to_run=False)
    else:
        _, firmware = read_firmware(path, known)
    (write_memory if json_ else print_memory)(stdout(), known, firmware)


@app.command()
def flash(
    file: FileArgument = None,
    board: BoardOption = REAL,
    model: ModelOption = None,
    engine: EngineOption = None,
    tflm: TflmOption = None,
    serial: SerialOption = None,
) -> None:
    """Flash a board over its ST-LINK, by OpenOCD; with --model after a build.

    The file is checked against the board's memory first; it is verified, and the
    board is reset.

    Example: edgebench cortexm flash board.elf
    """
    from ..boards import board_of
    from ..firmware_supply import flash as flash_board
    from ..firmware_supply import require_flashing
    from .image import build_image, require_one

    known = board_of(board)
    path = require_one(file, model, engine, tflm)
    require_flashing(known, serial)  # before anything is built
    flash_board(known, path or build_image(known, model, engine, tflm).elf, say, serial=serial)


app.command()(simulate)
