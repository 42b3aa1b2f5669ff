"""What a page and the terminal show of missions: a table of their figures; backlog and energy drawn."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from functools import partial

from rich.console import Console

from edgebench.judge.figure import Figure
from edgebench.judge.mission import Mission, cycle_of
from edgebench.judge.trial_summary import TrialSummary
from edgebench.report import tables, words
from edgebench.report.blocks import Table, of_figures
from edgebench.report.console import cell, line, new_table
from edgebench.report.missions import SEED, BriefMissions, MissionFigure, shown_figures
from edgebench.report.plots.mission import MOST_LINES
from edgebench.report.plots.mission import mission as draw_mission
from edgebench.report.plots.panels import Picture, picture


def print_missions(console: Console, missions: Sequence[Mission], trials: Mapping[str, TrialSummary]) -> None:
    """Print them, profile by profile; `trials` are the summaries by key."""
    names = tables.trial_names(list(trials.values()))
    in_order = sorted(missions, key=lambda mission: mission.profile)
    for profile, of_profile in itertools.groupby(in_order, key=lambda mission: mission.profile):
        line(console, f"Under the schedule of {profile}", style="bold")
        together = list(of_profile)
        if len(together) == 1:
            _print_alone(console, together[0], names[together[0].trial])
        else:
            _print_together(console, together, names)
    for mission in missions:
        if mission.overloaded:
            times = f"{mission.load:.3g} times what it gets through"
            line(console, f"{names[mission.trial]} is overloaded under {mission.profile}: {times}")
    count = max((mission.cycles for mission in missions), default=0)
    if count:
        many = "; their ends: --json, or --trial" if len(in_order) > 1 else ""
        line(
            console, f"up to {words.counted(count, 'cycle')} a trial; 95 % intervals over its sessions{many}"
        )


def _print_alone(console: Console, mission: Mission, trial_name: str) -> None:
    """Every figure with its interval, and why others are missing."""
    table = new_table(console, [(trial_name, False), ("value", True), ("95 % interval", True)])
    for figure in _known([mission]):
        shown = figure.shown(mission)
        low, high = shown.low, shown.high
        ends = (
            words.MISSING if low is None or high is None else f"{words.number(low)} to {words.number(high)}"
        )
        row = (figure.heading, f"{_value(shown)} {figure.unit}".strip(), ends)
        table.add_row(*(cell(console, text) for text in row))
    console.print(table)
    for reason, headings in _missing([mission]).items():
        line(console, f"not known: {', '.join(headings)} ({reason})", indent=2)


def _print_together(console: Console, missions: Sequence[Mission], names: Mapping[str, str]) -> None:
    """A line a trial, with the figures that any of them has; why one of them is missing stands below."""
    columns = [figure for figure in _known(missions) if figure.narrow]
    headings = [f"{each.narrow} [{each.unit}]" if each.unit else each.narrow for each in columns]
    table = new_table(console, [("trial", False), *((heading, True) for heading in headings)])
    for mission in missions:
        texts = (_value(figure.shown(mission)) for figure in columns)
        table.add_row(*(cell(console, text) for text in (names[mission.trial], *texts)))
    console.print(table)
    shown = {figure.heading for figure in columns}
    reasons = {
        f"{names[mission.trial]}: {reason}": None
        for mission in missions
        for reason, headings in _missing([mission]).items()
        if shown.intersection(headings) and not mission.overloaded
    }
    for reason in reasons:
        line(console, reason, indent=2)
    absent = {mission.energy_j.idle.reason for mission in missions} - {""}
    if absent and not any(figure.name.startswith("energy") for figure in columns):
        line(console, f"energy is not known: {'; '.join(sorted(absent))}", indent=2)


def _known(missions: Sequence[Mission]) -> list[MissionFigure]:
    """The figures that any of them has."""
    return [
        figure
        for figure in shown_figures(missions)
        if any(figure.of(mission).value is not None for mission in missions)
    ]


def _missing(missions: Sequence[Mission]) -> dict[str, list[str]]:
    """By reason the headings of the figures that one of them lacks."""
    reasons = words.grouped(
        (figure.of(mission).reason, figure.heading)
        for mission in missions
        for figure in shown_figures(missions)
        if figure.of(mission).value is None
    )
    return {reason: list(dict.fromkeys(headings)) for reason, headings in reasons.items()}


def _value(figure: Figure) -> str:
    return words.MISSING if not isinstance(figure.value, int | float) else words.number(figure.value)


def mission_table(brief: BriefMissions, summaries: Sequence[TrialSummary]) -> Table | None:
    """A row a trial with every figure that any of them has; None where none was played."""
    if not brief.missions:
        return None
    names = tables.trial_names(summaries)
    figures = _known(brief.missions)
    headings = [f"{each.heading} [{each.unit}]" if each.unit else each.heading for each in figures]
    rows = [
        (names[mission.trial], *(_text(figure.shown(mission)) for figure in figures))
        for mission in brief.missions
    ]
    columns = of_figures("trial", *headings)
    caption = f"{played_words(brief)}; in brackets the 95 % intervals over sessions"
    # What is missing and why; of what is overloaded by how much.
    for mission in brief.missions:
        if mission.overloaded:
            load = f"{mission.load:.3g} cycles of work come in each"
            caption += f"; {names[mission.trial]} is overloaded: {load}"
    for reason, what in _missing([each for each in brief.missions if not each.overloaded]).items():
        caption += f"; {', '.join(what)} not known: {words.plain(reason)}"
    return Table(f"{words.plain(brief.profile, 80)}: mission", columns, tuple(rows), caption)


def played_words(brief: BriefMissions) -> str:
    """How long the mission was: `10 days of the schedule (80 images in 5739 s), seed 0`."""
    assert brief.schedule is not None
    images = words.counted(brief.schedule.images, "image")
    days = f"{brief.days:.3g} {'day' if brief.days == 1 else 'days'}"
    return f"{days} of the schedule ({images} in {brief.schedule.cycle_s:g} s), seed {SEED}"


def _text(figure: Figure) -> str:
    value = _value(figure)
    if figure.low is None or figure.high is None or figure.low == figure.high:
        return value
    return f"{value} ({words.number(figure.low)} to {words.number(figure.high)})"


def mission_picture(brief: BriefMissions, summaries: Sequence[TrialSummary]) -> Picture | None:
    """Backlog over a cycle, and the energy of one where it is known; None where every trial is overloaded."""
    kept_up = [mission for mission in brief.missions if mission.overloaded is False]
    if brief.schedule is None or not kept_up:
        return None
    caption = (
        f"{words.plain(brief.profile, 80)}: images that wait or are in work over one cycle, at each trial's "
        "median latency"
    )
    if any(mission.energy_j.idle.value is not None for mission in kept_up):
        caption += f"; energy a cycle, over {played_words(brief)}"
    if len(kept_up) > MOST_LINES:
        caption += f". The first {MOST_LINES} of {len(kept_up)} trials are drawn"
    trials = {summary.key: summary for summary in summaries}
    draw = partial(draw_mission, brief.missions, trials, cycle_of(brief.schedule))
    return picture(draw, "Backlog and energy a cycle", f"{caption}.")
