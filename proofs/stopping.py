"""Trials that end themselves: how often a verdict is settled wrongly, and what an interval still covers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from edgebench.stats.intervals import (
    ALPHA,
    CONFIDENCE,
    EARLY_MARGIN,
    MIN_SESSIONS,
    SHAPE_SESSIONS,
    SPENDING_NAME,
    STOPPING_CONFIDENCE,
    look_confidence,
    mean_interval,
)
from proofs.coverage import holds
from proofs.topic import Row, Size, Topic, percent, slack
from proofs.worlds import Passes, World

OFF = (0.001, 0.005, 0.01, 0.02, 0.05)
FAR = 0.2
"""Off by more than EARLY_MARGIN: such a limit is settled with few sessions."""

MOST = 30
TARGET = 0.01
MOST_WRONG = {"normal": ALPHA, "t3": ALPHA}
OTHER_WRONG = 0.02
LEAST_COVERED = {"normal": 0.93, "t3": 0.93}
OTHER_COVERED = 0.90
MOST_COVERED = 0.99

OTHERS = (
    ("two modes", World("two modes", 0.001, None)),
    ("two modes", World("two modes", 0.005, None)),
    ("skewed", World("exponential", 0.02, None)),
)
"""Worlds that scatter otherwise than the intervals assume; two modes: 30 % of sessions are 5 % slower;
skewed: exponential."""

DECIDE_CLAIM = (
    f"A verdict that is settled early ({SPENDING_NAME} spending, a look after every session from the third "
    f"to the last; before {SHAPE_SESSIONS} sessions only with a margin above {100 * EARLY_MARGIN:g} %) is "
    f"wrong in at most {100 * ALPHA:g} %, and in at most {100 * OTHER_WRONG:g} % where sessions fall into "
    "two modes (30 % of them 5 % slower, `shift` within a mode) or are skewed (exponential). `off` is how "
    "far the truth is from the limit, on the side on which more are wrong. `ended` is the mean number of "
    "sessions, `naive` how often stopping at the first 95 % interval that excludes the limit would be wrong."
)
ENDED_CLAIM = (
    f"A trial ends when its interval is within 1 % of the value with {SHAPE_SESSIONS} sessions or more, or "
    f"when its verdict is settled, or with {MOST} sessions: the interval that is shown of it, taken at "
    f"{100 * STOPPING_CONFIDENCE:g} %, covers in 93 to 99 %, and in at least {100 * OTHER_COVERED:g} % where "
    "sessions fall into two modes or are skewed (exponential). Nothing is claimed of these where a limit is "
    "so far off that few sessions settle it. Passes of normal and t3 sessions correlate at 0.6. `early` met "
    "its rule, `ended` is the mean number of sessions, `naive` what the 95 % interval would cover that ends "
    "a trial at its third session already."
)

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


def decide(size: Size) -> Topic:
    """A row a world, a most of sessions and a distance from the limit."""
    cases = [
        *(("normal", World("normal", shift), MOST) for shift in (0.005, 0.01, 0.02, 0.05)),
        ("normal", World("normal", 0.02, Passes(0.6)), 5),
        ("normal", World("normal", 0.02, Passes(0.6)), 10),
        ("normal", World("normal", 0.02, Passes(0.8)), MOST),
        ("t3", World("t3", 0.02, Passes(0.6, heavy=True)), MOST),
        *((levels, world, MOST) for levels, world in OTHERS),
        ("two modes", World("two modes", 0.001, None), 5),
    ]
    rows = []
    for levels, world, most in cases:
        medians = _medians(world, most, size)
        confidences = [look_confidence(look, most - MIN_SESSIONS + 1) for look in range(1, most - 1)]
        stated = [CONFIDENCE] * len(confidences)
        most_wrong = MOST_WRONG.get(levels, OTHER_WRONG)
        r = f"{world.passes.correlation:g}" if world.passes else ""
        for off in OFF if most < MOST or levels == "normal" else (*OFF, FAR):
            truth = world.truth(size.pool)
            limits = truth - off, truth + off
            wrong, decided, sessions = max(_settled(medians, limit, truth, confidences) for limit in limits)
            naive, _, _ = max(_settled(medians, limit, truth, stated, few=True) for limit in limits)
            cells = (levels, r, f"{100 * world.shift:g}", str(most), f"{100 * off:g}")
            shares = (percent(wrong), percent(decided), f"{sessions:.1f}", percent(naive))
            rows.append(Row((*cells, *shares), wrong <= most_wrong + slack(most_wrong, size.experiments)))
    columns = ("case", "r", "shift", "most", "off", "wrong", "settled", "ended", "naive")
    return Topic("decide", "Verdicts that were settled early, %", DECIDE_CLAIM, columns, tuple(rows))


def ended(size: Size) -> Topic:
    """A row a rule and a world."""
    rows = []
    shifts = (0.005, 0.01, 0.015, 0.02, 0.03, 0.05)
    usual = {
        levels: [World(levels, shift, Passes(0.6, levels == "t3")) for shift in shifts]
        for levels in ("normal", "t3")
    }
    every = [(levels, world) for levels, worlds in usual.items() for world in worlds]
    for levels, world in (*every, *OTHERS):
        medians, truth = _medians(world, MOST, size), world.truth(size.pool)
        name = f"within 1 %, {levels}, shift {100 * world.shift:g} %"
        rows.append(_ended(name, levels, size, *(_narrow(medians, truth, *rule) for rule in _BOTH)))
    for levels, world in (*((levels, worlds[3]) for levels, worlds in usual.items()), *OTHERS):
        medians, truth = _medians(world, MOST, size), world.truth(size.pool)
        for off in (*OFF, FAR):
            name = f"{100 * off:g} % off, {levels}, shift {100 * world.shift:g} %"
            row = _ended(name, levels, size, *(_decided(medians, truth, off, *rule) for rule in _BOTH))
            is_claimed = levels in LEAST_COVERED or off != FAR
            rows.append(row if is_claimed else replace(row, met=None))
    columns = ("ends when", "covered", "early", "ended", "naive")
    return Topic("ended", "Intervals of trials that ended early, %", ENDED_CLAIM, columns, tuple(rows))


_BOTH = ((STOPPING_CONFIDENCE, False), (CONFIDENCE, True))
"""At what confidence an interval is taken, and whether few sessions end a trial: as stated, and naively."""


def _ended(name: str, levels: str, size: Size, stated: tuple[float, ...], naive: tuple[float, ...]) -> Row:
    covered, sessions, early = stated
    least = LEAST_COVERED.get(levels, OTHER_COVERED)
    low, high = (slack(bound, size.experiments) for bound in (least, MOST_COVERED))
    met = least - low <= covered <= MOST_COVERED + high
    return Row((name, percent(covered), percent(early), f"{sessions:.1f}", percent(naive[0])), met)


def _medians(world: World, most: int, size: Size) -> Floats:
    generator = np.random.default_rng((4, most, round(1000 * world.shift), len(world.levels)))
    return world.draw(generator, (size.experiments, most), size.pool).medians


def _settled(
    medians: Floats, limit: float, truth: float, confidences: list[float], *, few: bool = False
) -> tuple[float, float, float]:
    """Shares that were settled wrongly and settled at all, and the mean number of sessions.

    Args:
        medians: of the sessions, [experiments, most].
        limit: in their unit.
        truth: in their unit.
        confidences: of the interval at each look.
        few: whether fewer than SHAPE_SESSIONS sessions settle a verdict near its limit.
    """
    experiments, most = medians.shape
    ended = np.full(experiments, most)
    open_ = np.ones(experiments, np.bool_)
    wrong = np.zeros(experiments, np.bool_)
    for sessions, confidence in enumerate(confidences, start=MIN_SESSIONS):
        above, below = _excluded(medians[:, :sessions], limit, confidence, few)
        excludes = open_ & (above | below)
        wrong |= open_ & (below if truth > limit else above)
        ended[excludes] = sessions
        open_ &= ~excludes
    return float(wrong.mean()), float(1 - open_.mean()), float(ended.mean())


def _excluded(medians: Floats, limit: float, confidence: float, few: bool) -> tuple[Bools, Bools]:
    """Flag verdicts that are settled above and below a limit; `few` as of `_settled`."""
    value, low, high = mean_interval(medians, confidence)
    near = np.abs(value - limit) <= EARLY_MARGIN * limit
    open_ = near & (not few and medians.shape[-1] < SHAPE_SESSIONS)
    return np.asarray((low > limit) & ~open_), np.asarray((high < limit) & ~open_)


def _narrow(medians: Floats, truth: float, confidence: float, few: bool) -> tuple[float, float, float]:
    """Trials that end when their interval is within TARGET; as `_at_the_end`."""

    def narrow(sessions: int) -> Bools:
        value, _, high = mean_interval(medians[:, :sessions], confidence)
        is_narrow = high <= (1 + TARGET) * value  # the upper side is the longer one
        return np.asarray(is_narrow & (few or sessions >= SHAPE_SESSIONS))

    return _at_the_end(medians, truth, confidence, narrow)


def _decided(
    medians: Floats, truth: float, off: float, confidence: float, few: bool
) -> tuple[float, float, float]:
    """Trials that end when their verdict is settled, the limit lying `off` below the truth."""
    looks = medians.shape[1] - MIN_SESSIONS + 1

    def settled(sessions: int) -> Bools:
        sure = look_confidence(sessions - MIN_SESSIONS + 1, looks)
        above, below = _excluded(medians[:, :sessions], truth - off, sure, few)
        return above | below

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
