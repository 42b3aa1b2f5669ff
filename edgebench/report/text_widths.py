"""How wide the columns of a printed table are: all within the line, and more for those with more to say."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

_WIDEST_WORD = 0.3  # of the line; a longer word is broken
_WIDEST_NAME = 0.22  # of the line; a longer name of a row is folded


@dataclass(frozen=True)
class Columns:
    """Some columns of a table, which stand beside one another.

    Attributes:
        places: of the table's columns; the first, which names the rows, is among them.
        widths: in the unit of the line.
    """

    places: tuple[int, ...]
    widths: tuple[float, ...]


def column_blocks(
    rows: Sequence[Sequence[str]], line: float, width_of: Callable[[str], float], padding: float
) -> list[Columns]:
    """The columns of a table in blocks that fit on a line, each with the table's first column.

    Args:
        rows: texts, the headings among them.
        line: its width.
        width_of: of a text that is not folded, in the unit of the line.
        padding: of a cell, both sides together.
    """
    columns = list(zip(*rows, strict=True))
    least = [_least(column, line, width_of) + padding for column in columns]
    most = [
        max(width_of(part) for text in column for part in text.split("\n")) + padding for column in columns
    ]
    least[0] = max(least[0], min(most[0], _WIDEST_NAME * line))
    blocks = [[0]]
    for place in range(1, len(columns)):
        if sum(least[other] for other in blocks[-1]) + least[place] > line and len(blocks[-1]) > 1:
            blocks.append([0])
        blocks[-1].append(place)
    return [Columns(tuple(block), _shared(block, least, most, line)) for block in blocks]


def _least(column: Sequence[str], line: float, width_of: Callable[[str], float]) -> float:
    words = [word for text in column for line_of_text in text.split("\n") for word in line_of_text.split(" ")]
    return min(max(map(width_of, words), default=0.0), _WIDEST_WORD * line)


def _shared(
    block: Sequence[int], least: Sequence[float], most: Sequence[float], line: float
) -> tuple[float, ...]:
    """As wide as each column's widest text where the line has room; else room by how much is folded."""
    least, most = [least[place] for place in block], [max(least[place], most[place]) for place in block]
    if sum(most) <= line:
        return tuple(most)
    room = max(0.0, line - sum(least))
    wanted = sum(most) - sum(least)
    widths = [low + (high - low) / wanted * room for low, high in zip(least, most, strict=True)]
    excess = max(1.0, sum(widths) / line)
    return tuple(width / excess for width in widths)
