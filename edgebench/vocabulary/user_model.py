"""What is known of a user's model: its inputs, how one of them takes a picture, its outputs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from edgebench.vocabulary.model_facts import TensorFacts


@dataclass(frozen=True)
class FixedInput:
    """An input with every axis fixed, at batch 1; `shape` is as the file has it, the batch included."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    scale: float | None = None
    zero_point: int | None = None


@dataclass(frozen=True)
class PictureInput:
    """How an input takes a picture: pixel p (0..255) of channel c is the real value p / divisors[c] +
    offsets[c]; one number each where all channels are alike.

    `told_by` is who says so: the user, the file, or "the default".
    """

    layout: Literal["NHWC", "NCHW"]
    height: int
    width: int
    divisors: tuple[float, ...]
    offsets: tuple[float, ...]
    told_by: str


@dataclass(frozen=True)
class UserModel:
    """What is known of a user's file.

    Attributes:
        precision: of the file as it is: fp32, fp16, int8 or mixed.
        inputs: with every axis fixed.
        open_batch: whether the first axis of every input was left open by the file.
        open_axes: whether any axis was, so that a runtime has to be told the shapes.
        picture: how the one input takes a picture; None for a model that is timed with other inputs.
        outputs: as the file says.
        open_shapes: the inputs' shapes as the file has them, None where an axis is open.
        macs: multiply-accumulates of one call; None where they are not known.
        accuracy_reason: why there can be no accuracy; empty where there can be.
        assumed: of the inputs, because neither the file nor the user says it; one sentence each.
    """

    precision: str
    inputs: tuple[FixedInput, ...]
    open_batch: bool
    open_axes: bool
    picture: PictureInput | None
    outputs: tuple[TensorFacts, ...]
    open_shapes: tuple[tuple[int | None, ...], ...] = ()
    macs: int | None = None
    accuracy_reason: str = ""
    assumed: tuple[str, ...] = ()

    @property
    def scores(self) -> int | None:
        """Scores a picture of a model with one row of them; None where it gives something else."""
        if len(self.outputs) != 1:
            return None
        lengths = [length for length in self.outputs[0].shape[1:] if length != 1]
        return lengths[0] if len(lengths) == 1 else (1 if not lengths else None)

    def shapes(self, batch: int) -> tuple[tuple[int, ...], ...]:
        """The inputs' shapes at a batch."""
        return tuple((batch, *tensor.shape[1:]) if tensor.shape else () for tensor in self.inputs)
