"""A labels file: the names of a model's classes, one a line."""

from __future__ import annotations

from pathlib import Path

from edgebench.errors import InputError
from edgebench.regular_files import read_regular, reason

_MAX_BYTES = 16 * 1024 * 1024
_MAX_CLASSES = 100_000
_MAX_NAME = 200


def read_labels(path: Path) -> tuple[str, ...]:
    """The names in order; InputError for a file that is none, an empty or repeated name, or too many."""
    try:
        data = read_regular(path, _MAX_BYTES).replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        text = data.decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(
            f"{path} cannot be read as labels",
            why=reason(error),
            fix="give a text file (UTF-8) with one name a line",
        ) from error
    names = [line.strip() for line in text.rstrip("\n").split("\n")] if text.strip() else []
    if not 0 < len(names) <= _MAX_CLASSES:
        raise InputError(
            f"{path} holds {len(names)} labels", why=f"1 to {_MAX_CLASSES} are read", fix="name another file"
        )
    seen: dict[str, int] = {}
    for number, name in enumerate(names, start=1):
        why = ""
        if not name or len(name) > _MAX_NAME or not name.isprintable():
            why = "it is empty, too long or cannot be shown"
        elif name in seen:
            why = f"{name!r} is named on line {seen[name]} already"
        if why:
            raise InputError(
                f"line {number} of {path} is no label", why=why, fix="give every class a name of its own"
            )
        seen[name] = number
    return tuple(names)
