"""Golden patches of a user's model: real pictures where there are any, chosen evenly, kept in the cache."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from PIL import Image

from edgebench.agent.pixels import windows
from edgebench.cache.objects import Cache, canonical_hash
from edgebench.cache.recipes import find, making
from edgebench.data.images import store_array
from edgebench.data.landcover import Pixels
from edgebench.vocabulary.model_source import Samples
from edgebench.vocabulary.pictures import ImageSet, Scene

COUNT = 5
"""Patches that go through every session before anything is timed."""


def golden_of_images(images: ImageSet, what: str, cache: Cache) -> Samples:
    """Some of a set's images, at equal distances over its order, so that classes differ."""
    chosen = _evenly(images.n)
    pixels = np.load(images.path, mmap_mode="r")
    key = canonical_hash({"images": images.sha256, "chosen": chosen.tolist()})
    return _stored_samples(
        cache, key, lambda: np.stack([pixels[at] for at in chosen]), f"{len(chosen)} {what}"
    )


def golden_of_scene(scene: Scene, height: int, width: int, cache: Cache) -> Samples:
    """Some patches of the scene, resized (bilinear) where the model takes another size."""
    chosen = _evenly(scene.patches)
    identity = {"scene": scene.sha256, **scene.grid, "chosen": chosen.tolist(), "size": [height, width]}

    def render() -> Pixels:
        pixels = np.load(scene.path, mmap_mode="r")
        cut = windows(pixels, scene.patch, scene.patch_width, scene.stride)
        return np.stack([_resized(np.asarray(cut[at]), height, width) for at in chosen])

    return _stored_samples(
        cache, canonical_hash(identity), render, f"{len(chosen)} patches of the scene {scene.name}"
    )


def _evenly(n: int) -> np.ndarray[tuple[int], np.dtype[np.intp]]:
    chosen = (np.arange(min(COUNT, n)) * n // min(COUNT, n)).astype(np.intp)
    return chosen


def _resized(patch: Pixels, height: int, width: int) -> Pixels:
    if patch.shape[:2] == (height, width):
        return patch
    return np.asarray(Image.fromarray(patch).resize((width, height), Image.Resampling.BILINEAR), np.uint8)


def _stored_samples(cache: Cache, key: str, make: Callable[[], Pixels], origin: str) -> Samples:
    file = find(cache, "golden", key)
    if file is None:
        with making(cache, f"golden-{key[:16]}") as scratch:
            file = store_array(cache, "golden", key, scratch, make())
    return Samples(file.path, file.sha256, len(np.load(file.path, mmap_mode="r")), origin)
