"""Where a variant's graph and weights come from: a family by name, trained weights, or a user's own file."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from edgebench.vocabulary.pictures import ImageSet
from edgebench.vocabulary.user_model import UserModel
from edgebench.vocabulary.variant import FAMILY

SourceKind = Literal["family", "weights", "tflite", "onnx", "keras", "saved_model"]


@dataclass(frozen=True)
class InputChoice:
    """What the user said of a model's input; None: read it from the model, else the default stands.

    A pixel p (0..255) becomes the real value (p - mean) / scale, channel by channel where there are three.
    """

    layout: Literal["NHWC", "NCHW"] | None = None
    scale: tuple[float, ...] | None = None  # one for all channels, or one a channel
    mean: tuple[float, ...] | None = None
    height: int | None = None  # for a model whose input has no fixed size
    width: int | None = None
    shapes: tuple[tuple[str, tuple[int, ...]], ...] = ()  # by the input's name; "" for the only input

    def identity(self) -> dict[str, Any]:
        """Plain data for a key; only what was said."""
        choices = {
            "layout": self.layout,
            "scale": self.scale and list(self.scale),
            "mean": self.mean and list(self.mean),
            "height": self.height,
            "width": self.width,
            "shapes": {name: list(shape) for name, shape in self.shapes} or None,
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
        kind: `family` (weights that are shipped, else random ones), `weights` (a .npz of `models train`),
            or the format of the file.
        path: the file (the folder of a SavedModel); None for a family.
        sha256: of the file's bytes, or of a folder's files by name and content; None for a family.
        input: what the user said of the input.
        class_names: of the outputs, in order, where the user or the record beside the weights names them.
        calibration: the user's images for post-training quantisation; None: there are none, except that the
            shipped family has the shipped ones.
        model: what is known of a user's file; None for a family.
        golden: the patches that outputs are checked with; None: the shipped ones.
        inputs: what is timed where the model takes no picture; None for a model of pictures.
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
    family: str | None = None
    width: float | None = None

    @property
    def is_users(self) -> bool:
        """Whether it is the user's, and not a family's."""
        return self.kind != "family"

    def identity(self) -> dict[str, Any]:
        """What of it decides an artifact, as plain data for a key; never a path."""
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
