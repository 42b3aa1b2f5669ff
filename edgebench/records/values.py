"""Kinds of values that many rooms pass on: JSON, scores, findings, the scene and the images."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

Json = Any
"""A value that JSON can carry."""


Progress = Callable[[str], None]
"""Called with one short line about what is being done; never from a timed region."""


Report = Callable[[str, int, int], None]
"""Called with a stage of a session that begins or goes on, and how many of how many of its steps are done (0
of 0 where none are counted); never from a timed region."""


Scores = NDArray[np.float32]


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

    `path` is a `.npy` of uint8 [height, width, 3] (RGB), in C order. It is cut into patches of `patch` rows
    and `patch_width` columns (as many where None), `stride` pixels apart both ways (side by side where None).

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
        """How it is cut, as plain data; a square patch beside the next is said by `patch` alone."""
        fields = {"patch": self.patch, "patch_width": self.patch_width, "stride": self.stride}
        return {name: value for name, value in fields.items() if value is not None}

    @property
    def patches(self) -> int:
        """Patches in one pass: 400 for 4512 x 4512."""
        return self.rows * self.columns


@dataclass(frozen=True)
class ImageSet:
    """Labelled (or unlabelled) patches that accuracy is taken on.

    `path` is a `.npy` of uint8 [n, height, width, 3], 224 x 224 for the shipped family; labels index
    `class_names`.
    """

    name: str
    path: Path
    sha256: str
    n: int
    labels: tuple[int, ...] | None
    class_names: tuple[str, ...]
    overlapping: bool = False  # crops that share pixels: intervals are a little too narrow
    notes: tuple[str, ...] = ()  # what a user should know of it, such as files that were passed by
    paths: tuple[str, ...] = ()  # of its files, as its folder or CSV file names them; empty for none


@dataclass(frozen=True)
class Pictures:
    """What a device is measured on; `images` None where no accuracy is taken."""

    scene: Scene
    images: ImageSet | None
