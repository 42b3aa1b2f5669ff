"""Some of an image set: as many of each class as is its share, the same ones for the same seed."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from edgebench.cache.objects import Cache, canonical_hash
from edgebench.cache.recipes import CachedFile, find, making, store
from edgebench.data.images import new_array
from edgebench.vocabulary.pictures import ImageSet


def stratified(labels: Sequence[int], n: int, seed: int, salt: str = "") -> list[int]:
    """The indices, ascending, of `n` of these images: each class as often as is its share, to the nearest.

    A class's share of `n` is rounded down, and the classes with the largest remainders have one more. Which
    images of a class are taken follows from `seed`, `salt` and their indices by SHA-256, so that it is the
    same on every machine and with every version of numpy. ValueError unless 1 <= n <= len(labels).
    """
    if not 1 <= n <= len(labels):
        raise ValueError(f"{n} of {len(labels)} images cannot be taken")
    by_class: defaultdict[int, list[int]] = defaultdict(list)
    for index, label in enumerate(labels):
        by_class[label].append(index)
    order = {index: _draw(f"{seed}:{salt}:{index}") for index in range(len(labels))}
    counts = {label: len(members) * n // len(labels) for label, members in by_class.items()}
    by_remainder = sorted(
        by_class,
        key=lambda label: (-(len(by_class[label]) * n % len(labels)), _draw(f"{seed}:{salt}:class {label}")),
    )
    for label in by_remainder[: n - sum(counts.values())]:
        counts[label] += 1
    return sorted(
        index
        for label, members in by_class.items()
        for index in sorted(members, key=order.__getitem__)[: counts[label]]
    )


def subset(images: ImageSet, n: int, seed: int, cache: Cache) -> ImageSet:
    """`n` of these images, by class where they have labels; an image set of its own, kept in the cache.

    The set itself where it has no more than `n`.
    """
    if n >= images.n:
        return images
    indices = stratified(images.labels or [0] * images.n, n, seed, images.sha256)
    key = canonical_hash({"images": images.sha256, "indices": indices})
    cached = find(cache, "images", key)
    if cached is None:
        with making(cache, f"images-{key[:16]}") as scratch:
            cached = find(cache, "images", key) or _copy(images, indices, key, cache, scratch / "made.npy")
    return replace(
        images,
        name=f"{images.name} ({n} of {images.n}, seed {seed})",
        path=cached.path,
        sha256=cached.sha256,
        n=n,
        labels=None if images.labels is None else tuple(images.labels[index] for index in indices),
        paths=tuple(images.paths[index] for index in indices) if images.paths else (),
    )


def _copy(images: ImageSet, indices: Sequence[int], key: str, cache: Cache, file: Path) -> CachedFile:
    pixels = np.load(images.path, mmap_mode="r")
    out = new_array(file, (len(indices), *pixels.shape[1:]))
    for place, index in enumerate(indices):
        out[place] = pixels[index]
    out.flush()
    del out
    return store(cache, "images", key, file, ".npy")


def _draw(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()
