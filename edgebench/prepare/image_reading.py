"""Reading of listed picture files: each opened and hashed once for all sizes, kept in parts as it goes on.

A set is found again by the SHA-256 of its files. Those are kept by path, size, inode and times of change, so
that files which have not changed are not opened again.
"""

from __future__ import annotations

import hashlib
import math
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from edgebench.errors import InputError
from edgebench.files import read_regular, reason
from edgebench.prepare.cache import Cache, CachedFile, canonical_hash, find, forget, making, store
from edgebench.prepare.image_lists import Listed
from edgebench.prepare.landcover import Pixels
from edgebench.prepare.pictures import MAX_FILE_BYTES, decode, quiet_decoders, resized
from edgebench.records.values import PictureReading, Report

READING = "5"
"""Counts up when the same file would give other pixels."""

PART = 1_000
"""Pictures that are kept together while more are read: an interruption loses no more."""

_THREADS = 2


@dataclass(frozen=True)
class ReadPictures:
    """Listed pictures, read in one way.

    Attributes:
        file: .npy of uint8 [n, height, width, 3], without those that cannot be read.
        contents: SHA-256 of each listed file, in hex; empty for one that cannot be opened.
        unreadable: by place in the listing, why it cannot be read: what (after its path), why and fix.
        first_frames: places of files with further frames or pages.
        transparent: places of pictures whose transparency was dropped.
    """

    file: CachedFile
    contents: tuple[str, ...]
    unreadable: Mapping[int, tuple[str, str, str]]
    first_frames: tuple[int, ...]
    transparent: tuple[int, ...]

    @classmethod
    def kept(cls, file: CachedFile, contents: Sequence[str]) -> ReadPictures:
        """The pictures of a kept file, whose note has the rest."""
        unreadable = {place: (what, why, fix) for place, what, why, fix in file.note["unreadable"]}
        places = (tuple(file.note[name]) for name in ("first_frames", "transparent"))
        return cls(file, tuple(contents), unreadable, *places)


def find_pictures(
    source: Path, listed: Listed, readings: Sequence[PictureReading], cache: Cache
) -> dict[PictureReading, ReadPictures] | None:
    """The pictures of a listing as they were read before; None if a file is new or changed.

    Also None if they were not read in one of these ways. Opens no picture. `source` is the folder or list
    that was listed.
    """
    return _Reader(source, listed, readings, cache).found()


def read_pictures(
    source: Path, listed: Listed, readings: Sequence[PictureReading], cache: Cache, report: Report
) -> dict[PictureReading, ReadPictures]:
    """The pictures of a listing, read where they are not in the cache.

    Args:
        source: the folder or list that was listed.
        listed: its pictures, all or some.
        readings: ways in which each picture is read.
        cache: where they are kept.
        report: told the source's name, and how many pictures of how many are read.

    Raises:
        UnavailableError: the cache cannot be written or is full.
    """
    found = find_pictures(source, listed, readings, cache)
    if found is None:
        name = canonical_hash({"names": listed.names})[:16]
        with making(cache, f"images-{name}") as scratch:  # another process may have read them meanwhile
            found = _Reader(source, listed, readings, cache).read(scratch, report)
    return found


class _Reader:
    """Finds and reads a listing's pictures, by the hashes of its files that are known when it is made."""

    def __init__(
        self, source: Path, listed: Listed, readings: Sequence[PictureReading], cache: Cache
    ) -> None:
        self._source = source
        self._listed = listed
        self._readings = readings
        self._cache = cache
        self._hashes = _FileHashes(cache, source)
        self._contents = [self._hashes.known(file) for file in listed.files]

    def found(self) -> dict[PictureReading, ReadPictures] | None:
        """The pictures in all ways from the cache; None where one is not there."""
        kept = self._kept(range(len(self._contents)), self._readings)
        return self._as_read(kept) if len(kept) == len(self._readings) else None

    def read(self, scratch: Path, report: Report) -> dict[PictureReading, ReadPictures]:
        """Read what is not kept yet, part by part."""
        n = len(self._contents)
        whole = self._kept(range(n), self._readings)
        readings = [reading for reading in self._readings if reading not in whole]
        parts = [range(start, min(start + PART, n)) for start in range(0, n, PART)]
        files: dict[PictureReading, list[CachedFile]] = {reading: [] for reading in readings}
        try:
            with quiet_decoders(), _pool() as pool:
                for part in parts:
                    kept = self._kept(part, readings)
                    missing = [reading for reading in readings if reading not in kept]
                    if missing:
                        kept |= self._part(part, missing, pool, scratch, partial(report, self._source.name))
                    for reading in readings:
                        files[reading].append(kept[reading])
        finally:
            self._hashes.keep()
        report(self._source.name, n, n)
        for reading, parts_files in files.items():
            if len(parts) == 1:
                [whole[reading]] = parts_files
            else:
                whole[reading] = self._joined(reading, parts, parts_files, scratch)
                for part in parts:
                    forget(self._cache, "images", self._key(part, reading))
        return self._as_read(whole)

    def _part(
        self,
        part: range,
        readings: Sequence[PictureReading],
        pool: ThreadPoolExecutor,
        scratch: Path,
        report: Callable[[int, int], None],
    ) -> dict[PictureReading, CachedFile]:
        paths = {reading: scratch / f"{number}.npy" for number, reading in enumerate(readings)}
        note: dict[str, list[Any]] = {"unreadable": [], "first_frames": [], "transparent": []}
        read = pool.map(partial(_read_file, readings=readings), (self._listed.files[place] for place in part))
        with ExitStack() as files:
            adding = [
                files.enter_context(new_pictures(path, _shape(reading))) for reading, path in paths.items()
            ]
            for row, (place, picture) in enumerate(zip(part, read, strict=True)):
                self._contents[place] = picture.sha256
                self._hashes.note(self._listed.files[place], picture)
                if picture.fault is not None:
                    note["unreadable"].append([row, *picture.fault])
                else:
                    for add, pixels in zip(adding, picture.pixels, strict=True):
                        add(pixels)
                    note["first_frames"] += [row] * picture.has_more_frames
                    note["transparent"] += [row] * picture.had_transparency
                report(place + 1, len(self._contents))
        return {reading: self._store(part, reading, path, note) for reading, path in paths.items()}

    def _joined(
        self, reading: PictureReading, parts: Sequence[range], files: Sequence[CachedFile], scratch: Path
    ) -> CachedFile:
        """The file of all parts, one after the other."""
        note: dict[str, list[Any]] = {"unreadable": [], "first_frames": [], "transparent": []}
        for part, file in zip(parts, files, strict=True):
            note["unreadable"] += [[part.start + row, *fault] for row, *fault in file.note["unreadable"]]
            for name in ("first_frames", "transparent"):
                note[name] += [part.start + row for row in file.note[name]]
        path = scratch / "joined.npy"
        write_images(path, _shape(reading), (np.load(file.path, mmap_mode="r") for file in files))
        return self._store(range(len(self._contents)), reading, path, note)

    def _kept(self, part: range, readings: Sequence[PictureReading]) -> dict[PictureReading, CachedFile]:
        """The files of a part in the cache; none if a picture of it must be read to know which they are."""
        if any(self._contents[place] is None for place in part):
            return {}
        files = {reading: find(self._cache, "images", self._key(part, reading)) for reading in readings}
        return {reading: file for reading, file in files.items() if file is not None}

    def _store(self, part: range, reading: PictureReading, file: Path, note: Mapping[str, Any]) -> CachedFile:
        # Parts have a suffix of their own, so that no other set has the same file when they are removed.
        suffix = ".npy" if len(part) == len(self._contents) else ".part"
        return store(self._cache, "images", self._key(part, reading), file, suffix, note)

    def _key(self, part: range, reading: PictureReading) -> str:
        files = [[self._listed.names[place], self._contents[place]] for place in part]
        is_part = {} if len(part) == len(self._contents) else {"part": True}
        return canonical_hash({"files": files, "as": asdict(reading), "reading": READING, **is_part})

    def _as_read(self, files: Mapping[PictureReading, CachedFile]) -> dict[PictureReading, ReadPictures]:
        contents = [content or "" for content in self._contents]
        return {reading: ReadPictures.kept(file, contents) for reading, file in files.items()}


def _shape(reading: PictureReading) -> tuple[int, ...]:
    return reading.height, reading.width, reading.channels


@dataclass(frozen=True)
class _ReadFile:
    """Content of a file: its pixels in each way, or its fault (what, why, fix)."""

    state: Sequence[int] = ()
    sha256: str = ""
    pixels: Sequence[Pixels] = ()
    has_more_frames: bool = False
    had_transparency: bool = False
    fault: tuple[str, str, str] | None = None


def _read_file(path: Path, readings: Sequence[PictureReading]) -> _ReadFile:
    """Open, hash and decode a file once, and resize it in all ways."""
    try:
        state = _state_of(path)  # before it is read: a change meanwhile makes another one
        data = read_regular(path, MAX_FILE_BYTES)
    except (OSError, ValueError) as error:
        fault = " cannot be read", reason(error), "name an image file, and check its permissions"
        return _ReadFile(fault=fault)
    digest = hashlib.sha256(data).hexdigest()
    try:
        picture = decode(path, data)
        pixels = [resized(path, picture.image, reading) for reading in readings]
    except InputError as error:
        what = error.what.removeprefix(str(path))
        return _ReadFile(state, digest, fault=(what, error.why, error.fix))
    return _ReadFile(state, digest, pixels, picture.has_more_frames, picture.had_transparency)


@contextmanager
def _pool() -> Iterator[ThreadPoolExecutor]:
    """Threads whose waiting work is dropped when an error or an interruption ends the block."""
    with ThreadPoolExecutor(_THREADS) as pool:
        try:
            yield pool
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


class _FileHashes:
    """SHA-256 of the files of a folder or list, kept in the cache with each file's state."""

    def __init__(self, cache: Cache, source: Path) -> None:
        self._cache = cache
        self._key = canonical_hash({"hashes of": str(source.absolute())})
        noted = (cache.recipe("hashes", self._key) or {}).get("files")
        self._entries: dict[str, Any] = noted if isinstance(noted, dict) else {}
        self._is_changed = False

    def known(self, path: Path) -> str | None:
        """The SHA-256 of a file that has not changed since it was read, in hex; None if it must be read.

        Empty for a file that is not there.
        """
        try:
            state = _state_of(path)
        except FileNotFoundError:
            return ""
        except (OSError, ValueError):
            return None
        match self._entries.get(str(path)):
            case [*noted, str(digest)] if noted == state:
                return digest
        return None

    def note(self, path: Path, picture: _ReadFile) -> None:
        """Take in what was read."""
        if picture.sha256:
            self._entries[str(path)] = [*picture.state, picture.sha256]
            self._is_changed = True

    def keep(self) -> None:
        """Keep them for the next run."""
        if self._is_changed:
            self._cache.remember("hashes", self._key, {"files": self._entries})


def _state_of(path: Path) -> list[int]:
    """Size, inode and times of change of a file; OSError or ValueError where it cannot be looked at."""
    state = os.stat(path)  # noqa: PTH116  # of thousands in a row
    return [state.st_size, state.st_ino, state.st_mtime_ns, state.st_ctime_ns]


# Arrays of pictures on disk.


@contextmanager
def new_pictures(file: Path, shape: tuple[int, ...]) -> Iterator[Callable[[Pixels], None]]:
    """Open a new .npy of uint8 [n, *shape]; yields the function that adds one picture, or several.

    OSError where the disk has no space. Written and not mapped: on a full disk the system would kill the
    process (SIGBUS) instead of refusing.
    """
    n_bytes = 0

    def add(pixels: Pixels) -> None:
        nonlocal n_bytes
        n_bytes += opened.write(np.ascontiguousarray(pixels).data)

    def write_header() -> None:
        n = n_bytes // math.prod(shape)
        header = {"descr": "|u1", "fortran_order": False, "shape": (n, *shape)}
        opened.seek(0)
        np.lib.format.write_array_header_1_0(opened, header)

    with file.open("wb") as opened:
        write_header()  # as long as the last one, whatever the number
        yield add
        write_header()


def write_images(file: Path, shape: tuple[int, ...], images: Iterable[Pixels]) -> None:
    """Write images one by one as a new .npy of uint8 [n, *shape]; OSError where the disk has no space."""
    with new_pictures(file, shape) as add:
        for pixels in images:
            add(pixels)
