"""JSON from a device as plain data: text that can be written, finite numbers, bounded depth and size."""

from __future__ import annotations

import math
from typing import Any

from edgebench.agent.frames import Message, ProtocolError

MAX_DEPTH = 32
"""Lists and objects within each other; EdgeBench's own messages have 5."""

MAX_VALUES = 20_000
"""Entries of all lists and objects of one message."""

MAX_TEXT = 1 << 18
"""Characters of one text: the agent keeps 64 KiB of stderr, each byte of which may be four of an escape."""

MAX_NAME = 500
"""Characters of one key."""

_NUMBERS = range(-(1 << 63), 1 << 64)


def plain_message(message: Message) -> Message:
    """The message as records, tables and pages can hold it; ProtocolError when that cannot be.

    A lone surrogate, which is how Python reads a name that is not UTF-8, becomes its escape: a board may
    well have such a file or user. Everything else that cannot be held is refused.
    """
    plain = _Plain().value(message, 0)
    assert isinstance(plain, dict)
    return plain


class _Plain:
    """Counts the entries of one message."""

    def __init__(self) -> None:
        self._left = MAX_VALUES

    def value(self, value: Any, depth: int) -> Any:
        if isinstance(value, str):
            return _text(value, MAX_TEXT)
        if isinstance(value, dict):
            self._enter(len(value), depth)
            return {_text(name, MAX_NAME): self.value(item, depth + 1) for name, item in value.items()}
        if isinstance(value, list):
            self._enter(len(value), depth)
            return [self.value(item, depth + 1) for item in value]
        if isinstance(value, float) and not math.isfinite(value):
            raise ProtocolError(f"a message with the number {value}, which JSON does not have")
        if isinstance(value, int) and value not in _NUMBERS:
            raise ProtocolError("a message with a whole number of more than 64 bits")
        return value

    def _enter(self, entries: int, depth: int) -> None:
        if depth >= MAX_DEPTH:
            raise ProtocolError(f"a message nested more than {MAX_DEPTH} deep")
        self._left -= entries
        if self._left < 0:
            raise ProtocolError(f"a message of more than {MAX_VALUES} entries")


def _text(text: str, longest: int) -> str:
    if len(text) > longest:
        raise ProtocolError(f"a message with a text of {len(text)} characters, {longest} are allowed")
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "backslashreplace").decode()
    return text
