"""Where a variant's graph and weights come from: a family by name, trained weights, or a user's own file."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from edgebench.models.variant import FAMILY

if TYPE_CHECKING:
    from edgebench.contract import ImageSet

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

    def identity(self) -> dict[str, Any]:
        """Plain data for a key; only what was said."""
        said = {
            "layout": self.layout,
            "scale": self.scale and list(self.scale),
            "mean": self.mean and list(self.mean),
            "height": self.height,
            "width": self.width,
        }
        return {name: value for name, value in said.items() if value is not None}


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
    """

    name: str = FAMILY
    kind: SourceKind = "family"
    path: Path | None = None
    sha256: str | None = None
    input: InputChoice = field(default_factory=InputChoice)
    class_names: tuple[str, ...] | None = None
    calibration: ImageSet | None = None

    @property
    def own(self) -> bool:
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
        }


SHIPPED = ModelSource()
"""MobileNet v1 with the weights that come with the package."""
