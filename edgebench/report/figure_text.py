"""A figure as text that keeps the value it was written from, and what a table's cell sorts by."""

from __future__ import annotations

import math
import re
from typing import Self

_NUMBER = re.compile(r"[+-]?\d[\d,]*(?:\.\d+)?(?:e[+-]?\d+)?")
_OF_N = re.compile(r"(\d+)/(\d+)")


class FigureText(str):
    """Text of a figure, rounded for people; `value` is the figure itself, in the column's unit."""

    value: float

    def __new__(cls, text: str, value: float) -> Self:
        """The text, with the value it was written from."""
        figure = super().__new__(cls, text)
        figure.value = value
        return figure


def sort_value(text: str) -> str:
    """The number by which a table sorts a cell of figures; empty where the cell holds none.

    It is the figure's own where the text is a `FigureText`, `k/n` as a share, else the first number of the
    text: of an interval its lower end.
    """
    if isinstance(text, FigureText):
        return repr(float(text.value)) if math.isfinite(text.value) else ""
    share = _OF_N.match(text)
    if share and int(share[2]):
        return repr(int(share[1]) / int(share[2]))
    number = _NUMBER.search(text)
    return number[0].replace(",", "").removeprefix("+") if number else ""
