"""A mission: number of waiting images over one cycle."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import NDArray

from edgebench.judge.mission import Mission, cycle_of
from edgebench.judge.trial import Trial
from edgebench.report import tables
from edgebench.report.missions import BriefMissions
from edgebench.report.plots import drawing, panels
from edgebench.stats.mission_cycles import Cycle, Floats, completions_s

MOST_LINES = len(drawing.PALETTE)
PARTS = 240
"""Points of a line."""

_UNITS = {"h": 3600.0, "min": 60.0}


def mission(
    missions: Sequence[Mission], trials: Mapping[str, Trial], cycle: Cycle, *, ax: panels.Place = None
) -> list[Axes]:
    """Draw the backlog over one cycle at each trial's median latency.

    Args:
        missions: missions of one profile; overloaded ones, and those after the first eight, are left out.
        trials: trials by key.
        cycle: cycle of the profile's schedule.
        ax: place of the plot, one panel.
    """
    drawn = [played for played in missions if played.is_overloaded is False][:MOST_LINES]
    names = tables.trial_names(list(trials.values()))
    unit = next((name for name, unit_s in _UNITS.items() if cycle.cycle_s > 2 * unit_s), "s")
    length = cycle.cycle_s / _UNITS.get(unit, 1.0)

    def draw(axes: Axes, drawn: Sequence[Mission]) -> None:
        for index, played in enumerate(drawn):
            held, name = _held(trials[played.trial], cycle), names[played.trial]
            places = (index * PARTS // 40, PARTS // 5)  # so that markers do not cover each other
            text = f"{name}: at most {held.max()} images wait or are in work"
            line = np.linspace(0.0, length, PARTS), held
            panels.draw_line(axes, line, index, name, text, markevery=places)
        axes.set(xlim=(0, length), ylim=(0, None), xlabel=f"time within a cycle, {unit}")
        axes.set_ylabel("images that are not done, at most")
        axes.locator_params(axis="y", integer=True)

    groups, nothing = [("", drawn)] if drawn else [], "no trial keeps up with the schedule"
    return panels.draw_panels(ax, groups, draw, nothing, "trial", height=3.4)


def _held(trial: Trial, cycle: Cycle) -> NDArray[np.int64]:
    """Backlog in each part of a cycle, at the median latency."""
    latency_s = panels.value_of(trial.estimate("image_s"))
    done_s = completions_s(cycle.arrivals_s, np.full(cycle.arrivals_s.size, latency_s))
    return most_held(cycle.arrivals_s, done_s, cycle.cycle_s)


def most_held(arrivals_s: Floats, done_s: Floats, cycle_s: float) -> NDArray[np.int64]:
    """Most images that are not done at any moment of each of PARTS equal parts of a cycle, int64 [PARTS]."""
    times_s = np.concatenate((arrivals_s, done_s))
    order = np.argsort(times_s, kind="stable")
    held = np.concatenate(([0], np.cumsum(np.repeat([1, -1], arrivals_s.size)[order])))
    edges = np.searchsorted(times_s[order], np.linspace(0.0, cycle_s, PARTS + 1), side="left")
    return np.array([held[first : last + 1].max() for first, last in itertools.pairwise(edges)])


def mission_picture(brief: BriefMissions, trials: Sequence[Trial]) -> panels.Picture | None:
    """Backlog over a cycle; None where no trial keeps up, or no image ever waits for another."""
    if brief.schedule is None:
        return None
    by_key, cycle = {trial.key: trial for trial in trials}, cycle_of(brief.schedule)
    able = [played for played in brief.missions if played.is_overloaded is False]
    if not any(_held(by_key[played.trial], cycle).max() > 1 for played in able):
        return None
    count = len(able)
    caption = f"{brief.title}: images waiting or in work over one cycle, at each trial's median latency."
    caption += f" The first {MOST_LINES} of {count} trials are drawn." if count > MOST_LINES else ""
    draw = partial(mission, brief.missions, by_key, cycle)
    return panels.picture(draw, "Backlog over a cycle", caption)
