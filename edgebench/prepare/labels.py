"""Classes by name: label files as people have them, and pictures' labels matched with a model's classes.

A label file has one name a line. A line that begins with a number and a blank or a colon names that class, as
Coral's pycoral reads it (`0  person`, `2: cat`); numbers may have gaps. A line of ImageNet's synset_words.txt
(`n01440764 tench, Tinca tinca`) is a synset and its names.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from edgebench.errors import InputError, UsageError
from edgebench.files import read_regular, reason
from edgebench.prepare.image_lists import first_few
from edgebench.records.values import ImageSet

BACKGROUND = "background"
_MAX_BYTES = 16 * 1024 * 1024
_MAX_CLASSES = 100_000
_MAX_NAME = 200
_SHOWN = 5
_NUMBERED = re.compile(r"(\d{1,7})(?:\s*:\s*|\s+)(\S.*)")
_SYNSET = re.compile(r"(n\d{8})(?:[\s_]+(\S.*))?")
_REPEATED = re.compile(r"(.+) \(\d+\)")


def read_labels(path: Path) -> tuple[str, ...]:
    """Read the class names of a label file; InputError for another file, or a line that names no class."""
    try:
        return labels_of(read_regular(path, _MAX_BYTES), path)
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(
            f"{path} cannot be read as labels",
            why=reason(error),
            fix="give a text file (UTF-8) with one name a line",
        ) from error


def labels_of(content: bytes, path: Path | str) -> tuple[str, ...]:
    """Return the class names in a label file's content, by class number.

    A class without a line is called `class N`. A name of several classes has the number of each behind it.

    Raises:
        UnicodeDecodeError: it is not UTF-8.
        InputError: a line names no class, or a class is named twice.
    """
    text = content.replace(b"\r\n", b"\n").replace(b"\r", b"\n").decode("utf-8-sig")
    lines = [line.strip() for line in text.rstrip().split("\n")] if text.strip() else []
    if not 0 < len(lines) <= _MAX_CLASSES:
        raise InputError(
            f"{path} holds {len(lines)} labels", why=f"1 to {_MAX_CLASSES} are read", fix="name another file"
        )
    named: dict[int, str] = {}
    places: dict[int, int] = {}
    has_numbers = any(map(_NUMBERED.fullmatch, lines))
    for place, line in enumerate(lines, start=1):
        if has_numbers and not line:
            continue
        numbered = _NUMBERED.fullmatch(line)
        number, name = (int(numbered[1]), numbered[2]) if numbered else (place - 1, line)
        why = ""
        if not name or len(name) > _MAX_NAME or not name.isprintable():
            why = "it is empty, too long or cannot be shown"
        elif number >= _MAX_CLASSES:
            why = f"class numbers are below {_MAX_CLASSES}"
        elif number in named:
            why = f"class {number} is named on line {places[number]} already"
        if why:
            raise InputError(
                f"line {place} of {path} is no label", why=why, fix="give every class one line and one name"
            )
        named[number], places[number] = name, place
    counts = Counter(named.values())
    return tuple(
        f"{name} ({number})" if counts[name] > 1 else name
        for number, name in (
            (number, named.get(number, f"class {number}")) for number in range(max(named) + 1)
        )
    )


def fitted(names: Sequence[str], scores: int, offset: int | None) -> tuple[str, ...]:
    """Return the names behind one for the background, if the offset says that the file lacks that class."""
    return (BACKGROUND, *names) if offset == 1 and len(names) + 1 == scores else tuple(names)


def matched(
    images: ImageSet, names: Sequence[str] | None, scores: int, offset: int | None, model: str
) -> ImageSet:
    """Return the same pictures with labels that count in the model's classes.

    A label equals a class name exactly, else without regard to case, else by a synset or one of its names. If
    all labels are whole numbers and no names, they are class numbers. Pictures of classes that the model
    lacks become unlabelled, which a note says.

    Args:
        images: labelled, or returned as they are.
        names: of the model's classes; None if nobody named them.
        scores: how many classes the model has.
        offset: added to class numbers; None if the user stated none.
        model: named in messages.

    Raises:
        UsageError: no label is a class of the model, a label fits several classes, or a number is none.
    """
    if images.labels is None or not images.class_names:
        return images
    listed = images.class_names
    if not names and not are_numbers(listed):
        return images  # what they are of is not known, and a note of the trial says so
    if are_numbers(listed) and not set(names or ()).issuperset(listed):
        found: list[int | None] = [*_numbered(images, scores, offset, model)]
        by = "number"
    elif offset and not (names and names[0] == BACKGROUND):
        raise UsageError(
            "--label-offset shifts class numbers",
            why=f"the labels of {images.name} are names: {first_few(listed, _SHOWN)}",
            fix="leave it out",
        )
    else:
        finder = _Finder(names or ())
        found, by = [finder.find(label, images.name) for label in listed], "name"
    if all(place is None for place in found):
        raise UsageError(
            f"no label of {images.name} is a class of {model}",
            why=f"the labels are {first_few(listed, _SHOWN)}; "
            f"the classes are {first_few(names or (), _SHOWN)}",
            fix="name the classes with --labels FILE, or label the pictures by class numbers",
        )
    unknown = [label for label, place in zip(listed, found, strict=True) if place is None]
    labels = tuple(-1 if label < 0 or (at := found[label]) is None else at for label in images.labels)
    notes = images.notes
    if unknown:
        lost = sum(label >= 0 and found[label] is None for label in images.labels)
        notes = (
            *notes,
            f"{images.name}: {lost} pictures count in no accuracy, since {model} lacks their classes: "
            f"{first_few(unknown, _SHOWN)}",
        )
    classes = tuple(names) if names else tuple(map(str, range(scores)))
    if all(place is not None and classes[place] == label for label, place in zip(listed, found, strict=True)):
        return images
    return replace(
        images, labels=labels, class_names=classes, notes=notes, labels_by=by, label_offset=offset or 0
    )


def are_numbers(labels: Sequence[str]) -> bool:
    """Return whether all labels are whole numbers."""
    return all(label.isdecimal() for label in labels)


def _numbered(images: ImageSet, scores: int, offset: int | None, model: str) -> Iterator[int]:
    numbers = [int(label) for label in images.class_names]
    if offset is None and len(numbers) == scores - 1 and max(numbers) == scores - 2:
        raise UsageError(
            f"{images.name} has {len(numbers)} classes and {model} has {scores}",
            why="class 0 of such a model is mostly the background",
            fix="shift the class numbers with --label-offset 1, or write --label-offset 0",
        )
    for number in numbers:
        if not 0 <= number + (offset or 0) < scores:
            shift = f" shifted by {offset}" if offset else ""
            raise UsageError(
                f"the label {number} of {images.name}{shift} is no class of {model}",
                why=f"its classes are 0 to {scores - 1}",
                fix="correct the labels, or shift them with --label-offset",
            )
        yield number + (offset or 0)


def _aliases(name: str) -> list[str]:
    """Return the parts by which a class is known: synset, all of its names, and each of them."""
    plain = repeated[1] if (repeated := _REPEATED.fullmatch(name)) else name
    synset = _SYNSET.fullmatch(plain)
    words = (synset[2] or "") if synset else plain
    return [part for part in (synset and synset[1], plain, words, *words.split(", ")) if part]


class _Finder:
    """Finds the class of a label, by the strictest comparison that finds any."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names = names
        self._levels: list[dict[str, set[int]]] = [defaultdict(set) for _ in range(4)]
        for place, name in enumerate(names):
            self._levels[0][name].add(place)
            self._levels[1][name.casefold()].add(place)
            for alias in _aliases(name):
                self._levels[2][alias].add(place)
                self._levels[3][alias.casefold()].add(place)

    def find(self, label: str, set_name: str) -> int | None:
        """Return the number of the label's class; None without one, UsageError if it fits several."""
        aliases = _aliases(label)
        spellings = [[label], [label.casefold()], aliases, [alias.casefold() for alias in aliases]]
        for level, words in zip(self._levels, spellings, strict=True):
            places = next((level[word] for word in words if word in level), None)
            if places is None:
                continue
            if len(places) > 1:
                several = first_few([self._names[place] for place in sorted(places)], _SHOWN)
                raise UsageError(
                    f"the label {label!r} of {set_name} fits several classes",
                    why=f"they are {several}",
                    fix="use one of these names, or class numbers for all pictures",
                )
            return min(places)
        return None
