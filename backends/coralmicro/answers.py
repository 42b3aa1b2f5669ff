"""What a board may answer, checked: fields, types and ranges. Fields that are not known are ignored."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import numpy as np
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, FiniteFloat, model_validator

from edgebench.printable import printable

FIRMWARE = "edgebench-coral-micro"
PROTOCOL = 1
LEAST_PIECE_BYTES = 1 << 10
MOST_PIECE_BYTES = 1 << 20
MOST_CLASSES = 10_000
_MOST_MEMORY_BYTES = 1 << 30
_MOST_SCALE = 1e30
"""Times 255 it is still a float32."""

Block = Literal["model", "scene", "images"]
"""What is loaded: the model, the resident patches of the scene, or images beside it."""

Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
Microseconds = Annotated[int, Field(ge=0, lt=1 << 32)]
Size = Annotated[int, Field(ge=0, le=_MOST_MEMORY_BYTES)]
_Text = Annotated[str, Field(max_length=200), AfterValidator(printable)]
_ByteType = Literal["int8", "uint8"]


class Answer(BaseModel):
    """The `result` of an answer."""

    model_config = ConfigDict(frozen=True, extra="ignore", strict=True)


class FirmwareAnswer(Answer):
    """What any version of EdgeBench's firmware says of itself."""

    firmware: _Text
    protocol: int
    version: _Text = ""


class ModelAnswer(Answer):
    """The model that is loaded.

    Attributes:
        sha256: of its file.
        input_bytes: of one patch, NHWC.
        edgetpu: how many of its operations run on the Edge TPU (`edgetpu-custom-op`).
    """

    sha256: Sha256
    input_bytes: Annotated[int, Field(gt=0, le=_MOST_MEMORY_BYTES)]
    input_type: _ByteType
    input_scale: Annotated[FiniteFloat, Field(gt=0)]
    input_zero_point: int
    output_type: Literal["int8", "uint8", "float32"]
    output_scale: FiniteFloat
    output_zero_point: int
    classes: Annotated[int, Field(gt=0, le=MOST_CLASSES)]
    arena_used: Size
    edgetpu: Annotated[int, Field(ge=0, le=10_000)]

    @property
    def output_dtype(self) -> np.dtype[Any]:
        """As scores lie in the answer's bytes."""
        return np.dtype({"int8": "i1", "uint8": "u1", "float32": "<f4"}[self.output_type])

    @model_validator(mode="after")
    def _check_quantisation(self) -> ModelAnswer:
        if self.output_type != "float32" and not 0 < self.output_scale <= _MOST_SCALE:
            raise ValueError(f"output_scale of a quantised output is above 0, and {_MOST_SCALE:g} at most")
        for name, kind, zero_point in (
            ("input", self.input_type, self.input_zero_point),
            ("output", self.output_type, self.output_zero_point),
        ):
            if kind != "float32" and not np.iinfo(kind).min <= zero_point <= np.iinfo(kind).max:
                raise ValueError(f"{name}_zero_point {zero_point} is outside of {kind}")
        return self


class BoardDescription(FirmwareAnswer):
    """The answer to `describe`.

    Attributes:
        tpu: what the Edge TPU was opened with; "" without one.
        times: whether a pass is stamped with its preprocessing, or inference alone.
        us: the board's clock, modulo 2^32.
        piece_bytes: most of one piece of a block.
        model_bytes, arena_bytes, scene_bytes, images_bytes: room for each.
        scene, images: SHA-256 of what is held whole.
    """

    board: _Text
    cpu: _Text
    runtime: _Text
    runtime_version: _Text
    tpu: _Text
    times: Literal["pass", "inference"]
    clock_bits: Literal[32]
    us: Microseconds
    piece_bytes: Annotated[int, Field(ge=LEAST_PIECE_BYTES, le=_MOST_MEMORY_BYTES)]
    model_bytes: Size
    arena_bytes: Size
    scene_bytes: Size
    images_bytes: Size
    model: ModelAnswer | None
    scene: Sha256 | None
    images: Sha256 | None
    temperature_c: Annotated[FiniteFloat, Field(ge=-100, le=300)] | None

    def held(self) -> dict[Block, str | None]:
        """The SHA-256 of each block that is held whole."""
        return {
            "model": None if self.model is None else self.model.sha256,
            "scene": self.scene,
            "images": self.images,
        }


class HeldAnswer(Answer):
    """The answer to `load`: how many bytes of the block are there."""

    held: Size


class ScoresAnswer(Answer):
    """The answer to `predict`; `scores` in base64."""

    n: Annotated[int, Field(ge=0, lt=1 << 31)]
    scores: str


class RunAnswer(ScoresAnswer):
    """The answer to `run`; `stamps` in base64."""

    start_us: Microseconds
    end_us: Microseconds
    stamps: str
