"""`--set` of a microcontroller."""

from __future__ import annotations

from typing import Any, Literal, Self

from pydantic import Field, field_validator, model_validator

from edgebench.contract import BackendOptions

from .boards import EMULATED, NAMES, board_of
from .choices import BAUD, LEAST_BAUD, MOST_BAUD, SERIAL_PATTERN, BenchmarkId


class CortexMOptions(BackendOptions):
    """Those that say how bytes and firmware come onto the board decide no figure."""

    not_in_key = frozenset({"baud", "benchmark_id", "board", "build", "flash", "stlink"})

    baud: int = Field(default=BAUD, ge=LEAST_BAUD, le=MOST_BAUD, description="baud rate of the serial line")
    engine: Literal["tflm", "generated"] = Field(
        default="tflm",
        description="tflm: firmware with the int8 .tflite; generated: with C made of an int8 ONNX file, the "
        "default of an emulated board",
    )
    board: str | None = Field(
        default=None,
        max_length=100,
        description=f"what --build and --flash are for: {', '.join(NAMES)}",
    )
    benchmark_id: BenchmarkId | None = Field(
        default=None,
        description="what firmware that is built calls its model, so that MLPerf Tiny's runner takes it",
    )
    build: bool = Field(default=False, description="build firmware where the board carries another model")
    flash: bool = Field(default=False, description="flash what was built")
    stlink: str | None = Field(
        default=None,
        pattern=f"^{SERIAL_PATTERN}$",
        description="serial number of the ST-LINK that --flash uses, where several are plugged in",
    )
    icount_shift: int | None = Field(
        default=None,
        ge=0,
        le=10,
        description="for an emulated board whose QEMU was started with `-icount shift=N`",
    )

    @property
    def is_in_qemu(self) -> bool:
        """Whether the board is emulated: started by the run, or by the user, who says how it counts."""
        return self.icount_shift is not None or self.board in EMULATED

    @model_validator(mode="before")
    @classmethod
    def _engine_of_emulated_boards(cls, options: Any) -> Any:
        """Generated C, unless another is named: such a board holds it, and it takes no other software."""
        if isinstance(options, dict) and options.get("board") in EMULATED:
            return {"engine": "generated", **options}
        return options

    @model_validator(mode="after")
    def _at_the_boards_rates(self) -> Self:
        if self.board is not None and (problem := board_of(self.board).why_not_baud(self.baud)):
            raise ValueError(problem)
        return self

    @field_validator("board")
    @classmethod
    def _known(cls, board: str | None) -> str | None:
        if board is not None and board not in NAMES:
            raise ValueError(f"there is no board {board!r}; choose among {', '.join(NAMES)}")
        return board
