"""Missions in documents, on pages and on the terminal, and what their figures are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from rich.console import Console

from edgebench.errors import EdgeBenchError
from edgebench.judge.figure import Figure
from edgebench.judge.judged import Judged, missions
from edgebench.judge.mission import DAY_S, Mission
from edgebench.judge.profile import Profile
from edgebench.judge.schedule import Schedule
from edgebench.judge.trial_summary import TrialSummary
from edgebench.records.described import Described, object_schema
from edgebench.report import tables, words
from edgebench.report.blocks import Table, of_figures
from edgebench.report.terminal import line, print_table
from edgebench.report.words import SCHEMA_VERSION
from edgebench.results.load import StoredResults

TAIL = "_p99"
"""End of the name of a figure's 99th percentile over cycles."""


class MissionFigure(NamedTuple):
    """A figure of a mission, as documents and tables have it.

    Attributes:
        name: its key among a mission's figures, such as `energy_j.idle`.
        heading: of its column.
        unit: in which it is shown.
        text: what it is.
        base_unit, scale: of documents, and how many of it one unit is.
    """

    name: str
    heading: str
    unit: str
    text: str
    base_unit: str = ""
    scale: float = 1.0

    def shown(self, mission: Mission) -> str:
        """Text of the figure with its interval, then its 99th percentile over cycles where it has one."""
        tail = mission.figures.get(f"{self.name}{TAIL}", Figure()).in_unit(self.scale)
        shown = _shown(mission.figures[self.name].in_unit(self.scale))
        return shown if tail.value is None else f"{shown}, p99 {_shown(tail)}"

    @property
    def schema(self) -> dict[str, Any]:
        """Schema in documents: the figure with its interval over sessions, or null; in its base unit."""
        end = ["number", "null"]
        ends = {
            "value": _field("The mean over the sessions.", "number", self.base_unit),
            "low": _field("Lower end of its 95 % interval.", end, self.base_unit),
            "high": _field("Upper end of its 95 % interval.", end, self.base_unit),
        }
        text = f"{self.text}; null with its reason under reasons."
        return _field(text, ["object", "null"], self.base_unit, **_with(ends))


def _shown(figure: Figure) -> str:
    """The value with its interval where that has a width; the sign for a missing one."""
    if not isinstance(figure.value, int | float):
        return words.MISSING
    if figure.low == figure.high:
        return words.number(figure.value)
    return words.estimate(figure.value, figure.low, figure.high)


def _field(text: str, type_: str | list[str], unit: str = "", **keywords: Any) -> dict[str, Any]:
    return Described(text, "mission", unit).schema({"type": type_, **keywords})


def _with(properties: dict[str, Any]) -> dict[str, Any]:
    return {"properties": properties, "required": list(properties)}


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
FIGURES = tuple(MissionFigure(*figure) for figure in _FIGURES)


def _nested(by_name: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The figures without those of energy; and these, by what follows `energy_j.` in their names."""
    nested = {name.partition(".")[2]: each for name, each in by_name.items() if "." in name}
    return {name: each for name, each in by_name.items() if "." not in name}, nested


def missions_schema() -> dict[str, Any]:
    """The fields of the document of a result that hold missions."""
    plain, nested = _nested({figure.name: figure.schema for figure in FIGURES})
    texts: dict[str, Any] = {"additionalProperties": {"type": "string"}}
    properties = {
        "days": _field("How long the mission is; shared among the trial's sessions.", "number"),
        "seed": _field("Of the draws.", "integer"),
        **object_schema(Mission)["properties"],
        **plain,
        "energy_j": _field("Energy of a cycle.", "object", "J", **_with(nested)),
        "reasons": _field("Why a figure is null, by the figure's name.", "object", **texts),
    }
    about = (
        "Each trial with sessions under each profile's schedule, simulated for a few days; `edgebench "
        "mission` plays longer ones."
    )
    why_not = "Why a profile's schedule was not played, by the profile's name."
    return {
        "missions": _field(about, "array", items={"type": "object", **_with(properties)}),
        "missions_reasons": _field(why_not, "object", **texts),
    }


def mission_document(missions: Sequence[Mission], days: float, seed: int) -> dict[str, Any]:
    """Plain data of missions."""
    entries = [mission_entry(mission) for mission in missions]
    return {"schema_version": SCHEMA_VERSION, "days": days, "seed": seed, "trials": entries}


def mission_entry(mission: Mission) -> dict[str, Any]:
    """One trial under one profile's schedule: a figure is {value, low, high}, or null and has a reason."""
    about = dict(vars(mission))
    figures = about.pop("figures")
    ends = {
        name: {end: getattr(figure, end) for end in ("value", "low", "high")}
        for name, figure in figures.items()
        if figure.value is not None
    }
    plain, nested = _nested({name: ends.get(name) for name in figures})
    reasons = {name: figure.reason for name, figure in figures.items() if name not in ends}
    return {**about, **plain, "energy_j": nested, "reasons": reasons}


# The missions of a report: each profile's schedule played for a few days, as long as it is known to take.


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


def brief_missions(
    results: StoredResults, summaries: Sequence[TrialSummary], profiles: Sequence[Profile]
) -> list[BriefMissions]:
    """Each profile's, in order; the same result gives the same figures."""
    judged = Judged(results, tuple(profiles), list(summaries), [])
    return [replace(_brief(judged, own), title=words.plain(own.title or own.name, 80)) for own in profiles]


def _brief(judged: Judged, profile: Profile) -> BriefMissions:
    schedule = profile.stated_schedule
    if schedule is None:
        return BriefMissions(profile.name, reason="it says no time at which images come")
    trials, profiles = len(judged.summaries), len(judged.profiles)
    days = min(DAYS, max(schedule.cycle_s, MOST_IMAGES * schedule.limit_s) / DAY_S)
    command = f"are too many for a report: `edgebench mission --profile {profile.name} --trial KEY`"
    if any(summary.published for summary in judged.summaries):
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


# What a page and the terminal show of missions: a table of their figures.


def print_missions(console: Console, missions: Sequence[Mission], names: Mapping[str, str]) -> None:
    """Print a table a profile; `names` are the trials' by key."""
    for profile, played in words.grouped((mission.profile, mission) for mission in missions).items():
        line(console, f"Under the schedule of {profile}", style="bold")
        most = max(mission.cycles for mission in played)
        table = _table(profile, played, names, f"up to {most:,} cycles per trial")
        print_table(console, table)
        line(console, table.caption, indent=2)


def mission_table(brief: BriefMissions, summaries: Sequence[TrialSummary]) -> Table | None:
    """A row a trial with every figure that any of them has; None where none was played."""
    if brief.schedule is None:
        return None
    days = f"{brief.days:.3g} {'day' if brief.days == 1 else 'days'}"
    images = f"{words.counted(brief.schedule.images, 'image')} in {brief.schedule.cycle_s:g} s"
    played = f"{days} of the schedule ({images}), seed {SEED}"
    return _table(brief.title, brief.missions, tables.trial_names(summaries), played)


def _table(title: str, missions: Sequence[Mission], names: Mapping[str, str], played: str) -> Table:
    """The figures that any of them has; overloads, and why figures of the others are not known."""
    known = [each for each in FIGURES if any(of.figures[each.name].value is not None for of in missions)]
    known = [figure for figure in known if not figure.name.endswith(TAIL)]  # in the cells of the means
    no_energy = "energy figures"
    has_energy = any(figure.name.startswith("energy_j") for figure in known)
    unknown = words.grouped(
        (
            words.plain(mission.figures[figure.name].reason),
            figure.heading
            if has_energy or not figure.name.startswith(("energy_j", "break_even_s"))
            else no_energy,
        )
        for mission in missions
        for figure in FIGURES
        if not mission.overloaded and mission.figures[figure.name].value is None
    )
    caption = [f"Simulated: {played}. Intervals (95 %) are over sessions."]
    for each in missions:
        if each.overloaded:
            caption.append(f"{names[each.trial]} is overloaded: {each.load:.3g} cycles of work per cycle.")
    for why, headings in unknown.items():
        names_of = words.listed(list(dict.fromkeys(headings))).capitalize()
        caption.append(
            f"No {no_energy}: {why}." if no_energy in headings else f"{names_of}: not known, {why}."
        )
    return Table(
        f"{words.plain(title, 80)}: mission",
        of_figures("Trial", *(f"{figure.heading.capitalize()}, {figure.unit}" for figure in known)),
        tuple((names[each.trial], *(figure.shown(each) for figure in known)) for each in missions),
        " ".join(caption),
    )
