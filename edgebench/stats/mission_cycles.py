"""A device over many cycles of a schedule, its latencies drawn from what was measured (pure).

A session represents one start of the device: what differs between starts differs between missions, too. So
each session has cycles of its own, in which each image takes the time of one of the session's passes, drawn
with replacement; the sessions' outcomes are compared as those of any other figure are. One cycle more is
played first and not counted, so that the first that counts begins as every other does, after a pause or with
work that is left, and what a cycle amounts to does not depend on how many of them are played.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

# A device that works through images one after another, in the order in which they come (pure).
#
# The completion c of the k-th image is s(k) + max(a(k), c(k-1)), with its arrival a and its service time s:
# it begins when it is there and the one before it is done (Lindley, "The theory of queues with a single
# server", 1952). Written out, c(k) is the largest over j <= k of a(j) + s(j) + ... + s(k): cumulative sums
# and a running maximum, without a loop.


Floats: TypeAlias = NDArray[np.float64]


def completions_s(arrivals_s: Floats, services_s: Floats, free_at_s: float = 0.0) -> Floats:
    """Times at which the images are done: float64 [images] in s.

    Args:
        arrivals_s: float64 [images], ascending.
        services_s: float64 [images], what each takes, above 0.
        free_at_s: when the device is done with what came before.
    """
    worked_s = np.cumsum(services_s)
    return worked_s + np.maximum.accumulate(np.maximum(arrivals_s, free_at_s) - (worked_s - services_s))


def held(arrivals_s: Floats, done_s: Floats, pending_s: Floats) -> NDArray[np.int64]:
    """Number of unfinished images at each arrival, itself among them: int64 [images].

    Args:
        arrivals_s: float64 [images], ascending.
        done_s: float64 [images], ascending: when each is done.
        pending_s: float64 [n], ascending: when images that came before the first arrival are done.
    """
    is_done = np.searchsorted(np.concatenate((pending_s, done_s)), arrivals_s, side="right")
    return np.arange(1, arrivals_s.size + 1) + pending_s.size - is_done


def pauses_s(arrivals_s: Floats, done_s: Floats, free_at_s: float = 0.0) -> Floats:
    """Time without work before each image: float64 [images], 0 where the device never pauses."""
    before_s = np.concatenate(([free_at_s], done_s[:-1]))
    return np.maximum(arrivals_s - before_s, 0.0)


BLOCK_IMAGES = 500_000
"""That are simulated at once; memory stays bounded by it."""


@dataclass(frozen=True)
class Cycle:
    """Arrivals of each cycle.

    Attributes:
        arrivals_s: float64 [images], ascending, each at least 0 and below `cycle_s`.
        cycle_s: after which it begins again.
        deadline_s: from an image's arrival to its result; None without a deadline.
    """

    arrivals_s: Floats
    cycle_s: float
    deadline_s: float | None = None


@dataclass(frozen=True)
class Worked:
    """Result of one session's cycles.

    Attributes:
        busy_s: in which the device works, a cycle: by the session's mean latency, without draws.
        most_held: images at once, waiting or in work; the mean over cycles of each one's most.
        most_held_p99: the 99th percentile over cycles of the same: at most 1 % of the cycles have more.
        age_s: from an image's arrival to its result, the mean.
        oldest_s: the same, of the oldest image.
        missed: share of the images that were not done at their deadline; 0 without one.
        long_pauses: pauses longer than `least_pause_s`, a cycle.
        long_pauses_s: how long those are together, a cycle.
    """

    busy_s: float
    most_held: float
    most_held_p99: int
    age_s: float
    oldest_s: float
    missed: float
    long_pauses: float
    long_pauses_s: float


def load_of(mean_s: float, images: int, cycle_s: float) -> float:
    """Work that comes a cycle as a share of it, by the mean time of an image; above 1 nothing keeps up."""
    load = mean_s * images / cycle_s
    return 1.0 if math.isclose(load, 1.0, rel_tol=1e-12) else load  # rounding is no overload


def work_through(
    values_s: Floats, cycle: Cycle, cycles: int, generator: np.random.Generator, least_pause_s: float
) -> Worked:
    """Cycles with the latencies of one session, one after the other.

    Args:
        values_s: float64 [passes], above 0.
        cycle: what comes in each.
        cycles: at least 1.
        generator: of the draws.
        least_pause_s: longer ones are counted; infinite for none.
    """
    ages_s, oldest_s, missed, long_pauses, long_pauses_s = 0.0, 0.0, 0, 0, 0.0
    cycles_by_held = np.zeros(1, np.int64)  # how many cycles had so many images at once at most
    images = cycle.arrivals_s.size
    deadline_s = math.inf if cycle.deadline_s is None else cycle.deadline_s
    free_at_s, pending_s = -cycle.cycle_s, np.empty(0)
    block = max(1, BLOCK_IMAGES // images)
    for first in (-1, *range(0, cycles, block)):  # the cycle -1 is played and not counted
        count = min(block, cycles - first) if first >= 0 else 1
        starts_s = (first + np.arange(count)) * cycle.cycle_s
        arrivals_s = (starts_s[:, None] + cycle.arrivals_s).ravel()
        services_s = values_s[generator.integers(values_s.size, size=arrivals_s.size)]
        done_s = completions_s(arrivals_s, services_s, free_at_s)
        if first >= 0:
            age_s = done_s - arrivals_s
            ages_s += float(age_s.sum())
            oldest_s = max(oldest_s, float(age_s.max()))
            at_once = held(arrivals_s, done_s, pending_s)
            most_held = at_once.reshape(count, -1).max(axis=1)
            more = np.bincount(most_held, minlength=cycles_by_held.size)
            more[: cycles_by_held.size] += cycles_by_held
            cycles_by_held = more
            missed += int((age_s > deadline_s).sum())
            pause_s = pauses_s(arrivals_s, done_s, free_at_s)
            long_pauses += int((pause_s > least_pause_s).sum())
            long_pauses_s += float(pause_s[pause_s > least_pause_s].sum())
        free_at_s = float(done_s[-1])
        unfinished_s = np.concatenate((pending_s, done_s))
        pending_s = unfinished_s[unfinished_s > (first + count) * cycle.cycle_s]
    return Worked(
        busy_s=float(values_s.mean()) * images,
        most_held=float(cycles_by_held @ np.arange(cycles_by_held.size)) / cycles,
        most_held_p99=int(np.searchsorted(np.cumsum(cycles_by_held), math.ceil(0.99 * cycles))),
        age_s=ages_s / (cycles * images),
        oldest_s=oldest_s,
        missed=missed / (cycles * images),
        long_pauses=long_pauses / cycles,
        long_pauses_s=long_pauses_s / cycles,
    )
