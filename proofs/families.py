"""Many comparisons in one call: how often anything at all is called different where all is alike."""

from __future__ import annotations

import numpy as np

from edgebench.stats.compare import ALPHA, GATE_SESSIONS, different, ratios
from edgebench.stats.intervals import holm
from proofs.coverage import SESSIONS
from proofs.topic import Row, Size, Topic, percent, slack
from proofs.worlds import Passes, World

TRIALS = 20
STEP = 0.10
SEEN = 0.80
SHIFTS = (0.01, 0.02, 0.03, 0.05)

CLAIM = (
    "Among calls that compare 20 trials of like results, at most 5 % call one better or worse; where 30 "
    "% of sessions are 5 % slower (`two modes`), from 5 sessions a side on, below which no gate decides. One "
    "of the 20 that is 10 % slower is seen in at least 80 % at 2 % between sessions with 5 sessions a side; "
    "the other cases, and what p without Holm's adjustment would say, are shown."
)


def proof(size: Size) -> Topic:
    """Three rows a world: alike as it is and without the adjustment, and one trial that is slower."""
    rows = []
    for levels in ("normal", "t3"):
        for shift in SHIFTS:
            world = World(levels, shift, Passes(0.6, levels == "t3"))
            name = f"{levels}, r 0.6, shift {100 * shift:g} %"
            alike = [_alarms(world, sessions, size) for sessions in SESSIONS]
            met = all(share <= ALPHA + slack(ALPHA, _calls(size)) for share, _ in alike)
            rows.append(Row((f"alike, {name}", *(percent(share) for share, _ in alike)), met))
            rows.append(Row((f"unadjusted, {name}", *(percent(share) for _, share in alike)), None))
            seen = [_seen(world, sessions, size) for sessions in SESSIONS]
            claimed = seen[SESSIONS.index(5)] >= SEEN if shift <= 0.02 else None
            rows.append(Row((f"one +10 %, {name}", *(percent(share) for share in seen)), claimed))
    world = World("two modes", 0.0, Passes(0.6))
    alike = [_alarms(world, sessions, size) for sessions in SESSIONS]
    shares = [
        share for sessions, (share, _) in zip(SESSIONS, alike, strict=True) if sessions >= GATE_SESSIONS
    ]
    met = all(share <= ALPHA + slack(ALPHA, _calls(size)) for share in shares)
    rows.append(Row(("alike, two modes, r 0.6, shift 0 %", *(percent(share) for share, _ in alike)), met))
    columns = ("case", *(f"K = {sessions}" for sessions in SESSIONS))
    title = "Calls that compare 20 trials of K sessions a side and find a difference, %"
    return Topic("families", title, CLAIM, columns, tuple(rows))


def _calls(size: Size) -> int:
    """Each call takes 20 comparisons."""
    return size.experiments // 5


def _alarms(world: World, sessions: int, size: Size) -> tuple[float, float]:
    """The share of calls that find a difference where there is none, as it is and without Holm."""
    found, alone = _different(world, sessions, size, 0.0)
    return float(found.any(axis=-1).mean()), float(alone.any(axis=-1).mean())


def _seen(world: World, sessions: int, size: Size) -> float:
    """The share of calls in which the first trial, slower by STEP, is called different."""
    found, _ = _different(world, sessions, size, STEP)
    return float(found[:, 0].mean())


def _different(
    world: World, sessions: int, size: Size, step: float
) -> tuple[np.ndarray[tuple[int, ...], np.dtype[np.bool_]], np.ndarray[tuple[int, ...], np.dtype[np.bool_]]]:
    """Flag what is called different, bool [calls, TRIALS], among the comparisons of a call and alone."""
    generator = np.random.default_rng((7, sessions, round(1000 * world.shift), len(world.levels)))
    shape = (_calls(size), TRIALS, sessions)
    a, b = (world.draw(generator, shape, size.pool).medians for _ in range(2))
    # Heavy tails draw a time below zero once in a while: there is no such session.
    times = (np.minimum(a, b) > 0).all(axis=(-1, -2))
    a, b = a[times], b[times]
    b[:, 0] *= 1 + step
    b_over_a = ratios(a, b)
    alone = different(b_over_a)
    return alone & (holm(b_over_a.p) < ALPHA), alone
