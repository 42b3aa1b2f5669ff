"""The document of `edgebench mission --json`, and the missions in that of a result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from edgebench.errors import EdgeBenchError
from edgebench.judge.figure import Figure
from edgebench.judge.judged import Judged, missions
from edgebench.judge.mission import DAY_S, Mission
from edgebench.judge.profile import Profile
from edgebench.judge.schedule import Schedule
from edgebench.judge.trial_summary import TrialSummary
from edgebench.report import words
from edgebench.report.words import SCHEMA_VERSION
from edgebench.results.load import StoredResults

FIGURES = (
    "duty_cycle", "storage_bytes", "backlog", "age_s", "oldest_s", "missed", "break_even_s",
)  # fmt: skip


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
    figures = {name: getattr(mission, name) for name in FIGURES}
    energies: dict[str, Figure] = vars(mission.energy_j)
    reasons = {name: figure.reason for name, figure in figures.items() if figure.value is None}
    reasons |= {
        f"energy_j.{name}": figure.reason for name, figure in energies.items() if figure.value is None
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
        **{name: _bounds(figure) for name, figure in figures.items()},
        "energy_j": {name: _bounds(figure) for name, figure in energies.items()},
        "reasons": reasons,
    }


def _bounds(figure: Figure) -> dict[str, Any] | None:
    if figure.value is None:
        return None
    return {"value": figure.value, "low": figure.low, "high": figure.high}


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
    several = len(summaries) * len(profiles) > MOST_MISSIONS
    judged = Judged(results, tuple(profiles), list(summaries), [])
    played = []
    for profile in profiles:
        schedule = profile.stated_schedule
        if schedule is None:
            why = "it says no time at which images come"
        elif any(summary.published for summary in summaries):
            why = "nothing was measured here, so that there are no passes to draw from"
        elif several or schedule.images > MOST_IN_CYCLE:
            what = f"{len(summaries)} trials by {words.counted(len(profiles), 'profile')}"
            what = what if several else f"{schedule.images:,} images a cycle"
            why = (
                f"{what} are too many for a report: `edgebench mission --profile {profile.name} --trial KEY`"
            )
        else:
            played.append(_played(judged, profile, schedule))
            continue
        played.append(BriefMissions(profile.name, reason=why))
    return played


def _played(judged: Judged, profile: Profile, schedule: Schedule) -> BriefMissions:
    days = min(DAYS, max(schedule.cycle_s, MOST_IMAGES * schedule.limit_s) / DAY_S)
    try:
        found = tuple(missions(judged, [profile], days=days, seed=SEED))
    except EdgeBenchError as error:
        return BriefMissions(profile.name, reason=words.plain(error))
    return BriefMissions(profile.name, found, days, schedule)


# The units in which a mission's figures are shown.


SCALES: Mapping[str, float] = {"%": 0.01, "MB": 1e6, "kJ": 1e3}
"""How many of a figure's base unit one of its unit is, where that is not 1."""


def energy_unit(missions: Sequence[Mission]) -> Literal["J", "kJ"]:
    """The unit for the energy of a cycle of all of them: kJ where one comes to 1 kJ, J for short cycles."""
    values = [
        figure.value
        for mission in missions
        for figure in (mission.energy_j.active, mission.energy_j.idle, mission.energy_j.off)
        if isinstance(figure.value, int | float)
    ]
    return "kJ" if max(values, default=0.0) >= SCALES["kJ"] else "J"
