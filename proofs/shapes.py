"""Flags on intervals that cover less than they claim."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from edgebench.stats.intervals import mean_interval
from edgebench.stats.shape import flags_of
from proofs.coverage import SESSIONS, SHIFTS, holds
from proofs.topic import Row, Size, Topic, percent, slack
from proofs.worlds import World

LEAST = 0.93
FALSE_FLAGS = {"normal": 0.10, "t3": 0.12}
ENOUGH = 10
"""From so many sessions on, what is there to be seen has to be seen."""

Bools = NDArray[np.bool_]

CLAIM = (
    "Skewed: exponential sessions. Two modes: 30 % of sessions are 5 % slower, in addition to the shift. The "
    "interval covers in 93 % or the sessions are flagged `skewed` or `multimodal`. `unseen` is the share of "
    "experiments that hold no sign of it: no session of the slowest tenth, or all sessions in one mode. "
    "Below 10 sessions a case that falls short of 93 % for that reason alone (covered, flagged or unseen: at "
    "least 93 %) says `unseen`: no test of these figures can tell. Normal and t3 sessions are flagged "
    "wrongly in at most 10 and 12 %."
)


def proof(size: Size) -> Topic:
    """A row a world and a number of sessions."""
    rows = []
    for levels in ("exponential", "two modes"):
        name = "skewed" if levels == "exponential" else levels
        for shift in SHIFTS:
            rows += [_row(name, World(levels, shift), sessions, size) for sessions in SESSIONS]
    for levels, most in FALSE_FLAGS.items():
        for sessions in SESSIONS:
            covers, flagged, _ = outcomes(World(levels, 0.02), sessions, size)
            cells = (*_name(levels, 0.02, sessions), percent(covers.mean()), percent(flagged.mean()), "", "")
            rows.append(Row(cells, bool(flagged.mean() <= most + slack(most, size.experiments))))
    columns = ("sessions", "shift %", "K", "covered", "flagged", "either", "unseen")
    return Topic("flags", "Covered or flagged, % of experiments with K sessions", CLAIM, columns, tuple(rows))


def outcomes(world: World, sessions: int, size: Size) -> tuple[Bools, Bools, Bools]:
    """Flag per experiment: the interval covers, a caution is raised, nothing is to be seen."""
    generator = np.random.default_rng((2, sessions, round(1000 * world.shift), len(world.levels)))
    drawn = world.draw(generator, (size.experiments, sessions), size.pool)
    covers = holds(mean_interval(drawn.medians), world.truth(size.pool))
    skewed, multimodal = flags_of(np.sort(drawn.medians, axis=-1))
    unseen = ~drawn.rare.any(axis=-1)
    if world.levels == "two modes":
        unseen |= drawn.rare.all(axis=-1)
    return covers, skewed | multimodal, np.asarray(unseen)


def _row(name: str, world: World, sessions: int, size: Size) -> Row:
    covers, flagged, unseen = outcomes(world, sessions, size)
    either = covers | flagged
    least = LEAST - slack(LEAST, size.experiments)
    enough = bool(either.mean() >= least)
    unseen_is_stated = sessions < ENOUGH and bool((either | unseen).mean() >= least)
    cells = (
        *_name(name, world.shift, sessions),
        *(percent(share.mean()) for share in (covers, flagged, either, unseen)),
    )
    return Row(cells, enough or unseen_is_stated, "" if enough or not unseen_is_stated else "unseen")


def _name(levels: str, shift: float, sessions: int) -> tuple[str, str, str]:
    return levels, f"{100 * shift:g}", str(sessions)
