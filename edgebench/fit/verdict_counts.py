"""How many trials of an experiment got which verdict of its profiles, for lists of results."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from edgebench.fit.profile import Profile
from edgebench.fit.trial_summary import TrialSummary
from edgebench.fit.verdict import judge_all, overall
from edgebench.store.records import ExperimentRecord


def verdict_counts(
    summaries: Sequence[TrialSummary], experiment: ExperimentRecord
) -> dict[str, dict[str, int]]:
    """By profile of the experiment's run, how many trials pass it as a whole, fail it, ...; no count is 0."""
    profiles = [Profile.from_record(record) for record in experiment.profiles]
    counts: dict[str, Counter[str]] = {profile.name: Counter() for profile in profiles}
    for whole in overall(judge_all(summaries, profiles)):
        counts[whole.profile][whole.verdict] += 1
    return {name: dict(counted) for name, counted in counts.items()}
