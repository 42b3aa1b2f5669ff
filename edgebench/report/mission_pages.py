"""What a page shows of a profile's mission: a table of all its figures, and backlog and energy drawn."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

from rich.console import Console

from edgebench.judge.figure import Figure
from edgebench.judge.mission import Mission, cycle_of
from edgebench.judge.trial_summary import TrialSummary
from edgebench.report import drawing, tables, words
from edgebench.report.captions import Picture, embedded_picture
from edgebench.report.console import cell, line, new_table
from edgebench.report.missions import SCALES, SEED, BriefMissions, energy_unit
from edgebench.report.plots.mission import MOST_LINES
from edgebench.report.plots.mission import mission as draw_mission
from edgebench.report.tables import trial_names

# What `edgebench mission` prints: of one trial a line a figure, of several a line a trial.


Entry = tuple[str, str, str, str]

_LINES: tuple[Entry, ...] = (  # name, heading, heading of a narrow column, unit
    ("duty_cycle", "duty cycle", "duty", "%"),
    ("backlog", "backlog, images", "backlog", ""),
    ("storage_bytes", "storage", "storage", "MB"),
    ("age_s", "age of a result", "age", "s"),
    ("oldest_s", "oldest result", "oldest", "s"),
    ("missed", "missed deadlines", "missed", "%"),
    ("energy_j.active", "energy a cycle, images alone", "images", "J"),
    ("energy_j.idle", "energy a cycle, idling between", "idling", "J"),
    ("energy_j.off", "energy a cycle, off in pauses", "off", "J"),
    ("break_even_s", "switching off pays from", "off from", "s"),
)
"""Each figure of a mission: its name, its headings and its unit, energy in the base unit."""

_NARROW = ("duty_cycle", "backlog", "age_s", "missed", "energy_j.idle", "energy_j.off")


def lines_for(missions: Sequence[Mission]) -> tuple[Entry, ...]:
    """Each figure's name, heading, narrow heading and unit, as these missions are shown beside each other."""
    energy = energy_unit(missions)
    return tuple((name, wide, narrow, energy if unit == "J" else unit) for name, wide, narrow, unit in _LINES)


def print_missions(console: Console, missions: Sequence[Mission], trials: Mapping[str, TrialSummary]) -> None:
    """Print them, profile by profile; `trials` are the summaries by key."""
    names = trial_names(list(trials.values()))
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
    missing: dict[str, list[str]] = {}
    for name, heading, _, unit in lines_for([mission]):
        figure = figure_of(mission, name)
        if figure.value is None:
            missing.setdefault(figure.reason, []).append(heading)
            continue
        shown = figure.in_unit(SCALES.get(unit, 1.0))
        low, high = shown.low, shown.high
        ends = (
            words.MISSING if low is None or high is None else f"{words.number(low)} to {words.number(high)}"
        )
        table.add_row(*(cell(console, text) for text in (heading, f"{_value(shown)} {unit}".strip(), ends)))
    console.print(table)
    for reason, headings in missing.items():
        line(console, f"not known: {', '.join(headings)} ({reason})", indent=2)


def _print_together(console: Console, missions: Sequence[Mission], names: Mapping[str, str]) -> None:
    """A line a trial, with the figures that any of them has; why one of them is missing stands below."""
    columns = [
        entry
        for entry in lines_for(missions)
        if entry[0] in _NARROW and any(figure_of(mission, entry[0]).value is not None for mission in missions)
    ]
    units = [f"{short} [{unit}]" if unit else short for _, _, short, unit in columns]
    table = new_table(console, [("trial", False), *((heading, True) for heading in units)])
    missing: dict[str, None] = {}
    for mission in missions:
        texts = []
        for name, _, _, unit in columns:
            figure = figure_of(mission, name)
            texts.append(_value(figure.in_unit(SCALES.get(unit, 1.0))))
            if figure.value is None and not mission.overloaded:
                missing[f"{names[mission.trial]}: {figure.reason}"] = None
        table.add_row(*(cell(console, text) for text in (names[mission.trial], *texts)))
    console.print(table)
    for reason in missing:
        line(console, reason, indent=2)
    absent = {figure_of(mission, "energy_j.idle").reason for mission in missions} - {""}
    if absent and not any(name.startswith("energy") for name, *_ in columns):
        line(console, f"energy is not known: {'; '.join(sorted(absent))}", indent=2)


def figure_of(mission: Mission, name: str) -> Figure:
    """One of a mission's figures by its name, such as `energy_j.idle`."""
    holder, _, part = name.rpartition(".")
    figure: Figure = getattr(getattr(mission, holder) if holder else mission, part)
    return figure


def _value(figure: Figure) -> str:
    return words.MISSING if not isinstance(figure.value, int | float) else words.number(figure.value)


def mission_table(brief: BriefMissions, summaries: Sequence[TrialSummary]) -> tables.Table | None:
    """A row a trial with every figure that any of them has; None where none was played."""
    if not brief.missions:
        return None
    names = tables.trial_names(summaries)
    lines = [
        entry
        for entry in lines_for(brief.missions)
        if any(figure_of(each, entry[0]).value is not None for each in brief.missions)
    ]
    headings = [f"{heading} [{unit}]" if unit else heading for _, heading, _, unit in lines]
    rows = [
        (
            names[mission.trial],
            *(_text(figure_of(mission, name).in_unit(SCALES.get(unit, 1.0))) for name, _, _, unit in lines),
        )
        for mission in brief.missions
    ]
    columns = (tables.Column("trial"), *(tables.Column(heading, figures=True) for heading in headings))
    caption = f"{played_words(brief)}; in brackets the 95 % intervals over sessions{_absent(brief, names)}"
    return tables.Table(f"{words.plain(brief.profile, 80)}: mission", columns, tuple(rows), caption)


def played_words(brief: BriefMissions) -> str:
    """How long the mission was: `10 days of the schedule (80 images in 5739 s), seed 0`."""
    assert brief.schedule is not None
    images = words.counted(brief.schedule.images, "image")
    days = f"{brief.days:.3g} {'day' if brief.days == 1 else 'days'}"
    return f"{days} of the schedule ({images} in {brief.schedule.cycle_s:g} s), seed {SEED}"


def _absent(brief: BriefMissions, names: Mapping[str, str]) -> str:
    """What is missing and why; of what is overloaded by how much."""
    reasons: dict[str, dict[str, None]] = {}
    text = ""
    for mission in brief.missions:
        if mission.overloaded:
            text += f"; {names[mission.trial]} is overloaded: {mission.load:.3g} cycles of work come in each"
            continue
        for name, heading, _, _ in lines_for(brief.missions):
            figure = figure_of(mission, name)
            if figure.value is None:
                reasons.setdefault(figure.reason, {})[heading] = None
    return text + "".join(
        f"; {', '.join(what)} not known: {words.plain(reason)}" for reason, what in reasons.items()
    )


def _text(figure: Figure) -> str:
    if not isinstance(figure.value, int | float):
        return words.MISSING
    value = words.number(figure.value)
    if figure.low is None or figure.high is None or figure.low == figure.high:
        return value
    return f"{value} ({words.number(figure.low)} to {words.number(figure.high)})"


def mission_picture(brief: BriefMissions, summaries: Sequence[TrialSummary]) -> Picture | None:
    """Backlog over a cycle, and the energy of one where it is known; None where every trial is overloaded."""
    kept_up = [mission for mission in brief.missions if mission.overloaded is False]
    if brief.schedule is None or not kept_up:
        return None
    trials = {summary.key: summary for summary in summaries}
    names = tables.trial_names(summaries)
    caption = (
        f"{words.plain(brief.profile, 80)}: images that wait or are in work over one cycle, at each trial's "
        "median latency"
    )
    if any(mission.energy_j.idle.value is not None for mission in kept_up):
        caption += f"; energy a cycle, over {played_words(brief)}"
    if len(kept_up) > MOST_LINES:
        caption += f". The first {MOST_LINES} of {len(kept_up)} trials are drawn"
    drawn = kept_up[:MOST_LINES]
    alt = "Backlog and energy a cycle: " + "; ".join(
        _words(mission, names, energy_unit(brief.missions)) for mission in drawn
    )
    figure = drawing.blank()
    draw_mission(brief.missions, trials, cycle_of(brief.schedule), ax=figure)
    return embedded_picture(figure, alt, f"{caption}.", 1)


def _words(mission: Mission, names: Mapping[str, str], unit: str) -> str:
    backlog = mission.backlog.value
    text = f"{names[mission.trial]} at most {words.number(backlog) if isinstance(backlog, float) else '-'}"
    energy = mission.energy_j.idle.value
    scale = SCALES.get(unit, 1.0)
    return f"{text}, {words.number(energy / scale)} {unit}" if isinstance(energy, float) else text
