"""A number with its unit as text, such as "4.42 s", "500 mW" or "65 x 30 x 8 mm", in a unit of a quantity.

The units are few and listed here: those of limits, without those that share a symbol with another (m is a
metre and never a minute, B a byte and b nothing).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from edgebench.refusals import problem
from edgebench.suggest import choose, short

MAX_TEXT = 100

_KINDS: Mapping[str, tuple[str, ...]] = {
    "a time": ("s", "ms", "µs", "min", "h", "d"),
    "a length": ("mm", "cm", "m"),
    "a mass": ("g", "kg", "mg"),
    "a power": ("W", "mW", "kW"),
    "an energy": ("J", "mJ", "kJ", "Wh", "mWh"),
    "an amount of data": ("bytes", "B", "kB", "MB", "GB", "KiB", "MiB", "GiB", "bit", "kbit", "Mbit"),
    "a data rate": ("bit/s",),
    "a throughput": ("images/s", "images/min"),
    "a share": ("%",),
}
"""What units measure, and which of them are proposed."""

_PREFIXES = {
    **{"": 1.0, "µ": 1e-6, "m": 1e-3, "c": 1e-2, "k": 1e3, "M": 1e6, "G": 1e9},
    **{"Ki": 2.0**10, "Mi": 2.0**20, "Gi": 2.0**30},
}
_DATA = {"B": 1.0, "bytes": 1.0, "bit": 0.125}
_PREFIXED = {
    **{"s": ("a time", 1.0), "m": ("a length", 1.0), "g": ("a mass", 1.0)},
    **{"W": ("a power", 1.0), "J": ("an energy", 1.0), "Wh": ("an energy", 3600.0)},
    **{unit: ("an amount of data", size) for unit, size in _DATA.items()},
    **{f"{unit}/s": ("a data rate", size) for unit, size in _DATA.items()},
}
_UNITS: Mapping[str, tuple[str, float]] = {
    **{
        prefix + unit: (kind, factor * scale)
        for unit, (kind, scale) in _PREFIXED.items()
        for prefix, factor in _PREFIXES.items()
    },
    **{unit: ("a time", seconds) for unit, seconds in (("min", 60.0), ("h", 3600.0), ("d", 86_400.0))},
    **{"images/s": ("a throughput", 1.0), "images/min": ("a throughput", 1 / 60)},
    **{"%": ("a share", 0.01), "1": ("a share", 1.0), "byte": ("an amount of data", 1.0)},
}
"""Unit -> what it measures, and its size."""

_WORDS = {
    **{"watt": "W", "gram": "g", "gramme": "g", "joule": "J", "meter": "m", "metre": "m", "second": "s"},
    **{"sec": "s", "minute": "min", "hour": "h", "hr": "h", "day": "d", "byte": "B"},
    **{"bit": "bit", "watthour": "Wh"},
}
_PREFIX_WORDS = {"micro": "µ", "milli": "m", "centi": "c", "kilo": "k", "mega": "M", "giga": "G"}
_WORD = re.compile(
    rf"({'|'.join(_PREFIX_WORDS)}|)({'|'.join(sorted(_WORDS, key=len, reverse=True))})s?", re.IGNORECASE
)

_UNIT = r"[A-Za-zµμ°%]+(?:[/*][A-Za-zµμ]+)?"
_PART = re.compile(rf"([+-]?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]{{1,3}})?)\s*({_UNIT})?")
TEXT_PATTERN = r"^\s*[+-]?[0-9]+.*\S$"
"""What such a text looks like at first sight, for editors."""
_TIMES = re.compile(r"\s*[x×]\s*")


def measured(
    text: str, units: Mapping[str, float], quantity: str, field: str = ""
) -> tuple[tuple[float, ...], str]:
    """The numbers of a text and their unit, which is one of `units`, the first where the text's is another.

    Args:
        text: a number with its unit, or several with an x between them and one unit, or one each.
        units: unit -> how many of the first it is, as `Metric.units`.
        quantity: what it is about, for messages.
        field: where it stands, for messages.

    Raises a `refusals.problem` if the text is no number, has no unit, or has a unit of another kind.
    """
    parts = [_part(part, text) for part in _TIMES.split(text.strip())] if len(text) <= MAX_TEXT else []
    if not parts:
        raise problem(f"{short(text)} is too long for a number with a unit", "write one such as '4.42 s'")
    numbers, words = [number for number, _ in parts], [word for _, word in parts]
    if not any(words[:-1]):
        words = [words[-1]] * len(parts)
    if not all(words):
        base = next(iter(units))
        fix = "write a number without quotes, such as 6.0"
        if base != "1":
            bare = " x ".join(f"{number:g}" for number in numbers)
            fix = f"write one with its unit, such as '{bare} {base}'"
        elif "%" in units and numbers[0] > 1:
            fix = f"write it with its unit: '{numbers[0]:g} %'"
        raise problem(f"{field} {short(text)} has no unit".lstrip(), fix)
    if len(set(words)) == 1 and words[0] in units:
        return tuple(numbers), words[0]
    base = next(iter(units))
    if [*units] == ["1"]:
        raise problem(f"{quantity} has no unit: it is a ratio", "write a number without quotes, such as 1.2")
    return tuple(_converted(*pair, base, quantity) for pair in zip(numbers, words, strict=True)), base


def one_measured(text: Any, unit: str, name: str, example: str) -> float:
    """A number with a unit as text, in `unit`; problems as `measured`, and for what is not one such text."""
    values, _ = measured(text, {unit: 1.0}, name, name) if isinstance(text, str) else ((), "")
    if len(values) != 1:
        raise problem(f"{name} {short(text)} is not a number with its unit", f"write one such as {example!r}")
    return values[0]


def fitting_units(units: Mapping[str, float]) -> list[str]:
    """All units in which a quantity may be written: those that it lists, then others of the same kind."""
    kind, _ = _UNITS.get(next(iter(units)), ("", 0.0))
    choices = dict.fromkeys([*units, *_KINDS.get(kind, ())])
    return ["1"] if [*units] == ["1"] else [unit for unit in choices if unit != "1"]


def _part(text: str, whole: str) -> tuple[float, str]:
    match = _PART.fullmatch(re.sub(r"per ?cent$", "%", text.strip(), flags=re.IGNORECASE))
    if match is None:
        if re.search(r"[0-9],[0-9]", text):
            raise problem(
                f"the comma in {short(whole)} may divide thousands or be the decimal point",
                "write 4.42 or 4420, without a comma",
            )
        raise problem(f"{short(whole)} is not a number with a unit", "write one such as '4.42 s' or '500 mW'")
    return float(match[1]), _symbol(match[2] or "")


def _symbol(unit: str) -> str:
    """Symbol of a unit that is written as a word, such as `W` of `Watts`; other units as they are."""
    if unit in _UNITS or not (match := _WORD.fullmatch(unit)):
        return unit
    return _PREFIX_WORDS.get(match[1].lower(), "") + _WORDS[match[2].lower()]


def _converted(number: float, word: str, base: str, quantity: str) -> float:
    """A number of one unit in another; a problem for an unknown unit and for one of another kind."""
    unit, goal = _UNITS.get(re.sub("^[uμ]", "µ", word)), _UNITS.get(base)
    if goal is None:
        raise problem(f"{quantity} has no unit but {base}", f'write a number, with unit = "{base}" or none')
    choices = _KINDS[goal[0]]
    if unit is None:
        # Capital letters mean something in a unit, and are no letters of difference to `choose`.
        same = " or ".join(repr(each) for each in choices if each.lower() == word.lower())
        meant = f"did you mean {same}? known: {', '.join(choices)}" if same else choose(word, choices)
        raise problem(f"unknown unit {short(word)}", meant)
    if unit[0] != goal[0]:
        raise problem(
            f"{word} is {unit[0]}, and {quantity} is {goal[0]}", f"write it in {', '.join(choices)}"
        )
    return number * unit[1] / goal[1]
