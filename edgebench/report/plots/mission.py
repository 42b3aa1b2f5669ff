"""A mission: how many images wait over one cycle, and what a cycle costs."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import NDArray

from edgebench.judge.mission import Mission, cycle_of
from edgebench.judge.trial_summary import TrialSummary
from edgebench.report import drawing, tables, words
from edgebench.report.missions import BriefMissions, energies, played_words, shown_figures, value_text
from edgebench.report.plots.panels import Picture, Place, draw_panels, picture, set_title
from edgebench.stats.mission_cycles import Cycle, Floats, completions_s

MOST_LINES = len(drawing.PALETTE)
PARTS = 240
"""Of a cycle, a point each."""

_LEGEND = 64  # characters beside each other in a legend as wide as a panel
_HANDLE = 7  # of these that a name's line and the space beside it take
_UNITS = ((3600.0, "h"), (60.0, "min"))
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
    drawn = kept_up(missions)[:MOST_LINES]
    metered = [mission for mission in drawn if mission.figures["energy_j.idle"].value is not None]
    trial_names = tables.trial_names(list(trials.values()))
    names = {key: drawing.label(name, 60) for key, name in trial_names.items()}

    def draw(axes: Axes, panel: Sequence[Mission]) -> None:
        if panel is drawn:
            _draw_backlog(axes, drawn, trials, names, cycle)
            longest = max(len(names[mission.trial]) for mission in drawn)
            title, columns = "Backlog at the median latency", _LEGEND // (longest + _HANDLE)
        else:
            _draw_energy(axes, panel, names, missions)
            title, columns = "Energy a cycle", 2
        set_title(axes, title)
        # Below, because lines may be anywhere in the panel, and bars fill it.
        columns = max(1, min(4, columns))
        axes.legend(fontsize=8, loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=columns)

    panels = [("", panel) for panel in (drawn, metered) if panel]
    width = 10.0 if metered else 6.4
    return draw_panels(ax, panels, draw, "no trial keeps up with the schedule", width=width, height=3.8)


def kept_up(missions: Sequence[Mission]) -> list[Mission]:
    """Those that are not overloaded."""
    return [mission for mission in missions if mission.overloaded is False]


def _draw_backlog(
    axes: Axes,
    missions: Sequence[Mission],
    trials: Mapping[str, TrialSummary],
    names: Mapping[str, str],
    cycle: Cycle,
) -> None:
    unit_s, unit = next((each for each in _UNITS if cycle.cycle_s > 2 * each[0]), (1.0, "s"))
    for index, mission in enumerate(missions):
        image_s, name = trials[mission.trial].image_s, names[mission.trial]
        assert image_s is not None
        done_s = completions_s(cycle.arrivals_s, np.full(cycle.arrivals_s.size, image_s.median))
        held = most_held(cycle.arrivals_s, done_s, cycle.cycle_s)
        [line] = axes.plot(
            np.linspace(0.0, cycle.cycle_s, PARTS) / unit_s,
            held,
            color=drawing.PALETTE[index],
            marker=drawing.MARKERS[index],
            markevery=(index * PARTS // 40, PARTS // 5),  # beside each other's
            markersize=4.5,
            label=name,
            linewidth=1.4,
        )
        drawing.mark(line, "trial", f"{name}: at most {held.max()} images wait or are in work")
    axes.set_xlim(0, cycle.cycle_s / unit_s)
    axes.set_ylim(bottom=0)
    axes.locator_params(axis="y", integer=True)
    axes.set_xlabel(f"time within a cycle, {unit}")
    axes.set_ylabel("images that are not done, at most")


def most_held(arrivals_s: Floats, done_s: Floats, cycle_s: float) -> NDArray[np.int64]:
    """The most images that are not done at any moment of each of PARTS equal parts of a cycle."""
    times_s = np.concatenate((arrivals_s, done_s))
    order = np.argsort(times_s, kind="stable")
    held = np.concatenate(([0], np.cumsum(np.repeat([1, -1], arrivals_s.size)[order])))
    edges = np.searchsorted(times_s[order], np.linspace(0.0, cycle_s, PARTS + 1), side="left")
    return np.array([held[first : last + 1].max() for first, last in itertools.pairwise(edges)])


def _draw_energy(
    axes: Axes, missions: Sequence[Mission], names: Mapping[str, str], all_missions: Sequence[Mission]
) -> None:
    """Bars of the values, with the interval as a line; in the unit of all missions."""
    height, figures = 0.8 / len(_HATCHES), energies(shown_figures(all_missions))
    for row, (figure, hatch) in enumerate(zip(figures, _HATCHES, strict=True)):
        label = figure.heading.partition(", ")[2]
        for place, mission in enumerate(missions):
            energy, at = figure.shown(mission), place + (row - 1) * height
            if not isinstance(energy.value, int | float):
                continue
            [bar] = axes.barh(
                at,
                energy.value,
                height * 0.9,
                color=drawing.PALETTE[row],
                hatch=hatch,
                edgecolor="white",
                linewidth=0,
                label=label if place == 0 else None,
            )
            text = f"{names[mission.trial]}: {label} {value_text(energy)} {figure.unit}"
            drawing.mark(bar, "trial", text)
            if energy.low is not None and energy.high is not None:
                axes.plot([energy.low, energy.high], [at, at], color=drawing.INK, linewidth=1.0)
    drawing.name_ticks(axes.yaxis, range(len(missions)), [names[mission.trial] for mission in missions])
    axes.invert_yaxis()
    axes.set_xlabel(f"energy a cycle, {figures[0].unit} (line: 95 % interval)")


def mission_picture(brief: BriefMissions, summaries: Sequence[TrialSummary]) -> Picture | None:
    """Backlog over a cycle, and the energy of one where it is known; None where every trial is overloaded."""
    drawn = kept_up(brief.missions)
    if brief.schedule is None or not drawn:
        return None
    is_metered = any(each.figures["energy_j.idle"].value is not None for each in drawn)
    caption = (
        f"{words.plain(brief.profile, 80)}: images that wait or are in work over one cycle, at each trial's "
        "median latency"
    )
    caption += f"; energy a cycle, over {played_words(brief)}" if is_metered else ""
    more = f". The first {MOST_LINES} of {len(drawn)} trials are drawn" if len(drawn) > MOST_LINES else ""
    trials = {summary.key: summary for summary in summaries}
    draw = partial(mission, brief.missions, trials, cycle_of(brief.schedule))
    return picture(draw, "Backlog and energy a cycle", f"{caption}{more}.")
