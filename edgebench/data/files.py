"""Which files a set of images is: a folder a class, a plain folder, or a CSV of paths and labels."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from edgebench.data.picture_reading import looks_like_picture, quiet_decoders
from edgebench.errors import InputError
from edgebench.regular_files import read_regular, reason, require_regular

MAX_IMAGES = 50_000
_MAX_CSV_BYTES = 64 * 1024 * 1024
_MAX_LABEL = 200


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
    Hidden files are ignored; files that are plainly no pictures, and pictures beside the class folders, are
    passed by and counted in the notes. A CSV has the columns `path` (relative to the CSV's folder, or
    absolute) and `label`; without labels its images are unlabelled.
    """
    with quiet_decoders():
        return _from_csv(path) if path.suffix.lower() == ".csv" and not path.is_dir() else _from_folder(path)


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
    _refuse_empty(folder, [entry for label, entry in enumerate(classes) if label not in set(labels)])
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


def _refuse_empty(folder: Path, classes: list[Path]) -> None:
    if classes:
        raise InputError(
            f"{folder} has class folders without a picture: {first_few(_relative(classes, folder))}",
            why="a class without pictures has no accuracy",
            fix="put pictures into them or remove them",
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


def _from_csv(path: Path) -> Listed:
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
    files = tuple(path.absolute().parent / name for name in names)
    if not labels[0]:
        return Listed((), files, tuple(names), None)
    classes = sorted(set(labels))
    place = {label: at for at, label in enumerate(classes)}
    labelled = tuple(place[label] for label in labels)
    return Listed(tuple(classes), files, tuple(names), labelled)


def _rows(path: Path) -> Iterator[tuple[int, str, str]]:
    """Line number, path and label of every row."""
    try:
        # As a whole, so that an error knows its line.
        text = read_regular(path, _MAX_CSV_BYTES).decode("utf-8-sig")
        with io.StringIO(text, newline="") as file:
            table = csv.DictReader(file, strict=True)
            heads = [(head or "").strip().lower() for head in table.fieldnames or ()]
            if "path" not in heads:
                raise InputError(
                    f"{path} has no column `path`",
                    why=f"its first line names the columns: {','.join(heads)[:100]!r}",
                    fix="let the first line be `path,label`, with commas",
                )
            table.fieldnames = heads
            for row in table:
                yield table.line_num, (row["path"] or "").strip(), (row.get("label") or "").strip()
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InputError(
            f"{path} cannot be read as a list of images",
            why=reason(error),
            fix="write a CSV in UTF-8 with the columns path and label",
        ) from error


def _bad_row(path: Path, line: int, why: str) -> InputError:
    return InputError(f"line {line} of {path} cannot be used", why=why, fix="mend or remove the line")
