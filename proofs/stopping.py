"""Trials that end themselves: how often a verdict is settled wrongly, and what an interval still covers."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from edgebench.stats.intervals import CONFIDENCE, MIN_SESSIONS, t_interval
from edgebench.stats.spending import ALPHA, SPENDING_NAME, STOPPING_CONFIDENCE, look_confidence
from proofs.topic import Row, Size, Topic, percent, slack
from proofs.worlds import Passes, World

OFF = (0.001, 0.005, 0.01, 0.02, 0.05)
MOST = 30
TARGET = 0.01
LEAST_COVERED, MOST_COVERED = 0.93, 0.98

DECIDE_CLAIM = (
    f"A verdict that is settled early ({SPENDING_NAME} spending, a look after every session from the third "
    f"to the last) is wrong in at most {100 * ALPHA:g} %. `off` is how far the truth lies from the limit, "
    "`ended` the mean number of sessions. `naive` is how often stopping at the first 95 % interval that "
    "excludes the limit would be wrong."
)
TARGET_CLAIM = (
    "A trial that ends when its interval is narrow enough, within 1 % or with 30 sessions: the interval that "
    f"it ends with, taken at {100 * STOPPING_CONFIDENCE:g} %, covers in 93 to 98 %. `naive` is what "
    "stopping at, and showing, the 95 % interval would cover; `ended` is the mean number of sessions."
)

Floats = NDArray[np.float64]


def decide(size: Size) -> Topic:
    """A row a world, a most of sessions and a distance from the limit."""
    cases = [
        *(("normal", shift, 0.0, MOST) for shift in (0.005, 0.01, 0.02, 0.05)),
        ("normal", 0.02, 0.6, 5),
        ("normal", 0.02, 0.6, 10),
        ("normal", 0.02, 0.8, MOST),
        ("t3", 0.02, 0.6, MOST),
    ]
    rows = []
    for levels, shift, r, most in cases:
        world = World(levels, shift, Passes(r, levels == "t3"))
        medians = _medians(world, most, size)
        confidences = [look_confidence(look, most - MIN_SESSIONS + 1) for look in range(1, most - 1)]
        stated = [CONFIDENCE] * len(confidences)
        for off in OFF:
            wrong, decided, sessions = _settled(medians - world.truth(size.pool) + off, confidences)
            naive, _, _ = _settled(medians - world.truth(size.pool) + off, stated)
            cells = (levels, f"{r:g}", f"{100 * shift:g}", str(most), f"{100 * off:g}")
            shares = (percent(wrong), percent(decided), f"{sessions:.1f}", percent(naive))
            rows.append(Row((*cells, *shares), wrong <= ALPHA + slack(ALPHA, size.experiments)))
    columns = ("case", "r", "shift %", "most", "off %", "wrong", "settled", "ended", "naive")
    return Topic("decide", "Verdicts that were settled early, %", DECIDE_CLAIM, columns, tuple(rows))


def target(size: Size) -> Topic:
    """A row a world."""
    rows = []
    for levels in ("normal", "t3"):
        for shift in (0.005, 0.01, 0.015, 0.02, 0.03, 0.05):
            world = World(levels, shift, Passes(0.6, levels == "t3"))
            away = _medians(world, MOST, size) - world.truth(size.pool)
            found, sessions, reached = _narrow(away, STOPPING_CONFIDENCE)
            naive, _, _ = _narrow(away, CONFIDENCE)
            low, high = (slack(bound, size.experiments) for bound in (LEAST_COVERED, MOST_COVERED))
            met = LEAST_COVERED - low <= found <= MOST_COVERED + high
            name = f"{levels}, r 0.6, shift {100 * shift:g} %"
            cells = (name, percent(found), percent(reached), f"{sessions:.1f}", percent(naive))
            rows.append(Row(cells, met))
    columns = ("case", "covered", "reached", "ended", "naive")
    return Topic(
        "target", "Intervals of trials that end when within 1 %, %", TARGET_CLAIM, columns, tuple(rows)
    )


def _medians(world: World, most: int, size: Size) -> Floats:
    generator = np.random.default_rng((4, most, round(1000 * world.shift), len(world.levels)))
    return world.draw(generator, (size.experiments, most), size.pool).medians


def _settled(above: Floats, confidences: list[float]) -> tuple[float, float, float]:
    """Shares that were settled wrongly and settled at all, and the mean number of sessions.

    Args:
        above: session medians less the limit, [experiments, most]; the truth lies above it.
        confidences: of the interval at each look.
    """
    experiments, most = above.shape
    ended = np.full(experiments, most)
    open_ = np.ones(experiments, np.bool_)
    wrong = np.zeros(experiments, np.bool_)
    for sessions, confidence in enumerate(confidences, start=MIN_SESSIONS):
        centre, half = t_interval(above[:, :sessions], confidence)
        excludes = open_ & (np.abs(centre) > half)
        wrong |= excludes & (centre < 0)
        ended[excludes] = sessions
        open_ &= ~excludes
    return float(wrong.mean()), float(1 - open_.mean()), float(ended.mean())


def _narrow(away: Floats, confidence: float) -> tuple[float, float, float]:
    """Coverage of the interval that a trial ends with, the mean number of sessions, the share that got there.

    Args:
        away: session medians less the truth, [experiments, most]; the value is about 1.
        confidence: of the interval, both to end and to show.
    """
    experiments, most = away.shape
    ended = np.full(experiments, most)
    open_ = np.ones(experiments, np.bool_)
    covers = np.zeros(experiments, np.bool_)
    for sessions in range(MIN_SESSIONS, most + 1):
        centre, half = t_interval(away[:, :sessions], confidence)
        narrow = open_ & (half <= TARGET * (1 + centre))
        ends = narrow | (open_ & (sessions == most))
        covers[ends] = (np.abs(centre) <= half)[ends]
        ended[ends] = sessions
        open_ &= ~narrow
    return float(covers.mean()), float(ended.mean()), float(1 - open_.mean())
