"""The energy of one cycle of a schedule, by what a device does while there is nothing to do (pure)."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from edgebench.fit.figure import Figure, over_sessions
from edgebench.fit.trial_summary import PowerFigure, TrialSummary
from edgebench.stats.mission_cycles import Worked

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
        active = _scaled(self.image_j, images)
        if not worked:
            return EnergyOfCycle(active, Figure(reason=busy_s.reason), Figure(reason=busy_s.reason))
        if active.value is None or self.idle_w.value is None:
            reason = active.reason or self.idle_w.reason
            return EnergyOfCycle(active, Figure(reason=reason), Figure(reason=reason))
        pause_s = Figure(
            cycle_s - _number(busy_s.value),
            None if busy_s.high is None else max(0.0, cycle_s - busy_s.high),
            None if busy_s.low is None else cycle_s - busy_s.low,
        )
        idle = _sum(active, _scaled(pause_s, _number(self.idle_w.value)))
        if self.break_even_s.value is None:
            return EnergyOfCycle(active, idle, Figure(reason=self.break_even_s.reason))
        spared_j = over_sessions([[self._spared_j(session)] for session in worked])
        off = _sum(idle, Figure(-_number(spared_j.value), _negative(spared_j.high), _negative(spared_j.low)))
        return EnergyOfCycle(active, idle, off)

    def _spared_j(self, session: Worked) -> float:
        """What switching off in long pauses spares, a cycle."""
        idle_j = (session.long_pauses_s or 0.0) * _number(self.idle_w.value)
        return max(0.0, idle_j - (session.long_pauses or 0.0) * _number(self.start_j.value))


def power_of(trial: TrialSummary) -> MissionPower:
    """By the trial's primary rail and its start_s."""
    rail, start_s = trial.primary_rail, _start_s(trial)
    if rail is None:
        missing = Figure(reason=trial.power_reason or NO_METER)
        return MissionPower(missing, missing, missing, missing)
    image_j = _measured(rail.energy_j, rail.energy_low_j, rail.energy_high_j, rail)
    if trial.paced is not None:
        image_j = Figure(reason=OF_PERIOD)
    mean_w = _measured(rail.mean_w, rail.mean_low_w, rail.mean_high_w, rail)
    idle_w = Figure(rail.idle_w, reason="" if rail.idle_w is not None else rail.reason or NO_IDLE)
    if start_s.value is None or mean_w.value is None or trial.paced is not None:
        reason = mean_w.reason or start_s.reason or NO_START
        start_j = Figure(reason=reason if trial.paced is None else OF_PERIOD)
    else:
        start_j = _combined(operator.mul, start_s, mean_w)
    if start_j.value is None or not idle_w.value:
        break_even_s = Figure(reason=start_j.reason or idle_w.reason or "it draws nothing when idle")
    else:
        break_even_s = _scaled(start_j, 1 / _number(idle_w.value))
    return MissionPower(image_j, idle_w, start_j, break_even_s)


def _start_s(trial: TrialSummary) -> Figure:
    if not trial.start_s_values:
        return Figure(reason=NO_START)
    return over_sessions([[start_s] for start_s in trial.start_s_values])


def _measured(value: float | None, low: float | None, high: float | None, rail: PowerFigure) -> Figure:
    return Figure(value, low, high, reason="" if value is not None else rail.reason or NO_METER)


def _scaled(figure: Figure, factor: float) -> Figure:
    if figure.value is None:
        return figure
    return _combined(operator.mul, figure, Figure(factor, factor, factor))


def _sum(first: Figure, second: Figure) -> Figure:
    """Each end of both: no narrower than what they are together, however they depend on one another."""
    return _combined(operator.add, first, second)


def _combined(operation: Callable[[float, float], float], first: Figure, second: Figure) -> Figure:
    """Value by value and end by end; of operations that grow with both."""

    def of_both(left: float | None, right: float | None) -> float | None:
        return None if left is None or right is None else operation(left, right)

    return Figure(
        operation(_number(first.value), _number(second.value)),
        of_both(first.low, second.low),
        of_both(first.high, second.high),
        reason=first.reason or second.reason,
    )


def _negative(number: float | None) -> float | None:
    return None if number is None else -number


def _number(value: float | tuple[float, ...] | None) -> float:
    """Of a figure that is known to be one number."""
    assert isinstance(value, int | float)
    return float(value)
