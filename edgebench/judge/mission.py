"""What a mission's schedule makes of a trial: duty cycle, backlog, age of results, energy a cycle (pure).

The latencies that were measured are played over many cycles of the schedule, each session's by themselves
(`stats.mission_cycles`), and every outcome has its interval over sessions, as all figures of a trial have.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from operator import attrgetter

import numpy as np

from edgebench.errors import UsageError
from edgebench.judge.figure import STATED, Asked, Certainty, Figure, over_medians
from edgebench.judge.power_limits import bounded
from edgebench.judge.schedule import Schedule
from edgebench.judge.trial_summary import UNKNOWN_SCOPE, TrialSummary
from edgebench.stats.mission_cycles import Cycle, Worked, load_of, work_through

# The energy of one cycle of a schedule, by what a device does while there is nothing to do (pure).


NO_METER = "no meter"
NO_IDLE = "its meter saw no idle time"
NO_START = "no start_s: what a start takes was not measured"
OF_PERIOD = "its passes were paced: the energy of an image holds the pauses of its run"


@dataclass(frozen=True)
class EnergyOfCycle:
    """In J a cycle.

    Attributes:
        active: of its images alone.
        idle: of the whole cycle, when the device stays on between images.
        off: of the whole cycle, when it is switched off in each pause longer than the break-even one, and
            started again, at the power of its passes, for the next image.
    """

    active: Figure
    idle: Figure
    off: Figure


@dataclass(frozen=True)
class MissionPower:
    """What a trial's meter says of its work, its idling and its start.

    Attributes:
        image_j: energy of an image.
        idle_w: power without work, which has no interval.
        start_j: energy of a start: its time at the mean power of the passes.
        break_even_s: the pause that costs as much idling as a start does.
    """

    image_j: Figure
    idle_w: Figure
    start_j: Figure
    break_even_s: Figure

    def of_cycle(
        self, images: int, cycle_s: float, busy_s: Figure, worked: Sequence[Worked]
    ) -> EnergyOfCycle:
        """The energy of a cycle of so many images.

        Args:
            images: of a cycle.
            cycle_s: how long it is.
            busy_s: how much of it the device works.
            worked: of each session; empty where nothing was simulated.
        """
        active = _combined(lambda image_j: image_j * images, self.image_j)
        idle_w, start_j = self.idle_w.value, self.start_j.value
        if not worked or active.value is None or not isinstance(idle_w, int | float):
            unknown = Figure(reason=active.reason or self.idle_w.reason if worked else busy_s.reason)
            return EnergyOfCycle(active, unknown, unknown)
        pause_s = _combined(lambda busy_s: max(0.0, cycle_s - busy_s), _reversed(busy_s))
        idle = _combined(lambda work_j, pause_s: work_j + pause_s * idle_w, active, pause_s)
        if not isinstance(start_j, int | float) or self.break_even_s.value is None:
            return EnergyOfCycle(active, idle, Figure(reason=self.break_even_s.reason))
        spared_j = over_medians(
            [
                max(0.0, (each.long_pauses_s or 0.0) * idle_w - (each.long_pauses or 0.0) * start_j)
                for each in worked
            ]
        )
        return EnergyOfCycle(active, idle, _combined(operator.sub, idle, _reversed(spared_j)))


def power_of(trial: TrialSummary) -> MissionPower:
    """By the trial's primary rail and its start_s."""
    rail = trial.primary_rail
    if rail is None:
        missing = Figure(reason=trial.power_reason or NO_METER)
        return MissionPower(missing, missing, missing, missing)
    why = rail.reason or NO_METER
    idle_w = Figure(rail.idle_w, reason="" if rail.idle_w is not None else rail.reason or NO_IDLE)
    if trial.paced is not None:
        paced = Figure(reason=OF_PERIOD)
        return MissionPower(paced, idle_w, paced, paced)
    image_j, mean_w = (
        Figure(*ends, reason=why if ends[0] is None else "")
        for ends in (
            (rail.energy_j, rail.energy_low_j, rail.energy_high_j),
            (rail.mean_w, rail.mean_low_w, rail.mean_high_w),
        )
    )
    start_j = Figure(reason=mean_w.reason or NO_START)
    if trial.start_s_values and mean_w.value is not None:
        start_s = over_medians(trial.start_s_values)
        start_j = _combined(operator.mul, start_s, mean_w)
    break_even_s = Figure(reason=start_j.reason or idle_w.reason or "it draws nothing when idle")
    if start_j.value is not None and rail.idle_w:
        per_w = 1 / rail.idle_w
        break_even_s = _combined(lambda start_j: start_j * per_w, start_j)
    return MissionPower(image_j, idle_w, start_j, break_even_s)


def _combined(operation: Callable[..., float], *figures: Figure) -> Figure:
    """Value by value and end by end: no narrower than what they are together, however they depend."""
    sides = zip(*((figure.value, figure.low, figure.high) for figure in figures), strict=True)
    value, low, high = (None if None in each else operation(*each) for each in sides)
    return Figure(
        value,
        low,
        high,
        reason=next(filter(None, (figure.reason for figure in figures)), ""),
    )


def _reversed(figure: Figure) -> Figure:
    """What is taken off: the most of it leaves the least."""
    return Figure(figure.value, figure.high, figure.low)


DAY_S = 86_400.0
UNMEASURED = "no session of it was measured"
OVERLOADED = "overloaded:"
"""How the reason begins why nothing is simulated of a trial that does not keep up."""
MOST_IMAGES = 50_000_000
"""That are simulated for one trial."""


@dataclass(frozen=True)
class Mission:
    """One trial under one profile's schedule.

    Attributes:
        trial: its key.
        profile: whose schedule it is.
        load: work that comes a cycle as a share of the cycle; None where no latency was measured.
        overloaded: whether that is above 1, so that nothing was simulated; None where it is not known.
        duty_cycle: share of a cycle in which the device works, at most 1.
        backlog: images at once that are not done: the most of a cycle, its mean over cycles; at most all of a
            cycle, where the device keeps up.
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
    load_share = load_figure(trial, schedule)
    load = load_share.value
    assert not isinstance(load, tuple)
    power = power_of(trial)
    worked: list[Worked] = []
    each = -(-cycles // max(1, len(sessions)))
    if load is not None and load <= 1:
        if cycles * images > MOST_IMAGES:
            days = MOST_IMAGES // images * cycle_s / DAY_S
            raise UsageError(
                f"the mission has {cycles * images:,} images, and at most {MOST_IMAGES:,} are simulated",
                fix=f"--days {days:.3g} or less" if days else "a schedule of fewer images a cycle",
            )
        least_pause_s = power.break_even_s.value
        assert not isinstance(least_pause_s, tuple)
        generators = np.random.default_rng(seed).spawn(len(sessions))
        worked = [
            work_through(values, cycle_of(schedule), each, generator, least_pause_s)
            for values, generator in zip(sessions, generators, strict=True)
        ]
    is_overloaded = load is not None and load > 1
    unmeasured = trial.untimed_reason or trial.reason or UNMEASURED
    why_not = unmeasured if load is None else overload(load) if is_overloaded else ""
    busy_s = _over(worked, "busy_s", why_not)

    def waiting(name: str) -> Figure:
        figure = _over(worked, name, why_not)
        if figure.value is None or load_share.high is None or load_share.high <= 1:
            return figure
        # Where some of the interval is overloaded nothing bounds what waits.
        reason = f"it may not keep up: its load is up to {load_share.high:.3g}"
        return replace(figure, high=None, reason=reason)

    backlog = _at_most(waiting("most_held"), images)
    return Mission(
        trial.key,
        profile,
        load=load,
        overloaded=None if load is None else is_overloaded,
        duty_cycle=Figure(1.0, 1.0, 1.0) if is_overloaded else _at_most(busy_s.in_unit(cycle_s), 1.0),
        backlog=backlog,
        storage_bytes=Figure(reason="its images have no pixels")
        if image_bytes is None
        else backlog.in_unit(1 / image_bytes),
        age_s=waiting("age_s"),
        oldest_s=waiting("oldest_s"),
        missed=Figure(reason="the schedule has no deadline")
        if schedule.deadline_s is None
        else _at_most(waiting("missed"), 1.0),
        energy_j=power.of_cycle(images, cycle_s, busy_s, worked),
        break_even_s=power.break_even_s,
        cycles=each * len(worked),
    )


def load_figure(trial: TrialSummary, schedule: Schedule, certainty: Certainty = STATED) -> Figure:
    """Work that comes a cycle as a share of the cycle, with its interval over sessions.

    Where image_s was not timed infer_s, which is a part of it, is a bound where it is too much by itself.
    """
    sure = certainty.at_least(trial.interval_confidence)

    def over(name: str, values_by_session: Sequence[Sequence[float]]) -> Figure:
        means_s = trial.once(
            ("means", name), lambda: [float(np.mean(values)) for values in values_by_session if values]
        )
        loads = [load_of(mean_s, schedule.images, schedule.cycle_s) for mean_s in means_s]
        return over_medians(loads, sure) if loads else Figure()

    if (load := over("image_s", trial.image_s_values)).value is not None:
        return load
    part = over("infer_s", trial.infer_s_values)
    reason = trial.untimed_reason or trial.reason or UNMEASURED
    if part.low is None or part.low <= 1:
        return Figure(reason=reason)
    return Figure(low=part.low, bound="above", reason=reason)


@lru_cache(maxsize=16)
def cycle_of(schedule: Schedule) -> Cycle:
    """What comes in each of its cycles."""
    return Cycle(np.array(list(schedule.arrivals_s())), schedule.cycle_s, schedule.deadline_s)


def overload(load: float) -> str:
    """What a load above 1 comes to, in words."""
    return f"{OVERLOADED} in each cycle {load:.3g} cycles of work come, and the backlog grows for ever"


def _over(worked: Sequence[Worked], name: str, why_not: str) -> Figure:
    """A figure of the sessions' cycles with its interval over sessions."""
    if not worked:
        return Figure(reason=why_not)
    return over_medians([float(getattr(session, name)) for session in worked])


def _at_most(figure: Figure, most: float) -> Figure:
    """What cannot be more, as a share, and so is its interval."""
    if not isinstance(figure.value, float):
        return figure
    low, high = (None if end is None else min(most, end) for end in (figure.low, figure.high))
    return Figure(min(most, figure.value), low, high, reason=figure.reason)


# Limits on what a mission comes to, by the schedule of the requirement's profile (pure).


MOST_CYCLES = 1_000
MOST_LIMITED_IMAGES = 1_000_000
"""That a verdict is simulated by."""

NO_SCHEDULE = "the profile says no time at which images come ([schedule])"


def cycle_energy_figure(summary: TrialSummary, asked: Asked, certainty: Certainty) -> Figure:
    """Energy of a cycle in J, of a device that stays on between images."""
    if asked.schedule is None:
        return Figure(reason=NO_SCHEDULE)
    figure = _played(summary, asked.schedule).energy_j.idle
    rail = summary.primary_rail
    if rail is None or figure.value is None:
        return figure
    what = f"the whole 95 % interval of a cycle of {asked.schedule.cycle_s:g} s"
    return replace(bounded(rail, replace(figure, what=what)), scope=rail.scope or UNKNOWN_SCOPE)


def kept_up_figure(summary: TrialSummary, asked: Asked, certainty: Certainty) -> Figure:
    """Load of the schedule as a share of a cycle; above 1 it is overloaded."""
    schedule = asked.schedule
    if schedule is None:
        return Figure(reason=NO_SCHEDULE)
    return summary.once(("load", schedule, certainty), lambda: _kept_up(summary, schedule, certainty))


def _kept_up(summary: TrialSummary, schedule: Schedule, certainty: Certainty) -> Figure:
    figure = load_figure(summary, schedule, certainty)
    known = figure.low if figure.value is None else figure.value
    note = overload(known) if isinstance(known, float) and known > 1 else ""
    reason = "; ".join(text for text in (figure.reason, note) if text)
    return replace(figure, what="the whole 95 % interval of the load", note=note, reason=reason)


def played_figure(summary: TrialSummary, asked: Asked, certainty: Certainty) -> Figure:
    """What the cycles come to: storage in bytes, backlog, age in s, or the share of missed deadlines.

    Of what is overloaded all but the last grow without end, and are above every limit, and in the end every
    deadline is missed.
    """
    schedule = asked.schedule
    if schedule is None:
        return Figure(reason=NO_SCHEDULE)
    what, of = _PLAYED[asked.quantity]
    mission = _played(summary, schedule)
    figure = of(mission)
    if mission.load is None or figure.value is not None or figure.reason != overload(mission.load):
        return replace(figure, what=f"the whole 95 % interval of {what}")
    load = load_figure(summary, schedule, certainty)
    if load.low is None or load.low <= 1:
        why = load.reason or "but the 95 % interval of its load begins below 1"
        return Figure(undecided=True, reason=f"{figure.reason}; {why}")
    if asked.quantity == "missed_deadlines":
        return Figure(1.0, 1.0, 1.0, what="every deadline, in the end,", note=figure.reason)
    return Figure(low=asked.base_limit, bound="above", what=f"{what}, without end,", note=figure.reason)


_PLAYED: dict[str, tuple[str, Callable[[Mission], Figure]]] = {
    "storage_bytes": ("the most images of a cycle", attrgetter("storage_bytes")),
    "backlog": ("the most images of a cycle", attrgetter("backlog")),
    "age_s": ("the age of a result", attrgetter("age_s")),
    "missed_deadlines": ("the missed deadlines", attrgetter("missed")),
}


def _played(summary: TrialSummary, schedule: Schedule) -> Mission:
    """The trial's mission, simulated once for all requirements of the schedule."""
    cycles = max(1, min(MOST_CYCLES, MOST_LIMITED_IMAGES // schedule.images))
    return summary.once(
        ("mission", schedule),
        lambda: mission_of(summary, "", schedule, cycles=cycles, seed=0, image_bytes=summary.image_bytes),
    )
