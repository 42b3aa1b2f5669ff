"""Workers that share a device: how often the interval of the slowest one's slowdown holds it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from edgebench.stats.compare import ratios, slowest
from proofs.coverage import LEAST, SESSIONS
from proofs.topic import Row, Size, Topic, percent, slack
from proofs.worlds import Passes, World

TIMES = 1.8
STEP = 0.10
PASSES = Passes(0.6)
SHIFTS = ((0.01, 0.01), (0.01, 0.05), (0.05, 0.01), (0.02, 0.10))
"""Standard deviations between sessions: alone, together."""

CLAIM = (
    "The interval of the largest slowdown of W workers, K sessions alone and K together, holds that of "
    "the worker that it names and that of the truly slowest one, both in at least 93 %, whatever "
    "scatters more. `alike`: all take 1.8 times as long as alone; `3 alone`: the same with 3 sessions "
    "alone, at least 91 %, since Welch's degrees of freedom are a little too many where counts differ; "
    "`one slower`: the first takes 10 % more than the others; `one wider`: the first scatters, and is "
    "mostly named for it. `unselected` is the interval of the named worker as if nothing had been "
    "selected, which is only shown."
)

LEAST_OF_UNEQUAL = 0.91


def proof(size: Size) -> Topic:
    """A row a case of scatter, a number of workers and how they differ."""
    rows = []
    for alone, together in SHIFTS:
        for workers in (1, 2, 8):
            for kind in ("alike", "3 alone", "one slower", "one wider", "unselected")[
                : 5 if workers > 1 else 2
            ]:
                case = _Case(kind, alone, together, workers)
                shares = [_covered(case, sessions, size) for sessions in SESSIONS]
                least = LEAST_OF_UNEQUAL if kind == "3 alone" else LEAST
                met = all(share >= least - slack(least, size.experiments) for share in shares)
                name = f"{kind}, W {workers}, shift {100 * alone:g} % alone, {100 * together:g} % together"
                cells = (name, *(percent(share) for share in shares))
                rows.append(Row(cells, None if kind == "unselected" else met))
    columns = ("case", *(f"K = {sessions}" for sessions in SESSIONS))
    title = "Intervals of the slowest of W workers that hold its slowdown, %"
    return Topic("slowdown", title, CLAIM, columns, tuple(rows))


class _Case(NamedTuple):
    kind: str
    alone: float
    together: float
    workers: int


def _covered(case: _Case, sessions: int, size: Size) -> float:
    """The share of experiments whose interval holds the slowdowns of the named and of the slowest worker."""
    kind, alone, together, workers = case
    generator = np.random.default_rng((9, workers, sessions, round(1000 * alone), round(1000 * together)))
    others = World("normal", 0.01 if kind == "one wider" else together, PASSES)
    worlds = [World("normal", alone, PASSES), World("normal", together, PASSES), *[others] * (workers - 1)]
    # All are compared with the same sessions alone, as workers of one variant are.
    a, *b = (world.draw(generator, (size.experiments, sessions), size.pool).medians for world in worlds)
    a = a[:, :3] if kind == "3 alone" else a
    truths = np.full(workers, TIMES)
    truths[0] *= 1 + STEP * (kind == "one slower")
    times = [truth * medians for truth, medians in zip(truths, b, strict=True)]
    at, found = slowest([a] * workers, times)
    if kind == "unselected":
        found = ratios(a, np.stack(times)[at, np.arange(at.size)])
    named, largest = ((found.low <= truth) & (truth <= found.high) for truth in (truths[at], truths.max()))
    return float(np.mean(named & largest))
