"""Missions in documents, on pages and on the terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from rich.console import Console

from edgebench.errors import EdgeBenchError
from edgebench.judge.document import Document, estimate_document, plain
from edgebench.judge.judged import Judged, missions
from edgebench.judge.mission import DAY_S, NO_SCHEDULE, Mission
from edgebench.judge.requirements.profile import Profile
from edgebench.judge.requirements.schedule import Schedule
from edgebench.judge.trial import MISSING, Trial
from edgebench.records.described import Described, object_schema
from edgebench.report import tables, words
from edgebench.report.renderers.blocks import Table, of_figures
from edgebench.report.renderers.terminal import line, print_table
from edgebench.report.words import SCHEMA_VERSION

TAIL = "_p99"
"""End of the name of a number's 99th percentile over cycles."""


class MissionMetric(NamedTuple):
    """A number of a mission, as documents and tables have it.

    Attributes:
        name: key among a mission's estimates, such as `energy_j.idle`.
        heading: heading of its column.
        unit: unit in which it is shown.
        text: description.
        base_unit: unit of documents.
        scale: base units per unit.
    """

    name: str
    heading: str
    unit: str
    text: str
    base_unit: str = ""
    scale: float = 1.0

    @property
    def column(self) -> str:
        """Name in documents and frames, such as `energy_j_idle`."""
        return self.name.replace(".", "_")

    def shown(self, mission: Mission) -> str:
        """Text of the number with its interval, then its 99th percentile over cycles where it has one."""
        tail = mission.estimates.get(f"{self.name}{TAIL}", MISSING)
        shown = words.interval(mission.estimates[self.name], self.scale)
        return shown if tail.value is None else f"{shown}, p99 {words.interval(tail, self.scale)}"


def _field(text: str, type_: str | list[str], unit: str = "", **keywords: Any) -> dict[str, Any]:
    return Described(text, "mission", unit).schema({"type": type_, **keywords})


_DUTY = "Share of a cycle in which the device works, at most 1"
_BACKLOG = "Most images at once that are not done, the mean over cycles"
_BACKLOG_P99 = "The same, the 99th percentile over at least 1,000 cycles a session"
_ENERGY = "energy per cycle, "
_IDLE = "For the whole cycle, when the device stays on between images"
_OFF = "For the whole cycle, when it is switched off where that saves energy"
_BREAK_EVEN = "The pause from which on switching off saves energy"
_MISSED = "Share of the images without a result at their deadline"
_FIGURES = (
    ("duty_cycle", "duty cycle", "%", _DUTY, "", 0.01),
    ("storage_bytes", "storage", "MB", "Pixels of the images of the backlog", "byte", 1e6),
    ("storage_bytes_p99", "storage p99", "MB", "Pixels of the images of backlog_p99", "byte", 1e6),
    ("backlog", "backlog", "images", _BACKLOG),
    ("backlog_p99", "backlog p99", "images", _BACKLOG_P99),
    ("age_s", "age of a result", "s", "From an image's arrival to its result, the mean", "s"),
    ("oldest_s", "oldest result", "s", "The same of the oldest image", "s"),
    ("missed", "missed deadlines", "%", _MISSED, "", 0.01),
    ("energy_j.active", _ENERGY + "images only", "J", "For its images alone", "J"),
    ("energy_j.idle", _ENERGY + "idle in pauses", "J", _IDLE, "J"),
    ("energy_j.off", _ENERGY + "off in pauses", "J", _OFF, "J"),
    ("break_even_s", "switching off pays from", "s", _BREAK_EVEN, "s"),
)
FIGURES = tuple(MissionMetric(*declared) for declared in _FIGURES)


def missions_schema(estimate: Mapping[str, Any]) -> dict[str, Any]:
    """Fields of a result's document that hold missions; `estimate` is the schema of one estimate."""
    numbers = {
        metric.column: Described(f"{metric.text}.", "mission", metric.base_unit).schema(estimate)
        for metric in FIGURES
    }
    properties = {
        "days": _field("Length of the mission; shared among the trial's sessions.", "number"),
        "seed": _field("Seed of the draws.", "integer"),
        **object_schema(Mission)["properties"],
        "estimates": _field("Estimates by name.", "object", properties=numbers, required=list(numbers)),
    }
    description = "Each trial with sessions under each profile's schedule, simulated for a few days."
    items = {"type": "object", "properties": properties, "required": list(properties)}
    texts: dict[str, Any] = {"additionalProperties": {"type": "string"}}
    return {
        "missions": _field(description, "array", items=items),
        "missions_reasons": _field("Reason why a profile's schedule was not played.", "object", **texts),
    }


def mission_document(missions: Sequence[Mission], days: float, seed: int) -> Document:
    """Document of `edgebench mission`."""
    entries = [mission_entry(mission) for mission in missions]
    return {"schema_version": SCHEMA_VERSION, "days": days, "seed": seed, "trials": entries}


def mission_entry(mission: Mission) -> Document:
    """One trial under one profile's schedule, with its estimates by name in base units."""
    estimates = {
        metric.column: estimate_document(mission.estimates[metric.name], metric.base_unit or "1")
        for metric in FIGURES
    }
    return {**plain(mission), "estimates": estimates}


# Missions of a report: each profile's schedule played for a few days.


DAYS = 10.0
SEED = 0
MOST_IMAGES = 20_000
"""Most images that are played for one trial, unless one cycle has more."""
MOST_IN_CYCLE = 200_000
MOST_MISSIONS = 200
"""Trials times profiles; beyond it a report would wait for what few of its readers look at."""


@dataclass(frozen=True)
class BriefMissions:
    """One profile's schedule.

    Attributes:
        profile: its name.
        missions: a trial with sessions each; empty where none was played.
        days: that were played at least, shared among a trial's sessions.
        schedule: None where none was played.
        reason: why none was played; empty where some were.
        title: of the profile, or its name where it has none.
    """

    profile: str
    missions: tuple[Mission, ...] = ()
    days: float = 0.0
    schedule: Schedule | None = None
    reason: str = ""
    title: str = ""


def brief_missions(judged: Judged) -> list[BriefMissions]:
    """Missions of each profile, in order; the same result gives the same numbers."""
    return [
        replace(_brief(judged, profile), title=words.plain(profile.title or profile.name, 80))
        for profile in judged.profiles
    ]


def _brief(judged: Judged, profile: Profile) -> BriefMissions:
    schedule = profile.stated_schedule
    if schedule is None:
        return BriefMissions(profile.name, reason=NO_SCHEDULE)
    trials, profiles = len(judged.trials), len(judged.profiles)
    days = min(DAYS, max(schedule.cycle_s, MOST_IMAGES * schedule.limit_s) / DAY_S)
    command = f"are too many for a report: `edgebench mission --profile {profile.name} --trial KEY`"
    if any(trial.is_published for trial in judged.trials):
        reason = "nothing was measured here, so that there are no passes to draw from"
    elif trials * profiles > MOST_MISSIONS:
        reason = f"{trials} trials by {words.counted(profiles, 'profile')} {command}"
    elif schedule.images > MOST_IN_CYCLE:
        reason = f"{schedule.images:,} images a cycle {command}"
    else:
        try:
            played = tuple(missions(judged, [profile], days=days, seed=SEED))
            return BriefMissions(profile.name, played, days, schedule)
        except EdgeBenchError as error:
            reason = words.plain(error)
    return BriefMissions(profile.name, reason=reason)


# Table of missions on a page and the terminal.


def print_missions(console: Console, missions: Sequence[Mission], names: Mapping[str, str]) -> None:
    """Print a table a profile; `names` are the trials' by key."""
    for profile, played in words.grouped((mission.profile, mission) for mission in missions).items():
        line(console, f"Under the schedule of {profile}", style="bold")
        cycles = max(mission.cycles for mission in played)
        table = _table(profile, played, names, f"up to {cycles:,} cycles per trial")
        print_table(console, table)
        line(console, table.caption, indent=2)


def mission_table(brief: BriefMissions, trials: Sequence[Trial]) -> Table | None:
    """One row per trial with every number that any of them has; None where none was played."""
    if brief.schedule is None:
        return None
    days = f"{brief.days:.3g} {'day' if brief.days == 1 else 'days'}"
    images = f"{words.counted(brief.schedule.images, 'image')} in {brief.schedule.cycle_s:g} s"
    played = f"{days} of the schedule ({images}), seed {SEED}"
    return _table(brief.title, brief.missions, tables.trial_names(trials), played)


def _table(title: str, missions: Sequence[Mission], names: Mapping[str, str], played: str) -> Table:
    """Numbers that any of them has; overloads, and reasons of missing numbers of the others."""
    present = [
        metric
        for metric in FIGURES
        if not metric.name.endswith(TAIL)  # in the cells of the means
        and any(mission.estimates[metric.name].value is not None for mission in missions)
    ]
    has_energy = any(metric.base_unit == "J" for metric in present)
    able = [mission for mission in missions if not mission.is_overloaded]
    unknown = words.grouped(
        (
            words.plain(mission.estimates[metric.name].reason),
            (mission.trial, metric.heading if has_energy else metric.heading.partition(",")[0]),
        )
        for mission in able
        for metric in FIGURES
        if mission.estimates[metric.name].value is None
    )
    caption = [f"Simulated: {played}. Intervals (95 %) are over sessions."]
    caption += [
        f"{names[mission.trial]} is overloaded: {mission.load:.3g} cycles of work per cycle."
        for mission in missions
        if mission.is_overloaded
    ]
    for why, missing in unknown.items():
        keys, headings = (list(dict.fromkeys(column)) for column in zip(*missing, strict=True))
        of_trials = f" of {words.several([names[key] for key in keys])}" if len(keys) < len(able) else ""
        caption.append(f"{words.listed(headings).capitalize()}{of_trials}: not known, {why}.")
    return Table(
        f"{words.plain(title, 80)}: mission",
        of_figures("Trial", *(f"{metric.heading.capitalize()}, {metric.unit}" for metric in present)),
        tuple((names[mission.trial], *(metric.shown(mission) for metric in present)) for mission in missions),
        " ".join(caption),
    )
