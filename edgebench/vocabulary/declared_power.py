"""Power that a data sheet or a label states of a target, where no meter says what it draws."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal, get_args

from pydantic import Field

PowerKind = Literal["maximum", "typical"]
KINDS: tuple[PowerKind, ...] = get_args(PowerKind)

MOST_W = 2000.0
"""More is a figure in mW that was taken for one in W."""


@dataclass(frozen=True)
class DeclaredPower:
    """What a target draws as a whole, host and all, by its maker's word: one figure.

    Attributes:
        watts: the figure.
        kind: `maximum`, which it never exceeds, or `typical`, which its maker calls typical or nominal, under
            a load of the maker's choice.
        source: the data sheet or label that says so.
    """

    watts: Annotated[float, Field(gt=0, le=MOST_W)]
    kind: PowerKind
    source: Annotated[str, Field(min_length=1, max_length=4000)]

    def __str__(self) -> str:
        return f"declared {self.kind} power of {self.watts:g} W ({self.source})"
