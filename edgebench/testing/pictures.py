"""Patches, images and a small scene to try a device on, made of an artifact's golden patches."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from edgebench.cache.objects import Cache
from edgebench.vocabulary.artifact import Artifact
from edgebench.vocabulary.pictures import ImageSet, Scene

ROWS, COLUMNS = 3, 4
BORDER = 5
"""Pixels beyond the last whole patch, which no patch may take in."""


def patches_of(artifact: Artifact, n: int) -> NDArray[np.uint8]:
    """Patches uint8 [n, height, width, 3]: golden ones, their negatives, and both with colours swapped."""
    golden: NDArray[np.uint8] = np.load(artifact.golden.patches)
    swapped = golden[..., ::-1]
    pool = np.concatenate([golden, 255 - golden, swapped, 255 - swapped])
    chosen: NDArray[np.uint8] = np.ascontiguousarray(pool[np.arange(n) % len(pool)])
    return chosen


def images_of(patches: NDArray[np.uint8], cache: Cache) -> ImageSet:
    """Those patches as images without labels."""
    path, digest = _stored(patches, cache)
    return ImageSet("patches", path, digest, len(patches), None, ())


def scene_of(artifact: Artifact, cache: Cache) -> Scene:
    """A scene of twelve patches, with a border that belongs to none."""
    patches = patches_of(artifact, ROWS * COLUMNS)
    side = patches.shape[1]
    pixels = np.zeros((ROWS * side + BORDER, COLUMNS * side + BORDER, 3), np.uint8)
    grid = patches.reshape(ROWS, COLUMNS, side, side, 3).transpose(0, 2, 1, 3, 4)
    pixels[: ROWS * side, : COLUMNS * side] = grid.reshape(ROWS * side, COLUMNS * side, 3)
    path, digest = _stored(pixels, cache)
    return Scene(path, digest, pixels.shape[0], pixels.shape[1], side, name="twelve patches")


def _stored(pixels: NDArray[np.uint8], cache: Cache) -> tuple[Path, str]:
    held = io.BytesIO()
    np.save(held, pixels)
    return cache.add_bytes(held.getvalue(), ".npy")
