"""Which files a set of images is: a folder a class, a plain folder, or a CSV of paths and labels."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from edgebench.errors import InputError

MAX_IMAGES = 50_000
_MAX_CSV_BYTES = 64 * 1024 * 1024
_MAX_LABEL = 200


@dataclass(frozen=True)
class Listed:
    """The files of a set in order, their names for its identity, and one label a file (None: unlabelled)."""

    class_names: tuple[str, ...]
    files: tuple[Path, ...]
    names: tuple[str, ...]
    labels: tuple[int, ...] | None


def list_files(path: Path) -> Listed:
    """What a folder or a CSV file names; InputError when it names nothing, too much, or an empty class.

    A folder holds a folder a class (classes in the order of their names; loose files beside them are not
    images) or images alone (unlabelled); hidden files are ignored. A CSV has the columns `path` (relative to
    the CSV's folder, or absolute) and `label`; without labels its images are unlabelled.
    """
    return _from_csv(path) if path.suffix.lower() == ".csv" and not path.is_dir() else _from_folder(path)


def _from_folder(folder: Path) -> Listed:
    entries = list(_visible(folder))
    classes = [entry for entry in entries if entry.is_dir()]
    if not classes:
        _check_count(folder, len(entries))
        return Listed((), tuple(entries), _relative(entries, folder), None)
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
    names = tuple(entry.name for entry in classes)
    return Listed(names, tuple(files), _relative(files, folder), tuple(labels))


def _relative(files: list[Path], folder: Path) -> tuple[str, ...]:
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


def _check_count(path: Path, n: int) -> None:
    if n == 0:
        raise InputError(f"there are no images in {path}", fix="name a folder with images")
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
    return Listed(tuple(classes), files, tuple(names), tuple(place[label] for label in labels))


def _rows(path: Path) -> Iterator[tuple[int, str, str]]:
    """Line number, path and label of every row."""
    try:
        if path.stat().st_size > _MAX_CSV_BYTES:
            raise InputError(
                f"{path} is too large", why=f"more than {_MAX_CSV_BYTES >> 20} MB", fix="list fewer images"
            )
        with path.open(newline="", encoding="utf-8-sig") as file:
            table = csv.DictReader(file, strict=True)
            heads = [(head or "").strip().lower() for head in table.fieldnames or ()]
            if "path" not in heads:
                raise InputError(
                    f"{path} has no column `path`",
                    why="its first line names the columns",
                    fix="let the first line be `path,label`",
                )
            table.fieldnames = heads
            for row in table:
                yield table.line_num, (row["path"] or "").strip(), (row.get("label") or "").strip()
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InputError(
            f"{path} cannot be read as a list of images",
            why=getattr(error, "strerror", None) or str(error),
            fix="write a CSV in UTF-8 with the columns path and label",
        ) from error


def _bad_row(path: Path, line: int, why: str) -> InputError:
    return InputError(f"line {line} of {path} cannot be used", why=why, fix="mend or remove the line")
