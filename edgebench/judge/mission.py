"""Missions: a trial under a schedule, with its duty cycle, backlog, age of results and energy per cycle.

Measured latencies are played over many cycles of the schedule, those of each session by themselves
(`stats.mission_cycles`), and every number has its interval over sessions, as all estimates of a trial have.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial

import numpy as np

from edgebench.errors import UsageError
from edgebench.judge.metrics import METRICS
from edgebench.judge.power.limits import bounded, estimate_of_rail, objection_to
from edgebench.judge.requirements.schedule import Schedule
from edgebench.judge.sessions import over_medians
from edgebench.judge.trial import STATED, Certainty, Conditions, Estimate, Trial
from edgebench.stats.mission_cycles import Cycle, Worked, load_of, work_through

DAY_S = 86_400.0
MOST_IMAGES = 50_000_000
"""Images that are simulated for one trial at most."""

LEAST_CYCLES = 1_000
"""Cycles of each session that a 99th percentile over cycles takes."""

MOST_CYCLES, MOST_LIMITED_IMAGES = 1_000, 1_000_000
"""Cycles, and images, that a verdict without such a percentile is simulated by at most."""

OVERLOADED = "overloaded:"
"""Beginning of the reason why nothing is simulated of a trial that does not keep up."""
NO_SCHEDULE = "the profile says no time at which images come ([schedule])"
NO_DEADLINE = "the schedule has no deadline"
NO_METER = "no meter"
OF_PERIOD = "its passes were paced: the energy of an image holds the pauses of its run"


@dataclass(frozen=True)
class Mission:
    """One trial under one profile's schedule."""

    trial: str
    """Key of the trial. Source: experiment.json."""
    target: str
    """Name of its target. Source: experiment.json."""
    variant: str
    """Variant of it. Source: experiment.json."""
    mark: str
    """Marks of the trial that its numbers must carry. Source: fit."""
    profile: str
    """Name of the profile whose schedule it is. Source: profile."""
    load: float | None
    """Work that comes in a cycle as a share of the cycle; null where it is unknown. Source: mission."""
    is_overloaded: bool | None
    """True if the load is above 1, so that nothing was simulated. Source: mission."""
    cycles: int
    """Cycles that were simulated, over all sessions. Source: mission."""
    estimates: Mapping[str, Estimate]
    """Internal: estimates by name, as `edgebench.report.missions.FIGURES` describes them."""


def mission_of(
    trial: Trial, profile: str, schedule: Schedule, *, cycles: int, seed: int, certainty: Certainty = STATED
) -> Mission:
    """Mission of a trial over a number of cycles, shared out among its sessions.

    Args:
        trial: trial whose steady passes are drawn from.
        profile: name of the schedule's profile.
        schedule: times at which images come.
        cycles: cycles over all sessions, at least 1; each session has one at least. The backlog and its
            storage are of LEAST_CYCLES per session where these are more, as far as MOST_IMAGES allow.
        seed: seed of the draws; the same seed gives the same numbers.
        certainty: confidence of the ends.

    Raises:
        UsageError: more than MOST_IMAGES images, of a trial that is not overloaded.
    """
    images, cycle_s = schedule.images, schedule.cycle_s
    load_share = load_estimate(trial, schedule, certainty)
    load = load_share.value
    is_overloaded = None if load is None else load > 1
    if is_overloaded is False and cycles * images > MOST_IMAGES:
        days = MOST_IMAGES // images * cycle_s / DAY_S
        raise UsageError(
            f"the mission has {cycles * images:,} images, and at most {MOST_IMAGES:,} are simulated",
            fix=f"--days {days:.3g} or less" if days else "a schedule of fewer images a cycle",
        )
    start_j, break_even_s, idle_w = _start_of(trial, certainty)
    least_pause_s = np.inf if break_even_s.value is None else break_even_s.value
    sessions = [np.asarray(values) for values in trial.values_of("image_s") if len(values)]
    cycles_per_session = -(-cycles // max(1, len(sessions)))

    def work(cycles: int) -> list[Worked]:
        generators = np.random.default_rng(seed).spawn(len(sessions))
        return [
            work_through(values, cycle_of(schedule), cycles, generator, least_pause_s)
            for values, generator in zip(sessions, generators, strict=True)
            if is_overloaded is False
        ]

    def play(cycles: int) -> list[Worked]:
        return trial.once(("worked", schedule, seed, cycles), lambda: work(cycles))

    worked = waiting = play(cycles_per_session)
    has_tail = cycles_per_session >= LEAST_CYCLES
    if not has_tail and LEAST_CYCLES * len(sessions) * images <= MOST_IMAGES:
        has_tail, waiting = True, play(LEAST_CYCLES)
    tick_s, passes = trial.ticks.get("image_s", 0.0), sum(map(len, sessions))
    ticks_s = {"busy_s": tick_s * images, "age_s": tick_s, "oldest_s": tick_s}
    unknown = load_share.reason if load is None else overload(load) if is_overloaded else ""
    growing = sum(load_of(session.busy_s, 1, cycle_s) > 1 for session in worked)

    def over(
        name: str, most: float = np.inf, least: float = 0.0, played: Sequence[Worked] = worked
    ) -> Estimate:
        """Estimate within `least` and `most`, which are the physical bounds.

        Where the load may be too much, nothing bounds the backlog, and where it is in a session, that
        depends on how long it is simulated. The least measured time bounds no age: all of three sessions
        exceed the mean of all starts 1 time in 8.
        """
        if not worked:
            return Estimate(reason=unknown)
        if growing and name != "busy_s":
            reason = f"{growing} of {len(worked)} sessions overloaded: the backlog grows without end"
            return Estimate(n=passes, reason=reason)
        numbers = [float(getattr(session, name)) for session in played]
        estimate = over_medians(numbers, certainty, n=passes)
        estimate = estimate.widened(ticks_s.get(name, 0.0))
        if name != "busy_s" and load_share.high is not None and load_share.high > 1:
            doubt = f"it may not keep up: its load is up to {load_share.high:.3g}"
            estimate = replace(estimate, high=None, reason=doubt)
        return _combined(lambda end: max(least, min(most, end)), estimate)

    busy_s = over("busy_s")
    backlog = over("most_held", least=1.0, played=waiting)
    backlog_p99 = over("most_held_p99", least=1.0, played=waiting)
    if not has_tail and backlog.value is not None:
        too_many = f"{LEAST_CYCLES:,} cycles a session have more than {MOST_IMAGES:,} images"
        reason = f"no 99th percentile over cycles: {too_many}"
        backlog_p99 = Estimate(n=passes, reason=reason, final=True)
    duty_cycle = _combined(lambda time_s: time_s / cycle_s, over("busy_s", cycle_s))
    no_deadline = Estimate(reason=NO_DEADLINE)

    def storage(images: Estimate) -> Estimate:
        picture = trial.scene.image_bytes
        no_pixels = Estimate(reason="its images have no pixels")
        return _combined(lambda count: count * picture, images) if picture else no_pixels

    estimates = {
        "duty_cycle": Estimate(1.0, 1.0, 1.0) if is_overloaded else duty_cycle,
        "storage_bytes": storage(backlog),
        "storage_bytes_p99": storage(backlog_p99),
        "backlog": backlog,
        "backlog_p99": backlog_p99,
        "age_s": over("age_s"),
        "oldest_s": over("oldest_s"),
        "missed": no_deadline if schedule.deadline_s is None else over("missed", 1.0),
        **_energies(trial, schedule, busy_s, worked, start_j, idle_w, certainty),
        "break_even_s": break_even_s,
    }
    names = trial.key, trial.target, trial.variant, trial.mark, profile
    return Mission(*names, load, is_overloaded, cycles_per_session * len(worked), estimates)


def load_estimate(trial: Trial, schedule: Schedule, certainty: Certainty = STATED) -> Estimate:
    """Work that comes per cycle as a share of the cycle, with its interval over sessions.

    Where image_s was not timed infer_s, which is a part of it, is a bound where it is too much by itself.
    """
    sure = certainty.at_least(trial.confidence)

    def over(metric: str) -> Estimate:
        sessions = [values for values in trial.values_of(metric) if len(values)]
        means_s = trial.once(("means", metric), lambda: [float(np.mean(values)) for values in sessions])
        loads = [load_of(mean_s, schedule.images, schedule.cycle_s) for mean_s in means_s]
        tick = load_of(trial.ticks.get(metric, 0.0), schedule.images, schedule.cycle_s)
        passes = sum(map(len, sessions))
        return over_medians(loads, sure, n=passes).widened(tick) if loads else Estimate()

    if (load := over("image_s")).value is not None:
        return load
    part = over("infer_s")
    reason = trial.estimate("image_s").reason or trial.reason or "no session of it was measured"
    if part.low is None or part.low <= 1:
        return Estimate(reason=reason)
    return Estimate(low=part.low, strict=True, n=part.n, reason=reason)


@lru_cache(maxsize=16)
def cycle_of(schedule: Schedule) -> Cycle:
    """Arrivals of each cycle of a schedule."""
    return Cycle(np.array(list(schedule.arrivals_s())), schedule.cycle_s, schedule.deadline_s)


def overload(load: float) -> str:
    """Consequence of a load above 1, in words."""
    return f"{OVERLOADED} in each cycle {load:.3g} cycles of work come, and the backlog grows without end"


# Energy of one cycle of a schedule, by the state of the device in its pauses.


def _of_rail(trial: Trial, metric: str, certainty: Certainty = STATED) -> Estimate:
    """Estimate of the rail that represents the board, or why it is missing."""
    estimate = trial.estimate(metric)
    if not trial.rails or trial.period_s is not None:
        return Estimate(reason=OF_PERIOD if trial.rails else estimate.reason or NO_METER)
    if certainty != STATED:
        conditions = Conditions("median", certainty)
        estimate = estimate_of_rail(trial, trial.rails[0], METRICS[metric], conditions)
    reason = "" if estimate.value is not None else estimate.reason or trial.rails[0].reason or NO_METER
    return Estimate(estimate.value, estimate.low, estimate.high, n=estimate.n, reason=reason)


def _start_of(trial: Trial, certainty: Certainty) -> tuple[Estimate, Estimate, Estimate]:
    """Energy of a start at the mean power of the passes; the pause that costs as much idling; idle power."""
    mean_w, idle_w = _of_rail(trial, "power_mean_w", certainty), _of_rail(trial, "power_idle_w")
    idle_w = replace(idle_w, low=idle_w.value, high=idle_w.value)
    if idle_w.value is None and idle_w.reason == NO_METER and trial.rails:
        idle_w = Estimate(reason="its meter saw no idle time")
    start_times = [values[0] for values in trial.values_of("start_s")]
    unmeasured = Estimate(reason="the time of a start was not measured")
    start_s = over_medians(start_times, certainty) if start_times else unmeasured
    start_j = _combined(operator.mul, mean_w, start_s)
    nothing = Estimate(reason=start_j.reason or "it draws nothing when idle")
    return start_j, nothing if idle_w.value == 0 else _combined(operator.truediv, start_j, idle_w), idle_w


def _energies(
    trial: Trial,
    schedule: Schedule,
    busy_s: Estimate,
    worked: Sequence[Worked],
    start_j: Estimate,
    idle_w: Estimate,
    certainty: Certainty,
) -> dict[str, Estimate]:
    """Energy per cycle in J: without the pauses; idle in them; switched off where that saves energy.

    Switched off in each pause longer than the break-even one, the device is started again, at the power of
    its passes, for the next image.
    """
    image_j = _of_rail(trial, "energy_j", certainty)
    active = _combined(lambda energy_j: energy_j * schedule.images, image_j)
    # The most that is taken off leaves the least.
    idle = _combined(
        lambda busy_s, work_j, idle_w: work_j + max(0.0, schedule.cycle_s - busy_s) * idle_w,
        replace(busy_s, low=busy_s.high, high=busy_s.low),
        active,
        idle_w,
    )
    spared_j = Estimate(reason=start_j.reason or "it draws nothing when idle")
    if idle.value is not None and start_j.value is not None and idle_w.value is not None:
        watts, joules = idle_w.value, start_j.value
        saved = (session.long_pauses_s * watts - session.long_pauses * joules for session in worked)
        saved_j = over_medians([max(0.0, energy_j) for energy_j in saved], certainty)
        spared_j = Estimate(saved_j.value, saved_j.high, saved_j.low)
    off = _combined(operator.sub, idle, spared_j)
    return {"energy_j.active": active, "energy_j.idle": idle, "energy_j.off": off}


def _combined(operation: Callable[..., float], *estimates: Estimate) -> Estimate:
    """Value by value and end by end: no narrower than the estimates together, however they depend."""
    sides = zip(*((estimate.value, estimate.low, estimate.high) for estimate in estimates), strict=True)
    value, low, high = (None if None in side else operation(*side) for side in sides)
    missing = [estimate for estimate in estimates if estimate.value is None] or estimates
    reason = next(filter(None, (estimate.reason for estimate in missing)), "")
    n = 0 if value is None and not all(estimate.n for estimate in estimates) else estimates[0].n
    return Estimate(value, low, high, n=n, reason=reason, final=estimates[0].final and value is None)


# Limits on numbers of a mission, by the schedule of the requirement's profile.


def simulated_estimate(trial: Trial, name: str, conditions: Conditions) -> Estimate:
    """Number of a trial's mission under the schedule of a requirement's profile, in its base unit.

    Backlog, storage and age of an overloaded trial grow without end and exceed every limit; in the end every
    deadline is missed.

    Args:
        trial: the trial.
        name: name in `Mission.estimates`; `load` for the load as a share of a cycle.
        conditions: schedule and certainty.
    """
    schedule, certainty = conditions.schedule, conditions.certainty
    if schedule is None:
        return Estimate(reason=NO_SCHEDULE)
    load = trial.once(("load", schedule, certainty), lambda: load_estimate(trial, schedule, certainty))
    if name == "load":
        least = load.low if load.value is None else load.value
        too_much = overload(least) if least is not None and least > 1 else ""
        return load.with_notes(too_much)
    cycles = max(1, min(MOST_CYCLES, MOST_LIMITED_IMAGES // schedule.images))
    simulate = partial(mission_of, trial, "", schedule, cycles=cycles, seed=0, certainty=certainty)
    estimate = trial.once(("mission", schedule, certainty), simulate).estimates[name]
    if name.startswith("energy_j"):
        if not trial.rails or estimate.value is None:
            return estimate
        return bounded(trial.rails[0], estimate, objection_to(trial.rails[0], "energy_j"))
    if not estimate.reason.startswith(OVERLOADED):
        return estimate.with_notes("the 99th percentile over cycles" if name.endswith("_p99") else "")
    if load.low is None or load.low <= 1:
        cause = load.reason or "but the 95 % interval of its load begins below 1"
        return Estimate(n=load.n, reason=f"{estimate.reason}; {cause}")
    if name == "missed":
        return Estimate(1.0, 1.0, 1.0, n=load.n).with_notes("every deadline, in the end", estimate.reason)
    return Estimate(low=np.inf, strict=True, n=load.n).with_notes(estimate.reason)
