"""Series of experiments without a change, and with one: how often a change is found, and where."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from edgebench.stats.change_point import change_points
from proofs.topic import Row, Size, Topic, percent, slack

WRONG = 0.05
RIGHT_PLACE = 0.95
STEP = 0.10
LENGTHS = (8, 12, 30)
SPREADS = (0.01, 0.02, 0.05)

CLAIM = (
    "In series without a change, a change is found in at most 5 %, even where no minimum effect is asked "
    "for. Of series with one step of 10 % in the middle, and 1 % between experiments, one change is found, "
    "at the right place, in at least 95 %; the other cases are shown."
)


def proof(size: Size) -> Topic:
    """A row a kind of scatter without a change, and a row a spread with one."""
    rows = []
    for world in ("normal", "t3", "two modes", "3 to 20 sessions", "first half 3 sessions, second 20"):
        shares = [_found(world, length, size.single) for length in LENGTHS]
        met = all(share <= WRONG + slack(WRONG, size.single) for share in shares)
        # An order in which the scatter itself changes is not as likely as others: shown, and not claimed.
        claimed = None if world.startswith("first half") else met
        rows.append(Row((f"no change, {world}", *map(percent, shares)), claimed))
    for spread in SPREADS:
        shares = [_placed(spread, length, size.single) for length in LENGTHS]
        met = all(share >= RIGHT_PLACE - slack(RIGHT_PLACE, size.single) for share in shares)
        rows.append(
            Row((f"+10 %, spread {100 * spread:g} %", *map(percent, shares)), met if spread <= 0.01 else None)
        )
    columns = ("case", *(f"{length} experiments" for length in LENGTHS))
    return Topic("changes", "Series with a change found; at the right place, %", CLAIM, columns, tuple(rows))


def _found(world: str, length: int, series: int) -> float:
    generator = np.random.default_rng((7, length, len(world)))
    found = [
        bool(change_points(np.exp(_scatter(generator, world, length)).tolist(), minimum_effect=0.0))
        for _ in range(series)
    ]
    return float(np.mean(found))


def _placed(spread: float, length: int, series: int) -> float:
    generator = np.random.default_rng((8, length, round(1000 * spread)))
    right = 0
    for _ in range(series):
        values = np.exp(generator.normal(0, spread, length))
        values[length // 2 :] *= 1 + STEP
        right += [point.at for point in change_points(values.tolist())] == [length // 2]
    return right / series


def _scatter(generator: np.random.Generator, world: str, length: int) -> NDArray[np.float64]:
    if world == "normal":
        return generator.normal(0, 0.02, length)
    if world == "t3":
        return 0.02 * generator.standard_t(3, length)
    if world == "two modes":
        return 0.05 * (generator.random(length) < 0.3) + generator.normal(0, 0.003, length)
    if world == "3 to 20 sessions":
        return generator.normal(0, 1, length) * 0.02 / np.sqrt(generator.integers(3, 21, length))
    sessions = np.where(np.arange(length) < length // 2, 3, 20)
    return generator.normal(0, 1, length) * 0.02 / np.sqrt(sessions)
