"""Paired comparison in the order ABBA ABBA ..., with an A/A ratio from the same runs."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Paired:
    """Figures of both sides in the order in which they were taken within each block A B B A."""

    a: tuple[float, ...]  # two a block: first and last
    b: tuple[float, ...]  # two a block: second and third

    @property
    def ratios(self) -> list[float]:
        """A against the B next to it, one a pair."""
        return [a / b for a, b in zip(self.a, self.b, strict=True)]

    @property
    def same_ratios(self) -> list[float]:
        """Like against like, next to each other: B/B inside a block, A/A from one block to the next."""
        blocks = len(self.a) // 2
        inside = [self.b[2 * block] / self.b[2 * block + 1] for block in range(blocks)]
        between = [self.a[2 * block - 1] / self.a[2 * block] for block in range(1, blocks)]
        return inside + between


def abba(take_a: Callable[[], float], take_b: Callable[[], float], pairs: int) -> Paired:
    """At least `pairs` pairs, rounded up to whole blocks of two."""
    a: list[float] = []
    b: list[float] = []
    for _ in range((pairs + 1) // 2):
        a.append(take_a())
        b.append(take_b())
        b.append(take_b())
        a.append(take_a())
    return Paired(tuple(a), tuple(b))


def spread(values: Sequence[float]) -> tuple[float, float, float]:
    """Median and quartiles; of one value all three are that."""
    if len(values) == 1:
        return values[0], values[0], values[0]
    low, middle, high = statistics.quantiles(values, n=4)
    return middle, low, high
