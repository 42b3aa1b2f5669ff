"""The missions of a report: each profile's schedule played for a few days, as long as it is known to take."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from edgebench.errors import EdgeBenchError
from edgebench.fit.judged_experiment import Judged
from edgebench.fit.mission import DAY_S, Mission
from edgebench.fit.missions import missions
from edgebench.fit.profile import Profile
from edgebench.fit.schedule import Schedule
from edgebench.fit.trial_summary import TrialSummary
from edgebench.report import words
from edgebench.store.load import StoredResults

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
