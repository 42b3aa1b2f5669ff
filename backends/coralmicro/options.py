"""`--set` of a Coral Dev Board Micro."""

from __future__ import annotations

from pydantic import Field, field_validator

from edgebench.contract import BackendOptions
from edgebench.errors import UsageError

from .board_address import board_address
from .reach import USUAL_HOST


class CoralMicroOptions(BackendOptions):
    """Where the board is decides no figure, and is nobody's business."""

    places = frozenset({"address"})

    address: str = Field(
        default=USUAL_HOST,
        max_length=300,
        description=f"of the board, as HOST or HOST:PORT; over USB it is {USUAL_HOST}",
    )
    allow_cpu: bool = Field(
        default=False, description="take a model that is not compiled, on the Cortex-M7 and marked so"
    )
    artifact: str = Field(
        default="",
        max_length=4096,
        pattern=r"^[^\x00-\x1f\x7f]*$",
        description="a compiled model, or a folder of them as edgetpu_compiler names them (--artifact)",
    )

    @field_validator("address")
    @classmethod
    def _check_address(cls, address: str) -> str:
        try:
            board_address(address)
        except UsageError as error:
            raise ValueError(f"{error.what}: {error.why}; {error.fix}") from None
        return address
