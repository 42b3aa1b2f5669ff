"""The order of sessions: rounds that interleave the trials, shuffled from a stored seed."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Turn:
    """One session to come: which trial, in which round."""

    round: int
    key: str


def turns(
    keys: Sequence[str], sessions: int, seed: int, *, finished: Mapping[str, int], together: frozenset[str]
) -> list[Turn]:
    """The sessions still to be measured, in order.

    Each round holds every trial once, shuffled by (seed, round), so that slow drifts of the machine fall
    on all trials alike. A trial with `finished` sessions skips its first rounds. Trials in `together`,
    whose placement is slow or manual, come after the rounds with all their sessions in a row.
    The order depends on the seed alone: a resumed experiment goes on where it was.
    """
    interleaved = [key for key in keys if key not in together]
    order: list[Turn] = []
    for number in range(sessions):
        row = list(interleaved)
        random.Random(f"{seed}/{number}").shuffle(row)
        order += [Turn(number, key) for key in row]
    for key in keys:
        if key in together:
            order += [Turn(number, key) for number in range(sessions)]
    return [turn for turn in order if turn.round >= finished.get(turn.key, 0)]
