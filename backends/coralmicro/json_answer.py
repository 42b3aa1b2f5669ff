"""JSON from a board as plain data: no doubled names, finite numbers, bounded depth (pure)."""

from __future__ import annotations

import json
import math
from typing import Any

MOST_DEPTH = 8
"""Lists and objects within each other; an answer of EdgeBench's firmware has 3."""
_MOST_DIGITS = 20


class BrokenJson(ValueError):
    """Text that is not JSON, or none that is taken from a board.

    Attributes:
        is_cut: whether it may be JSON that lacks its end.
    """

    def __init__(self, why: str, is_cut: bool = False) -> None:
        super().__init__(why)
        self.is_cut = is_cut


def parsed(body: bytes) -> Any:
    """A body's value; BrokenJson."""
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError:
        raise BrokenJson("it is not UTF-8") from None
    try:
        value = json.loads(
            text,
            object_pairs_hook=_object,
            parse_constant=_no_constant,
            parse_float=_finite,
            parse_int=_whole_number,
        )
    except json.JSONDecodeError as error:
        is_cut = bool(text.strip()) and (
            error.pos >= len(text.rstrip()) or error.msg.startswith("Unterminated string")
        )
        raise BrokenJson(f"{error.msg} at character {error.pos} of {len(text)}", is_cut) from None
    except RecursionError:
        raise BrokenJson(_TOO_DEEP) from None
    _require_shallow(value, MOST_DEPTH)
    return value


_TOO_DEEP = f"it is nested more than {MOST_DEPTH} deep"


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        raise BrokenJson("an object has the same name twice")
    return value


def _no_constant(name: str) -> Any:
    raise BrokenJson(f"it has the number {name}, which JSON does not have")


def _finite(digits: str) -> float:
    value = float(digits)
    if not math.isfinite(value):
        raise BrokenJson("it has a number that is too large")
    return value


def _whole_number(digits: str) -> int:
    if len(digits) > _MOST_DIGITS:
        raise BrokenJson("it has a whole number of more than 64 bits")
    return int(digits)


def _require_shallow(value: Any, depth: int) -> None:
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        if not depth:
            raise BrokenJson(_TOO_DEEP)
        for item in value:
            _require_shallow(item, depth - 1)
