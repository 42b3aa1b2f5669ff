"""A mission: how many images wait over one cycle, and what a cycle costs."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import NDArray

from edgebench.judge.mission import Mission
from edgebench.judge.trial_summary import TrialSummary
from edgebench.report import drawing, tables, words
from edgebench.report.missions import SCALES, energy_unit
from edgebench.report.plots.panels import Place, draw_panels, set_title
from edgebench.stats.mission_cycles import Cycle, Floats, completions_s

MOST_LINES = len(drawing.PALETTE)
PARTS = 240
"""Of a cycle, a point each."""

_LEGEND = 64  # characters beside each other in a legend as wide as a panel
_HANDLE = 7  # of these that a name's line and the space beside it take
_MINUTE_S = 60.0
_HOUR_S = 3600.0
_ENERGY = (("active", "images alone"), ("idle", "idling between"), ("off", "off in pauses"))
_HATCHES = ("", "///", "...")


def mission(
    missions: Sequence[Mission], trials: Mapping[str, TrialSummary], cycle: Cycle, *, ax: Place = None
) -> list[Axes]:
    """Backlog over one cycle at each trial's median latency; beside it energy a cycle where it is known.

    Args:
        missions: of one profile; those that are overloaded, and those after the first eight, are left out.
        trials: the summaries by key.
        cycle: of the profile's schedule.
        ax: where to draw: one panel, and one for the energy where it is known.
    """
    drawn = [mission for mission in missions if mission.overloaded is False][:MOST_LINES]
    metered = [mission for mission in drawn if mission.energy_j.idle.value is not None]
    unit = energy_unit(missions)

    def draw(axes: Axes, panel: Sequence[Mission]) -> None:
        if panel is drawn:
            _backlog(axes, drawn, trials, cycle)
        else:
            _energy(axes, panel, trials, unit)

    panels = [("", panel) for panel in (drawn, metered) if panel]
    width = 10.0 if metered else 6.4
    return draw_panels(ax, panels, draw, "no trial keeps up with the schedule", width=width, height=3.8)


def _backlog(
    axes: Axes, missions: Sequence[Mission], trials: Mapping[str, TrialSummary], cycle: Cycle
) -> None:
    names = _names(trials)
    unit_s, unit = next(
        (size_s, name)
        for size_s, name in ((_HOUR_S, "h"), (_MINUTE_S, "min"), (1.0, "s"))
        if cycle.cycle_s > 2 * size_s or name == "s"
    )
    for index, mission in enumerate(missions):
        trial = trials[mission.trial]
        assert trial.image_s is not None
        done_s = completions_s(cycle.arrivals_s, np.full(cycle.arrivals_s.size, trial.image_s.median))
        held = most_held(cycle.arrivals_s, done_s, cycle.cycle_s)
        [line] = axes.plot(
            np.linspace(0.0, cycle.cycle_s, PARTS) / unit_s,
            held,
            color=drawing.PALETTE[index],
            marker=drawing.MARKERS[index],
            markevery=(index * PARTS // 40, PARTS // 5),  # beside each other's
            markersize=4.5,
            label=names[mission.trial],
            linewidth=1.4,
        )
        drawing.mark(
            line, "trial", f"{names[mission.trial]}: at most {held.max()} images wait or are in work"
        )
    axes.set_xlim(0, cycle.cycle_s / unit_s)
    axes.set_ylim(bottom=0)
    axes.locator_params(axis="y", integer=True)
    axes.set_xlabel(f"time within a cycle, {unit}")
    axes.set_ylabel("images that are not done, at most")
    set_title(axes, "Backlog at the median latency")
    # Below, because the lines may be anywhere in the panel.
    longest = max(len(names[mission.trial]) for mission in missions)
    columns = max(1, min(4, _LEGEND // (longest + _HANDLE)))
    axes.legend(fontsize=8, loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=columns)


def most_held(arrivals_s: Floats, done_s: Floats, cycle_s: float) -> NDArray[np.int64]:
    """The most images that are not done at any moment of each of PARTS equal parts of a cycle."""
    times_s = np.concatenate((arrivals_s, done_s))
    order = np.argsort(times_s, kind="stable")
    held = np.concatenate(([0], np.cumsum(np.repeat([1, -1], arrivals_s.size)[order])))
    edges = np.searchsorted(times_s[order], np.linspace(0.0, cycle_s, PARTS + 1), side="left")
    return np.array([held[first : last + 1].max() for first, last in itertools.pairwise(edges)])


def _energy(axes: Axes, missions: Sequence[Mission], trials: Mapping[str, TrialSummary], unit: str) -> None:
    """Bars of the values, with the interval as a line."""
    height = 0.8 / len(_ENERGY)
    scale = SCALES.get(unit, 1.0)
    names = _names(trials)
    for row, (name, label) in enumerate(_ENERGY):
        for place, mission in enumerate(missions):
            energy = getattr(mission.energy_j, name)
            if energy.value is None:
                continue
            at = place + (row - 1) * height
            [bar] = axes.barh(
                at,
                energy.value / scale,
                height * 0.9,
                color=drawing.PALETTE[row],
                hatch=_HATCHES[row],
                edgecolor="white",
                linewidth=0,
                label=label if place == 0 else None,
            )
            drawing.mark(
                bar, "trial", f"{names[mission.trial]}: {label} {words.number(energy.value / scale)} {unit}"
            )
            if energy.low is not None and energy.high is not None:
                axes.plot(
                    [energy.low / scale, energy.high / scale], [at, at], color=drawing.INK, linewidth=1.0
                )
    drawing.name_ticks(axes.yaxis, range(len(missions)), [names[mission.trial] for mission in missions])
    axes.invert_yaxis()
    axes.set_xlabel(f"energy a cycle, {unit} (line: 95 % interval)")
    set_title(axes, "Energy a cycle")
    axes.legend(fontsize=8, loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=2)  # bars fill the panel


def _names(trials: Mapping[str, TrialSummary]) -> dict[str, str]:
    named = tables.trial_names(list(trials.values()))
    return {key: drawing.label(name, 60) for key, name in named.items()}
