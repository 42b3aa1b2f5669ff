"""Figures of a trial under a mission's schedule: duty cycle, backlog, age of results, energy per cycle.

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
from edgebench.judge.estimates import STATED, over_medians
from edgebench.judge.figure import Certainty, Figure
from edgebench.judge.metric import Asked
from edgebench.judge.power_limits import bounded
from edgebench.judge.schedule import Schedule
from edgebench.judge.trial_summary import TrialSummary
from edgebench.stats.mission_cycles import Cycle, Worked, load_of, work_through

DAY_S = 86_400.0
MOST_IMAGES = 50_000_000
"""Images that are simulated for one trial at most."""

LEAST_CYCLES = 1_000
"""Cycles of each session that a 99th percentile over cycles takes."""

MOST_CYCLES, MOST_LIMITED_IMAGES = 1_000, 1_000_000
"""Cycles, and images, that a verdict without such a percentile is simulated by at most."""

OVERLOADED = "overloaded:"
"""How the reason begins why nothing is simulated of a trial that does not keep up."""
NO_SCHEDULE = "the profile says no time at which images come ([schedule])"
NO_METER = "no meter"
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
    """The mark that its figures must carry. Source: fit."""
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

    @property
    def grows(self) -> bool:
        """Whether the backlog of the trial, or of one of its sessions, grows without end."""
        return self.load is not None and self.figures["backlog"].value is None


def mission_of(trial: TrialSummary, profile: str, schedule: Schedule, *, cycles: int, seed: int) -> Mission:
    """Play the trial's latencies over a number of cycles, shared out among its sessions.

    Args:
        trial: whose sessions' steady passes are drawn from.
        profile: the name of the schedule's profile.
        schedule: when images come.
        cycles: over all sessions, at least 1; each session has one at least. The backlog, and the storage
            that it takes, are of LEAST_CYCLES a session where these are more, as far as MOST_IMAGES allow.
        seed: of the draws; the same seed gives the same figures.

    UsageError for more than MOST_IMAGES; what is overloaded takes none.
    """
    images, cycle_s = schedule.images, schedule.cycle_s
    load_share = load_figure(trial, schedule)
    load = load_share.value
    assert not isinstance(load, tuple)
    is_overloaded = None if load is None else load > 1
    if is_overloaded is False and cycles * images > MOST_IMAGES:
        days = MOST_IMAGES // images * cycle_s / DAY_S
        raise UsageError(
            f"the mission has {cycles * images:,} images, and at most {MOST_IMAGES:,} are simulated",
            fix=f"--days {days:.3g} or less" if days else "a schedule of fewer images a cycle",
        )
    break_even_s = _start_of(trial)[1]
    least_pause_s = break_even_s.value if isinstance(break_even_s.value, float) else np.inf
    sessions = [np.asarray(values) for values in trial.image_s_values if values]
    each = -(-cycles // max(1, len(sessions)))

    def play(cycles: int) -> list[Worked]:
        generators = np.random.default_rng(seed).spawn(len(sessions))
        return [
            work_through(values, cycle_of(schedule), cycles, generator, least_pause_s)
            for values, generator in zip(sessions, generators, strict=True)
            if is_overloaded is False
        ]

    worked = waiting = play(each)
    has_tail = each >= LEAST_CYCLES
    if not has_tail and LEAST_CYCLES * len(sessions) * images <= MOST_IMAGES:
        has_tail, waiting = True, trial.once(("waiting", schedule, seed), lambda: play(LEAST_CYCLES))
    tick_s = trial.ticks.get("image_s", 0.0)
    ticks_s = {"busy_s": tick_s * images, "age_s": tick_s, "oldest_s": tick_s}
    why_not = load_share.reason if load is None else overload(load) if is_overloaded else ""
    growing = sum(load_of(session.busy_s, 1, cycle_s) > 1 for session in worked)

    def over(
        name: str, most: float = np.inf, least: float = 0.0, played: Sequence[Worked] = worked
    ) -> Figure:
        """From `least` to `most`, which are physically possible; where the load may be too much, nothing
        bounds what waits, and where it is in a session, that depends on how long it is simulated. The least
        time that was measured bounds no age: all of three sessions exceed the mean of all starts 1 time in 8.
        """
        if not worked:
            return Figure(reason=why_not)
        if growing and name != "busy_s":
            reason = f"{growing} of {len(worked)} sessions overloaded: the backlog grows without end"
            return Figure(undecided=True, reason=reason)
        figure = over_medians([float(getattr(session, name)) for session in played])
        figure = figure.no_narrower(ticks_s.get(name, 0.0))
        if name != "busy_s" and load_share.high is not None and load_share.high > 1:
            doubt = f"it may not keep up: its load is up to {load_share.high:.3g}"
            figure = replace(figure, high=None, reason=doubt)
        return _combined(lambda end: max(least, min(most, end)), figure)

    busy_s = over("busy_s")
    backlog = over("most_held", least=1.0, played=waiting)
    backlog_p99 = over("most_held_p99", least=1.0, played=waiting)
    if not has_tail and backlog.value is not None:
        too_many = f"{LEAST_CYCLES:,} cycles a session have more than {MOST_IMAGES:,} images"
        reason = f"no 99th percentile over cycles: {too_many}"
        backlog_p99 = Figure(undecided=True, reason=reason, lasting=True)
    no_deadline = Figure(reason="the schedule has no deadline")
    no_pixels = Figure(reason="its images have no pixels")
    figures = {
        "duty_cycle": Figure(1.0, 1.0, 1.0) if is_overloaded else over("busy_s", cycle_s).in_unit(cycle_s),
        "storage_bytes": backlog.in_unit(1 / trial.image_bytes) if trial.image_bytes else no_pixels,
        "storage_bytes_p99": backlog_p99.in_unit(1 / trial.image_bytes) if trial.image_bytes else no_pixels,
        "backlog": backlog,
        "backlog_p99": backlog_p99,
        "age_s": over("age_s"),
        "oldest_s": over("oldest_s"),
        "missed": no_deadline if schedule.deadline_s is None else over("missed", 1.0),
        **_energies(trial, schedule, busy_s, worked),
        "break_even_s": break_even_s,
    }
    about = (trial.key, trial.target, trial.variant, trial.mark, profile)
    return Mission(*about, load, is_overloaded, each * len(worked), figures)


def load_figure(trial: TrialSummary, schedule: Schedule, certainty: Certainty = STATED) -> Figure:
    """Work that comes a cycle as a share of the cycle, with its interval over sessions.

    Where image_s was not timed infer_s, which is a part of it, is a bound where it is too much by itself.
    """
    sure = certainty.at_least(trial.interval_confidence)

    def over(name: str) -> Figure:
        sessions = filter(None, getattr(trial, f"{name}_values"))
        means_s = trial.once(("means", name), lambda: [float(np.mean(values)) for values in sessions])
        loads = [load_of(mean_s, schedule.images, schedule.cycle_s) for mean_s in means_s]
        tick = load_of(trial.ticks.get(name, 0.0), schedule.images, schedule.cycle_s)
        return over_medians(loads, sure).no_narrower(tick) if loads else Figure()

    if (load := over("image_s")).value is not None:
        return load
    part = over("infer_s")
    reason = trial.untimed_reason or trial.reason or "no session of it was measured"
    is_bound = part.low is not None and part.low > 1
    return Figure(low=part.low, bound="above", reason=reason) if is_bound else Figure(reason=reason)


@lru_cache(maxsize=16)
def cycle_of(schedule: Schedule) -> Cycle:
    """What comes in each of its cycles."""
    return Cycle(np.array(list(schedule.arrivals_s())), schedule.cycle_s, schedule.deadline_s)


def overload(load: float) -> str:
    """What a load above 1 means, in words."""
    return f"{OVERLOADED} in each cycle {load:.3g} cycles of work come, and the backlog grows without end"


# The energy of one cycle of a schedule, by what a device does while there is nothing to do (pure).


def _of_rail(trial: TrialSummary, *names: str) -> Figure:
    """A figure of the trial's primary rail: its value and the ends of its interval, or why it is missing."""
    rail = trial.primary_rail
    if rail is None or trial.paced is not None:
        return Figure(reason=OF_PERIOD if rail else trial.power_reason or NO_METER)
    value, low, high = (getattr(rail, name) for name in names)
    return Figure(value, low, high, reason="" if value is not None else rail.reason or NO_METER)


def _start_of(trial: TrialSummary) -> tuple[Figure, Figure, Figure]:
    """Energy of a start, at the mean power of the passes; the pause that costs as much idling; idle power."""
    mean_w = _of_rail(trial, "mean_w", "mean_low_w", "mean_high_w")
    idle_w = _of_rail(trial, "idle_w", "idle_w", "idle_w")
    if idle_w.value is None and idle_w.reason == NO_METER and trial.primary_rail:
        idle_w = Figure(reason="its meter saw no idle time")
    unmeasured = Figure(reason="the time of a start was not measured")
    start_s = over_medians(trial.start_s_values) if trial.start_s_values else unmeasured
    start_j = _combined(operator.mul, mean_w, start_s)
    nothing = Figure(reason=start_j.reason or "it draws nothing when idle")
    return start_j, nothing if idle_w.value == 0 else _combined(operator.truediv, start_j, idle_w), idle_w


def _energies(
    trial: TrialSummary, schedule: Schedule, busy_s: Figure, worked: Sequence[Worked]
) -> dict[str, Figure]:
    """In J a cycle, by what the device does in its pauses: not counted; idle; off where that saves energy.

    Switched off in each pause longer than the break-even one, it is started again, at the power of its
    passes, for the next image.
    """
    start_j, _, idle_w = _start_of(trial)
    image_j = _of_rail(trial, "energy_j", "energy_low_j", "energy_high_j")
    active = _combined(lambda image_j: image_j * schedule.images, image_j)
    # The most of what is taken off leaves the least.
    idle = _combined(
        lambda busy_s, work_j, idle_w: work_j + max(0.0, schedule.cycle_s - busy_s) * idle_w,
        replace(busy_s, low=busy_s.high, high=busy_s.low),
        active,
        idle_w,
    )
    spared_j = Figure(reason=start_j.reason or "it draws nothing when idle")
    if idle.value is not None and isinstance(start_j.value, float) and isinstance(idle_w.value, float):
        watts, joules = idle_w.value, start_j.value
        spared = [max(0.0, each.long_pauses_s * watts - each.long_pauses * joules) for each in worked]
        saved_j = over_medians(spared)
        spared_j = Figure(saved_j.value, saved_j.high, saved_j.low)
    off = _combined(operator.sub, idle, spared_j)
    return {"energy_j.active": active, "energy_j.idle": idle, "energy_j.off": off}


def _combined(operation: Callable[..., float], *figures: Figure) -> Figure:
    """Value by value and end by end: no narrower than what they are together, however they depend."""
    sides = zip(*((figure.value, figure.low, figure.high) for figure in figures), strict=True)
    value, low, high = (None if None in each else operation(*each) for each in sides)
    missing = [figure for figure in figures if figure.value is None] or figures
    return Figure(value, low, high, reason=next(filter(None, (figure.reason for figure in missing)), ""))


# Limits on what a mission comes to, by the schedule of the requirement's profile (pure).


def simulated_figure(trial: TrialSummary, asked: Asked, certainty: Certainty, name: str, what: str) -> Figure:
    """What the schedule of a requirement's profile makes of a trial, in its base unit.

    Of what is overloaded all that is simulated grows without end and is above every limit, and in the end
    every deadline is missed.

    Args:
        trial: that is judged.
        asked: the requirement.
        certainty: how sure the bounds have to be.
        name: of a mission's figure; `load` for the load, a share of a cycle.
        what: it is, in words.
    """
    schedule, whole = asked.schedule, f"the whole 95 % interval of {what}"
    if schedule is None:
        return Figure(reason=NO_SCHEDULE)
    load = trial.once(("load", schedule, certainty), lambda: load_figure(trial, schedule, certainty))
    if name == "load":
        known = load.low if load.value is None else load.value
        note = overload(known) if isinstance(known, float) and known > 1 else ""
        return replace(load, note=note, reason="; ".join(filter(None, (load.reason, note))), what=whole)
    cycles = max(1, min(MOST_CYCLES, MOST_LIMITED_IMAGES // schedule.images))
    mission = trial.once(
        ("mission", schedule), lambda: mission_of(trial, "", schedule, cycles=cycles, seed=0)
    )
    figure, rail = replace(mission.figures[name], what=whole), trial.primary_rail
    if name.startswith("energy_j") and rail is not None and figure.value is not None:
        return bounded(rail, figure)
    if name.startswith("energy_j") or not figure.reason.startswith(OVERLOADED):
        return figure
    if load.low is None or load.low <= 1:
        why = load.reason or "but the 95 % interval of its load begins below 1"
        return Figure(undecided=True, reason=f"{figure.reason}; {why}")
    if name == "missed":
        return Figure(1.0, 1.0, 1.0, what="every deadline, in the end,", note=figure.reason)
    return Figure(low=asked.base_limit, bound="above", what=f"{what}, without end,", note=figure.reason)
