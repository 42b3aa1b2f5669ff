"""Images for post-training quantisation: a bounded choice of the user's, apart from those of the test."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path

import numpy as np

from edgebench.cache.objects import Cache, canonical_hash
from edgebench.cache.recipes import find, making
from edgebench.data.images import load_images, store_array
from edgebench.errors import InputError
from edgebench.vocabulary.pictures import ImageSet

MOST = 500
"""More images than this change ranges hardly and take long; as many are chosen evenly over the listing."""


def load_calibration(path: Path, cache: Cache, size: int | tuple[int, int] = 224) -> ImageSet:
    """The calibration images, at most 500 of them, resized as the test images are."""
    images = load_images(path, cache, size)
    if images.n <= MOST:
        return images
    chosen = np.unique(np.linspace(0, images.n - 1, MOST).round().astype(int))
    key = canonical_hash({"of": images.sha256, "chosen": chosen.tolist()})
    file = find(cache, "images", key)
    if file is None:
        with making(cache, f"images-{key[:16]}") as scratch:
            pixels = np.load(images.path, mmap_mode="r")[chosen]
            file = store_array(cache, "images", key, scratch, pixels)
    labels = None if images.labels is None else tuple(images.labels[index] for index in chosen)
    return replace(images, path=file.path, sha256=file.sha256, n=len(chosen), labels=labels)


def refuse_overlap(calibration: ImageSet, images: ImageSet) -> None:
    """InputError when an image is in both sets, by its pixels: the accuracy would be flattered."""
    known = _digests(calibration)
    shared = [index for digest, index in _digests(images).items() if digest in known]
    if shared:
        raise InputError(
            f"{len(shared)} of the images are calibration images too",
            why=f"the first is number {min(shared) + 1} of {images.name}; the accuracy would be flattered",
            fix="calibrate with images that are not tested, such as some of the training's",
        )


def _digests(images: ImageSet) -> dict[bytes, int]:
    pixels = np.load(images.path, mmap_mode="r")
    return {hashlib.sha256(np.ascontiguousarray(row).data).digest(): at for at, row in enumerate(pixels)}
