"""Limits on what a mission comes to, by the schedule of the requirement's profile (pure)."""

from __future__ import annotations

from dataclasses import replace

from edgebench.fit.figure import Certainty, Figure
from edgebench.fit.metric import Question
from edgebench.fit.mission import Mission, mission_of
from edgebench.fit.power_limits import bounded
from edgebench.fit.schedule import Schedule
from edgebench.fit.trial_summary import UNKNOWN_SCOPE, TrialSummary

MOST_CYCLES = 1_000
MOST_IMAGES = 1_000_000
"""That a verdict is simulated by."""

NO_SCHEDULE = "the profile says no time at which images come ([schedule])"


def cycle_energy_figure(summary: TrialSummary, question: Question, certainty: Certainty) -> Figure:
    """Energy of a cycle in J, of a device that stays on between images."""
    if question.schedule is None:
        return Figure(reason=NO_SCHEDULE)
    figure = _played(summary, question.schedule).energy_j.idle
    rail = summary.primary_rail
    if rail is None or figure.value is None:
        return figure
    what = f"the whole 95 % interval of a cycle of {question.schedule.cycle_s:g} s"
    return replace(bounded(rail, replace(figure, what=what)), scope=rail.scope or UNKNOWN_SCOPE)


def storage_figure(summary: TrialSummary, question: Question, certainty: Certainty) -> Figure:
    """What the images of a cycle take that are not done, in bytes; without end where it is overloaded."""
    if question.schedule is None:
        return Figure(reason=NO_SCHEDULE)
    figure = _played(summary, question.schedule).storage_bytes
    return replace(figure, what="the whole 95 % interval of the most images of a cycle")


def _played(summary: TrialSummary, schedule: Schedule) -> Mission:
    """The trial's mission, simulated once for all requirements of the schedule."""
    known, about = summary.figures_of_values, ("mission", schedule)
    if about not in known:
        cycles = max(1, min(MOST_CYCLES, MOST_IMAGES // schedule.images))
        known[about] = mission_of(
            summary, "", schedule, cycles=cycles, seed=0, image_bytes=summary.image_bytes
        )
    mission: Mission = known[about]
    return mission
