"""Models: a variant, where its graph comes from, what its file holds, the artifact that a runtime loads."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from edgebench.errors import EdgeBenchError
from edgebench.records.values import FAMILY, ImageSet, Json, Variant

# An artifact: the file that a runtime loads for a variant, and everything known about it.
#
# Pydantic models and no plain dataclasses, unlike the other words: an artifact's description is read back
# from
# the cache, where anything may lie, and has to be checked as outside data is.


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class InputSpec(_Record):
    """Input that the runtime expects.

    A pixel p (0..255) becomes the real value p / divisor + offset; an int8 input then holds
    round(real / scale) + zero_point. Where the channels differ, or there is only one (grey), `divisors` and
    `offsets` have one number a channel and stand in their place.
    """

    dtype: Literal["float32", "float16", "int8", "uint8"]
    layout: Literal["NHWC", "NCHW"] = "NHWC"
    height: int = 224
    width: int = 224
    divisor: float = 127.5
    offset: float = -1.0
    divisors: tuple[float, float, float] | tuple[float] | None = None
    offsets: tuple[float, float, float] | tuple[float] | None = None
    scale: float | None = None
    zero_point: int | None = None

    @property
    def channels(self) -> int:
        """3 for RGB, 1 for grey."""
        return len(self.divisors or (1, 1, 1))


class OutputTolerance(_Record):
    """Check of one output: how many scores of a row it has, and their largest accepted difference.

    None: two kernels of the reference's runtime differ by so much that only finite values are expected.
    """

    scores: int
    tolerance: float | None


class Golden(_Record):
    """Patches with known scores that go through every session before anything is timed.

    `patches` is a `.npy` of uint8 [g, height, width, 3], or for an artifact with `tensors` a `.npz` with one
    array [g, ...] an input, named by its place; `scores` is [g][classes]; `reference` names what computed
    them ("": nothing does, and they are NaN); `tolerance` is the largest absolute difference of a score that
    is accepted, and `exact_with` names runtimes' settings ("kernels=reference") under which it must be 0.
    `outputs` has a tolerance for each output where there are several; empty: `tolerance` is that of all
    scores.
    """

    patches: Path
    patches_sha256: str
    scores: tuple[tuple[float, ...], ...]
    reference: str
    tolerance: float
    exact_with: tuple[str, ...] = ()
    outputs: tuple[OutputTolerance, ...] = ()


State = Literal["none", "reset", "kept", "partly", "resources"]
"""Treatment of what a .tflite file carries from one inference to the next: nothing is carried; its variable
tensors are reset before each inference, or kept (`--keep-state`); those are reset and its resource variables
(operation VAR_HANDLE), which no runtime resets, are kept; it has resource variables alone."""


def state_of(variables: Sequence[str], operations: Collection[str], *, keep: bool) -> State:
    """Treatment of a .tflite file's state.

    Args:
        variables: names of its variable tensors.
        operations: names of its operations.
        keep: whether the user measures a stream whose samples are in order.
    """
    has_resources = "VAR_HANDLE" in operations
    if keep and (variables or has_resources):
        return "kept"
    if variables:
        return "partly" if has_resources else "reset"
    return "resources" if has_resources else "none"


class Companion(_Record):
    """Another file that an artifact needs where it is loaded or built, by its content."""

    path: Path
    sha256: str


CompanionName = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]{0,39}(\.[A-Za-z0-9]{1,12}){0,2}$")]
"""What the runner knows a companion by, such as `weights.bin`; never a path."""


class TensorInput(_Record):
    """One input of an artifact that takes no picture; `shape` is that of one sample, the batch included.

    Samples of real numbers become round(real / scale) + zero_point where the input is quantised.
    """

    name: str
    dtype: str
    shape: tuple[int, ...]
    scale: float | None = None
    zero_point: int | None = None


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
    state: State = "none"  # carried from one inference to the next
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
    def input_type(self) -> str:
        """The dtype of its picture, or of its first other input; as numpy names it."""
        return self.tensors[0].dtype if self.tensors else self.input.dtype

    @property
    def as_variant(self) -> Variant:
        """The variant as its parts."""
        return Variant.parse(self.variant)


# What a model file holds: inputs, outputs, operations, multiply-accumulates, parameters, precision.


Shape = tuple[int | None, ...]
"""The axes' lengths, None where an axis has no fixed one."""


Precision = Literal["fp32", "fp16", "int8", "mixed"]


@dataclass(frozen=True)
class TensorFacts:
    """An input or an output.

    `scale` and `zero_point` are of its quantisation, real = scale * (stored - zero_point); None where there
    is none, or where each channel has its own. An input of real numbers has those of an operation that
    quantises it first, as to uint8.
    """

    name: str
    dtype: str  # as numpy names it: float32, int8, uint8 ...
    shape: Shape
    scale: float | None = None
    zero_point: int | None = None

    @property
    def layout(self) -> Literal["NHWC", "NCHW"] | None:
        """Order of an image's axes, by the axis that has 1, 3 or 4 channels; None: no image."""
        if len(self.shape) != 4:
            return None
        if self.shape[3] in (1, 3, 4):
            return "NHWC"
        return "NCHW" if self.shape[1] in (1, 3, 4) else None


@dataclass(frozen=True)
class ModelFacts:
    """Facts read from a model file.

    Attributes:
        format: `tflite`, `onnx`, `openvino` (IR), `keras` or `saved_model`.
        operations: how many of each, the commonest first; a Keras model's layers.
        macs: multiply-accumulates of one call; an open batch counts as 1. None with `macs_reason`.
        macs_counted: the operations that `macs` is the sum of; additions, pooling, activations and the
            like are not in it, as in published figures.
        parameters: numbers in the weights and biases that the file holds (a converter folds normalisation
            into them, so there are fewer than before it). None with `parameters_reason`.
        precision: what its convolutions and matrix products compute in: `int8` where weights and inputs are
            int8 (or uint8), `fp16` where the weights are float16, `mixed` for anything else.
        states: names of the tensors that carry something from one inference to the next: variable tensors of
            a .tflite, inputs of an .onnx that come back as outputs.
        is_16x8: whether int8 weights meet int16 activations.
        pixel_mean, pixel_std: of a picture input by the file's metadata, one for all channels or one a
            channel: a pixel p (0..255) becomes (p - mean) / std. Empty without.
        class_names: of the one output by the file's metadata. Empty without.
        metadata_reason: why metadata that the file has cannot be used.
        external_files: names of the files in its folder that hold its weights, sorted. `size_bytes` and
            `sha256` include them.
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
    states: tuple[str, ...] = ()
    is_16x8: bool = False
    pixel_mean: tuple[float, ...] = ()
    pixel_std: tuple[float, ...] = ()
    class_names: tuple[str, ...] = ()
    metadata_reason: str = ""
    external_files: tuple[str, ...] = ()


# What is known of a user's model: its inputs, how one of them takes a picture, its outputs.


@dataclass(frozen=True)
class FixedInput(TensorFacts):
    """An input with every axis fixed, at batch 1; `shape` is as the file has it, the batch included.

    `is_state`: it takes what an earlier inference gave out, and zeros at the beginning.
    """

    shape: tuple[int, ...]
    is_state: bool = False


@dataclass(frozen=True)
class PictureInput:
    """Conversion of a picture for an input: pixel p (0..255) of channel c is the real value p / divisors[c] +
    offsets[c]; one number each where all channels are alike.

    `told_by` is who says so: the user, the file, or "the default".
    """

    layout: Literal["NHWC", "NCHW"]
    height: int
    width: int
    divisors: tuple[float, ...]
    offsets: tuple[float, ...]
    told_by: str
    channels: int = 3  # 1: grey


@dataclass(frozen=True)
class UserModel:
    """Facts about a user's file.

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
        state: of a .tflite file; of a file that is converted, its artifact tells.
        is_16x8: whether int8 weights meet int16 activations.
        class_names: of the scores by the file's metadata; empty without, or where there are not as many.
        notes: on metadata that are not used; one sentence each.
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
    state: State = "none"
    is_16x8: bool = False
    class_names: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def has_batch(self) -> bool:
        """Return True if axis 0 of every input but numbers is a batch; else the whole shapes are one sample.

        A batch is 1 or open where the model takes no picture; a picture's axis 0 is always one.
        """
        return self.picture is not None or all(tensor.shape[0] == 1 for tensor in self.inputs if tensor.shape)

    @property
    def scores(self) -> int | None:
        """Scores a picture or sample of a model with one row of them; None where it gives something else."""
        if len(self.outputs) != 1:
            return None
        batch = self.inputs[0].shape[0] if self.picture is not None else 1
        shape = self.outputs[0].shape
        lengths = [
            length for length in (shape[1:] if shape[:1] in ((None,), (batch,)) else shape) if length != 1
        ]
        return lengths[0] if len(lengths) == 1 else (1 if not lengths else None)

    @property
    def fixed_batch(self) -> int | None:
        """Batch that the file fixes; None where it is open or there is none."""
        batches = {tensor.shape[0] for tensor in self.inputs if tensor.shape}
        return None if self.open_batch or not self.has_batch or len(batches) != 1 else batches.pop()

    def shapes(self, batch: int) -> tuple[tuple[int, ...], ...]:
        """The inputs' shapes at a batch."""
        if not self.has_batch:
            return tuple(tensor.shape for tensor in self.inputs)
        return tuple((batch, *tensor.shape[1:]) if tensor.shape else () for tensor in self.inputs)


# Where a variant's graph and weights come from: a family by name, trained weights, or a user's own file.


SourceKind = Literal["family", "weights", "tflite", "edgetpu", "onnx", "openvino", "keras", "saved_model"]


@dataclass(frozen=True)
class InputChoice:
    """Choices of the user for a model's input; None: read it from the model, else the default stands.

    A pixel p (0..255) becomes the real value (p - mean) / scale, channel by channel where there are three.
    """

    layout: Literal["NHWC", "NCHW"] | None = None
    scale: tuple[float, ...] | None = None  # one for all channels, or one a channel
    mean: tuple[float, ...] | None = None
    shapes: tuple[tuple[str, tuple[int, ...]], ...] = ()  # by the input's name; "" for the only input
    keep_state: bool = False  # samples are a stream in order: the model's state is not reset between them
    takes_grey: bool = False  # an input of one channel takes pictures, as one with a layout does

    def identity(self) -> dict[str, Any]:
        """Plain data for a key; only what was said."""
        choices = {
            "layout": self.layout,
            "scale": self.scale and list(self.scale),
            "mean": self.mean and list(self.mean),
            "shapes": {name: list(shape) for name, shape in self.shapes} or None,
            "keep_state": self.keep_state or None,
        }
        return {name: value for name, value in choices.items() if value is not None}


@dataclass(frozen=True)
class Samples:
    """Inputs that a model is checked or timed with, and where they are from.

    `path` is a .npy of uint8 [n, height, width, 3] for a model of pictures; else a .npz with one array
    [n, ...] an input, named by its place: `0`, `1`, ...
    """

    path: Path
    sha256: str
    n: int
    origin: str  # "the first 5 calibration images"


@dataclass(frozen=True)
class ModelSource:
    """One model, whatever its precision: what `--model` named, or the shipped family.

    Attributes:
        name: `Variant.family` of all its variants: a family's name, or for a file its name and the first
            eight digits of its hash, such as `tower-1a2b3c4d`.
        kind: `family` (weights that are shipped, else random ones), `weights` (a .npz with its record),
            or the format of the file.
        path: the file (the folder of a SavedModel); None for a family.
        sha256: of the file's bytes; of a folder's files, or of a file and those with its weights, by name and
            content; None for a family.
        input: what the user said of the input.
        class_names: of the outputs, in order, where the user or the record beside the weights names them.
        calibration: the user's images for post-training quantisation; None: there are none, except that the
            shipped family has the shipped ones.
        model: what is known of a user's file; None for a family.
        golden: the patches that outputs are checked with; None: the shipped ones.
        inputs: what is timed where the model takes no picture; None for a model of pictures.
        labelled: the inputs that accuracy is taken on where it takes no picture; None without labels.
        family: of `weights`, the family that they are of.
        width: of `weights`, the family's width; None where it has only one.
    """

    name: str = FAMILY
    kind: SourceKind = "family"
    path: Path | None = None
    sha256: str | None = None
    input: InputChoice = field(default_factory=InputChoice)
    class_names: tuple[str, ...] | None = None
    calibration: ImageSet | None = None
    model: UserModel | None = None
    golden: Samples | None = None
    inputs: Samples | None = None
    labelled: ImageSet | None = None
    family: str | None = None
    width: float | None = None

    @property
    def is_users(self) -> bool:
        """Return True if the model is the user's, and not a family's."""
        return self.kind != "family"

    def identity(self) -> dict[str, Any]:
        """Plain data that decide an artifact, for a key; never a path."""
        return {
            "kind": self.kind,
            "name": self.name,
            "sha256": self.sha256,
            "input": self.input.identity(),
            "class_names": self.class_names and list(self.class_names),
            "calibration": self.calibration and self.calibration.sha256,
            **({} if self.golden is None else {"golden": self.golden.sha256}),
            **({} if self.inputs is None else {"inputs": self.inputs.sha256}),
            **({} if self.family is None else {"family": self.family, "width": self.width}),
        }


SHIPPED = ModelSource()
"""MobileNet v1 with the weights that come with the package."""


# What is asked of a backend that prepares a variant, and what becomes of it.


Prepared = Artifact | EdgeBenchError
"""What became of a request for an artifact: UnsupportedError where the device does not take the variant, any
other error where it could not be made. The trial has the reason, and the other trials go on."""


@dataclass(frozen=True)
class PrepareRequest:
    """Request to make one variant's artifact, for a backend."""

    variant: Variant
    batch: int
    options: Mapping[str, Json]
    source: ModelSource = SHIPPED  # whose variant it is


# What a device has made of an artifact, on the board, before a trial's first session.


@dataclass(frozen=True)
class BuiltArtifact:
    """The file that was loaded in the artifact's place.

    Attributes:
        seconds: of building, on the board's clock; where it is cached, when it was built.
        sha256, bytes: of the file.
        cached: whether it lay on the board already.
    """

    seconds: Annotated[float, Field(ge=0, allow_inf_nan=False)]
    """Time that building took, also where it was found: then when it was built. No part of load_s. Unit:
    second. Source: clock of the device."""
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    """SHA-256 of the file, in hex. Source: agent."""
    bytes: Annotated[int, Field(gt=0)]
    """Its size. Unit: byte. Source: agent."""
    cached: bool
    """Whether it lay on the board already. Source: agent."""
