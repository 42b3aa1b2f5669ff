"""The options that say which firmware is built. Imports nothing heavy."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Annotated

import typer

from ..boards import BOARDS, NAMES
from ..choices import BAUD, ENERGY_BAUD, ENGINES, LEAST_BAUD, MOST_BAUD
from ..tflm_library import VARIABLE

EMULATED = next(board.name for board in BOARDS if board.emulated)
"""The default board of `build` and `size`."""

REAL = next(board.name for board in BOARDS if not board.emulated)
"""The default board of `flash`."""

FIRST_LIGHT = "brightness"
"""The model that is no network."""

MODEL = "mobilenet_v1-0.25-int8"


def _completion(names: Iterable[str]) -> Callable[[str], list[str]]:
    return lambda incomplete: [name for name in names if name.startswith(incomplete)]


BoardOption = Annotated[
    str,
    typer.Option(
        "--board",
        metavar="NAME",
        autocompletion=_completion(NAMES),
        help=f"What the firmware is for: {' or '.join(NAMES)}.",
    ),
]
ModelOption = Annotated[
    str | None,
    typer.Option(
        "--model",
        "-m",
        metavar="FILE|VARIANT",
        help="A .tflite (engine tflm) or .onnx (generated) of yours, an int8 variant, or "
        f"{FIRST_LIGHT}: no network, for a board's first light. Default: {MODEL}",
    ),
]
EngineOption = Annotated[
    str | None,
    typer.Option(
        "--engine",
        metavar="NAME",
        autocompletion=_completion(ENGINES),
        help="generated: C made of an ONNX file; tflm: the TFLM that you built. "
        "Default: tflm for a .tflite, for `size`, and where --tflm says where it is, else generated",
    ),
]
TflmOption = Annotated[
    Path | None,
    typer.Option(
        "--tflm", metavar="DIR", help=f"Where your TFLM is: headers and library. Default: {VARIABLE}, if set"
    ),
]
BaudOption = Annotated[
    int | None,
    typer.Option(
        "--baud",
        metavar="N",
        min=LEAST_BAUD,
        max=MOST_BAUD,
        help=f"Baud rate of the serial line. Default: {BAUD}, with --energy {ENERGY_BAUD}",
    ),
]
EnergyOption = Annotated[
    bool, typer.Option("--energy", help="Stamps are pulses of the timing pin, for a power analyser.")
]
OutputOption = Annotated[
    Path | None,
    typer.Option("--output", "-o", metavar="FILE.elf", help="Copy it there. Default: it stays in the cache"),
]
FileArgument = Annotated[
    Path | None,
    typer.Argument(metavar="[FILE.elf]", help="Firmware, as `build` makes it; or give --model."),
]
SerialOption = Annotated[
    str | None,
    typer.Option("--serial", metavar="NUMBER", help="Serial number of the ST-LINK, if there are several."),
]
