"""How values of settings are read from text, and in which range they lie. Imports nothing heavy."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

LARGEST = 1e9
YEAR_S = 31_536_000


def text_list(value: Any) -> Any:
    """A single value as a list of one."""
    return value if isinstance(value, list | tuple) else [value]


def target_ci(value: Any) -> Any:
    """A half-width as a share of the value: `1%` or 0.01; above 0 and below 1."""
    from edgebench.plan.amounts import share
    from edgebench.refusals import problem

    number = share(value)
    if isinstance(number, int | float) and not 0 < number < 1:
        fix = "write a share above 0% and below 100%, such as 1% or 0.01"
        raise problem(f"{100 * number:g}% is out of range", fix)
    return number


def max_time_s(value: Any) -> Any:
    """A duration as seconds: `30m`; more than 0, at most a year."""
    from edgebench.plan.amounts import duration_s
    from edgebench.refusals import problem

    number = duration_s(value)
    if isinstance(number, int | float) and not 0 < number <= YEAR_S:
        raise problem(
            f"{number:g} s is out of range", "write more than 0, at most 365d, such as 30m or 1h30m"
        )
    return number


def batches(value: Any) -> Any:
    """Batches of 1 or more; the largest is each device's own."""
    from edgebench.refusals import problem

    numbers = [_whole(item) for item in value] if isinstance(value, Sequence) else []
    low = [number for number in numbers if number is not None and number < 1]
    if low:
        raise problem(f"a batch of {low[0]} patches is none", "write 1 or more")
    return value


def input_scale(value: Any) -> Any:
    """One number, or one a channel: `255` or `58.4,57.1,57.4`; above zero."""
    return _numbers(value, float, ",", (1, 3), _ONE_OR_THREE, least=1e-9)


def input_mean(value: Any) -> Any:
    """One number, or one a channel."""
    return _numbers(value, float, ",", (1, 3), _ONE_OR_THREE, least=-LARGEST)


def patch_size(value: Any) -> Any:
    """Width and height in pixels: `224x224`."""
    return _numbers(value, int, "x", (2,), "WIDTHxHEIGHT, such as 224x224", least=1)


_ONE_OR_THREE = "one number, or three with commas between them"


def _whole(item: Any) -> int | None:
    try:
        return int(item)
    except (TypeError, ValueError, OverflowError):
        return None


def _numbers(
    value: Any,
    kind: Callable[[str], float],
    separator: str,
    counts: Sequence[int],
    form: str,
    *,
    least: float,
) -> Any:
    """Text of a flag or the environment as numbers, as a file's list; ValueError where they do not fit."""
    if value is None:
        return None
    if isinstance(value, str):
        items: Sequence[Any] = value.lower().split(separator)
    else:
        items = value if isinstance(value, list | tuple) else (value,)
    try:
        numbers = tuple(kind(str(item).strip()) for item in items)
    except ValueError:
        raise ValueError(f"write {form}") from None
    if len(numbers) not in counts:
        raise ValueError(f"write {form}")
    if not all(math.isfinite(number) and least <= number <= LARGEST for number in numbers):
        raise ValueError(f"a number is out of range ({least:g} to {LARGEST:g})")
    return numbers
