"""Kinds of values that many rooms pass on: JSON, scores, findings, the scene and the images."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from edgebench.errors import UsageError

if TYPE_CHECKING:  # help and completion import this module, and wait for nothing heavy
    import numpy as np
    from numpy.typing import NDArray

Json = Any
"""A value that JSON can carry."""


PowerKind = Literal["maximum", "typical"]
"""What a declared power or boot time is of a board."""


SESSIONS_LIMIT = 1000
"""Most sessions of a trial that a run takes."""


Progress = Callable[[str], None]
"""Called with one short line about what is being done; never from a timed region."""


Report = Callable[[str, int, int], None]
"""Called with a stage of a session that begins or goes on, and how many of how many of its steps are done (0
of 0 where none are counted); never from a timed region."""


Scores: TypeAlias = "NDArray[np.float32]"


# What `edgebench doctor` finds: one line with its fix.


@dataclass(frozen=True)
class Finding:
    """One line of `edgebench doctor`."""

    level: Literal["ok", "warning", "error"]
    subject: str
    message: str
    fix: str = ""


# The scene that is timed and the labelled images that accuracy is taken on.


@dataclass(frozen=True)
class Scene:
    """The picture that is timed, as raw pixels on disk; or samples, for a model that takes no picture.

    `path` is a `.npy` of uint8 [height, width, channels] (RGB or grey), in C order. It is cut into patches of
    `patch` rows and `patch_width` columns (as many where None), `stride` pixels apart both ways (side by side
    where None).

    Samples lie in a `.npz` with one array [n, ...] an input, named by its place: `height` is n, and a
    "patch" is one of them.
    """

    path: Path
    sha256: str
    height: int
    width: int
    patch: int = 224
    labels: tuple[int, ...] | None = None  # one class index a patch, row by row, where known
    class_names: tuple[str, ...] = ()  # of the labels
    name: str = "scene"
    patch_width: int | None = None
    stride: int | None = None
    kind: Literal["picture", "samples"] = "picture"
    channels: int = 3  # 1: grey
    cropped: float | None = None  # the share of a larger picture that it is; None: it is a whole one

    @property
    def rows(self) -> int:
        """Whole patches from top to bottom; what is left over is not classified."""
        return (self.height - self.patch) // (self.stride or self.patch) + 1

    @property
    def columns(self) -> int:
        """Whole patches from left to right."""
        across = self.patch_width or self.patch
        return (self.width - across) // (self.stride or across) + 1

    @property
    def grid(self) -> dict[str, int]:
        """Cut of the patches as plain data; a square patch next to another is given by `patch` alone."""
        fields = {"patch": self.patch, "patch_width": self.patch_width, "stride": self.stride}
        return {name: value for name, value in fields.items() if value is not None}

    @property
    def patches(self) -> int:
        """Patches in one pass: 400 for 4512 x 4512."""
        return self.rows * self.columns


Task = Literal["classes", "reconstruction", "score"]
"""What the scores of labelled inputs are: one a class; the input again, whose mean squared error tells an
anomaly; or one that is higher for an anomaly."""


ResizeMode = Literal["stretch", "crop", "pad"]
"""stretch: each side to the input's. crop: the shorter side to the input's divided by a share, aspect kept,
then the middle. pad: the longer side to the input's, aspect kept, in the middle of black."""


@dataclass(frozen=True)
class Resize:
    """Way in which pictures come to the size of a model's input."""

    mode: ResizeMode = "stretch"
    """stretch, crop or pad. Source: --resize."""
    crop_share: float | None = None
    """Share of the shorter side that a crop keeps; null without a crop. Source: --crop-share."""


STRETCH = Resize()
"""The way of a run that names none."""


@dataclass(frozen=True)
class PictureReading(Resize):
    """Way in which picture files became the pixels of a set."""

    height: int = 224
    """Rows of each picture. Unit: pixel. Source: the model's input."""
    width: int = 224
    """Columns of each picture. Unit: pixel. Source: the model's input."""
    channels: int = 3
    """3: RGB; 1: grey (luma of ITU-R BT.601). Source: the model's input."""
    filter: str = "bilinear"
    """Filter of the resizing. Source: EdgeBench."""
    is_antialiased: bool = True
    """Whether the filter covers all pixels that an output pixel does. Source: EdgeBench."""
    is_upright: bool = True
    """Whether pictures were turned by their orientation tag (EXIF). Source: EdgeBench."""
    pillow: str = ""
    """Version of Pillow that read and resized them. Source: Pillow."""


@dataclass(frozen=True)
class Listing:
    """Pictures that a folder or list names, all of which or some a set has.

    Attributes:
        name: of the folder or list.
        n: how many it names.
        labels: their classes, as the listing numbers them; None: unlabelled.
        digest: of names and labels, in hex; decides a choice together with the seed.
        seed: of the choice.
        places: of the set's pictures in the listing.
    """

    name: str
    n: int
    labels: tuple[int, ...] | None
    digest: str
    seed: int
    places: tuple[int, ...]


@dataclass(frozen=True)
class ImageSet:
    """Labelled (or unlabelled) patches that accuracy is taken on.

    `path` is a `.npy` of uint8 [n, height, width, channels], 224 x 224 x 3 for the shipped family; labels
    index `class_names`.

    Samples for a model that takes no picture lie in a `.npz` with one array [n, ...] an input, named by its
    place. Where the samples of a group are judged as one, `groups` has the group of each sample, and labels
    are those of the groups.
    """

    name: str
    path: Path
    sha256: str
    n: int
    labels: tuple[int, ...] | None
    class_names: tuple[str, ...]
    overlapping: bool = False  # crops that share pixels: intervals are a little too narrow
    notes: tuple[str, ...] = ()  # facts for its user, such as files that were left out
    paths: tuple[str, ...] = ()  # of its files, as its folder or CSV file names them; empty for none
    kind: Literal["picture", "samples"] = "picture"
    task: Task = "classes"
    groups: tuple[int, ...] | None = None
    labels_by: str = (
        ""  # how labels became classes of the model: by name or number; empty if they are its names
    )
    label_offset: int = 0  # added to labels that are class numbers
    reading: PictureReading | None = None  # None: samples, or pixels that were not read from pictures
    listing: Listing | None = None  # that it was read from; None: of no picture files
    is_read: bool = True  # whether there are pixels at `path`; not of pictures that a dry run lists
    unreadable: int = 0  # pictures that are left out because they cannot be read

    @property
    def units(self) -> int:
        """Number of judged units: groups where there are any."""
        return self.n if self.labels is None else len(self.labels)


@dataclass(frozen=True)
class Pictures:
    """Pictures that a device is measured on; `images` None where no accuracy is taken."""

    scene: Scene
    images: ImageSet | None


# A variant: a model at a depth multiplier and a precision, and its name.

DEPTH_MULTIPLIERS = (0.25, 0.5, 1.0)
PRECISIONS = ("fp32", "fp16", "int8")
FAMILY = "mobilenet_v1"
_NAME = re.compile(
    r"(?P<family>[A-Za-z0-9_.-]{1,100}?)(?:-(?P<depth>\d{1,2}\.\d{1,4}))?-(?P<precision>[a-z0-9]{1,16})"
)


@dataclass(frozen=True)
class Variant:
    """One model at one precision, named like `mobilenet_v1-0.25-int8` or `tower-1a2b3c4d-fp32`.

    `depth_multiplier` is None for a model that comes in one width only.
    """

    depth_multiplier: float | None
    precision: str
    family: str = FAMILY

    @property
    def name(self) -> str:
        """The name used in tables, folders and on the command line."""
        return f"{self.model}-{self.precision}"

    @property
    def model(self) -> str:
        """The name without the precision."""
        depth = "" if self.depth_multiplier is None else f"-{self.depth_multiplier}"
        return f"{self.family}{depth}"

    @classmethod
    def parse(cls, name: str) -> Variant:
        """The variant of that `name`; UsageError when it is not such a name."""
        match = _NAME.fullmatch(name)
        if match is None:
            raise UsageError(f"{name!r} is not a variant", fix="write it like mobilenet_v1-0.25-int8")
        depth = None if match["depth"] is None else float(match["depth"])
        return cls(depth, match["precision"], match["family"])
