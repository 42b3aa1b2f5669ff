"""Upper limit of any test of the sessions' shape, had it known the simulated world.

By Neyman and Pearson no test at a given share of false flags catches more than one that goes by the ratio of
probabilities: here of experiments that the interval misses, and of normal ones. A test that minds neither
position nor unit sees nothing but where the sessions lie between the first and the last. That is one number
of 3 sessions and three of 5, few enough to count both kinds in bins: one half of the misses says which bins
to flag, the other how many of them that catches.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from edgebench.stats.intervals import mean_interval
from proofs.coverage import holds
from proofs.shapes import outcomes
from proofs.topic import Row, Size, Topic, percent, slack
from proofs.worlds import World

FALSE_FLAGS = 0.10
WITHIN = 0.01
BINS = {3: 60, 5: 14}
CHUNK = 100_000

CLAIM = (
    "With 3 and 5 sessions no test lifts these cases to 93 %. `best` is the share that is covered, or "
    "flagged by the most powerful test that is wrong of 10 % of normal sessions and knows what was "
    "simulated; `either`, with `skewed` and `multimodal` in its place, comes within one point of it."
)

Floats = NDArray[np.float64]


def proof(size: Size) -> Topic:
    """A row a world and a number of sessions."""
    rows = []
    for levels, shifts in (("exponential", (0.02,)), ("two modes", (0.005, 0.01))):
        for shift in shifts:
            for sessions in BINS:
                world = World(levels, shift)
                covers, flagged, _ = outcomes(world, sessions, size)
                best = _best(world, sessions, size)
                shares = (covers.mean(), (covers | flagged).mean(), best)
                name = "skewed" if levels == "exponential" else levels
                cells = (name, f"{100 * shift:g}", str(sessions), *(percent(share) for share in shares))
                near = (covers | flagged).mean() >= best - WITHIN - slack(best, size.experiments)
                rows.append(Row(cells, bool(near)))
    columns = ("sessions", "shift %", "K", "covered", "either", "best")
    return Topic("best", "What any test could reach, %", CLAIM, columns, tuple(rows))


def _best(world: World, sessions: int, size: Size) -> float:
    """The share that is covered, or flagged by the most powerful test."""
    generator = np.random.default_rng((7, sessions, round(1000 * world.shift), len(world.levels)))
    cells = BINS[sessions] ** (sessions - 2)
    normal, learnt, tried = np.zeros(cells), np.zeros(cells), np.zeros(cells)
    experiments = 20 * size.experiments
    missed = 0
    for start in range(0, experiments, CHUNK):
        shape = (min(CHUNK, experiments - start), sessions)
        normal += np.bincount(_bin(generator.standard_normal(shape)), minlength=cells)
        drawn = world.draw(generator, shape, size.pool).medians
        missed_bins = _bin(drawn[~holds(mean_interval(drawn), world.truth(size.pool))])
        missed += missed_bins.size
        learnt += np.bincount(missed_bins[::2], minlength=cells)
        tried += np.bincount(missed_bins[1::2], minlength=cells)
    normal /= normal.sum()
    order = np.argsort(-(learnt / learnt.sum()) / np.maximum(normal, 1 / experiments))
    flagged = order[np.cumsum(normal[order]) <= FALSE_FLAGS]
    caught = float(tried[flagged].sum() / tried.sum())
    return 1 - missed / experiments * (1 - caught)


def _bin(medians: Floats) -> NDArray[np.intp]:
    """Number the bin that the sessions between the first and the last fall into, [experiments]."""
    count = BINS[medians.shape[1]]
    ordered = np.sort(medians, axis=-1)
    first, last = ordered[:, :1], ordered[:, -1:]
    inner = (ordered[:, 1:-1] - first) / (last - first)
    # Narrow at both ends, where groups and tails are told from a bell.
    steps = np.minimum((np.arcsin(np.sqrt(inner)) * 2 / np.pi * count).astype(np.intp), count - 1)
    return np.asarray(steps @ (count ** np.arange(steps.shape[1])))
