"""What a model file holds: inputs, outputs, operations, multiply-accumulates, parameters, precision."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Shape = tuple[int | None, ...]
"""The axes' lengths, None where an axis has no fixed one."""


Precision = Literal["fp32", "fp16", "int8", "mixed"]


@dataclass(frozen=True)
class TensorFacts:
    """An input or an output.

    `scale` and `zero_point` are of its quantisation, real = scale * (stored - zero_point); None where there
    is none, or where each channel has its own.
    """

    name: str
    dtype: str  # as numpy names it: float32, int8, uint8 ...
    shape: Shape
    scale: float | None = None
    zero_point: int | None = None

    @property
    def layout(self) -> Literal["NHWC", "NCHW"] | None:
        """Where the channels of an image are, by the axis that has 1, 3 or 4 of them; None: no image."""
        if len(self.shape) != 4:
            return None
        if self.shape[3] in (1, 3, 4):
            return "NHWC"
        return "NCHW" if self.shape[1] in (1, 3, 4) else None


@dataclass(frozen=True)
class ModelFacts:
    """What a model file holds.

    Attributes:
        format: `tflite`, `onnx`, `keras` or `saved_model`.
        operations: how many of each, the commonest first; a Keras model's layers.
        macs: multiply-accumulates of one call; an open batch counts as 1. None with `macs_reason`.
        macs_counted: the operations that `macs` is the sum of; additions, pooling, activations and the
            like are not in it, as in published figures.
        parameters: numbers in the weights and biases that the file holds (a converter folds normalisation
            into them, so there are fewer than before it). None with `parameters_reason`.
        precision: what its convolutions and matrix products compute in: `int8` where weights and inputs are
            int8 (or uint8), `fp16` where the weights are float16, `mixed` for anything else.
    """

    format: str
    inputs: tuple[TensorFacts, ...]
    outputs: tuple[TensorFacts, ...]
    operations: Mapping[str, int]
    macs: int | None
    parameters: int | None
    precision: Precision
    size_bytes: int = 0
    sha256: str = ""
    macs_reason: str = ""
    macs_counted: Mapping[str, int] = field(default_factory=dict)
    parameters_reason: str = ""
