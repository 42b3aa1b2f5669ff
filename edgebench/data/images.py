"""The user's own scene and images: read once, kept as raw pixels in the cache."""

from __future__ import annotations

import errno
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
from PIL import Image

from edgebench.cache.objects import Cache, canonical_hash, sha256_file
from edgebench.cache.recipes import CachedFile, find, making, store
from edgebench.data.files import Listed, first_few, list_files
from edgebench.data.landcover import Pixels
from edgebench.data.picture_reading import MAX_FILE_BYTES, quiet_decoders, read_rgb
from edgebench.errors import InputError
from edgebench.regular_files import reason, require_regular
from edgebench.vocabulary.pictures import ImageSet, Scene

_READING = "2"  # counts up when the same file would give other pixels
_THREADS = 2


def load_scene(path: Path, cache: Cache, patch: int = 224) -> Scene:
    """The picture that is timed, from an image file or a .npy of uint8 [height, width, 3].

    InputError when it cannot be read or is smaller than one patch.
    """
    key = canonical_hash({"file": _content(path), "npy": path.suffix.lower() == ".npy", "reading": _READING})
    cached = find(cache, "scene", key)
    if cached is None:
        with quiet_decoders():
            pixels = read_rgb(path)
        with making(cache, f"scene-{key[:16]}") as scratch:
            cached = store_array(cache, "scene", key, scratch, pixels)
    height, width = (int(edge) for edge in np.load(cached.path, mmap_mode="r").shape[:2])
    return cut(Scene(cached.path, cached.sha256, height, width, 1, name=_shown(path)), patch, patch)


def cut(scene: Scene, height: int, width: int, stride: int | None = None) -> Scene:
    """The same picture cut into patches of height x width, `stride` pixels apart; None: side by side.

    Labels stay where the cut is the one that they were made for. InputError when not one patch fits.
    """
    same = (scene.patch, scene.patch_width or scene.patch, scene.stride) == (height, width, stride)
    if scene.height < height or scene.width < width:
        raise InputError(
            f"{scene.name} is too small for a scene",
            why=f"it has {scene.width} x {scene.height} pixels and a patch takes {width} x {height}",
            fix="use a larger picture, smaller patches (--patch WxH), or the picture as one patch (--whole)",
        )
    return replace(
        scene,
        patch=height,
        patch_width=None if width == height else width,
        stride=stride,
        labels=scene.labels if same else None,
        class_names=scene.class_names if same else (),
    )


def load_images(path: Path, cache: Cache, size: int | tuple[int, int] = 224) -> ImageSet:
    """The images that accuracy is taken on, each resized to `size`: an edge, or (height, width).

    Bilinear over all pixels that an output pixel stands for, as training pipelines read pictures, and not by
    the nearest pixel as the scene's patches are resized on the device: that is timed and has to cost little,
    while this is done once on the host. A side may be stretched more than the other.

    `path` is a folder or a CSV file (see `edgebench.data.files`). InputError for no images at all, an empty
    class folder, or files that are no images, all of them named together.
    """
    listed = list_files(path)
    try:
        cached = _cached(listed, cache, (size, size) if isinstance(size, int) else size)
    except InputError as error:
        raise _unreadable(listed) or error from error
    return ImageSet(
        name=_shown(path),
        path=cached.path,
        sha256=cached.sha256,
        n=len(listed.files),
        labels=listed.labels,
        class_names=listed.class_names,
        notes=listed.notes,
        paths=listed.names,
    )


def store_array(cache: Cache, kind: str, key: str, scratch: Path, pixels: Pixels) -> CachedFile:
    """Keep an array as a .npy under a recipe."""
    file = scratch / "made.npy"
    np.save(file, np.ascontiguousarray(pixels))
    return store(cache, kind, key, file, ".npy")


def new_array(file: Path, shape: tuple[int, ...]) -> np.memmap[tuple[int, ...], np.dtype[np.uint8]]:
    """A new .npy of uint8, mapped for writing; OSError where the disk has no space for it.

    Space is reserved before a page is written: on a disk that fills up meanwhile the system would kill the
    process (SIGBUS) instead of refusing.
    """
    mapped = np.lib.format.open_memmap(file, mode="w+", dtype=np.uint8, shape=shape)
    if hasattr(os, "posix_fallocate"):
        with file.open("r+b") as opened:
            try:
                os.posix_fallocate(opened.fileno(), 0, file.stat().st_size)
            except OSError as error:
                if error.errno not in (errno.EINVAL, errno.EOPNOTSUPP):  # the file system has no such call
                    raise
    return mapped


def _cached(listed: Listed, cache: Cache, size: tuple[int, int]) -> CachedFile:
    height, width = size
    content = [[name, _content(file)] for name, file in zip(listed.names, listed.files, strict=True)]
    sides: int | list[int] = height if height == width else [height, width]
    key = canonical_hash({"files": content, "size": sides, "reading": _READING})
    cached = find(cache, "images", key)
    if cached is None:
        with making(cache, f"images-{key[:16]}") as scratch:
            cached = find(cache, "images", key)
            cached = cached or _resize_all(cache, key, scratch, listed.files, size)
    return cached


def _resize_all(
    cache: Cache, key: str, scratch: Path, files: Sequence[Path], size: tuple[int, int]
) -> CachedFile:
    def resized(file: Path) -> Pixels:
        image = Image.fromarray(read_rgb(file)).resize(size[::-1], Image.Resampling.BILINEAR)
        return np.asarray(image, np.uint8)

    file = scratch / "made.npy"
    out = new_array(file, (len(files), *size, 3))
    with quiet_decoders(), ThreadPoolExecutor(_THREADS) as pool:
        for index, pixels in enumerate(pool.map(resized, files)):
            out[index] = pixels
    out.flush()
    del out
    return store(cache, "images", key, file, ".npy")


def _unreadable(listed: Listed) -> InputError | None:
    """One error of all files that cannot be read, so that they are mended in one go; None where all can."""
    with quiet_decoders(), ThreadPoolExecutor(_THREADS) as pool:
        errors = pool.map(_fault, listed.files)
        faults = [
            (name, file, error)
            for name, file, error in zip(listed.names, listed.files, errors, strict=True)
            if error is not None
        ]
    if len(faults) < 2:
        return faults[0][2] if faults else None
    reasons = [
        error.what.replace(str(file), name) + (f" ({error.why})" if error.why else "")
        for name, file, error in faults
    ]
    return InputError(
        f"{len(faults)} of {len(listed.files)} images cannot be read",
        why=first_few(reasons, separator="; "),
        fix="mend these files, or take them out of the set",
    )


def _fault(file: Path) -> InputError | None:
    try:
        _content(file)
        read_rgb(file)
    except InputError as error:
        return error
    return None


def _content(path: Path) -> str:
    try:
        require_regular(path, MAX_FILE_BYTES)
        return sha256_file(path)
    except OSError as error:
        raise InputError(
            f"{path} cannot be read", why=reason(error), fix="name an image file, and check its permissions"
        ) from error


def _shown(path: Path) -> str:
    name = path.resolve().name
    return name if name.isprintable() else ascii(name)
