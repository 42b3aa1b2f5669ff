"""Text from outside as a terminal may be given it: on one line, and nothing in it that steers."""

from __future__ import annotations

import unicodedata

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
