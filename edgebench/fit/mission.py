"""What a mission's schedule makes of a trial: duty cycle, backlog, age of results, energy a cycle (pure).

The latencies that were measured are played over many cycles of the schedule, each session's by themselves
(`stats.mission_cycles`), and every outcome has its interval over sessions, as all figures of a trial have.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from operator import attrgetter

import numpy as np

from edgebench.errors import UsageError
from edgebench.fit.figure import Figure, over_sessions
from edgebench.fit.mission_energy import EnergyOfCycle, power_of
from edgebench.fit.schedule import Schedule
from edgebench.fit.trial_summary import TrialSummary
from edgebench.stats.mission_cycles import Cycle, Worked, load_of, work_through

DAY_S = 86_400.0
MOST_IMAGES = 50_000_000
"""That are simulated for one trial."""


@dataclass(frozen=True)
class Mission:
    """One trial under one profile's schedule.

    Attributes:
        trial: its key.
        profile: whose schedule it is.
        load: work that comes a cycle as a share of the cycle; None where no latency was measured.
        overloaded: whether that is 1 or more, so that nothing was simulated; None where it is not known.
        duty_cycle: share of a cycle in which the device works, at most 1.
        backlog: images at once that are not done: the most of a cycle, its mean over cycles.
        storage_bytes: of so many images, as their pixels.
        age_s: from an image's arrival to its result, the mean.
        oldest_s: the same of the oldest image of a session's cycles.
        missed: share of the images without a result at their deadline.
        energy_j: a cycle.
        break_even_s: the pause from which on switching off saves energy.
        cycles: that were simulated, over all sessions.
    """

    trial: str
    profile: str
    load: float | None
    overloaded: bool | None
    duty_cycle: Figure
    backlog: Figure
    storage_bytes: Figure
    age_s: Figure
    oldest_s: Figure
    missed: Figure
    energy_j: EnergyOfCycle
    break_even_s: Figure
    cycles: int = 0


def mission_of(
    trial: TrialSummary,
    profile: str,
    schedule: Schedule,
    *,
    cycles: int,
    seed: int,
    image_bytes: int | None,
) -> Mission:
    """Play the trial's latencies over so many cycles, shared out among its sessions.

    Args:
        trial: whose sessions' steady passes are drawn from.
        profile: the name of the schedule's profile.
        schedule: when images come.
        cycles: over all sessions, at least 1; each session has one at least.
        seed: of the draws; the same figures come of the same seed.
        image_bytes: of one stored image; None where it has no pixels.

    UsageError for more than MOST_IMAGES; what is overloaded takes none.
    """
    images, cycle_s = schedule.images, schedule.cycle_s
    sessions = [np.asarray(values) for values in trial.image_s_values if values]
    load = load_of(sessions, images, cycle_s) if sessions else None
    power = power_of(trial)
    worked: list[Worked] = []
    each = -(-cycles // max(1, len(sessions)))
    if load is not None and load < 1:
        _require_few(schedule, cycles)
        cycle = cycle_of(schedule)
        least_pause_s = power.break_even_s.value
        assert not isinstance(least_pause_s, tuple)
        generators = np.random.default_rng(seed).spawn(len(sessions))
        worked = [
            work_through(values, cycle, each, generator, least_pause_s)
            for values, generator in zip(sessions, generators, strict=True)
        ]
    why_not = _why_not(trial, load)
    busy_s = _over(worked, "busy_s", why_not)
    backlog = _over(worked, "most_held", why_not)
    is_overloaded = load is not None and load >= 1
    return Mission(
        trial.key,
        profile,
        load=load,
        overloaded=None if load is None else is_overloaded,
        duty_cycle=Figure(1.0, 1.0, 1.0) if is_overloaded else _share(busy_s.in_unit(cycle_s)),
        backlog=backlog,
        storage_bytes=Figure(reason=why_not or "its images have no pixels")
        if image_bytes is None or why_not
        else backlog.in_unit(1 / image_bytes),
        age_s=_over(worked, "age_s", why_not),
        oldest_s=_over(worked, "oldest_s", why_not),
        missed=Figure(reason=why_not or "the schedule has no deadline")
        if schedule.deadline_s is None
        else _share(_over(worked, "missed", why_not)),
        energy_j=power.of_cycle(images, cycle_s, busy_s, worked),
        break_even_s=power.break_even_s,
        cycles=each * len(worked),
    )


@lru_cache(maxsize=16)
def cycle_of(schedule: Schedule) -> Cycle:
    """What comes in each of its cycles."""
    return Cycle(np.array(list(schedule.arrivals_s())), schedule.cycle_s, schedule.deadline_s)


def _require_few(schedule: Schedule, cycles: int) -> None:
    images = cycles * schedule.images
    if images > MOST_IMAGES:
        days = MOST_IMAGES // schedule.images * schedule.cycle_s / DAY_S
        raise UsageError(
            f"the mission has {images:,} images, and at most {MOST_IMAGES:,} are simulated",
            fix=f"--days {days:.3g} or less" if days else "a schedule of fewer images a cycle",
        )


def _why_not(trial: TrialSummary, load: float | None) -> str:
    """Why nothing is simulated; empty where it is."""
    if load is None:
        return trial.untimed_reason or trial.reason or "no session of it was measured"
    if load >= 1:
        return f"overloaded: in each cycle {load:.3g} cycles of work come, and the backlog grows for ever"
    return ""


def _over(worked: Sequence[Worked], name: str, why_not: str) -> Figure:
    """A figure of the sessions' cycles with its interval over sessions."""
    if not worked:
        return Figure(reason=why_not)
    return over_sessions([[float(attrgetter(name)(session))] for session in worked])


def _share(figure: Figure) -> Figure:
    """A share is at most 1, and so is its interval."""
    if not isinstance(figure.value, float):
        return figure
    high = None if figure.high is None else min(1.0, figure.high)
    return Figure(min(1.0, figure.value), figure.low, high, reason=figure.reason)
