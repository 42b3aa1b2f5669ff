"""A mission: how many images wait over one cycle."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import NDArray

from edgebench.judge.mission import Mission, cycle_of
from edgebench.judge.trial_summary import TrialSummary
from edgebench.report import tables
from edgebench.report.missions import BriefMissions
from edgebench.report.plots import drawing, panels
from edgebench.stats.mission_cycles import Cycle, Floats, completions_s

MOST_LINES = len(drawing.PALETTE)
PARTS = 240
"""Points of a line."""

_UNITS = ((3600.0, "h"), (60.0, "min"))


def mission(
    missions: Sequence[Mission], trials: Mapping[str, TrialSummary], cycle: Cycle, *, ax: panels.Place = None
) -> list[Axes]:
    """Backlog over one cycle at each trial's median latency.

    Args:
        missions: of one profile; those that are overloaded, and those after the first eight, are left out.
        trials: the summaries by key.
        cycle: of the profile's schedule.
        ax: where to draw, one panel.
    """
    drawn = [each for each in missions if each.overloaded is False][:MOST_LINES]
    names = tables.trial_names(list(trials.values()))
    unit_s, unit = next((each for each in _UNITS if cycle.cycle_s > 2 * each[0]), (1.0, "s"))

    def draw(axes: Axes, drawn: Sequence[Mission]) -> None:
        for index, mission in enumerate(drawn):
            held, name = _held(trials[mission.trial], cycle), drawing.label(names[mission.trial], 60)
            [line] = axes.plot(
                np.linspace(0.0, cycle.cycle_s, PARTS) / unit_s,
                held,
                color=drawing.PALETTE[index],
                marker=drawing.MARKERS[index],
                markevery=(index * PARTS // 40, PARTS // 5),  # so that markers do not cover each other
                markersize=4.5,
                label=name,
                linewidth=1.4,
            )
            drawing.mark(line, "trial", f"{name}: at most {held.max()} images wait or are in work")
        axes.set(
            xlim=(0, cycle.cycle_s / unit_s),
            ylim=(0, None),
            xlabel=f"time within a cycle, {unit}",
            ylabel="images that are not done, at most",
        )
        axes.locator_params(axis="y", integer=True)

    groups, nothing = [("", drawn)] if drawn else [], "no trial keeps up with the schedule"
    return panels.draw_panels(ax, groups, draw, nothing, "trial", height=3.4)


def _held(trial: TrialSummary, cycle: Cycle) -> NDArray[np.int64]:
    """The backlog in each part of a cycle, at the median latency."""
    assert trial.image_s is not None
    done_s = completions_s(cycle.arrivals_s, np.full(cycle.arrivals_s.size, trial.image_s.median))
    return most_held(cycle.arrivals_s, done_s, cycle.cycle_s)


def most_held(arrivals_s: Floats, done_s: Floats, cycle_s: float) -> NDArray[np.int64]:
    """The most images that are not done at any moment of each of PARTS equal parts of a cycle."""
    times_s = np.concatenate((arrivals_s, done_s))
    order = np.argsort(times_s, kind="stable")
    held = np.concatenate(([0], np.cumsum(np.repeat([1, -1], arrivals_s.size)[order])))
    edges = np.searchsorted(times_s[order], np.linspace(0.0, cycle_s, PARTS + 1), side="left")
    return np.array([held[first : last + 1].max() for first, last in itertools.pairwise(edges)])


def mission_picture(brief: BriefMissions, summaries: Sequence[TrialSummary]) -> panels.Picture | None:
    """Backlog over a cycle; None where no trial keeps up, or no image ever waits for another."""
    if brief.schedule is None:
        return None
    trials, cycle = {summary.key: summary for summary in summaries}, cycle_of(brief.schedule)
    drawn = [each for each in brief.missions if each.overloaded is False]
    if not any(_held(trials[mission.trial], cycle).max() > 1 for mission in drawn):
        return None
    count = len(drawn)
    caption = f"{brief.title}: images waiting or in work over one cycle, at each trial's median latency."
    caption += f" The first {MOST_LINES} of {count} trials are drawn." if count > MOST_LINES else ""
    draw = partial(mission, brief.missions, trials, cycle)
    return panels.picture(draw, "Backlog over a cycle", caption)
