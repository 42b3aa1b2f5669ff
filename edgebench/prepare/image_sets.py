"""The shipped scene and image sets: rendered from the Earth imagery once, then kept in the cache."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from edgebench.errors import InputError
from edgebench.prepare.cache import Cache, canonical_hash, obtain, sha256_file
from edgebench.prepare.image_lists import evenly, rows_of_choice, stratified
from edgebench.prepare.image_reading import write_images
from edgebench.prepare.images import ALL, ReadingOptions, cut, load_images, obtain_array
from edgebench.prepare.landcover import (
    ASSETS,
    CLASS_NAMES,
    EARTH_FILES,
    PATCH,
    Earth,
    Split,
    render_patch,
    shipped_draws,
)
from edgebench.prepare.pictures import as_image, read_rgb
from edgebench.prepare.samples import chosen_units, read_inputs
from edgebench.records.model import FixedInput
from edgebench.records.values import ImageSet, Scene

SCENE_NAME = "greenland"
MOST_ROWS = 20
"""Rows and columns of patches that the shipped scene has at most: as many as for an input of 224 x 224."""

_RENDERING = "1"  # counts up when the same draws would give other pixels
_THREADS = 2  # numpy lets go of the interpreter in its loops


def shipped_scene(cache: Cache) -> Scene:
    """Greenland and the North Atlantic, 4512 x 4512, with the class of each of its 400 patches."""
    about = json.loads((ASSETS / "scene.json").read_text())
    key = canonical_hash({"file": _asset_sha256("scene.jpg"), "rendering": _RENDERING})
    cached = obtain_array(cache, "scene", key, lambda: read_rgb(ASSETS / "scene.jpg"))
    return Scene(
        path=cached.path,
        sha256=cached.sha256,
        height=about["pixels"],
        width=about["pixels"],
        patch=about["patch"],
        labels=tuple(about["labels"]),
        class_names=tuple(about["class_names"]),
        name=SCENE_NAME,
    )


def shipped_scene_for(cache: Cache, height: int, width: int) -> Scene:
    """The shipped scene cut into patches of height x width; its middle alone where they would be too many.

    Keeps a pass at 400 patches, which an input of 32 x 32 would make 19,881.
    """
    whole = cut(shipped_scene(cache), height, width)
    rows, columns = min(whole.rows, MOST_ROWS), min(whole.columns, MOST_ROWS)
    if (rows, columns) == (whole.rows, whole.columns):
        return whole
    height, width = rows * height, columns * width
    top, left = (whole.height - height) // 2, (whole.width - width) // 2
    key = canonical_hash({"of": whole.sha256, "middle": [height, width]})
    middle = slice(top, top + height), slice(left, left + width)
    cached = obtain_array(cache, "scene", key, lambda: np.load(whole.path, mmap_mode="r")[middle])
    return replace(
        whole,
        path=cached.path,
        sha256=cached.sha256,
        height=height,
        width=width,
        name=f"{SCENE_NAME}, cropped",
        cropped=height * width / (whole.height * whole.width),
    )


def grey_scene(scene: Scene, cache: Cache) -> Scene:
    """The scene in grey (luma of ITU-R BT.601), for a model of one channel."""
    key = canonical_hash({"of": scene.sha256, "channels": 1})
    cached = obtain_array(
        cache, "scene", key, lambda: np.asarray(as_image(np.load(scene.path)).convert("L"))[..., None]
    )
    return replace(scene, path=cached.path, sha256=cached.sha256, name=f"{scene.name}, grey", channels=1)


def shipped_images(cache: Cache, split: Split) -> ImageSet:
    """The patches of one split: 6,000 train, 250 calibration, 1,000 test, as many of each class.

    Patches of the test split share pixels in places, because its longitudes do not hold 1,000 apart.
    """
    draws = shipped_draws(split)

    def write(file: Path) -> None:
        earth = Earth.load(ASSETS)
        with ThreadPoolExecutor(_THREADS) as pool:
            rendered = pool.map(lambda index: render_patch(earth, draws, index), range(len(draws)))
            write_images(file, (PATCH, PATCH, 3), rendered)

    cached = obtain(cache, "images", images_identity(split), ".npy", write)
    return ImageSet(
        name=f"landcover-{split}",
        path=cached.path,
        sha256=cached.sha256,
        n=len(draws),
        labels=tuple(int(label) for label in draws.labels),
        class_names=CLASS_NAMES,
        overlapping=True,
    )


def images_identity(split: Split) -> str:
    """What decides a split's pixels, as one hash, without rendering any: draws, imagery and arithmetic."""
    return canonical_hash(
        {
            "draws": shipped_draws(split).digest(),
            "earth": [_asset_sha256(name) for name in EARTH_FILES],
            "rendering": _RENDERING,
            "size": PATCH,
        }
    )


@lru_cache
def _asset_sha256(name: str) -> str:
    return sha256_file(ASSETS / name)


# Some of an image set: as many of each class as is its share, the same ones for the same seed.


def subset(images: ImageSet, n: int, seed: int, cache: Cache) -> ImageSet:
    """`n` of these images, by class where they have labels; an image set of its own, kept in the cache.

    The set itself where it has no more than `n`. Of samples in groups, `n` groups. Of listed pictures, those
    that would be read of the listing if this were the only number; unreadable ones are not replaced.
    """
    listing = images.listing
    if n >= (listing.n if listing else images.units):
        return images
    if listing is None:
        indices = stratified(images.labels or [0] * images.units, n, seed, images.sha256)
        name = f"{images.name} ({n} of {images.units}, seed {seed})"
    else:
        indices = rows_of_choice(listing, n)
        name = f"{listing.name} ({n} of {listing.n}, seed {listing.seed})"
        if len(indices) == images.n:
            return images
    recipe = {"images": images.sha256, "indices": indices}
    return replace(_chosen(images, indices, recipe, cache), name=name)


def _chosen(images: ImageSet, indices: Sequence[int], recipe: Mapping[str, Any], cache: Cache) -> ImageSet:
    """Some images, or units of samples, as a set of their own; the recipe is that of images."""
    if images.kind == "samples":
        return chosen_units(images, indices, cache)
    labels = None if images.labels is None else tuple(images.labels[index] for index in indices)
    listing = images.listing
    if listing is not None:
        listing = replace(listing, places=tuple(listing.places[index] for index in indices))
    paths = tuple(images.paths[index] for index in indices) if images.paths else ()
    rows = replace(images, n=len(indices), labels=labels, paths=paths, listing=listing)
    if not images.is_read:
        return replace(rows, sha256=canonical_hash(recipe))

    def write(file: Path) -> None:
        pixels = np.load(images.path, mmap_mode="r")
        write_images(file, pixels.shape[1:], (pixels[index] for index in indices))

    cached = obtain(cache, "images", canonical_hash(recipe), ".npy", write)
    return replace(rows, path=cached.path, sha256=cached.sha256)


# Images for post-training quantisation: a bounded choice of the user's, apart from those of the test.


MOST = 500
"""More images than this change ranges hardly and take long; as many are chosen evenly over the listing."""


def load_calibration(
    path: Path,
    cache: Cache,
    size: int | tuple[int, int] = 224,
    options: ReadingOptions = ALL,
    channels: int = 3,
) -> ImageSet:
    """The calibration images, at most 500 of them, resized as the test images are."""
    return load_images(path, cache, size, replace(options, evenly=MOST), channels)


def load_calibration_inputs(path: Path, inputs: Sequence[FixedInput], cache: Cache) -> ImageSet:
    """At most 500 samples for a model that takes no picture, from what `read_inputs` reads."""
    samples = read_inputs(path, inputs).kept(path, cache)
    name = path.resolve().name
    given = ImageSet(name, samples.path, samples.sha256, samples.n, None, (), kind="samples")
    return _bounded(given, cache)


def _bounded(images: ImageSet, cache: Cache) -> ImageSet:
    if images.n <= MOST:
        return images
    chosen = evenly(images.n, MOST)
    return _chosen(images, chosen, {"of": images.sha256, "chosen": chosen}, cache)


def refuse_overlap(calibration: ImageSet, images: ImageSet) -> None:
    """InputError when an image or a sample is in both sets: the accuracy would be flattered.

    Values are compared as they are stored: a sample of real numbers is not found among quantised ones. Sets
    that were listed and not read are not compared.
    """
    if not (calibration.is_read and images.is_read):
        return
    known = _digests(calibration)
    shared = [index for digest, index in _digests(images).items() if digest in known]
    things = "images" if images.kind == "picture" else "samples"
    if shared:
        raise InputError(
            f"{len(shared)} of the {things} are calibration {things} too",
            why=f"the first is number {min(shared) + 1} of {images.name}; the accuracy would be flattered",
            fix=f"calibrate with {things} that are not tested, such as some of the training's",
        )


def _digests(images: ImageSet) -> dict[bytes, int]:
    stored = np.load(images.path, mmap_mode="r")
    arrays = [stored] if images.kind == "picture" else [stored[name] for name in stored if name.isdigit()]
    rows = zip(*arrays, strict=True)
    return {
        hashlib.sha256(b"".join(part.tobytes() for part in row)).digest(): at for at, row in enumerate(rows)
    }
