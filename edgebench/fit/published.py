"""A figure that somebody else published: what is known of it, and who says so."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Bound = Literal["above", "at least", "below", "at most"]
"""How a figure lies to the one number that is known of it; `above` and `below` leave that number out."""

PUBLISHED = "published"
"""The mark of a trial that was published, and not measured."""


@dataclass(frozen=True)
class Published:
    """One published figure of a trial, in its quantity's base unit.

    Attributes:
        quantity: what it is about, such as image_s.
        statistic: which statistic of it.
        source: who published it, and where.
        value: None where no number was published.
        low, high: the ends of its interval, or the one that is known of a bound.
        bound: how the figure lies to that one; empty where it is no bound.
        k, n: of a share, what it was published as.
        words: what the source says of it, quoted; empty where it says nothing in words.
        covers: what the number is of, such as the inference of one patch alone.
        scaled: by how much the published number was multiplied, to be that of the whole scene.
    """

    quantity: str
    statistic: str
    source: str
    value: float | None = None
    low: float | None = None
    high: float | None = None
    bound: Bound | Literal[""] = ""
    k: int | None = None
    n: int | None = None
    words: str = ""
    covers: str = ""
    scaled: float = 1.0

    @property
    def quote(self) -> str:
        """What the source says, and which it is: `"exceeds 5 W peak" (title)`."""
        return f'"{self.words}" ({self.source})' if self.words else self.source
