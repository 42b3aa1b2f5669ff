"""Passes in time order: scatter of a trial's latency, its rise with heat, and the backlog of a mission."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from numpy.typing import NDArray

from edgebench.judge.mission import Mission, cycle_of
from edgebench.judge.trial import Trial
from edgebench.report import tables, words
from edgebench.report.missions import BriefMissions
from edgebench.report.plots import drawing, panels
from edgebench.stats.intervals import session_medians
from edgebench.stats.mission_cycles import Cycle, Floats, completions_s
from edgebench.stats.warnings import Flag

MAX_TRIALS = 36
"""Trials in one figure; of more, some of every target."""
IN_A_PANEL = 9
"""Trials next to each other in one panel; a target has as many panels as it takes."""
MOST_POINTS = 4_000
"""Passes in one figure; of a longer session the lowest and the highest of each part."""

LEAST_FOR_P90 = 10

_HOT = {Flag.THERMAL_SUSPECTED, Flag.THERMAL_SHORT, Flag.THROTTLED, Flag.CLOCK_DROP}
_FILLED = 0.86  # share of a trial's place that its sessions take
_DOTS = 12  # passes up to which each is a dot
_BEYOND = 3.0  # times the highest p90's distance from the median: passes above it are drawn at the edge


@dataclass(frozen=True)
class Strips:
    """Sessions of a trial side by side around its place, in per cent of the trial's median.

    Attributes:
        x, y: float64 [N], the passes that are drawn, in time order; NaN after each session.
        spans: float64 [2, S], start and end of each session on the level axis.
        lowest, median, p90: float64 [S], of all passes; p90 is NaN below LEAST_FOR_P90 of them.
    """

    x: Floats
    y: Floats
    spans: Floats
    lowest: Floats
    median: Floats
    p90: Floats


def _able(trials: Sequence[Trial]) -> list[Trial]:
    """Trials that have passes; a median of zero has no shares."""
    return [
        trial
        for trial in words.alike_timed(trials)
        if any(map(len, trial.latency_values)) and panels.value_of(trial.latency) > 0
    ]


def drawn_trials(trials: Sequence[Trial]) -> list[Trial]:
    """Trials that are drawn, in their order: of many some of every target.

    They have passes, and a median above zero.
    """
    able = _able(trials)
    ranks = {trial.key: rank for _, group in panels.by_target(able) for rank, trial in enumerate(group)}
    candidates = [trial for trial in able if trial.key in ranks]
    first = {trial.key for trial in sorted(candidates, key=lambda trial: ranks[trial.key])[:MAX_TRIALS]}
    return [trial for trial in candidates if trial.key in first]


def sessions(trials: Sequence[Trial], *, ax: panels.Place = None) -> list[Axes]:
    """Draw every session's passes in time order in % of the trial's median, with minimum, median and p90.

    Args:
        trials: trials; those without passes are left out (published ones have none).
        ax: place of the plot, a panel for IN_A_PANEL trials of a target.
    """
    shown = drawn_trials(trials)
    limit = _points_per_session(shown)
    strips = {trial.key: _strips(trial, limit) for trial in shown}
    low, high = _ends(list(strips.values()))
    labels, names = words.labels(shown), tables.trial_names(shown)

    def draw(axes: Axes, group: Sequence[Trial]) -> None:
        axes.axhline(100, color=drawing.QUIET, linewidth=0.8)
        for place, trial in enumerate(group):
            _draw_trial(axes, place, trial, names[trial.key], strips[trial.key], high)
        panels.name_places(axes, [labels[trial.key] for trial in group], 22)
        axes.set(xlim=(-0.5, max(len(group), 3) - 0.5), ylim=(low, high))
        axes.set_xlabel("passes in time order, session after session")
        axes.set_ylabel(f"{words.latency_words(shown)},\n% of the trial's median")

    groups = [
        (target, group[first : first + IN_A_PANEL])
        for target, group in panels.by_target(shown)
        for first in range(0, len(group), IN_A_PANEL)
    ][: drawing.MAX_PANELS]
    groups = groups if len({target for target, _ in groups}) > 1 else [("", group) for _, group in groups]
    return panels.draw_panels(
        ax, groups, draw, "no trial has passes", "of a session", handles=_legend(shown), height=2.5, columns=1
    )


def _points_per_session(trials: Sequence[Trial]) -> int:
    """Most passes of a session that are drawn."""
    count = sum(1 for trial in trials for session in trial.latency_values if len(session))
    return max(_DOTS, MOST_POINTS // max(1, count))


def _strips(trial: Trial, limit: int) -> Strips:
    """Sessions of a trial that have passes, from -0.5 to 0.5 around its place."""
    median_s = panels.value_of(trial.latency)
    sessions = [np.asarray(values) / median_s * 100 for values in trial.latency_values if len(values)]
    width = _FILLED / len(sessions)
    starts = (np.arange(len(sessions)) + 0.06) * width - _FILLED / 2
    x, y = [], []
    for start, session in zip(starts, sessions, strict=True):
        drawn = thinned(session, limit)
        x.append(np.append(start + (drawn + 0.5) / session.size * 0.88 * width, np.nan))
        y.append(np.append(session[drawn], np.nan))
    p90s = [np.percentile(part, 90) if part.size >= LEAST_FOR_P90 else np.nan for part in sessions]
    lowest, medians = ([function(session) for session in sessions] for function in (np.min, np.median))
    return Strips(
        np.concatenate(x),
        np.concatenate(y),
        np.array([starts, starts + 0.88 * width]),
        np.array(lowest),
        np.array(medians),
        np.array(p90s),
    )


def thinned(values: Floats, limit: int) -> NDArray[np.int64]:
    """Indices, in order, of at most `limit` values: of equal parts the lowest and the highest.

    Args:
        values: float64 [N].
        limit: 2 or more.
    """
    if values.size <= limit:
        return np.arange(values.size)
    parts = np.array_split(np.arange(values.size), limit // 2)
    ends = [part[[values[part].argmin(), values[part].argmax()]] for part in parts]
    return np.unique(np.concatenate(ends))


def _ends(strips: Sequence[Strips]) -> tuple[float, float]:
    """Ends of the upright axis, in per cent: around all passes but those that are far above every p90."""
    if not strips:
        return 0.0, 100.0
    lowest = min(float(strip.lowest.min()) for strip in strips)
    highest = max(float(np.nanmax(strip.y)) for strip in strips)
    p90s = np.concatenate([strip.p90 for strip in strips])
    if not np.isnan(p90s).all():
        highest = min(highest, 100 + _BEYOND * max(2.0, float(np.nanmax(p90s)) - 100))
    room = 0.08 * max(1.0, highest - lowest)
    return min(lowest, 99.5) - room, max(highest, 100.5) + room


_PASSES: tuple[dict[str, Any], ...] = (
    {"label": "passes", "color": drawing.SKY, "linewidth": 1.2},
    {"label": "passes,\nthrottling suspected", "color": drawing.VERMILION, "linewidth": 1.2},
)
_MARKERS = {"p90": "v", "minimum": "^"}
_POINT: dict[str, Any] = {
    **{"color": drawing.INK, "markersize": 3.5, "linestyle": ""},
    **{"markerfacecolor": "white", "markeredgewidth": 0.8},
}


def _draw_trial(axes: Axes, place: int, trial: Trial, name: str, strips: Strips, high: float) -> None:
    x, (starts, ends) = place + strips.x, place + strips.spans
    marker = "." if max(map(len, trial.latency_values)) <= _DOTS else ""
    colour = _PASSES[is_hot(trial)]["color"]
    [line] = axes.plot(x, strips.y, color=colour, linewidth=0.8, marker=marker, markersize=4, zorder=2)
    drawing.mark(line, "trial", f"{name}: {_medians(trial)}")
    axes.hlines(strips.median, starts, ends, color=drawing.INK, linewidth=1.5, zorder=3)
    for statistic, values in (("minimum", strips.lowest), ("p90", strips.p90)):
        look = {"marker": _MARKERS[statistic], "zorder": 3, **_POINT}
        axes.plot((starts + ends) / 2, np.minimum(values, high), **look)
    above = x[strips.y > high]
    if above.size:
        axes.plot(
            above, np.full(above.size, high), color=drawing.ORANGE, marker=6, markersize=5, linestyle="",
            clip_on=False, zorder=4,
        )  # fmt: skip


def is_hot(trial: Trial) -> bool:
    """Return True if a caution says that heat or a lower clock slowed the trial."""
    return any(caution.flag in _HOT for caution in trial.cautions)


def _legend(shown: Sequence[Trial]) -> list[Line2D]:
    looks: list[dict[str, Any]] = [_PASSES[hot] for hot in sorted(set(map(is_hot, shown)))]
    looks.append({"label": "median", "color": drawing.INK, "linewidth": 1.5})
    looks += [{"label": label, "marker": marker, **_POINT} for label, marker in _MARKERS.items()]
    return [Line2D([], [], **look) for look in looks]


def sessions_picture(trials: Sequence[Trial]) -> panels.Picture:
    """Sessions and passes in time order."""
    shown = drawn_trials(trials)
    if not shown:
        return panels.Picture("There is no figure of sessions and passes: no trial has passes.")
    names, subject, able = tables.trial_names(shown), words.latency_words(shown), len(_able(trials))
    hot = words.listed([names[trial.key] for trial in shown if is_hot(trial)])
    limit = _points_per_session(shown)
    is_thinned = any(len(session) > limit for trial in shown for session in trial.latency_values)
    return panels.picture(
        partial(sessions, trials),
        f"Lowest and highest median {subject} of the sessions",
        f"Every session's steady passes in time order, {subject} as a share of the trial's median, "
        f"with each session's minimum and median, and its p90 from {LEAST_FOR_P90} passes. A strip that "
        "rises became slower while it ran; triangles at the upper edge mark passes above the axis.",
        f"Throttling is suspected of {hot}." if hot else "",
        "Long sessions are drawn by the lowest and the highest pass of each part." if is_thinned else "",
        f"{len(shown)} of {words.counted(able, 'trial')} are drawn." if able > len(shown) else "",
    )


def _medians(trial: Trial) -> str:
    medians_s = session_medians(trial.latency_values)
    if len(medians_s) == 1:
        return f"{words.number(medians_s[0])} s in one session"
    least, greatest = words.number(min(medians_s)), words.number(max(medians_s))
    return f"{least} to {greatest} s in {words.counted(len(medians_s), 'session')}"


# Sustained sessions: a median per minute, a line per trial.


def sustained(trials: Sequence[Trial], *, ax: panels.Place = None) -> list[Axes]:
    """Draw the median latency of each minute, a line per trial; means over the sessions' medians.

    Args:
        trials: trials; those that were not sustained are left out.
        ax: place of the plot, a panel per target.
    """
    minutes = {trial.key: trial.sustained.minutes for trial in trials if trial.sustained}
    shown = [trial for trial in trials if minutes.get(trial.key)]
    labels, names, subject = words.labels(shown), tables.trial_names(shown), words.latency_words(shown)
    all_medians_s = [minute.median_s for trial in shown for minute in minutes[trial.key]]
    order = list(dict.fromkeys(labels.values()))

    def draw(axes: Axes, group: Sequence[Trial]) -> None:
        for trial in group:
            label, medians_s = labels[trial.key], [minute.median_s for minute in minutes[trial.key]]
            middles = [minute.minute + 0.5 for minute in minutes[trial.key]]
            first, last = words.number(medians_s[0]), words.number(medians_s[-1])
            text = f"{names[trial.key]}: {subject} {first} s in the first minute, {last} s in the last"
            panels.draw_line(axes, (middles, medians_s), order.index(label), label, text)
        drawing.scale_axis(axes, "y", all_medians_s, f"{subject},\nmedian of the minute, s")
        axes.set_xlabel("time in the session, minutes")

    return panels.draw_panels(
        ax, panels.by_target(shown), draw, "no trial ran for minutes (--sustained)", "trial"
    )


def minutes_picture(trials: Sequence[Trial]) -> panels.Picture | None:
    """Median latency of each minute of the sustained sessions; None without any."""
    shown = [trial for trial in trials if trial.sustained is not None]
    if not shown:
        return None
    subject = f"Median {words.latency_words(shown)} of each minute"
    return panels.picture(
        partial(sustained, shown),
        subject,
        f"{subject}, by trial; means over the sessions of each session's median.",
        panels=len({trial.target for trial in shown}),
    )


# A mission: number of waiting images over one cycle.


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
