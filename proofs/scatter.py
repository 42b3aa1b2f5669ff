"""Sessions that differ by much: the interval stays above zero, and covers no less for it."""

from __future__ import annotations

import numpy as np

from edgebench.stats.intervals import Bounds, mean_interval, t_interval
from proofs.coverage import LEAST, SESSIONS, holds
from proofs.topic import Row, Size, Topic, percent, slack
from proofs.worlds import World

SHIFTS = (0.1, 0.3, 0.6, 1.0)
COVERED_SHIFT = 0.3
"""Up to this shift the coverage is claimed; beyond it, that it is no less than Student's t on the values."""

CLAIM = (
    "Sessions from a lognormal distribution, whose standard deviation is `shift`. The interval never reaches "
    f"below zero; up to {100 * COVERED_SHIFT:g} % it covers in at least 93 %, and nowhere less often than "
    "Student's t on the values themselves (`t`), which reaches below zero in the share `t below 0`."
)


def proof(size: Size) -> Topic:
    """A row a shift and a number of sessions."""
    rows = [_row(shift, sessions, size) for shift in SHIFTS for sessions in SESSIONS]
    columns = ("shift %", "K", "covered", "below 0", "t", "t below 0")
    return Topic("scatter", "Sessions that differ by much, %", CLAIM, columns, tuple(rows))


def _row(shift: float, sessions: int, size: Size) -> Row:
    world = World("lognormal", shift)
    generator = np.random.default_rng((8, sessions, round(1000 * shift)))
    medians = world.draw(generator, (size.experiments, sessions), size.pool).medians
    truth = world.truth(size.pool)
    bounds = mean_interval(medians)
    mean, half = t_interval(medians)
    plain = Bounds(mean, mean - half, mean + half)
    covered, by_t = float(holds(bounds, truth).mean()), float(holds(plain, truth).mean())
    below, t_below = float((bounds.low < 0).mean()), float((plain.low < 0).mean())
    least = max(by_t, LEAST) if shift <= COVERED_SHIFT else by_t
    met = covered >= least - slack(least, size.experiments) and below == 0
    cells = (percent(share) for share in (covered, below, by_t, t_below))
    return Row((f"{100 * shift:g}", str(sessions), *cells), met)
