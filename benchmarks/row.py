"""One line of the bench table."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from benchmarks.pairs import Paired, spread


@dataclass(frozen=True)
class Row:
    """A figure against its bar (None: for information); `same` is like against like in the same run."""

    name: str
    figure: float
    unit: str
    bar: float | None
    same: float | None = None
    details: dict[str, Any] = field(default_factory=dict)

    @property
    def met(self) -> bool:
        """Whether the figure is within its bar."""
        return self.bar is None or self.figure <= self.bar


def ratio_row(name: str, paired: Paired, bar: float, **details: Any) -> Row:
    """A row from paired figures: the median of the ratios, and the A/A median beside it."""
    middle, low, high = spread(paired.ratios)
    same, same_low, same_high = spread(paired.same_ratios)
    return Row(
        name,
        middle,
        "times",
        bar,
        same,
        {
            "pairs": len(paired.ratios),
            "quartiles": [low, high],
            "same_quartiles": [same_low, same_high],
            "a": paired.a,
            "b": paired.b,
            **details,
        },
    )


def agreement_row(name: str, paired: Paired, percent: float) -> Row:
    """A row of two that ought to give the same: by how many per cent they differ, either way.

    The bar is `percent`, or twice what like against like differs by where that is more.
    """
    times = ratio_row(name, paired, bar=1.0)
    assert times.same is not None
    difference, same = (100 * abs(ratio - 1) for ratio in (times.figure, times.same))
    return Row(
        name,
        difference,
        "%",
        max(percent, 2 * same),
        same,
        {**times.details, "ratio": times.figure, "same_ratio": times.same},
    )
