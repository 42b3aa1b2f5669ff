"""Trials that end themselves: how often a verdict is settled wrongly, and what an interval still covers."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from edgebench.stats.intervals import (
    ALPHA,
    CONFIDENCE,
    MIN_SESSIONS,
    SPENDING_NAME,
    STOPPING_CONFIDENCE,
    look_confidence,
    mean_interval,
)
from proofs.coverage import holds
from proofs.topic import Row, Size, Topic, percent, slack
from proofs.worlds import Passes, World

OFF = (0.001, 0.005, 0.01, 0.02, 0.05)
MOST = 30
TARGET = 0.01
LEAST_COVERED, MOST_COVERED = 0.93, 0.99

DECIDE_CLAIM = (
    f"A verdict that is settled early ({SPENDING_NAME} spending, a look after every session from the third "
    f"to the last) is wrong in at most {100 * ALPHA:g} %. `off` is how far the truth is from the limit, on "
    "the side on which more are wrong. `ended` is the mean number of "
    "sessions, `naive` how often stopping at the first 95 % interval that excludes the limit would be wrong."
)
ENDED_CLAIM = (
    "A trial ends when its interval is within 1 % of the value, or when its verdict is settled, or with "
    f"{MOST} sessions: the interval that is shown of it, taken at {100 * STOPPING_CONFIDENCE:g} %, covers in "
    "93 to 99 %. Passes correlate at 0.6. `early` met its rule, `ended` is the mean number of sessions, "
    "`naive` what the 95 % interval would cover."
)

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


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
            truth = world.truth(size.pool)
            limits = truth - off, truth + off
            wrong, decided, sessions = max(_settled(medians, limit, truth, confidences) for limit in limits)
            naive, _, _ = max(_settled(medians, limit, truth, stated) for limit in limits)
            cells = (levels, f"{r:g}", f"{100 * shift:g}", str(most), f"{100 * off:g}")
            shares = (percent(wrong), percent(decided), f"{sessions:.1f}", percent(naive))
            rows.append(Row((*cells, *shares), wrong <= ALPHA + slack(ALPHA, size.experiments)))
    columns = ("case", "r", "shift %", "most", "off %", "wrong", "settled", "ended", "naive")
    return Topic("decide", "Verdicts that were settled early, %", DECIDE_CLAIM, columns, tuple(rows))


def ended(size: Size) -> Topic:
    """A row a rule and a world."""
    rows = []
    for levels in ("normal", "t3"):
        for shift in (0.005, 0.01, 0.015, 0.02, 0.03, 0.05):
            world = World(levels, shift, Passes(0.6, levels == "t3"))
            medians, truth = _medians(world, MOST, size), world.truth(size.pool)
            name = f"within 1 %, {levels}, shift {100 * shift:g} %"
            rows.append(_ended(name, size, *(_narrow(medians, truth, sure) for sure in _BOTH)))
    for levels in ("normal", "t3"):
        world = World(levels, 0.02, Passes(0.6, levels == "t3"))
        medians, truth = _medians(world, MOST, size), world.truth(size.pool)
        for off in (*OFF, 0.2):
            name = f"{100 * off:g} % off, {levels}, shift 2 %"
            rows.append(_ended(name, size, *(_decided(medians, truth, off, sure) for sure in _BOTH)))
    columns = ("ends when", "covered", "early", "ended", "naive")
    return Topic("ended", "Intervals of trials that ended early, %", ENDED_CLAIM, columns, tuple(rows))


_BOTH = (STOPPING_CONFIDENCE, CONFIDENCE)


def _ended(name: str, size: Size, stated: tuple[float, ...], naive: tuple[float, ...]) -> Row:
    covered, sessions, early = stated
    low, high = (slack(bound, size.experiments) for bound in (LEAST_COVERED, MOST_COVERED))
    met = LEAST_COVERED - low <= covered <= MOST_COVERED + high
    return Row((name, percent(covered), percent(early), f"{sessions:.1f}", percent(naive[0])), met)


def _medians(world: World, most: int, size: Size) -> Floats:
    generator = np.random.default_rng((4, most, round(1000 * world.shift), len(world.levels)))
    return world.draw(generator, (size.experiments, most), size.pool).medians


def _settled(
    medians: Floats, limit: float, truth: float, confidences: list[float]
) -> tuple[float, float, float]:
    """Shares that were settled wrongly and settled at all, and the mean number of sessions.

    Args:
        medians: of the sessions, [experiments, most].
        limit: in their unit.
        truth: in their unit.
        confidences: of the interval at each look.
    """
    experiments, most = medians.shape
    ended = np.full(experiments, most)
    open_ = np.ones(experiments, np.bool_)
    wrong = np.zeros(experiments, np.bool_)
    for sessions, confidence in enumerate(confidences, start=MIN_SESSIONS):
        _, low, high = mean_interval(medians[:, :sessions], confidence)
        excludes = open_ & ((low > limit) | (high < limit))
        wrong |= excludes & ((high < limit) if truth > limit else (low > limit))
        ended[excludes] = sessions
        open_ &= ~excludes
    return float(wrong.mean()), float(1 - open_.mean()), float(ended.mean())


def _narrow(medians: Floats, truth: float, confidence: float) -> tuple[float, float, float]:
    """Trials that end when their interval is within TARGET; as `_at_the_end`."""

    def narrow(sessions: int) -> Bools:
        value, _, high = mean_interval(medians[:, :sessions], confidence)
        return np.asarray(high <= (1 + TARGET) * value)  # the upper side is the longer one

    return _at_the_end(medians, truth, confidence, narrow)


def _decided(medians: Floats, truth: float, off: float, confidence: float) -> tuple[float, float, float]:
    """Trials that end when their verdict is settled, the limit lying `off` below the truth."""
    looks = medians.shape[1] - MIN_SESSIONS + 1

    def settled(sessions: int) -> Bools:
        sure = look_confidence(sessions - MIN_SESSIONS + 1, looks)
        _, low, high = mean_interval(medians[:, :sessions], sure)
        return np.asarray((low > truth - off) | (high < truth - off))

    return _at_the_end(medians, truth, confidence, settled)


def _at_the_end(
    medians: Floats, truth: float, confidence: float, enough: Callable[[int], Bools]
) -> tuple[float, float, float]:
    """Coverage of the interval at the end, the mean number of sessions, the share that ends early.

    Args:
        medians: of the sessions, [experiments, most].
        truth: in their unit.
        confidence: of the interval that is shown.
        enough: which experiments may end at that number of sessions.
    """
    experiments, most = medians.shape
    last = np.full(experiments, most)
    open_ = np.ones(experiments, np.bool_)
    covers = np.zeros(experiments, np.bool_)
    for sessions in range(MIN_SESSIONS, most + 1):
        done = open_ & enough(sessions)
        ends = open_ if sessions == most else done
        covers[ends] = holds(mean_interval(medians[ends, :sessions], confidence), truth)
        last[ends] = sessions
        open_ &= ~done
    return float(covers.mean()), float(last.mean()), float(1 - open_.mean())
