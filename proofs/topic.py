"""One table of a proof: its cases, and whether each keeps what is claimed."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Size:
    """Size of a simulation.

    Attributes:
        experiments: a case.
        single: experiments a case where each takes a call of its own.
        pool: sessions that are simulated pass by pass, once a kind of pass.
    """

    experiments: int
    single: int
    pool: int


SMALL = Size(experiments=2_000, single=200, pool=4_000)
FULL = Size(experiments=50_000, single=2_000, pool=200_000)


@dataclass(frozen=True)
class Row:
    """One case. `met` is None where nothing is claimed of it and the figure is only shown."""

    cells: tuple[str, ...]
    met: bool | None
    note: str = ""

    @property
    def word(self) -> str:
        """Word in the last column."""
        return self.note or {True: "met", False: "MISSED", None: ""}[self.met]


@dataclass(frozen=True)
class Topic:
    """A table: what is claimed in `claim`, and a row a case; every cell but the first is a number."""

    name: str
    title: str
    claim: str
    columns: tuple[str, ...]
    rows: tuple[Row, ...]

    @property
    def met(self) -> bool:
        """Return True if no case misses the claim."""
        return all(row.met is not False for row in self.rows)


Proof = Callable[[Size], Topic]


def percent(share: float) -> str:
    """A share as a table shows it."""
    return f"{100 * share:.1f}"


def slack(bound: float, experiments: int) -> float:
    """Two standard errors of a simulated share at its bound: what chance may add to it or take away."""
    return 2 * math.sqrt(bound * (1 - bound) / experiments)
