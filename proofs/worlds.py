"""Simulated measurements whose truth is known: the mean over sessions of session medians.

A session's passes lie round its own level: the levels are drawn from one distribution a world, the passes
from another, with correlation from each to the next and with drift. The level adds to every pass, so a
session's median is its level plus the median of its passes round 0; those are simulated pass by pass, put
through the product's own median, and drawn from.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy import signal

from edgebench.stats.intervals import medians_of

PASSES = 100
NOISE = 0.01
"""Standard deviation of the passes within a session, as a share of the value."""

DRIFT = 0.03
MODE_SHARE = 0.3
MODE_STEP = 0.05
SEED = 20
_CHUNK = 10_000

Floats = NDArray[np.float64]
Generator = np.random.Generator
Shape = tuple[int, ...]


@dataclass(frozen=True)
class Passes:
    """Scatter of a session's passes: correlation of neighbours, heavy tails, drift over the session."""

    correlation: float = 0.0
    heavy: bool = False
    drift: float = 0.0


@dataclass(frozen=True)
class Draw:
    """Session medians, and for each whether it comes from the part of its world that makes it asymmetric."""

    medians: Floats
    rare: NDArray[np.bool_]


@dataclass(frozen=True)
class World:
    """Sessions that shift by `shift` (standard deviation, as a share) and passes round them.

    Attributes:
        levels: `normal`, `t3`, `exponential`, `two modes` (normal, and 30 % of sessions 5 % higher), or
            `lognormal`.
        passes: within its sessions; None where a session's median is its level.
    """

    levels: str
    shift: float
    passes: Passes | None = Passes()

    def truth(self, pool: int) -> float:
        """The mean over all sessions of their medians."""
        mode = MODE_SHARE * MODE_STEP if self.levels == "two modes" else 0.0
        return 1.0 + mode + (float(pool_of(self.passes, pool).mean()) if self.passes else 0.0)

    def draw(self, generator: Generator, shape: Shape, pool: int) -> Draw:
        """Session medians of that shape; the value is about 1."""
        levels, rare = _LEVELS[self.levels](generator, shape, self.shift)
        if self.passes is None:
            return Draw(1.0 + levels, rare)
        medians = pool_of(self.passes, pool)
        return Draw(1.0 + levels + medians[generator.integers(medians.size, size=shape)], rare)

    def passes_of(self, generator: Generator, experiments: int, sessions: int, passes: int) -> Floats:
        """Every pass, [experiments, sessions, passes]."""
        levels, _ = _LEVELS[self.levels](generator, (experiments, sessions, 1), self.shift)
        return 1.0 + levels + _noise(generator, (experiments, sessions, passes), self.passes or Passes())


@lru_cache(maxsize=64)
def pool_of(passes: Passes, sessions: int) -> Floats:
    """The medians of so many sessions round 0, one world's as another's."""
    seed = (SEED, round(100 * passes.correlation), passes.heavy, round(1000 * passes.drift))
    generator = np.random.default_rng(seed)
    parts = [
        medians_of(_noise(generator, (min(_CHUNK, sessions - start), PASSES), passes))
        for start in range(0, sessions, _CHUNK)
    ]
    return np.concatenate(parts)


def _noise(generator: Generator, shape: Shape, passes: Passes) -> Floats:
    """Passes round 0: an AR(1) series over the last axis, of standard deviation NOISE, and the drift."""
    fresh = _heavy(generator, shape) if passes.heavy else generator.standard_normal(shape)
    r = passes.correlation
    # The first value is drawn from the series' own distribution, so that it is the same at every pass.
    fresh[..., 1:] *= math.sqrt(1 - r**2)
    series = signal.lfilter([1.0], [1.0, -r], fresh, axis=-1) if r else fresh
    return np.asarray(NOISE * series + passes.drift * np.linspace(0.0, 1.0, shape[-1]))


def _heavy(generator: Generator, shape: Shape) -> Floats:
    """Student's t with 3 degrees of freedom, of standard deviation 1."""
    return np.asarray(generator.standard_t(3, shape) / math.sqrt(3))


_Levels = Callable[[Generator, Shape, float], tuple[Floats, NDArray[np.bool_]]]


def _normal(generator: Generator, shape: Shape, shift: float) -> tuple[Floats, NDArray[np.bool_]]:
    return shift * generator.standard_normal(shape), np.zeros(shape, np.bool_)


def _t3(generator: Generator, shape: Shape, shift: float) -> tuple[Floats, NDArray[np.bool_]]:
    return shift * _heavy(generator, shape), np.zeros(shape, np.bool_)


def _exponential(generator: Generator, shape: Shape, shift: float) -> tuple[Floats, NDArray[np.bool_]]:
    """Draw from an exponential of mean 0; the slowest tenth of all sessions is the tail."""
    drawn = generator.standard_exponential(shape)
    return shift * (drawn - 1), drawn > math.log(10)


def _two_modes(generator: Generator, shape: Shape, shift: float) -> tuple[Floats, NDArray[np.bool_]]:
    high = generator.random(shape) < MODE_SHARE
    return shift * generator.standard_normal(shape) + MODE_STEP * high, high


def _lognormal(generator: Generator, shape: Shape, shift: float) -> tuple[Floats, NDArray[np.bool_]]:
    """Draw from a lognormal of mean 0 round a value of 1, so that no value falls below zero."""
    sigma = math.sqrt(math.log1p(shift**2))
    drawn = np.exp(sigma * generator.standard_normal(shape) - sigma**2 / 2)
    return np.asarray(drawn - 1), np.zeros(shape, np.bool_)


_LEVELS: Mapping[str, _Levels] = {
    "normal": _normal,
    "t3": _t3,
    "exponential": _exponential,
    "two modes": _two_modes,
    "lognormal": _lognormal,
}
