"""The trials of a result under the schedules of profiles."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from edgebench.errors import StoredResultError, UsageError
from edgebench.fit.judged_experiment import Judged
from edgebench.fit.mission import DAY_S, Mission, mission_of
from edgebench.fit.profile import Profile
from edgebench.fit.schedule import Schedule
from edgebench.fit.trial_summary import TrialSummary
from edgebench.suggest import choose, short

MOST_REASONS = 3
"""Of trials without a session, that are told."""


def missions(
    judged: Judged,
    profiles: Sequence[Profile],
    chosen: str = "",
    *,
    days: float,
    seed: int,
    names: Mapping[str, Sequence[str]] | None = None,
) -> Iterator[Mission]:
    """Each trial that has sessions under each profile's schedule, by trial, then profile.

    Args:
        judged: a result and its summaries.
        profiles: whose schedules are played.
        chosen: the key, its beginning, the variant or a name of the trials that are meant; empty for all.
        days: of the mission, above 0.
        seed: of the draws.
        names: by key what reports call each trial, such as `0.5 fp32`.

    Raises:
        UsageError: no such trial, a profile without a schedule, or more images than are simulated.
        StoredResultError: no trial has a finished session.
    """
    schedules = [schedule_of(profile) for profile in profiles]
    trials = chosen_trials(judged.summaries, chosen, names or {})
    measured = [trial for trial in trials if trial.latency is not None]
    if not measured:
        reasons = sorted({trial.reason for trial in trials if trial.reason})
        raise StoredResultError(
            f"{judged.results.path} has no finished session to draw latencies from",
            why=_first_of(reasons),
            fix="measure it first: `edgebench run --resume` goes on with it",
        )
    for trial in measured:
        for profile, schedule in zip(profiles, schedules, strict=True):
            yield mission_of(
                trial,
                profile.name,
                schedule,
                cycles=math.ceil(days * DAY_S / schedule.cycle_s),
                seed=seed,
                image_bytes=trial.image_bytes,
            )


def _first_of(reasons: Sequence[str]) -> str:
    """As many as are read, and how many there are besides."""
    more = len(reasons) - MOST_REASONS
    return "; ".join(reasons[:MOST_REASONS]) + (f"; and {more} more (`edgebench show`)" if more > 0 else "")


def chosen_trials(
    trials: Sequence[TrialSummary], chosen: str, names: Mapping[str, Sequence[str]]
) -> list[TrialSummary]:
    """Those of that key, or a beginning of it, of that variant or name; UsageError where there are none.

    `names` are by key.
    """
    if not chosen:
        return list(trials)
    known = {trial.key: (*names.get(trial.key, ()), trial.variant, trial.key) for trial in trials}
    by_name = [trial for trial in trials if chosen in known[trial.key]]
    by_beginning = [trial for trial in trials if len(chosen) >= 4 and trial.key.startswith(chosen)]
    if not (by_name or by_beginning):
        choices = dict.fromkeys(name for of_trial in known.values() for name in of_trial)
        raise UsageError(f"there is no trial {short(chosen)} in the result", fix=choose(chosen, choices))
    return by_name or by_beginning


def schedule_of(profile: Profile) -> Schedule:
    """When its images come; UsageError where it does not say so."""
    if (schedule := profile.stated_schedule) is not None:
        return schedule
    raise UsageError(
        f"the profile {profile.name} says no time at which images come",
        why="it has no [schedule], and no budget that all its requirements share",
        fix='write a table [schedule] with cycle = "95.65 min" and images = 80',
    )
