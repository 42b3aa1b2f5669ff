"""The shipped scene and image sets: rendered from the Earth imagery once, then kept in the cache."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from pathlib import Path

from edgebench.cache.objects import Cache, canonical_hash, sha256_file
from edgebench.cache.recipes import CachedFile, find, making, store
from edgebench.data.draws import ASSETS, PATCH, Draws, Split, render_patch, shipped_draws
from edgebench.data.images import new_array, store_array
from edgebench.data.landcover import CLASS_NAMES, EARTH_FILES, Earth
from edgebench.data.picture_reading import read_rgb
from edgebench.vocabulary.pictures import ImageSet, Scene

SCENE_NAME = "greenland"
_RENDERING = "1"  # counts up when the same draws would give other pixels
_THREADS = 2  # numpy lets go of the interpreter in its loops


def shipped_scene(cache: Cache) -> Scene:
    """Greenland and the North Atlantic, 4512 x 4512, with the class of each of its 400 patches."""
    about = json.loads((ASSETS / "scene.json").read_text())
    key = canonical_hash({"file": _asset_sha256("scene.jpg"), "rendering": _RENDERING})
    cached = find(cache, "scene", key)
    if cached is None:
        with making(cache, f"scene-{key[:16]}") as scratch:
            cached = store_array(cache, "scene", key, scratch, read_rgb(ASSETS / "scene.jpg"))
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


def shipped_images(cache: Cache, split: Split) -> ImageSet:
    """The patches of one split: 6,000 train, 250 calibration, 1,000 test, as many of each class.

    Patches of the test split share pixels in places, because its longitudes do not hold 1,000 apart.
    """
    draws = shipped_draws(split)
    key = images_identity(split)
    cached = find(cache, "images", key)
    if cached is None:
        with making(cache, f"images-{key[:16]}") as scratch:
            cached = find(cache, "images", key) or _render_all(cache, key, scratch, draws)
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


def _render_all(cache: Cache, key: str, scratch: Path, draws: Draws) -> CachedFile:
    earth = Earth.load(ASSETS)
    file = scratch / "made.npy"
    out = new_array(file, (len(draws), PATCH, PATCH, 3))

    def fill(index: int) -> None:
        out[index] = render_patch(earth, draws, index)

    with ThreadPoolExecutor(_THREADS) as pool:
        for _ in pool.map(fill, range(len(draws))):
            pass
    out.flush()
    return store(cache, "images", key, file, ".npy")


@lru_cache
def _asset_sha256(name: str) -> str:
    return sha256_file(ASSETS / name)
