"""The user's own scene and images: read once, kept as raw pixels in the cache."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np
import PIL

from edgebench.errors import InputError
from edgebench.files import reason, require_regular
from edgebench.prepare.cache import Cache, CachedFile, canonical_hash, obtain, sha256_file
from edgebench.prepare.image_lists import Listed, chosen_places, evenly, first_few, list_files
from edgebench.prepare.image_reading import READING, ReadPictures, find_pictures, read_pictures
from edgebench.prepare.landcover import Pixels
from edgebench.prepare.pictures import MAX_FILE_BYTES, quiet_decoders, read_rgb
from edgebench.records.values import STRETCH, ImageSet, Listing, PictureReading, Report, Resize, Scene

_DARK = 32  # an eighth of the range of uint8


def load_scene(path: Path, cache: Cache, patch: int = 224) -> Scene:
    """The picture that is timed, from an image file or a .npy of uint8 [height, width, 3].

    InputError when it cannot be read or is smaller than one patch.
    """
    key = canonical_hash({"file": _content(path), "npy": path.suffix.lower() == ".npy", "reading": READING})
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


# Pictures that accuracy is taken on: listed, chosen by class, and only those read.


MAX_IMAGES = 50_000
"""The most pictures of a set that are read."""


@dataclass(frozen=True)
class ReadingOptions:
    """Choice of a set's pictures, and treatment of their files.

    Attributes:
        counts: how many pictures devices take, each number chosen by class; None: all.
        seed: of the choice.
        resize: how they come to the size of a model's input.
        evenly: at most so many at equal distances over the listing, in place of a choice by class.
        skip_unreadable: go on without files that cannot be read.
        list_only: read no picture; sets that are not in the cache then have no pixels.
        report: told a set's name, and how many of how many pictures are read.
    """

    counts: frozenset[int | None] = frozenset({None})
    seed: int = 7
    resize: Resize = STRETCH
    evenly: int | None = None
    skip_unreadable: bool = False
    list_only: bool = False
    report: Report = lambda name, done, total: None


ALL = ReadingOptions()
"""Every picture, each of which can be read."""


def picture_reading(size: tuple[int, int], options: ReadingOptions, channels: int = 3) -> PictureReading:
    """The way in which pictures come to a model's input of (height, width)."""
    resize = options.resize
    return PictureReading(resize.mode, resize.crop_share, *size, channels, pillow=PIL.__version__)


def load_images(
    path: Path,
    cache: Cache,
    size: int | tuple[int, int] = 224,
    options: ReadingOptions = ALL,
    channels: int = 3,
) -> ImageSet:
    """The images that accuracy is taken on, each resized to `size`: an edge, or (height, width).

    Errors are those of `load_image_sets`.
    """
    reading = picture_reading((size, size) if isinstance(size, int) else size, options, channels)
    return load_image_sets(path, cache, [reading], options)[reading]


def load_image_sets(
    path: Path, cache: Cache, readings: Sequence[PictureReading], options: ReadingOptions = ALL
) -> dict[PictureReading, ImageSet]:
    """The images that accuracy is taken on, read in several ways; each file is opened once for all of them.

    Resized bilinearly over all pixels that an output pixel covers, as training pipelines read pictures, and
    not by the nearest pixel as the scene's patches are resized on the device: that is timed and has to cost
    little, while this is done once on the host.

    Args:
        path: a folder or a list, as `list_files` takes them.
        cache: where pixels are kept.
        readings: different from each other.
        options: which pictures are read.

    Raises:
        InputError: no images at all, an empty class folder, too many pictures to read, or files that are no
            images, all of them named together.
    """
    whole, base = list_files(path), _shown(path)
    n, digest = len(whole.files), whole.digest
    if options.evenly is not None:
        places = evenly(n, options.evenly)
    else:
        places = chosen_places(whole, options.counts, options.seed)
    if len(places) > MAX_IMAGES:
        raise InputError(
            f"there are {len(places)} files in {path}",
            why=f"at most {MAX_IMAGES} images are read",
            fix="choose some with --accuracy-images N, or name a folder with fewer",
        )
    listed = whole.at(places)
    is_chosen = options.evenly is None and len(places) < n
    name = base if not is_chosen else f"{base} ({len(places)} of {n}, seed {options.seed})"
    if options.list_only:
        found = find_pictures(path, listed, readings, cache) or {}
    else:
        found = read_pictures(path, listed, readings, cache, options.report)
    sets = {}
    for reading in readings:
        read = found.get(reading)
        unreadable = read.unreadable if read else {}
        if unreadable and (not options.skip_unreadable or len(unreadable) == len(places)):
            raise _unreadable_error(listed, unreadable)
        rows = [row for row in range(len(places)) if row not in unreadable]
        kept = listed.at(rows)
        sets[reading] = ImageSet(
            name=name,
            path=read.file.path if read else Path(),
            sha256=read.file.sha256
            if read
            else canonical_hash({"listed": listed.digest, "as": asdict(reading)}),
            n=len(rows),
            labels=kept.labels,
            class_names=kept.class_names,
            notes=(*listed.notes, *(_notes(base, listed, read) if read else (_not_read(base),))),
            paths=kept.names,
            is_read=read is not None,
            unreadable=len(unreadable),
            listing=Listing(base, n, whole.labels, digest, options.seed, tuple(places[row] for row in rows)),
            reading=reading,
        )
    return sets


def _unreadable_error(listed: Listed, faults: Mapping[int, tuple[str, str, str]]) -> InputError:
    """One error of all files that cannot be read."""
    if len(faults) == 1:
        [(row, (what, why, fix))] = faults.items()
        fix += ", or go on without it (--skip-unreadable)"
        return InputError(f"{listed.files[row]}{what}", why=why, fix=fix)
    reasons = [
        f"{listed.names[row]}{what}" + (f" ({why})" if why else "") for row, (what, why, _) in faults.items()
    ]
    return InputError(
        f"{len(faults)} of {len(listed.files)} images cannot be read",
        why=first_few(reasons, separator="; "),
        fix="repair these files, take them out of the set, or go on without them (--skip-unreadable)",
    )


def _not_read(name: str) -> str:
    return f"{name}: the pictures were listed and not read, so keys and times are not yet those of the run"


def _notes(name: str, listed: Listed, read: ReadPictures) -> Iterator[str]:
    """Notes on the pictures of a set, one line for each kind."""
    labels: defaultdict[str, set[int]] = defaultdict(set)
    rows = [row for row in range(len(listed.files)) if row not in read.unreadable]
    if listed.labels is not None:
        for row in rows:
            labels[read.contents[row]].add(listed.labels[row])
    ambiguous = [row for row in rows if len(labels[read.contents[row]]) > 1]
    for noted, text in (
        (sorted(read.unreadable), "cannot be read and are left out"),
        (ambiguous, "have the content of another one with another label"),
        (read.first_frames, "are the first of several frames or pages, and the others are not read"),
        (read.transparent, "had transparency, which is dropped"),
    ):
        if noted:
            names = first_few([listed.names[row] for row in noted], 3)
            yield f"{name}: {len(noted)} of {len(listed.files)} pictures {text}: {names}"
    yield from _darkness(name, read.file.path)


def _darkness(name: str, pixels: Path) -> tuple[str, ...]:
    """A warning where no value reaches an eighth of the range; reads no further than the first that does."""
    if any(image.max() >= _DARK for image in np.load(pixels, mmap_mode="r")):
        return ()
    return (
        f"{name}: all pictures are nearly black, with no value above an eighth of the range; "
        "if they hold 12 bits in 16, multiply their values by 16",
    )


def obtain_array(cache: Cache, kind: str, key: str, make: Callable[[], Pixels]) -> CachedFile:
    """The .npy of a recipe, from the cache or as `make` gives it."""
    return obtain(cache, kind, key, ".npy", lambda file: np.save(file, np.ascontiguousarray(make())))


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
