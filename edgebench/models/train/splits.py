"""Which images train, which validate and which calibrate."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from edgebench.cache.objects import Cache
from edgebench.data.files import list_files
from edgebench.data.images import load_images
from edgebench.data.shipped import shipped_images
from edgebench.errors import InputError
from edgebench.vocabulary.pictures import ImageSet

VALIDATION_SHARE = 0.2
_MAX_CALIBRATION = 250


@dataclass(frozen=True)
class Split:
    """Some images of a set, by their indices; `files` are all files of the set, where it has any."""

    images: ImageSet
    indices: tuple[int, ...]
    files: tuple[Path, ...] = ()

    def as_job(self) -> dict[str, Any]:
        """As the training process takes it."""
        return {"images": str(self.images.path), "labels": self.images.labels, "indices": self.indices}

    def as_record(self) -> dict[str, Any]:
        """As the record names it."""
        return {"name": self.images.name, "sha256": self.images.sha256, "n": len(self.indices)}

    def as_csv(self, folder: Path) -> str:
        """The part as a CSV of paths and labels, to lie in `folder`; paths below it are relative to it."""
        assert self.images.labels is not None
        base, text = folder.resolve(), io.StringIO()
        table = csv.writer(text, lineterminator="\n")
        table.writerow(["path", "label"])
        for index in self.indices:
            file = self.files[index].resolve()
            listed_path = file.relative_to(base) if file.is_relative_to(base) else file
            table.writerow([listed_path.as_posix(), self.images.class_names[self.images.labels[index]]])
        return text.getvalue()


@dataclass(frozen=True)
class Splits:
    """Which images serve for what; calibration, where it is not a set of its own, is of the training part."""

    train: Split
    validation: Split
    calibration: Split


def split(n: int, seed: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Of n files in the order of classes and names, four fifths to train on and the rest to validate.

    The rule of Keras's `image_dataset_from_directory(validation_split=0.2, seed=seed)`: the list is shuffled
    by NumPy's legacy generator and its last fifth validates, so a folder is split into the very files that
    Keras splits it into. ValueError where that leaves no image to validate.
    """
    order = np.arange(n)
    np.random.RandomState(seed).shuffle(order)
    count = int(VALIDATION_SHARE * n)
    if not count:
        raise ValueError(f"{n} images are too few to keep a fifth for validation")
    return tuple(sorted(order[:-count].tolist())), tuple(sorted(order[-count:].tolist()))


def shipped_splits(cache: Cache) -> Splits:
    """The land-cover set: all 6,000 of the train split, validated on the 250 of the calibration split.

    A part of the train split would not do for validation: its patches share pixels with their neighbours.
    """
    images, other = shipped_images(cache, "train"), shipped_images(cache, "calibration")
    held_out = Split(other, tuple(range(other.n)))
    return Splits(Split(images, tuple(range(images.n))), held_out, held_out)


def folder_splits(folder: Path, cache: Cache, seed: int) -> Splits:
    """The user's images, split by `seed`; InputError when they cannot be."""
    images = load_images(folder, cache)
    if images.labels is None or len(images.class_names) < 2:
        raise InputError(
            f"{folder} does not say what its images show",
            why="training takes at least two class folders",
            fix="put the images into a folder a class",
        )
    try:
        training, validation = split(images.n, seed)
    except ValueError as error:
        raise InputError(f"{folder} has too few images", why=str(error), fix="add images") from error
    for indices, name in ((training, "training"), (validation, "validation")):
        _require_all_classes(folder, images, indices, name)
    chosen = np.random.default_rng(seed).permutation(training)[:_MAX_CALIBRATION].tolist()
    files = list_files(folder).files
    return Splits(
        Split(images, training, files),
        Split(images, validation, files),
        Split(images, tuple(sorted(int(index) for index in chosen)), files),
    )


def _require_all_classes(folder: Path, images: ImageSet, indices: Sequence[int], name: str) -> None:
    assert images.labels is not None
    labels = {images.labels[index] for index in indices}
    for label, class_name in enumerate(images.class_names):
        if label not in labels:
            raise InputError(
                f"{folder} has too few images of the class {class_name}",
                why=f"the {name} part has none: files are drawn at random, whatever their class",
                fix="add images, or split with another --seed",
            )
