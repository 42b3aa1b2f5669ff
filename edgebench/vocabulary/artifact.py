"""An artifact: the file that a runtime loads for a variant, and everything known about it.

Pydantic models and no plain dataclasses, unlike the other words: an artifact's description is read back from
the cache, where anything may lie, and has to be checked as outside data is.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from edgebench.vocabulary.variant import Variant


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class InputSpec(_Record):
    """What the runtime expects.

    A pixel p (0..255) becomes the real value p / divisor + offset; an int8 input then holds
    round(real / scale) + zero_point. Where the channels differ, `divisors` and `offsets` have one number a
    channel and stand in their place.
    """

    dtype: Literal["float32", "float16", "int8", "uint8"]
    layout: Literal["NHWC", "NCHW"] = "NHWC"
    height: int = 224
    width: int = 224
    divisor: float = 127.5
    offset: float = -1.0
    divisors: tuple[float, float, float] | None = None
    offsets: tuple[float, float, float] | None = None
    scale: float | None = None
    zero_point: int | None = None


class Golden(_Record):
    """Patches with known scores that go through every session before anything is timed.

    `patches` is a `.npy` of uint8 [g, height, width, 3], or for an artifact with `tensors` a `.npz` with one
    array [g, ...] an input, named by its place; `scores` is [g][classes]; `reference` names
    what computed them; `tolerance` is the largest absolute difference of a score that is accepted, and
    `exact_with` names runtimes' settings ("kernels=reference") under which it must be 0.
    """

    patches: Path
    patches_sha256: str
    scores: tuple[tuple[float, ...], ...]
    reference: str
    tolerance: float
    exact_with: tuple[str, ...] = ()


class Companion(_Record):
    """Another file that an artifact needs where it is loaded or built, by its content."""

    path: Path
    sha256: str


CompanionName = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]{0,39}(\.[A-Za-z0-9]{1,12}){0,2}$")]
"""What the runner knows a companion by, such as `weights.bin`; never a path."""


class TensorInput(_Record):
    """One input of an artifact that takes no picture; `shape` is that of one sample, the batch included."""

    name: str
    dtype: str
    shape: tuple[int, ...]


class Artifact(_Record):
    """One variant, made for one runtime, at one static batch size."""

    schema_version: Literal[1] = 1
    variant: str
    batch: int
    format: str  # "tflite", "toy"
    path: Path
    sha256: str
    size_bytes: int
    input: InputSpec
    class_names: tuple[str, ...]
    golden: Golden
    provenance: dict[str, Any]  # weights_sha256, recipe, tools {name: version}, calibration {...}
    outputs: int | None = None  # scores a patch, where they are no classes or nobody named them
    accuracy_reason: str = ""  # why accuracy means nothing here, such as random weights
    assumed: tuple[str, ...] = ()  # of the input, because neither the file nor the user says it
    mark: str = ""  # what has to stand beside every figure of it, such as "on the CPU"
    tensors: tuple[
        TensorInput, ...
    ] = ()  # the inputs of one that takes no picture: `input` says nothing then
    input_shapes: tuple[
        tuple[int, ...], ...
    ] = ()  # what the runtime has to be told; empty: the file says all
    companions: dict[CompanionName, Companion] = {}  # placed beside it: weights, calibration, a timing cache

    @property
    def scores(self) -> int:
        """Scores a patch."""
        return len(self.class_names) if self.outputs is None else self.outputs

    @property
    def as_variant(self) -> Variant:
        """The variant as its parts."""
        return Variant.parse(self.variant)
