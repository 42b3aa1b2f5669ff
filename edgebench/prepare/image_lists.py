"""Listing of image files: a folder per class, a plain folder, or a list of paths and labels."""

from __future__ import annotations

import csv
import hashlib
import io
import os
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np

from edgebench.errors import InputError
from edgebench.files import expand_home, read_regular, reason, require_regular
from edgebench.prepare.cache import canonical_hash
from edgebench.prepare.pictures import has_picture_ending, looks_like_picture, quiet_decoders
from edgebench.records.values import Listing

_HEIC = (".heic", ".heif", ".hif")
_MAX_CSV_BYTES = 64 * 1024 * 1024
_MAX_LABEL = 200
_LISTS = (".csv", ".tsv", ".txt")
_SEPARATORS = ",;\t"
_PATHS = ("path", "file", "filename", "file_name", "image", "image_path")
_LABELS = ("label", "class", "class_id", "category", "target")


@dataclass(frozen=True)
class Listed:
    """The files of a set in order, their names for its identity, and one label a file (None: unlabelled).

    `notes` name the files that were left out. None of the files has been opened.
    """

    class_names: tuple[str, ...]
    files: tuple[Path, ...]
    names: tuple[str, ...]
    labels: tuple[int, ...] | None
    notes: tuple[str, ...] = ()

    @cached_property
    def digest(self) -> str:
        """Hash of names and labels, in hex; it decides which pictures of a class are chosen."""
        return canonical_hash({"names": self.names, "labels": self.labels, "classes": self.class_names})

    def at(self, places: Sequence[int]) -> Listed:
        """Return the listing of some of the files."""
        labels = None if self.labels is None else tuple(self.labels[place] for place in places)
        files = tuple(self.files[place] for place in places)
        return replace(self, files=files, names=tuple(self.names[place] for place in places), labels=labels)


def list_files(path: Path) -> Listed:
    """List the files that a folder or a list names; InputError when it names nothing, or an empty class.

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
    loose, strays = _pictures_and_strays([entry for entry in entries if not entry.is_dir()])
    if not classes:
        if not loose:
            raise _no_images(folder, strays)
        return Listed((), _paths(loose), _names(loose), None, _left_out(folder, _names(strays)))
    inside = [list(_visible(entry)) for entry in classes]
    _refuse_nested(folder, inside)
    files: list[Path] = []
    names: list[str] = []
    labels: list[int] = []
    stray_names = [*_names(strays)]
    for label, (entry, entries_inside) in enumerate(zip(classes, inside, strict=True)):
        pictures, others = _pictures_and_strays(entries_inside)
        files += _paths(pictures)
        names += _names(pictures, f"{entry.name}/")
        stray_names += _names(others, f"{entry.name}/")
        labels += [label] * len(pictures)
    filled = set(labels)
    if empty := [entry.name for label, entry in enumerate(classes) if label not in filled]:
        raise InputError(
            f"{folder} has class folders without a picture: {first_few(empty)}",
            why="a class without pictures has no accuracy",
            fix="put pictures into them or remove them",
        )
    class_names = tuple(entry.name for entry in classes)
    notes = _left_out(folder, stray_names, _names(loose))
    return Listed(class_names, tuple(files), tuple(names), tuple(labels), notes)


def _kind_of(path: Path) -> str:
    """Describe a path that is neither a folder nor a regular file."""
    try:
        require_regular(path)
    except OSError as error:
        return reason(error)
    return "it is a file"  # by now


def _pictures_and_strays(
    entries: Iterable[os.DirEntry[str]],
) -> tuple[list[os.DirEntry[str]], list[os.DirEntry[str]]]:
    pictures: list[os.DirEntry[str]] = []
    strays: list[os.DirEntry[str]] = []
    for entry in entries:
        # A plain file with a picture's ending needs no further look: of thousands each would take time.
        is_plain = entry.is_file(follow_symlinks=False) and has_picture_ending(entry.name)
        (pictures if is_plain or looks_like_picture(Path(entry.path)) else strays).append(entry)
    return pictures, strays


def _paths(entries: Iterable[os.DirEntry[str]]) -> tuple[Path, ...]:
    return tuple(Path(entry.path) for entry in entries)


def _names(entries: Iterable[os.DirEntry[str]], prefix: str = "") -> tuple[str, ...]:
    return tuple(prefix + entry.name for entry in entries)


def _refuse_nested(folder: Path, inside: Sequence[Sequence[os.DirEntry[str]]]) -> None:
    """InputError for folders in class folders: else `train/` and `test/` would pass for two classes."""
    nested = [[Path(entry.path) for entry in entries_inside if entry.is_dir()] for entries_inside in inside]
    folders = [path for paths in nested for path in paths]
    if folders:
        names = [path.relative_to(folder).as_posix() for path in folders]
        raise InputError(
            f"{folder} has folders in its class folders: {first_few(names)}",
            why="a folder a class is taken, with the pictures right in it",
            fix=f"name the folder of the class folders, such as {folders[0].parent}"
            if all(nested)
            else "move them elsewhere",
        )


def _left_out(folder: Path, strays: Sequence[str], loose: Sequence[str] = ()) -> tuple[str, ...]:
    """Notes of files that are not read, counted by kind."""
    heic = [name for name in strays if name.lower().endswith(_HEIC)]
    others = [name for name in strays if not name.lower().endswith(_HEIC)]
    return tuple(
        f"{folder.name}: left out {len(names)} {noun}{'s' if len(names) > 1 else ''} {where}: "
        f"{first_few(names, 3)}"
        for names, noun, where in (
            (others, "file", "with no picture"),
            (heic, "picture", "in HEIC, which is not read (save as JPEG)"),
            (loose, "picture", "outside the class folders"),
        )
        if names
    )


def _visible(folder: Path | os.DirEntry[str]) -> Iterator[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as found:
            entries = sorted(found, key=lambda entry: entry.name)
    except OSError as error:
        raise InputError(
            f"the image folder {os.fspath(folder)} cannot be read",
            why=error.strerror or str(error),
            fix="name a folder of images, one that holds a folder a class, or a CSV of paths and labels",
        ) from error
    for entry in entries:
        if entry.name.startswith("."):
            continue
        if not entry.name.isprintable():
            raise InputError(
                f"{entry.path!r} has a name that cannot be shown",
                why="it holds control characters or bytes that are no text",
                fix="rename it",
            )
        yield entry


def _no_images(path: Path, strays: Iterable[os.DirEntry[str]] = ()) -> InputError:
    names = _names(strays)
    is_heic = any(name.lower().endswith(_HEIC) for name in names)
    return InputError(
        f"there are no images in {path}",
        why=f"it holds files with no picture: {first_few(names, 3)}" if names else "",
        fix="save them as JPEG: HEIC is not read"
        if is_heic
        else "name a folder of images, one that holds a folder a class, or a CSV of paths and labels",
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
    if not names:
        raise _no_images(path)
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


# Some of a set: as many of each class as is its share, the same ones for the same seed.


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


def evenly(n: int, most: int) -> list[int]:
    """Places at equal distances from the first to the last of `n`, at most a given number."""
    return (
        list(range(n)) if n <= most else np.unique(np.linspace(0, n - 1, most).round().astype(int)).tolist()
    )


def chosen_places(listed: Listed, counts: Collection[int | None], seed: int) -> list[int]:
    """Places of the listed pictures that devices take which take so many each; None: all."""
    n = len(listed.files)
    if any(count is None or count >= n for count in counts):
        return list(range(n))
    choices = (stratified(listed.labels or [0] * n, count, seed, listed.digest) for count in counts if count)
    return sorted({place for choice in choices for place in choice})


def rows_of_choice(listing: Listing, n: int) -> list[int]:
    """Rows of a set whose pictures are chosen if `n` of its listing are."""
    labels = listing.labels or [0] * listing.n
    places = set(stratified(labels, min(n, listing.n), listing.seed, listing.digest))
    return [row for row, place in enumerate(listing.places) if place in places]


def _draw(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()
