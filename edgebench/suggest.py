"""Values from outside in messages: printed safely, with what could have been meant."""

from __future__ import annotations

import difflib
import unicodedata
from collections.abc import Iterable

_MOST_KNOWN = 80
_SHORT_LIST = 12  # names that are listed behind a suggestion


def choose(value: object, known: Iterable[str]) -> str:
    """Fix for an unknown name: the nearest names, and the known ones if they are few or none is near."""
    names = list(known)
    if len(names) > _SHORT_LIST and (meant := nearest(value, names)):
        return meant.strip()
    more = f" and {len(names) - _MOST_KNOWN} more" if len(names) > _MOST_KNOWN else ""
    return f"{nearest(value, names)}known: {', '.join(names[:_MOST_KNOWN]) or 'none'}{more}"


def nearest(value: object, known: Iterable[str]) -> str:
    """The names that could have been meant, as a question; "" where none is near."""
    close = difflib.get_close_matches(str(value)[:100], list(known), n=2)
    return f"did you mean {' or '.join(repr(name) for name in close)}? " if close else ""


def short(value: object) -> str:
    """A value from outside as it may be printed: quoted, escaped, at most 60 characters."""
    text = ascii(value)
    return text if len(text) <= 60 else text[:57] + "..."


# Text from outside as a terminal may be given it: on one line, and nothing in it that steers.


_UNSHOWN = frozenset({"Cc", "Cf", "Cs", "Co", "Zl", "Zp"})


def printable(text: object, limit: int = 4000) -> str:
    """Text on one line: control and direction characters as U+FFFD, bounded in length.

    Names of files, boards, models and classes come from outside, and so does whatever a library says of them.
    """
    cleaned = "".join(
        " " if char in "\t\n\r" else "\ufffd" if unicodedata.category(char) in _UNSHOWN else char
        for char in str(text)[: limit + 1]
    )
    return cleaned if len(cleaned) <= limit else cleaned[: limit - 1] + "…"
