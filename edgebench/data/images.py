"""The user's own scene and images: read once, kept as raw pixels in the cache."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
from PIL import Image

from edgebench.contract import ImageSet, Scene
from edgebench.data.landcover import Pixels
from edgebench.data.reading import quiet_decoders, read_rgb
from edgebench.errors import InputError
from edgebench.models.cache import Cache, canonical_hash, sha256_file
from edgebench.models.keep import Kept, find, keep, making

MAX_IMAGES = 50_000
_READING = "1"  # counts up when the same file would give other pixels
_THREADS = 2


def load_scene(path: Path, cache: Cache, patch: int = 224) -> Scene:
    """The picture that is timed, from an image file or a .npy of uint8 [height, width, 3].

    InputError when it cannot be read or is smaller than one patch.
    """
    key = canonical_hash({"file": _content(path), "npy": path.suffix.lower() == ".npy", "reading": _READING})
    kept = find(cache, "scene", key)
    if kept is None:
        with quiet_decoders():
            pixels = read_rgb(path)
        with making(cache, f"scene-{key[:16]}") as scratch:
            kept = keep_array(cache, "scene", key, scratch, pixels)
    height, width = (int(edge) for edge in np.load(kept.path, mmap_mode="r").shape[:2])
    if min(height, width) < patch:
        raise InputError(
            f"{path} is too small for a scene",
            why=f"it has {width} x {height} pixels and a patch takes {patch} x {patch}",
            fix="use a larger picture",
        )
    return Scene(kept.path, kept.sha256, height, width, patch, name=_shown(path))


def load_images(folder: Path, cache: Cache, size: int = 224) -> ImageSet:
    """The images that accuracy is taken on, each resized (bilinear) to `size` x `size`.

    `folder` holds a folder a class (classes in the order of their names; loose files beside them are not
    images) or images alone (unlabelled). Hidden files are ignored. InputError for a file that is no image,
    an empty class folder, or no images at all.
    """
    class_names, files, labels = _listed(folder)
    names = [file.relative_to(folder).as_posix() for file in files]
    content = [[name, _content(file)] for name, file in zip(names, files, strict=True)]
    key = canonical_hash({"files": content, "size": size, "reading": _READING})
    kept = find(cache, "images", key)
    if kept is None:
        with making(cache, f"images-{key[:16]}") as scratch:
            kept = find(cache, "images", key) or _resize_all(cache, key, scratch, files, size)
    return ImageSet(
        name=_shown(folder),
        path=kept.path,
        sha256=kept.sha256,
        n=len(files),
        labels=labels,
        class_names=class_names,
    )


def keep_array(cache: Cache, kind: str, key: str, scratch: Path, pixels: Pixels) -> Kept:
    """Keep an array as a .npy under a recipe."""
    file = scratch / "made.npy"
    np.save(file, np.ascontiguousarray(pixels))
    return keep(cache, kind, key, file, ".npy")


def _resize_all(cache: Cache, key: str, scratch: Path, files: list[Path], size: int) -> Kept:
    def resized(file: Path) -> Pixels:
        image = Image.fromarray(read_rgb(file)).resize((size, size), Image.Resampling.BILINEAR)
        return np.asarray(image, np.uint8)

    made = scratch / "made.npy"
    out = np.lib.format.open_memmap(made, mode="w+", dtype=np.uint8, shape=(len(files), size, size, 3))
    with quiet_decoders(), ThreadPoolExecutor(_THREADS) as pool:
        for index, pixels in enumerate(pool.map(resized, files)):
            out[index] = pixels
    out.flush()
    del out
    return keep(cache, "images", key, made, ".npy")


def _listed(folder: Path) -> tuple[tuple[str, ...], list[Path], tuple[int, ...] | None]:
    """Class names, files in order, and one label a file (None for an unlabelled folder)."""
    entries = list(_visible(folder))
    classes = [entry for entry in entries if entry.is_dir()]
    if not classes:
        _check_count(folder, len(entries))
        return (), entries, None
    files: list[Path] = []
    labels: list[int] = []
    for label, entry in enumerate(classes):
        inside = list(_visible(entry))
        if not inside:
            raise InputError(
                f"the class folder {entry} is empty",
                why="a class without images has no accuracy",
                fix="put images into it or remove it",
            )
        files += inside
        labels += [label] * len(inside)
    _check_count(folder, len(files))
    return tuple(entry.name for entry in classes), files, tuple(labels)


def _visible(folder: Path) -> Iterator[Path]:
    try:
        entries = sorted(folder.iterdir(), key=lambda entry: entry.name)
    except OSError as error:
        raise InputError(
            f"the image folder {folder} cannot be read",
            why=error.strerror or str(error),
            fix="name a folder of images, or one that holds a folder a class",
        ) from error
    for entry in entries:
        if entry.name.startswith("."):
            continue
        if not entry.name.isprintable():
            raise InputError(
                f"{str(entry)!r} has a name that cannot be shown",
                why="it holds control characters or bytes that are no text",
                fix="rename it",
            )
        yield entry


def _check_count(folder: Path, n: int) -> None:
    if n == 0:
        raise InputError(f"there are no images in {folder}", fix="name a folder with images")
    if n > MAX_IMAGES:
        raise InputError(
            f"there are {n} files in {folder}",
            why=f"at most {MAX_IMAGES} images are read",
            fix="name a folder with fewer",
        )


def _content(path: Path) -> str:
    if path.is_dir():
        raise InputError(
            f"{path} is a folder", why="an image file was expected here", fix="move it elsewhere"
        )
    try:
        return sha256_file(path)
    except OSError as error:
        raise InputError(
            f"{path} cannot be read",
            why=error.strerror or str(error),
            fix="check the path and its permissions",
        ) from error


def _shown(path: Path) -> str:
    name = path.resolve().name
    return name if name.isprintable() else ascii(name)
