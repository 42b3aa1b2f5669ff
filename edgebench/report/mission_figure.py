"""The figure of a mission: how many images wait over one cycle, and what a cycle costs."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from edgebench.fit.mission import Mission
from edgebench.fit.trial_summary import TrialSummary
from edgebench.report import drawing, words
from edgebench.stats.mission_cycles import Cycle
from edgebench.stats.queueing import Floats, completions_s

MOST_LINES = len(drawing.PALETTE)
PARTS = 240
"""Of a cycle, a point each."""

_HOUR_S = 3600.0
_ENERGY = (("active", "images alone"), ("idle", "idling between"), ("off", "off in pauses"))


def mission_figure(missions: Sequence[Mission], trials: Mapping[str, TrialSummary], cycle: Cycle) -> Figure:
    """Backlog over one cycle at each trial's median latency; beside it energy a cycle where it is known.

    Args:
        missions: of one profile; those that are overloaded, and those after the first eight, are left out.
        trials: the summaries by key.
        cycle: of the profile's schedule.
    """
    drawn = [mission for mission in missions if mission.overloaded is False][:MOST_LINES]
    metered = [mission for mission in drawn if mission.energy_j.idle.value is not None]
    with drawing.style():
        figure = Figure(figsize=(10.0 if metered else 6.4, 3.8), layout="constrained")
        axes = figure.subplots(1, 2 if metered else 1, squeeze=False)[0]
        _backlog(axes[0], drawn, trials, cycle)
        if metered:
            _energy(axes[1], metered, trials)
        return figure


def _backlog(
    axes: Axes, missions: Sequence[Mission], trials: Mapping[str, TrialSummary], cycle: Cycle
) -> None:
    unit_s, unit = (_HOUR_S, "h") if cycle.cycle_s > 2 * _HOUR_S else (60.0, "min")
    for index, mission in enumerate(missions):
        trial = trials[mission.trial]
        assert trial.image_s is not None
        done_s = completions_s(cycle.arrivals_s, np.full(cycle.arrivals_s.size, trial.image_s.median))
        axes.plot(
            np.linspace(0.0, cycle.cycle_s, PARTS) / unit_s,
            most_held(cycle.arrivals_s, done_s, cycle.cycle_s),
            color=drawing.PALETTE[index],
            label=_name(trial),
            linewidth=1.4,
        )
    axes.set_xlim(0, cycle.cycle_s / unit_s)
    axes.set_ylim(bottom=0)
    axes.set_xlabel(f"time within a cycle, {unit}")
    axes.set_ylabel("images that are not done, at most")
    axes.set_title("Backlog at the median latency")
    if missions:
        axes.legend(fontsize=8, loc="upper right")


def most_held(arrivals_s: Floats, done_s: Floats, cycle_s: float) -> NDArray[np.int64]:
    """The most images that are not done at any moment of each of PARTS equal parts of a cycle."""
    times_s = np.concatenate((arrivals_s, done_s))
    order = np.argsort(times_s, kind="stable")
    held = np.concatenate(([0], np.cumsum(np.repeat([1, -1], arrivals_s.size)[order])))
    edges = np.searchsorted(times_s[order], np.linspace(0.0, cycle_s, PARTS + 1), side="left")
    return np.array([held[first : last + 1].max() for first, last in itertools.pairwise(edges)])


def _energy(axes: Axes, missions: Sequence[Mission], trials: Mapping[str, TrialSummary]) -> None:
    """Bars of the values, with the interval as a line."""
    height = 0.8 / len(_ENERGY)
    for row, (name, label) in enumerate(_ENERGY):
        for place, mission in enumerate(missions):
            energy = getattr(mission.energy_j, name)
            if energy.value is None:
                continue
            at = place + (row - 1) * height
            axes.barh(
                at,
                energy.value / 1e3,
                height * 0.9,
                color=drawing.PALETTE[row],
                label=label if place == 0 else None,
            )
            if energy.low is not None and energy.high is not None:
                axes.plot([energy.low / 1e3, energy.high / 1e3], [at, at], color=drawing.INK, linewidth=1.0)
    axes.set_yticks(range(len(missions)), [_name(trials[mission.trial]) for mission in missions])
    axes.invert_yaxis()
    axes.set_xlabel("energy a cycle, kJ (line: 95 % interval)")
    axes.set_title("Energy a cycle")
    axes.legend(fontsize=8, loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=2)  # bars fill the panel


def _name(trial: TrialSummary) -> str:
    return words.plain(f"{trial.target} {trial.variant}", 60)
