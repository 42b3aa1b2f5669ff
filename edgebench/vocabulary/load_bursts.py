"""The bursts of load by which the lag of a meter on the host is told: how long they and their pauses are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

LEAST_BURST_S, MOST_BURST_S = 1.0, 10.0

BURST_PERIODS = 6
"""Readings of the slowest meter in a burst, as long as MOST_BURST_S allows."""

PAUSES = (0.53, 1.13, 0.71)
"""Before each burst, in bursts: so unequal that the pattern resembles itself at one lag alone, and of no
common measure, so that the edges come at different times between two readings."""


@dataclass(frozen=True)
class LoadBursts:
    """Bursts of equal length, with an idle pause before each."""

    burst_s: float
    pauses_s: tuple[float, ...]

    @property
    def total_s(self) -> float:
        """From the first pause's start to the last burst's end, on a device that infers fast enough."""
        return self.burst_s * len(self.pauses_s) + sum(self.pauses_s)


Ns = Annotated[int, Field(ge=0, lt=1 << 62)]


@dataclass(frozen=True)
class BurstTimes:
    """When a device ran its bursts of load, in ns of its clock.

    Attributes:
        from_ns: since when it idled before the first.
        bursts_ns: start and end of each.
    """

    from_ns: Ns
    bursts_ns: tuple[tuple[Ns, Ns], ...]

    @property
    def total_s(self) -> float:
        """From the first pause's start to the last burst's end."""
        return (self.bursts_ns[-1][1] - self.from_ns) / 1e9


def load_bursts(slowest_hz: float | None) -> LoadBursts:
    """Bursts that a meter sees.

    Args:
        slowest_hz: of several meters the lowest rate; None where it is not known, for the shortest bursts.
    """
    burst_s = LEAST_BURST_S
    if slowest_hz is not None and slowest_hz > 0:
        burst_s = min(max(burst_s, BURST_PERIODS / slowest_hz), MOST_BURST_S)
    return LoadBursts(burst_s, tuple(pause * burst_s for pause in PAUSES))
