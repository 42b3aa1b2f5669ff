"""Missions in documents: of `edgebench mission --json` and of a result, and what their fields are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Any

from edgebench.errors import EdgeBenchError
from edgebench.judge.figure import Figure
from edgebench.judge.judged import Judged, missions
from edgebench.judge.mission import DAY_S, Mission
from edgebench.judge.profile import Profile
from edgebench.judge.schedule import Schedule
from edgebench.judge.trial_summary import TrialSummary
from edgebench.records.described import Described
from edgebench.report import words
from edgebench.report.words import SCHEMA_VERSION
from edgebench.results.load import StoredResults

SCALES: Mapping[str, float] = {"%": 0.01, "MB": 1e6, "kJ": 1e3}
"""How many of a figure's base unit one of its unit is, where that is not 1."""


@dataclass(frozen=True)
class MissionFigure:
    """A figure of a mission, as documents and tables have it.

    Attributes:
        name: of the mission's attribute, such as `energy_j.idle`.
        heading, narrow: of its line, and of a column of several trials; empty where such a table lacks it.
        unit: in which it is shown; energy in the base unit.
        text: what it is.
        base_unit: of documents, where it is not the unit.
    """

    name: str
    heading: str
    narrow: str
    unit: str
    text: str
    base_unit: str | None = None

    def of(self, mission: Mission) -> Figure:
        """In its base unit."""
        figure: Figure = attrgetter(self.name)(mission)
        return figure

    def shown(self, mission: Mission) -> Figure:
        """In its unit."""
        return self.of(mission).in_unit(SCALES.get(self.unit, 1.0))

    @property
    def schema(self) -> dict[str, Any]:
        """Of documents: the figure with its interval over sessions, or null."""
        unit = self.unit if self.base_unit is None else self.base_unit
        properties = {
            "value": _field("The mean over the sessions.", "mission", "number", unit),
            "low": _field("Lower end of its 95 % interval.", "mission", ["number", "null"], unit),
            "high": _field("Upper end of its 95 % interval.", "mission", ["number", "null"], unit),
        }
        text = f"{self.text}; null with its reason under reasons."
        return _field(text, "mission", ["object", "null"], unit, **_with(properties))


def _field(text: str, source: str, type_: str | list[str], unit: str = "", **keywords: Any) -> dict[str, Any]:
    return Described(text, source, unit).schema({"type": type_, **keywords})


def _with(properties: dict[str, Any]) -> dict[str, Any]:
    return {"properties": properties, "required": list(properties)}


_ACTIVE, _IDLE, _OFF = (
    "Of its images alone",
    "Of the whole cycle, when the device stays on between images",
    "Of the whole cycle, when it is switched off where that saves energy",
)
FIGURES = (
    MissionFigure(
        "duty_cycle", "duty cycle", "duty", "%", "Share of a cycle in which the device works, at most 1", ""
    ),
    MissionFigure(
        "storage_bytes", "storage", "", "MB", "Of the images of the backlog, as their pixels", "byte"
    ),
    MissionFigure(
        "backlog",
        "backlog, images",
        "backlog",
        "",
        "Most images at once that are not done, the mean over cycles",
    ),
    MissionFigure("age_s", "age of a result", "age", "s", "From an image's arrival to its result, the mean"),
    MissionFigure("oldest_s", "oldest result", "", "s", "The same of the oldest image"),
    MissionFigure(
        "missed",
        "missed deadlines",
        "missed",
        "%",
        "Share of the images without a result at their deadline",
        "",
    ),
    MissionFigure("energy_j.active", "energy a cycle, images alone", "", "J", _ACTIVE),
    MissionFigure("energy_j.idle", "energy a cycle, idling between", "idling", "J", _IDLE),
    MissionFigure("energy_j.off", "energy a cycle, off in pauses", "off", "J", _OFF),
    MissionFigure(
        "break_even_s",
        "switching off pays from",
        "",
        "s",
        "The pause from which on switching off saves energy",
    ),
)


def shown_figures(missions: Sequence[Mission]) -> list[MissionFigure]:
    """Each figure, with energy in the unit that suits all of these missions."""
    unit = energy_unit(missions)
    return [replace(figure, unit=unit) if figure.unit == "J" else figure for figure in FIGURES]


def energy_unit(missions: Sequence[Mission]) -> str:
    """The unit for the energy of a cycle of all of them: kJ where one comes to 1 kJ, J for short cycles."""
    energies = [figure.of(mission).value for mission in missions for figure in FIGURES if figure.unit == "J"]
    is_long = any(isinstance(value, int | float) and value >= SCALES["kJ"] for value in energies)
    return "kJ" if is_long else "J"


_TEXTS: dict[str, Any] = {"additionalProperties": {"type": "string"}}
_SCHEMAS = {figure.name: figure.schema for figure in FIGURES}
_ENERGIES = {name.partition(".")[2]: schema for name, schema in _SCHEMAS.items() if "." in name}
_PROPERTIES = {
    "days": _field("How long the mission is; shared among the trial's sessions.", "mission", "number"),
    "seed": _field("Of the draws.", "mission", "integer"),
    "trial": _field("Key of the trial.", "experiment.json", "string"),
    "target": _field("Its target.", "experiment.json", "string"),
    "variant": _field("Its variant.", "experiment.json", "string"),
    "mark": _field("What has to stand beside its figures.", "fit", "string"),
    "profile": _field("Name of the profile whose schedule it is.", "profile", "string"),
    "load": _field("Work that comes a cycle as a share of the cycle.", "mission", ["number", "null"]),
    "overloaded": _field(
        "Whether the load is above 1, so that nothing was simulated.", "mission", ["boolean", "null"]
    ),
    "cycles": _field("Cycles that were simulated, over all sessions.", "mission", "integer"),
    **{name: schema for name, schema in _SCHEMAS.items() if "." not in name},
    "energy_j": _field("Energy of a cycle.", "mission", "object", "J", **_with(_ENERGIES)),
    "reasons": _field("Why a figure is null, by the figure's name.", "mission", "object", **_TEXTS),
}
MISSIONS = {
    "missions": _field(
        "Each trial with sessions under each profile's schedule, simulated for a few days; `edgebench "
        "mission` plays longer ones.",
        "mission",
        "array",
        items={"type": "object", **_with(_PROPERTIES)},
    ),
    "missions_reasons": _field(
        "Why a profile's schedule was not played, by the profile's name.", "mission", "object", **_TEXTS
    ),
}
"""The fields of the document of a result that hold missions."""


def mission_document(
    missions: Sequence[Mission], trials: Mapping[str, TrialSummary], days: float, seed: int
) -> dict[str, Any]:
    """Plain data: each figure {value, low, high}, or null with its reason under `reasons`.

    `trials` are the summaries by key.
    """
    return {
        "schema_version": SCHEMA_VERSION,
        "days": days,
        "seed": seed,
        "trials": [mission_entry(mission, trials[mission.trial]) for mission in missions],
    }


def mission_entry(mission: Mission, trial: TrialSummary) -> dict[str, Any]:
    """One trial under one profile's schedule, as plain data."""
    figures = {figure.name: figure.of(mission) for figure in FIGURES}
    bounds = {
        name: None
        if figure.value is None
        else {"value": figure.value, "low": figure.low, "high": figure.high}
        for name, figure in figures.items()
    }
    return {
        "trial": mission.trial,
        "target": trial.target,
        "variant": trial.variant,
        "mark": trial.mark,
        "profile": mission.profile,
        "load": mission.load,
        "overloaded": mission.overloaded,
        "cycles": mission.cycles,
        **{name: bound for name, bound in bounds.items() if "." not in name},
        "energy_j": {name.partition(".")[2]: bound for name, bound in bounds.items() if "." in name},
        "reasons": {name: figure.reason for name, figure in figures.items() if figure.value is None},
    }


# The missions of a report: each profile's schedule played for a few days, as long as it is known to take.


DAYS = 10.0
SEED = 0
MOST_IMAGES = 20_000
"""That are played for one trial, where a cycle has no more: days with more images are fewer."""
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
        schedule: None where the profile has none.
        reason: why none was played; empty where some were.
    """

    profile: str
    missions: tuple[Mission, ...] = ()
    days: float = 0.0
    schedule: Schedule | None = None
    reason: str = ""


def brief_missions(
    results: StoredResults, summaries: Sequence[TrialSummary], profiles: Sequence[Profile]
) -> list[BriefMissions]:
    """Each profile's, in order; the same result gives the same figures."""
    judged = Judged(results, tuple(profiles), list(summaries), [])
    return [_brief(judged, profile) for profile in profiles]


def _brief(judged: Judged, profile: Profile) -> BriefMissions:
    schedule, trials = profile.stated_schedule, len(judged.summaries)
    several = trials * len(judged.profiles) > MOST_MISSIONS
    if schedule is None:
        return BriefMissions(profile.name, reason="it says no time at which images come")
    if any(summary.published for summary in judged.summaries):
        why = "nothing was measured here, so that there are no passes to draw from"
        return BriefMissions(profile.name, reason=why)
    if several or schedule.images > MOST_IN_CYCLE:
        what = f"{trials} trials by {words.counted(len(judged.profiles), 'profile')}"
        what = what if several else f"{schedule.images:,} images a cycle"
        command = f"`edgebench mission --profile {profile.name} --trial KEY`"
        return BriefMissions(profile.name, reason=f"{what} are too many for a report: {command}")
    days = min(DAYS, max(schedule.cycle_s, MOST_IMAGES * schedule.limit_s) / DAY_S)
    try:
        played = tuple(missions(judged, [profile], days=days, seed=SEED))
    except EdgeBenchError as error:
        return BriefMissions(profile.name, reason=words.plain(error))
    return BriefMissions(profile.name, played, days, schedule)
