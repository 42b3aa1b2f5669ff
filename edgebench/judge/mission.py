"""What a mission's schedule makes of a trial: duty cycle, backlog, age of results, energy a cycle (pure).

The latencies that were measured are played over many cycles of the schedule, each session's by themselves
(`stats.mission_cycles`), and every outcome has its interval over sessions, as all figures of a trial have.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from edgebench.errors import UsageError
from edgebench.judge.figure import STATED, Asked, Certainty, Figure, over_medians
from edgebench.judge.power_limits import bounded
from edgebench.judge.schedule import Schedule
from edgebench.judge.trial_summary import UNKNOWN_SCOPE, TrialSummary
from edgebench.stats.mission_cycles import Cycle, Worked, load_of, work_through

DAY_S = 86_400.0
MOST_IMAGES = 50_000_000
"""Images that are simulated for one trial at most."""

MOST_CYCLES, MOST_LIMITED_IMAGES = 1_000, 1_000_000
"""Cycles, and images, that a verdict is simulated by at most."""

UNMEASURED = "no session of it was measured"
OVERLOADED = "overloaded:"
"""How the reason begins why nothing is simulated of a trial that does not keep up."""
NO_SCHEDULE = "the profile says no time at which images come ([schedule])"
NO_METER = "no meter"
NO_IDLE = "its meter saw no idle time"
NO_START = "no start_s: what a start takes was not measured"
OF_PERIOD = "its passes were paced: the energy of an image holds the pauses of its run"


@dataclass(frozen=True)
class Mission:
    """One trial under one profile's schedule."""

    trial: str
    """Key of the trial. Source: experiment.json."""
    target: str
    """Its target. Source: experiment.json."""
    variant: str
    """Its variant. Source: experiment.json."""
    mark: str
    """What has to stand beside its figures. Source: fit."""
    profile: str
    """Name of the profile whose schedule it is. Source: profile."""
    load: float | None
    """Work that comes a cycle as a share of the cycle. Source: mission."""
    overloaded: bool | None
    """Whether the load is above 1, so that nothing was simulated. Source: mission."""
    cycles: int
    """Cycles that were simulated, over all sessions. Source: mission."""
    figures: Mapping[str, Figure]
    """Internal: by name, as `report.missions.FIGURES` describes them."""


def mission_of(trial: TrialSummary, profile: str, schedule: Schedule, *, cycles: int, seed: int) -> Mission:
    """Play the trial's latencies over so many cycles, shared out among its sessions.

    Args:
        trial: whose sessions' steady passes are drawn from.
        profile: the name of the schedule's profile.
        schedule: when images come.
        cycles: over all sessions, at least 1; each session has one at least.
        seed: of the draws; the same figures come of the same seed.

    UsageError for more than MOST_IMAGES; what is overloaded takes none.
    """
    images, cycle_s = schedule.images, schedule.cycle_s
    sessions = [np.asarray(values) for values in trial.image_s_values if values]
    load_share = load_figure(trial, schedule)
    load = load_share.value
    assert not isinstance(load, tuple)
    is_overloaded = None if load is None else load > 1
    start_j, break_even_s = _start_of(trial)
    worked: list[Worked] = []
    each = -(-cycles // max(1, len(sessions)))
    if is_overloaded is False:
        if cycles * images > MOST_IMAGES:
            days = MOST_IMAGES // images * cycle_s / DAY_S
            raise UsageError(
                f"the mission has {cycles * images:,} images, and at most {MOST_IMAGES:,} are simulated",
                fix=f"--days {days:.3g} or less" if days else "a schedule of fewer images a cycle",
            )
        least_pause_s = break_even_s.value
        assert not isinstance(least_pause_s, tuple)
        generators = np.random.default_rng(seed).spawn(len(sessions))
        worked = [
            work_through(values, cycle_of(schedule), each, generator, least_pause_s)
            for values, generator in zip(sessions, generators, strict=True)
        ]
    unmeasured = trial.untimed_reason or trial.reason or UNMEASURED
    why_not = unmeasured if load is None else overload(load) if is_overloaded else ""

    def over(name: str) -> Figure:
        if not worked:
            return Figure(reason=why_not)
        return over_medians([float(getattr(session, name)) for session in worked])

    def waiting(name: str) -> Figure:
        figure = over(name)
        if figure.value is None or load_share.high is None or load_share.high <= 1:
            return figure
        # Where some of the interval is overloaded nothing bounds what waits.
        return replace(
            figure, high=None, reason=f"it may not keep up: its load is up to {load_share.high:.3g}"
        )

    busy_s, backlog = over("busy_s"), _at_most(waiting("most_held"), images)
    no_deadline = Figure(reason="the schedule has no deadline")
    no_pixels = Figure(reason="its images have no pixels")
    figures = {
        "duty_cycle": Figure(1.0, 1.0, 1.0) if is_overloaded else _at_most(busy_s.in_unit(cycle_s), 1.0),
        "storage_bytes": backlog.in_unit(1 / trial.image_bytes) if trial.image_bytes else no_pixels,
        "backlog": backlog,
        "age_s": waiting("age_s"),
        "oldest_s": waiting("oldest_s"),
        "missed": no_deadline if schedule.deadline_s is None else _at_most(waiting("missed"), 1.0),
        **_energies(trial, schedule, busy_s, worked, start_j),
        "break_even_s": break_even_s,
    }
    about = (trial.key, trial.target, trial.variant, trial.mark, profile)
    return Mission(*about, load, is_overloaded, each * len(worked), figures)


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


def _at_most(figure: Figure, most: float) -> Figure:
    """What cannot be more, as a share, and so is its interval."""
    if not isinstance(figure.value, float):
        return figure
    low, high = (None if end is None else min(most, end) for end in (figure.low, figure.high))
    return Figure(min(most, figure.value), low, high, reason=figure.reason)


# The energy of one cycle of a schedule, by what a device does while there is nothing to do (pure).


def _of_rail(trial: TrialSummary, *names: str) -> Figure:
    """A figure of the trial's primary rail: its value and the ends of its interval, or why it is missing."""
    rail = trial.primary_rail
    if rail is None or trial.paced is not None:
        return Figure(reason=OF_PERIOD if rail else trial.power_reason or NO_METER)
    value, low, high = (getattr(rail, name) for name in names)
    return Figure(value, low, high, reason="" if value is not None else rail.reason or NO_METER)


def _start_of(trial: TrialSummary) -> tuple[Figure, Figure]:
    """Energy of a start, its time at the mean power of the passes; the pause that costs as much idling."""
    mean_w, rail = _of_rail(trial, "mean_w", "mean_low_w", "mean_high_w"), trial.primary_rail
    start_j = Figure(reason=mean_w.reason or NO_START)
    if trial.start_s_values and mean_w.value is not None:
        start_j = _combined(operator.mul, over_medians(trial.start_s_values), mean_w)
    if start_j.value is not None and rail is not None and rail.idle_w:
        per_w = 1 / rail.idle_w
        return start_j, _combined(lambda start_j: start_j * per_w, start_j)
    return start_j, Figure(reason=start_j.reason or _no_idle(trial) or "it draws nothing when idle")


def _no_idle(trial: TrialSummary) -> str:
    rail = trial.primary_rail
    return "" if rail is None or rail.idle_w is not None else rail.reason or NO_IDLE


def _energies(
    trial: TrialSummary, schedule: Schedule, busy_s: Figure, worked: Sequence[Worked], start_j: Figure
) -> dict[str, Figure]:
    """In J a cycle, by what the device does in its pauses: not counted; idle; off where that saves energy.

    Switched off in each pause longer than the break-even one, it is started again, at the power of its
    passes, for the next image.
    """
    image_j, rail = _of_rail(trial, "energy_j", "energy_low_j", "energy_high_j"), trial.primary_rail
    active = _combined(lambda image_j: image_j * schedule.images, image_j)
    idle = off = Figure(reason=active.reason or _no_idle(trial) if worked else busy_s.reason)
    if worked and active.value is not None and rail is not None and (idle_w := rail.idle_w) is not None:
        pause_s = _combined(lambda busy_s: max(0.0, schedule.cycle_s - busy_s), _reversed(busy_s))
        idle = _combined(lambda work_j, pause_s: work_j + pause_s * idle_w, active, pause_s)
        off = Figure(reason=start_j.reason or "it draws nothing when idle")
        if isinstance(start := start_j.value, int | float) and idle_w:
            spared_j = over_medians(
                [
                    max(0.0, (each.long_pauses_s or 0.0) * idle_w - (each.long_pauses or 0.0) * start)
                    for each in worked
                ]
            )
            off = _combined(operator.sub, idle, _reversed(spared_j))
    return {"energy_j.active": active, "energy_j.idle": idle, "energy_j.off": off}


def _combined(operation: Callable[..., float], *figures: Figure) -> Figure:
    """Value by value and end by end: no narrower than what they are together, however they depend."""
    sides = zip(*((figure.value, figure.low, figure.high) for figure in figures), strict=True)
    value, low, high = (None if None in each else operation(*each) for each in sides)
    return Figure(value, low, high, reason=next(filter(None, (figure.reason for figure in figures)), ""))


def _reversed(figure: Figure) -> Figure:
    """What is taken off: the most of it leaves the least."""
    return Figure(figure.value, figure.high, figure.low)


# Limits on what a mission comes to, by the schedule of the requirement's profile (pure).


_LIMITED = {
    "storage_bytes": ("storage_bytes", "the most images of a cycle"),
    "backlog": ("backlog", "the most images of a cycle"),
    "age_s": ("age_s", "the age of a result"),
    "missed_deadlines": ("missed", "the missed deadlines"),
}
"""Quantity of a requirement -> figure of a mission, and what it is."""


def schedule_figure(summary: TrialSummary, asked: Asked, certainty: Certainty) -> Figure:
    """What the schedule comes to: its load, the energy of a cycle, or what is simulated.

    The load is a share of a cycle; above 1 it is overloaded. The energy of a cycle is that of a device that
    stays on between images. Of what is overloaded all that is simulated grows without end and is above every
    limit, and in the end every deadline is missed.
    """
    schedule = asked.schedule
    if schedule is None:
        return Figure(reason=NO_SCHEDULE)
    if asked.quantity == "load":
        return summary.once(("load", schedule, certainty), lambda: _kept_up(summary, schedule, certainty))
    cycles = max(1, min(MOST_CYCLES, MOST_LIMITED_IMAGES // schedule.images))
    mission = summary.once(
        ("mission", schedule),
        lambda: mission_of(summary, "", schedule, cycles=cycles, seed=0),
    )
    if asked.quantity == "energy_cycle_j":
        figure, rail = mission.figures["energy_j.idle"], summary.primary_rail
        if rail is None or figure.value is None:
            return figure
        what = f"the whole 95 % interval of a cycle of {schedule.cycle_s:g} s"
        return replace(bounded(rail, replace(figure, what=what)), scope=rail.scope or UNKNOWN_SCOPE)
    name, what = _LIMITED[asked.quantity]
    figure = mission.figures[name]
    if mission.load is None or figure.value is not None or figure.reason != overload(mission.load):
        return replace(figure, what=f"the whole 95 % interval of {what}")
    load = load_figure(summary, schedule, certainty)
    if load.low is None or load.low <= 1:
        why = load.reason or "but the 95 % interval of its load begins below 1"
        return Figure(undecided=True, reason=f"{figure.reason}; {why}")
    if name == "missed":
        return Figure(1.0, 1.0, 1.0, what="every deadline, in the end,", note=figure.reason)
    return Figure(low=asked.base_limit, bound="above", what=f"{what}, without end,", note=figure.reason)


def _kept_up(summary: TrialSummary, schedule: Schedule, certainty: Certainty) -> Figure:
    figure = load_figure(summary, schedule, certainty)
    known = figure.low if figure.value is None else figure.value
    note = overload(known) if isinstance(known, float) and known > 1 else ""
    reason = "; ".join(filter(None, (figure.reason, note)))
    return replace(figure, what="the whole 95 % interval of the load", note=note, reason=reason)
