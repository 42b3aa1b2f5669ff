"""`edgebench cortexm simulate`: its options. Imports nothing heavy."""

from __future__ import annotations

from typing import Annotated

import typer

from edgebench.errors import UnsupportedError, UsageError
from edgebench.records.values import DEPTH_MULTIPLIERS, PRECISIONS, Variant
from edgebench.suggest import choose

from ..choices import BenchmarkId
from .clock import SimulatedClock

_LONGEST_INFERENCE_MS = 3_600_000.0

BenchmarkIdOption = Annotated[
    BenchmarkId | None,
    typer.Option(help="By which MLPerf Tiny's runner chooses its test. Default: the model's name"),
]


def simulate(
    depth: Annotated[float, typer.Option(help="Depth multiplier of the model: 0.25, 0.5 or 1.0.")] = 0.25,
    precision: Annotated[str, typer.Option(help="int8 or fp32: tflite-micro takes no fp16.")] = "int8",
    model: Annotated[
        str | None,
        typer.Option(
            "--model", "-m", metavar="FILE", help="A .tflite of yours in place of --depth and --precision."
        ),
    ] = None,
    inference_ms: Annotated[
        float | None,
        typer.Option(
            metavar="MS",
            help="Declare how long an inference takes: each input is inferred once, and the board's clock "
            "moves on by that much an inference, without waiting. Left out: laps are the host's time.",
            show_default=False,
        ),
    ] = None,
    benchmark_id: BenchmarkIdOption = None,
) -> None:
    """Simulate a microcontroller: prints its port and serves hosts until Ctrl-C.

    It speaks the serial protocol of MLPerf Tiny, EdgeBench's binary load too, and
    infers by tflite-micro on this machine. Its laps are no microcontroller's.

    Examples: edgebench cortexm simulate
    edgebench cortexm simulate --model my_int8.tflite --inference-ms 100
    """
    named = _variant(depth, precision).name if model is None else model
    if inference_ms is not None and not 0 < inference_ms <= _LONGEST_INFERENCE_MS:
        raise UsageError(
            f"an inference cannot take {inference_ms:g} ms",
            fix=f"take more than 0 and at most {_LONGEST_INFERENCE_MS:,.0f}",
        )

    from .board import run

    run(named, SimulatedClock(inference_ms=inference_ms), benchmark_id)


def _variant(depth: float, precision: str) -> Variant:
    if depth not in DEPTH_MULTIPLIERS:
        raise UsageError(
            f"there is no depth multiplier {depth:g}", fix=choose(depth, map(str, DEPTH_MULTIPLIERS))
        )
    if precision not in PRECISIONS:
        raise UsageError(f"there is no precision {precision!r}", fix=choose(precision, PRECISIONS))
    variant = Variant(depth, precision)
    if precision == "fp16":
        raise UnsupportedError(
            f"{variant.name} cannot be simulated",
            why="tflite-micro has no kernel that dequantises float16 weights",
            fix="take --precision int8 or fp32",
        )
    return variant
