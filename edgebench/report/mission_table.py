"""What `edgebench mission` prints: of one trial a line a figure, of several a line a trial."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

from rich.console import Console

from edgebench.fit.figure import Figure
from edgebench.fit.mission import Mission
from edgebench.fit.trial_summary import TrialSummary
from edgebench.report import words
from edgebench.report.console import cell, line, new_table
from edgebench.report.mission_units import SCALES, energy_unit
from edgebench.report.tables import trial_names

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
