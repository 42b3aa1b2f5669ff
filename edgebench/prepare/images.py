"""The user's own scene and images: read once, kept as raw pixels in the cache."""

from __future__ import annotations

import csv
import errno
import io
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np
import PIL

from edgebench.errors import InputError
from edgebench.files import expand_home, read_regular, reason, require_regular
from edgebench.prepare.cache import Cache, CachedFile, canonical_hash, obtain, sha256_file
from edgebench.prepare.landcover import Pixels
from edgebench.prepare.pictures import (
    MAX_FILE_BYTES,
    looks_like_picture,
    quiet_decoders,
    read_resized,
    read_rgb,
)
from edgebench.records.values import STRETCH, ImageSet, PictureReading, Resize, Scene

# Which files a set of images is: a folder a class, a plain folder, or a CSV of paths and labels.


MAX_IMAGES = 50_000
_MAX_CSV_BYTES = 64 * 1024 * 1024
_MAX_LABEL = 200
_LISTS = (".csv", ".tsv", ".txt")
_SEPARATORS = ",;\t"
_PATHS = ("path", "file", "filename", "file_name", "image", "image_path")
_LABELS = ("label", "class", "class_id", "category", "target")


@dataclass(frozen=True)
class Listed:
    """The files of a set in order, their names for its identity, and one label a file (None: unlabelled).

    `notes` say which files were passed by.
    """

    class_names: tuple[str, ...]
    files: tuple[Path, ...]
    names: tuple[str, ...]
    labels: tuple[int, ...] | None
    notes: tuple[str, ...] = ()


def list_files(path: Path) -> Listed:
    """What a folder or a CSV file names; InputError when it names nothing, too much, or an empty class.

    A folder holds a folder a class (classes in the order of their names) or pictures alone (unlabelled).
    Hidden files are ignored; files without a picture, and pictures next to the class folders, are
    skipped and counted in the notes. A list (.csv, .tsv, .txt) has a path, relative to its own folder or
    absolute, and perhaps a label a row; without labels its images are unlabelled.
    """
    with quiet_decoders():
        is_list = path.suffix.lower() in _LISTS and not path.is_dir()
        return _from_list(path) if is_list else _from_folder(path)


def first_few(items: Sequence[str], most: int = 10, separator: str = ", ") -> str:
    """The first of a list and how many more there are: `a, b and 3 more`."""
    more = f" and {len(items) - most} more" if len(items) > most else ""
    return separator.join(items[:most]) + more


def _from_folder(folder: Path) -> Listed:
    if folder.exists() and not folder.is_dir():
        raise InputError(
            f"{folder} is no folder of images",
            why="it is a file" if folder.is_file() else _kind_of(folder),
            fix="name a folder of images, one that holds a folder a class, or a CSV of paths and labels",
        )
    entries = list(_visible(folder))
    classes = [entry for entry in entries if entry.is_dir()]
    loose, strays = _pictures_and_strays(entry for entry in entries if not entry.is_dir())
    if not classes:
        _check_count(folder, len(loose), _relative(strays, folder))
        return Listed((), tuple(loose), _relative(loose, folder), None, _passed_by(folder, strays))
    inside = [list(_visible(entry)) for entry in classes]
    _refuse_nested(folder, inside)
    files: list[Path] = []
    labels: list[int] = []
    for label, entries_inside in enumerate(inside):
        pictures, others = _pictures_and_strays(entries_inside)
        files += pictures
        strays += others
        labels += [label] * len(pictures)
    if empty := [entry for label, entry in enumerate(classes) if label not in set(labels)]:
        raise InputError(
            f"{folder} has class folders without a picture: {first_few(_relative(empty, folder))}",
            why="a class without pictures has no accuracy",
            fix="put pictures into them or remove them",
        )
    _check_count(folder, len(files))
    names = tuple(entry.name for entry in classes)
    notes = _passed_by(folder, strays, loose)
    return Listed(names, tuple(files), _relative(files, folder), tuple(labels), notes)


def _kind_of(path: Path) -> str:
    """What something is that is neither a folder nor a regular file."""
    try:
        require_regular(path)
    except OSError as error:
        return reason(error)
    return "it is a file"  # by now


def _pictures_and_strays(files: Iterable[Path]) -> tuple[list[Path], list[Path]]:
    pictures: list[Path] = []
    strays: list[Path] = []
    for file in files:
        (pictures if looks_like_picture(file) else strays).append(file)
    return pictures, strays


def _refuse_nested(folder: Path, inside: Sequence[Sequence[Path]]) -> None:
    """InputError for folders in class folders: else `train/` and `test/` would pass for two classes."""
    nested = [[entry for entry in entries_inside if entry.is_dir()] for entries_inside in inside]
    folders = [entry for entries_inside in nested for entry in entries_inside]
    if folders:
        raise InputError(
            f"{folder} has folders in its class folders: {first_few(_relative(folders, folder))}",
            why="a folder a class is taken, with the pictures right in it",
            fix=f"name the folder of the class folders, such as {folders[0].parent}"
            if all(nested)
            else "move them elsewhere",
        )


def _passed_by(folder: Path, strays: list[Path], loose: Sequence[Path] = ()) -> tuple[str, ...]:
    """Notes of files that are not read, each kind counted."""
    return tuple(
        f"{folder.name}: passed by {len(files)} {noun}{'s' if len(files) > 1 else ''} {where}: "
        f"{first_few(_relative(files, folder), 3)}"
        for files, noun, where in (
            (strays, "file", "with no picture"),
            (loose, "picture", "outside the class folders"),
        )
        if files
    )


def _relative(files: Sequence[Path], folder: Path) -> tuple[str, ...]:
    return tuple(file.relative_to(folder).as_posix() for file in files)


def _visible(folder: Path) -> Iterator[Path]:
    try:
        entries = sorted(folder.iterdir(), key=lambda entry: entry.name)
    except OSError as error:
        raise InputError(
            f"the image folder {folder} cannot be read",
            why=error.strerror or str(error),
            fix="name a folder of images, one that holds a folder a class, or a CSV of paths and labels",
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


def _check_count(path: Path, n: int, strays: Sequence[str] = ()) -> None:
    if n == 0:
        raise InputError(
            f"there are no images in {path}",
            why=f"it holds files with no picture: {first_few(strays, 3)}" if strays else "",
            fix="name a folder of images, one that holds a folder a class, or a CSV of paths and labels",
        )
    if n > MAX_IMAGES:
        raise InputError(
            f"there are {n} files in {path}",
            why=f"at most {MAX_IMAGES} images are read",
            fix="name a folder with fewer",
        )


def _from_list(path: Path) -> Listed:
    names: list[str] = []
    labels: list[str] = []
    for line, name, label in _rows(path):
        if not name or not name.isprintable() or len(name) > 4096:
            raise _bad_row(path, line, "its path is empty, too long or cannot be shown")
        if len(label) > _MAX_LABEL or not label.isprintable():
            raise _bad_row(path, line, f"its label is longer than {_MAX_LABEL} characters or cannot be shown")
        if names and bool(label) != bool(labels[0]):
            raise _bad_row(path, line, "some rows have a label and some have none")
        names.append(name)
        labels.append(label)
        if len(names) > MAX_IMAGES:
            break
    _check_count(path, len(names))
    files = tuple(path.absolute().parent / expand_home(name) for name in names)
    if repeated := [name for name, count in Counter(map(os.path.normpath, files)).items() if count > 1]:
        raise InputError(
            f"{path} repeats {len(repeated)} of its files: {first_few(repeated)}",
            why="a file that comes twice counts twice, and may have two labels",
            fix="leave one row for each file",
        )
    if not labels[0]:
        return Listed((), files, tuple(names), None)
    classes = sorted(set(labels))
    place = {label: at for at, label in enumerate(classes)}
    labelled = tuple(place[label] for label in labels)
    return Listed(tuple(classes), files, tuple(names), labelled)


def _rows(path: Path) -> Iterator[tuple[int, str, str]]:
    """Yield line number, path and label of every row."""
    try:
        # As a whole, so that an error knows its line.
        text = read_regular(path, _MAX_CSV_BYTES).decode("utf-8-sig")
        if path.suffix.lower() == ".txt":
            for number, line in enumerate(text.splitlines(), start=1):
                if words := line.rsplit(maxsplit=1):
                    yield number, words[0], words[1] if len(words) > 1 else ""
            return
        separator = max(_SEPARATORS, key=text.split("\n", 1)[0].count)
        with io.StringIO(text, newline="") as file:
            table = csv.reader(file, delimiter=separator, strict=True)
            first = [field.strip() for field in next(table, [])]
            heads = [field.lower() for field in first]
            at_path, at_label = (
                next((heads.index(name) for name in names if name in heads), None)
                for names in (_PATHS, _LABELS)
            )
            if at_path is None:
                if not first or not (path.absolute().parent / expand_home(first[0])).is_file():
                    raise InputError(
                        f"{path} has no column of paths",
                        why=f"its first field is no file; its first line is {separator.join(first)[:90]!r}",
                        fix=f"name the columns in the first line: one of {', '.join(_PATHS)}, and perhaps "
                        f"one of {', '.join(_LABELS)}",
                    )
                at_path, at_label = 0, 1 if len(first) > 1 else None
                yield 1, first[0], "" if at_label is None else first[at_label]
            for row in table:
                fields = [*row, ""] if row else []
                if fields:
                    yield (
                        table.line_num,
                        fields[min(at_path, len(row))].strip(),
                        "" if at_label is None else fields[min(at_label, len(row))].strip(),
                    )
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InputError(
            f"{path} cannot be read as a list of images",
            why=reason(error),
            fix="write a CSV in UTF-8 with the columns path and label",
        ) from error


def _bad_row(path: Path, line: int, why: str) -> InputError:
    return InputError(f"line {line} of {path} cannot be used", why=why, fix="correct or remove the line")


_READING = "4"  # counts up when the same file would give other pixels
_THREADS = 2
_DARK = 32  # an eighth of the range of uint8


def load_scene(path: Path, cache: Cache, patch: int = 224) -> Scene:
    """The picture that is timed, from an image file or a .npy of uint8 [height, width, 3].

    InputError when it cannot be read or is smaller than one patch.
    """
    key = canonical_hash({"file": _content(path), "npy": path.suffix.lower() == ".npy", "reading": _READING})
    with quiet_decoders():
        cached = obtain_array(cache, "scene", key, lambda: read_rgb(path))
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


def load_images(
    path: Path,
    cache: Cache,
    size: int | tuple[int, int] = 224,
    resize: Resize = STRETCH,
    channels: int = 3,
) -> ImageSet:
    """The images that accuracy is taken on, each resized to `size`: an edge, or (height, width).

    Bilinear over all pixels that an output pixel covers, as training pipelines read pictures, and not by
    the nearest pixel as the scene's patches are resized on the device: that is timed and has to cost little,
    while this is done once on the host.

    `path` is a folder or a CSV file. InputError for no images at all, an empty
    class folder, or files that are no images, all of them named together.
    """
    listed = list_files(path)
    height, width = (size, size) if isinstance(size, int) else size
    reading = PictureReading(resize.mode, resize.crop_share, height, width, channels, pillow=PIL.__version__)
    try:
        cached = _cached(listed, cache, reading)
    except InputError as error:
        raise _unreadable(listed) or error from error
    return ImageSet(
        name=_shown(path),
        path=cached.path,
        sha256=cached.sha256,
        n=len(listed.files),
        labels=listed.labels,
        class_names=listed.class_names,
        notes=(*listed.notes, *_darkness(path, cached.path)),
        paths=listed.names,
        reading=reading,
    )


def _darkness(path: Path, pixels: Path) -> tuple[str, ...]:
    """A warning where no value reaches an eighth of the range; reads no further than the first that does."""
    if any(image.max() >= _DARK for image in np.load(pixels, mmap_mode="r")):
        return ()
    return (
        f"{_shown(path)}: all pictures are nearly black, with no value above an eighth of the range; "
        "if they hold 12 bits in 16, multiply their values by 16",
    )


def obtain_array(cache: Cache, kind: str, key: str, make: Callable[[], Pixels]) -> CachedFile:
    """The .npy of a recipe, from the cache or as `make` gives it."""
    return obtain(cache, kind, key, ".npy", lambda file: np.save(file, np.ascontiguousarray(make())))


def write_images(file: Path, shape: tuple[int, ...], images: Iterable[Pixels]) -> None:
    """Write images one by one as a new .npy of uint8; OSError where the disk has no space for it."""
    mapped = new_array(file, shape)
    for index, pixels in enumerate(images):
        mapped[index] = pixels
    mapped.flush()


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


def _cached(listed: Listed, cache: Cache, reading: PictureReading) -> CachedFile:
    content = [[name, _content(file)] for name, file in zip(listed.names, listed.files, strict=True)]
    key = canonical_hash({"files": content, "as": asdict(reading), "reading": _READING})

    def resized(file: Path) -> Pixels:
        return read_resized(file, reading)

    def write(file: Path) -> None:
        with quiet_decoders(), ThreadPoolExecutor(_THREADS) as pool:
            shape = (len(listed.files), reading.height, reading.width, reading.channels)
            write_images(file, shape, pool.map(resized, listed.files))

    return obtain(cache, "images", key, ".npy", write)


def _unreadable(listed: Listed) -> InputError | None:
    """One error of all files that cannot be read, so that one message names them all; None where all can."""
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
        fix="repair these files, or take them out of the set",
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
