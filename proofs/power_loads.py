"""Loads whose power is known at every moment, for meters to read.

Times are in periods of the meter that reads them, power is in W. A load begins well before 0 and lasts past
the window's end; `mean_w` is its mean over all time, which is the truth that an interval means to hold.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Generator = np.random.Generator

BASE_W, BURST_W = 1.0, 5.0
LEAD = 8.0
"""Periods before 0 in which a load is on already: a reading there may mean two of them."""


class Load(Protocol):
    """Power over time."""

    @property
    def mean_w(self) -> float:
        """Over all time."""

    def watts(self, at: Floats) -> Floats:
        """Power at moments [n]."""

    def energy(self, at: Floats) -> Floats:
        """Energy from some fixed moment to others [n], in W times periods."""


@dataclass(frozen=True, eq=False)
class Steps:
    """Power that stays level between edges [n + 1] at levels [n]."""

    edges: Floats
    levels: Floats
    mean_w: float

    def watts(self, at: Floats) -> Floats:
        """Implement Load."""
        place = np.searchsorted(self.edges, at, side="right") - 1
        return np.asarray(self.levels[np.clip(place, 0, len(self.levels) - 1)])

    def energy(self, at: Floats) -> Floats:
        """Implement Load."""
        joules = np.concatenate(([0.0], np.cumsum(np.diff(self.edges) * self.levels)))
        return np.interp(at, self.edges, joules)


@dataclass(frozen=True, eq=False)
class Waves:
    """A mean with sinusoids round it: amplitudes in W, frequencies a period and phases [n] each."""

    mean_w: float
    amplitudes: Floats
    frequencies: Floats
    phases: Floats

    def watts(self, at: Floats) -> Floats:
        """Implement Load."""
        angles = 2 * np.pi * np.multiply.outer(at, self.frequencies) + self.phases
        return np.asarray(self.mean_w + np.sin(angles) @ self.amplitudes)

    def energy(self, at: Floats) -> Floats:
        """Implement Load."""
        angles = 2 * np.pi * np.multiply.outer(at, self.frequencies) + self.phases
        return np.asarray(
            self.mean_w * at - np.cos(angles) @ (self.amplitudes / (2 * np.pi * self.frequencies))
        )


@dataclass(frozen=True)
class Bursts:
    """Bursts that come again and again.

    Attributes:
        cycle: from one burst to the next, in the meter's periods: the mean of random ones.
        duty: the share of a cycle that a burst lasts.
        scatter: of regular bursts, the standard deviation of a cycle as a share of it; None for random ones,
            whose lengths and pauses are exponential.
    """

    cycle: float
    duty: float
    scatter: float | None = None

    @property
    def mean_w(self) -> float:
        """Over all time."""
        return BASE_W + (BURST_W - BASE_W) * self.duty

    def draw(self, generator: Generator, periods: float) -> Steps:
        """Such a load over so many periods, at any of its moments at 0."""
        lead = LEAD + 25 * self.cycle
        count = int(1.3 * (periods + lead) / self.cycle + 8 * ((periods + lead) / self.cycle) ** 0.5) + 50
        if self.scatter is None:
            on, off = generator.standard_exponential((2, count)) * self.cycle
            on, off = on * self.duty, off * (1 - self.duty)
        else:
            cycles = self.cycle * np.clip(1 + self.scatter * generator.standard_normal(count), 0.2, None)
            on, off = cycles * self.duty, cycles * (1 - self.duty)
        lengths = np.stack((on, off), axis=1).ravel()
        edges = np.concatenate(([0.0], np.cumsum(lengths))) - lead + generator.uniform(0, self.cycle)
        return Steps(edges, np.resize([BURST_W, BASE_W], len(lengths)), self.mean_w)


def smooth(generator: Generator, mean_w: float) -> Waves:
    """A load that moves by up to four fifths of its mean, at a tenth of the meter's rate at the most."""
    parts = 6
    amplitudes = generator.dirichlet(np.ones(parts)) * mean_w * generator.uniform(0.1, 0.8)
    frequencies = 10 ** generator.uniform(-2.5, -1, parts)
    return Waves(mean_w, amplitudes, frequencies, generator.uniform(0, 2 * np.pi, parts))
