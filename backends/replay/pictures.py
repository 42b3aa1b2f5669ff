"""Stand-ins for the pictures of a replay: tiles of a class's colour, whose first pixel says the class."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from edgebench.cache.objects import Cache, canonical_hash
from edgebench.cache.recipes import CachedFile, find, making, store
from edgebench.data.images import new_array, store_array
from edgebench.data.picture_reading import quiet_decoders, read_rgb
from edgebench.errors import InputError
from edgebench.vocabulary.pictures import ImageSet, Scene

MARK = (0xED, 0xB0)
"""Red and green of a stand-in's first pixel; blue is its class. The runner knows the same two."""

_PALETTE = ((30, 60, 110), (225, 230, 235), (60, 85, 40), (150, 125, 90), (190, 195, 200))
_RECIPE = "1"  # counts up when the same arguments would give other pixels

Pixels = NDArray[np.uint8]


def marked(labels: Sequence[int], patch: int) -> Pixels:
    """Tiles uint8 [n, patch, patch, 3]."""
    tiles = np.empty((len(labels), patch, patch, 3), np.uint8)
    for tile, label in zip(tiles, labels, strict=True):
        tile[:] = _PALETTE[label % len(_PALETTE)]
        tile[0, 0] = (*MARK, label % 256)
    return tiles


def stand_in_scene(
    cache: Cache,
    *,
    name: str,
    rows: int,
    columns: int,
    patch: int,
    labels: Sequence[int] | None,
    class_names: Sequence[str],
    preview: Path | None = None,
) -> Scene:
    """A scene of so many patches; `preview` is a small picture of the true one, where there is one."""
    shown = list(labels) if labels is not None else [0] * (rows * columns)
    key = canonical_hash(
        {
            "rows": rows,
            "columns": columns,
            "patch": patch,
            "labels": shown,
            "preview": preview.read_bytes().hex() if preview else None,
            "recipe": _RECIPE,
        }
    )
    cached = find(cache, "replay-scene", key)
    if cached is None:
        with making(cache, f"replay-{key[:16]}") as scratch:
            pixels = _enlarged(preview, rows * patch, columns * patch)
            if pixels is None:
                tiles = marked(shown, patch).reshape(rows, columns, patch, patch, 3)
                pixels = tiles.transpose(0, 2, 1, 3, 4).reshape(rows * patch, columns * patch, 3)
            cached = store_array(cache, "replay-scene", key, scratch, pixels)
    return Scene(
        path=cached.path,
        sha256=cached.sha256,
        height=rows * patch,
        width=columns * patch,
        patch=patch,
        labels=None if labels is None else tuple(labels),
        class_names=tuple(class_names),
        name=name,
    )


def stand_in_images(
    cache: Cache,
    *,
    name: str,
    n: int,
    patch: int,
    labels: Sequence[int] | None,
    class_names: Sequence[str],
    overlapping: bool = False,
    paths: Sequence[str] = (),
) -> ImageSet:
    """So many images, black but for the pixel that says the class; `paths` are of what they stand for."""
    shown = list(labels) if labels is not None else [0] * n
    key = canonical_hash({"n": n, "patch": patch, "labels": shown, "recipe": _RECIPE})
    cached = find(cache, "replay-images", key) or _make_images(cache, key, shown, patch)
    return ImageSet(
        name=name,
        path=cached.path,
        sha256=cached.sha256,
        n=n,
        labels=None if labels is None else tuple(labels),
        class_names=tuple(class_names),
        overlapping=overlapping,
        paths=tuple(paths),
    )


def _make_images(cache: Cache, key: str, labels: Sequence[int], patch: int) -> CachedFile:
    with making(cache, f"replay-{key[:16]}") as scratch:
        stand_ins = scratch / "made.npy"
        out = new_array(stand_ins, (len(labels), patch, patch, 3))
        out[:, 0, 0] = [(*MARK, label % 256) for label in labels]
        out.flush()
        del out
        return store(cache, "replay-images", key, stand_ins, ".npy")


def _enlarged(preview: Path | None, height: int, width: int) -> Pixels | None:
    """The small picture at the scene's size; None where there is none that can be read."""
    if preview is None:
        return None
    try:
        with quiet_decoders():
            image = Image.fromarray(read_rgb(preview))
    except InputError:
        return None
    return np.asarray(image.resize((width, height), Image.Resampling.BILINEAR), np.uint8)
