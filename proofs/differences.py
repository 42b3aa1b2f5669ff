"""A against A, and A against A + 5 %: how often a comparison says different."""

from __future__ import annotations

import numpy as np

from edgebench.stats.compare import different, ratios
from proofs.coverage import SESSIONS
from proofs.topic import Row, Size, Topic, percent, slack
from proofs.worlds import Passes, World

WRONG = 0.05
SEEN = 0.80
STEP = 0.05
SHIFTS = (0.01, 0.02, 0.03, 0.05)

CLAIM = (
    "A against A says different in at most 5 %. A against A + 5 % is seen in at least 80 % at 2 % between "
    "sessions with 5 sessions a side; the other cases are shown."
)


def proof(size: Size) -> Topic:
    """Two rows a world: like against like, and against 5 % more."""
    rows = []
    for levels in ("normal", "t3"):
        for shift in SHIFTS:
            world = World(levels, shift, Passes(0.6, levels == "t3"))
            name = f"{levels}, r 0.6, shift {100 * shift:g} %"
            same = [told_apart(world, sessions, 0.0, size) for sessions in SESSIONS]
            met = all(share <= WRONG + slack(WRONG, size.experiments) for share in same)
            rows.append(Row((f"A/A, {name}", *(percent(share) for share in same)), met))
            seen = [told_apart(world, sessions, STEP, size) for sessions in SESSIONS]
            claimed = seen[SESSIONS.index(5)] >= SEEN if shift <= 0.02 else None
            rows.append(Row((f"+5 %, {name}", *(percent(share) for share in seen)), claimed))
    columns = ("case", *(f"K = {sessions}" for sessions in SESSIONS))
    return Topic(
        "compare", "Comparisons of K sessions a side that say different, %", CLAIM, columns, tuple(rows)
    )


def told_apart(world: World, sessions: int, step: float, size: Size) -> float:
    """The share of experiments in which B, slower by `step`, is called different from A."""
    generator = np.random.default_rng((3, sessions, round(1000 * world.shift), len(world.levels)))
    a, b = (world.draw(generator, (size.experiments, sessions), size.pool).medians for _ in range(2))
    # Heavy tails draw a time below zero once in a while: there is no such session.
    times = (np.minimum(a, b) > 0).all(axis=-1)
    return float(np.mean(different(ratios(a[times], b[times] * (1 + step)))))
